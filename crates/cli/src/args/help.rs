//! The front page of the help: commands in groups, which clap has no word for.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::Cli;
use crate::print::{Screen, wrap};

/// Every command, by the question it belongs to.
const GROUPS: &[(&str, &[&str])] = &[
    ("What to change", &["summary", "findings", "what-if", "view"]),
    ("Where the time goes", &["account", "steps", "critical-path", "ops", "kernels", "modules", "stacks"]),
    ("Why the device waits", &["gaps", "launches", "waits", "loading", "transfers"]),
    ("How well the device is used", &["gpu", "roofline", "memory"]),
    ("The trace itself", &["info", "export"]),
    ("Recording", &["run", "doctor"]),
    ("The program itself", &["completions", "man", "help"]),
];

/// Room for the names, with a gap on both sides.
const NAMES: usize = 17;

/// The command line, with its commands in groups.
pub(crate) fn command() -> Command {
    let width = Screen::detect(&std::io::stdout()).width.min(100);
    let command = Cli::command();
    let template = template(&command, width);
    command.help_template(template)
}

fn template(command: &Command, width: usize) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        let _ = write!(text, "\n{header}{title}:{header:#}\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about =
                about.map_or_else(|| "This message, or the help of a command".to_owned(), ToString::to_string);
            for (at, line) in wrap(&about, width.saturating_sub(NAMES).max(20)).iter().enumerate() {
                let name = if at == 0 { *name } else { "" };
                let gap = " ".repeat(NAMES.saturating_sub(2 + name.len()));
                let _ = writeln!(text, "  {literal}{name}{literal:#}{gap}{line}");
            }
        }
    }
    // Commands first: the options are the same for most of them.
    let _ = write!(
        text,
        "\n{header}Arguments:{header:#}\n{{positionals}}\n\n{header}Options:{header:#}\n{{options}}"
    );
    text.push_str("{after-help}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|g| g.1).copied().filter(|n| *n != "help").collect();
        let cli = Cli::command();
        let mut commands: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn the_command_line_holds_together() {
        command().debug_assert();
    }
}

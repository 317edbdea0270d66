//! The whole command line, and its front page: commands in groups, which clap has no word for.

use std::fmt::Write as _;

use clap::{Command as Clap, Subcommand};
use stepscope_ask::print::wrap;
use stepscope_ask::{Group, QUESTIONS};

use super::Command;
use super::questions;
use crate::terminal;

const ABOUT: &str = "Why is my ML code slow? Reads PyTorch, JAX, TensorFlow and Python profiles, and shows where \
     the time went and what to change.";

const EXAMPLES: &str = "\
Examples:
  stepscope trace.json.gz                              why is it slow, what to change?
  stepscope findings trace.json.gz                     what to change, with the code
  stepscope what-if trace.json.gz                      what would help most?
  stepscope ops trace.json.gz --by shape --top 20      operators by input shape
  stepscope steps runs/exp1 --rank 3 --format json     a TensorBoard log folder, one rank
  zstdcat trace.json.zst | stepscope memory -          from a pipe";

/// Groups of questions, each with the commands that are listed with it though they are not questions.
const GROUPS: &[(Group, &[&str])] = &[
    (Group::Change, &["view"]),
    (Group::Time, &[]),
    (Group::Waiting, &[]),
    (Group::Device, &["repro"]),
    (Group::Trace, &["export"]),
];

/// The other commands.
const OTHERS: &[(&str, &[&str])] = &[
    ("Recording", &["run", "record", "capture", "top", "dump", "doctor"]),
    ("Performance checks", &["try", "check", "baseline", "history", "sweep", "bisect"]),
    ("In production", &["production", "monitor"]),
    ("Other", &["completions", "man", "help"]),
];

/// Room for the names, with a gap on both sides.
const NAME_COLUMNS: usize = 17;

/// The command line: without a command it is the summary.
pub(crate) fn command() -> Clap {
    let width = terminal::detect(&std::io::stdout()).width.min(100);
    let command = build();
    let template = template(&command, width);
    command.help_template(template)
}

fn build() -> Clap {
    let mut command = Clap::new("stepscope")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXAMPLES)
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true);
    for question in QUESTIONS {
        command = command.subcommand(questions::command(question));
    }
    command = Command::augment_subcommands(command);
    // `augment_subcommands` asks for one; without any the summary is meant.
    let command = command.subcommand_required(false).arg_required_else_help(false);
    questions::with_args(command, QUESTIONS[0]).about(ABOUT).long_about(None)
}

/// The groups of the front page.
fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let of_group = |group: Group| QUESTIONS.iter().filter(move |q| q.group == group).map(|q| q.name);
    let questions = GROUPS
        .iter()
        .map(|(group, more)| (group.title(), of_group(*group).chain(more.iter().copied()).collect()));
    let others = OTHERS.iter().map(|(title, names)| (*title, names.to_vec()));
    questions.chain(others).collect()
}

fn template(command: &Clap, width: usize) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in groups() {
        let _ = write!(text, "\n{header}{title}:{header:#}\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Clap::get_about);
            let about = about
                .map_or_else(|| "Print this message or the help of a command".to_owned(), ToString::to_string);
            for (at, line) in wrap(&about, width.saturating_sub(NAME_COLUMNS).max(20)).iter().enumerate() {
                let name = if at == 0 { name } else { "" };
                let gap = " ".repeat(NAME_COLUMNS.saturating_sub(2 + name.len()));
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
            groups().into_iter().flat_map(|g| g.1).filter(|name| *name != "help").collect();
        let command = build();
        let mut commands: Vec<&str> = command.get_subcommands().map(Clap::get_name).collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn the_command_line_is_sound() {
        build().debug_assert();
    }
}

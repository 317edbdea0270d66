//! What the terminal can show, from the environment.

use std::io::IsTerminal;
use std::ops::RangeInclusive;

use stepscope_ask::print::{Palette, Screen};

/// Widths outside this range are taken for mistakes.
const POSSIBLE: RangeInclusive<usize> = 20..=10_000;
/// A terminal that does not say how wide it is.
const USUAL_TERMINAL: usize = 80;
/// A file or a pipe.
const USUAL_FILE: usize = 120;

/// When to use colors, as asked for on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Even into a file or a pipe.
    Always,
    /// Not at all.
    Never,
}

/// Asks the environment and the terminal behind `stdout`.
///
/// `NO_COLOR` beats `CLICOLOR_FORCE`, which beats `CLICOLOR=0`, `TERM=dumb` and the absence of a terminal.
/// `COLUMNS` beats the terminal's own width; without either a file gets 120 columns.
pub(crate) fn detect(stdout: &impl IsTerminal) -> Screen {
    detect_with(stdout, ColorWhen::Auto)
}

/// The same, where the command line may have decided about colors.
pub(crate) fn detect_with(stdout: &impl IsTerminal, when: ColorWhen) -> Screen {
    let terminal = stdout.is_terminal();
    let size = terminal.then(terminal_size::terminal_size).flatten();
    let columns = size.map(|(columns, _)| usize::from(columns.0));
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    from_environment(&variable, terminal, columns, when)
}

fn from_environment(
    variable: &dyn Fn(&str) -> Option<String>,
    terminal: bool,
    columns: Option<usize>,
    when: ColorWhen,
) -> Screen {
    let asked = variable("COLUMNS").and_then(|value| value.trim().parse::<usize>().ok());
    let usual = if terminal { USUAL_TERMINAL } else { USUAL_FILE };
    let width = [asked, columns].into_iter().flatten().find(|width| POSSIBLE.contains(width)).unwrap_or(usual);
    let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value == wanted);
    let colors = match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if variable("NO_COLOR").is_some() => false,
        ColorWhen::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        ColorWhen::Auto => terminal && !is("TERM", "dumb") && !is("CLICOLOR", "0"),
    };
    let color = if colors { palette(variable) } else { Palette::None };
    Screen { width, palette: color, unicode: speaks_unicode(variable), wide: false, terminal }
}

fn palette(variable: &dyn Fn(&str) -> Option<String>) -> Palette {
    let term = variable("TERM").unwrap_or_default();
    let old = ["linux", "ansi", "xterm", "screen", "cygwin", "rxvt"].contains(&term.as_str())
        || term.starts_with("vt");
    if old && variable("COLORTERM").is_none() { Palette::Basic } else { Palette::Full }
}

// Containers often have no locale at all and a terminal that knows everything; only a clear "no" counts.
fn speaks_unicode(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default().to_lowercase();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    utf8 || !(locale == "c" || locale == "posix" || locale.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(environment: &[(&str, &str)], columns: Option<usize>) -> Screen {
        let variable = |name: &str| {
            let found = environment.iter().find(|(key, value)| *key == name && !value.is_empty());
            found.map(|(_, value)| (*value).to_owned())
        };
        from_environment(&variable, columns.is_some(), columns, ColorWhen::Auto)
    }

    #[test]
    fn width_comes_from_columns_then_terminal_then_habit() {
        assert_eq!(screen(&[("COLUMNS", "93")], Some(200)).width, 93);
        assert_eq!(screen(&[("COLUMNS", "93")], None).width, 93);
        assert_eq!(screen(&[("COLUMNS", "0")], Some(200)).width, 200);
        assert_eq!(screen(&[("COLUMNS", "999999999999")], None).width, 120);
        assert_eq!(screen(&[("COLUMNS", "wide")], None).width, 120);
        assert_eq!(screen(&[], Some(0)).width, 80);
        assert_eq!(screen(&[], None).width, 120);
    }

    #[test]
    fn color_follows_the_environment() {
        let term = ("TERM", "xterm-256color");
        assert_eq!(screen(&[term], Some(80)).palette, Palette::Full);
        assert_eq!(screen(&[term], None).palette, Palette::None);
        assert_eq!(screen(&[term, ("NO_COLOR", "1")], Some(80)).palette, Palette::None);
        assert_eq!(screen(&[term, ("NO_COLOR", "")], Some(80)).palette, Palette::Full);
        assert_eq!(screen(&[("CLICOLOR_FORCE", "1")], None).palette, Palette::Full);
        assert_eq!(screen(&[("CLICOLOR_FORCE", "0")], None).palette, Palette::None);
        assert_eq!(screen(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], None).palette, Palette::None);
        assert_eq!(screen(&[("TERM", "dumb")], Some(80)).palette, Palette::None);
        assert_eq!(screen(&[term, ("CLICOLOR", "0")], Some(80)).palette, Palette::None);
        assert_eq!(screen(&[("TERM", "linux")], Some(80)).palette, Palette::Basic);
        assert_eq!(screen(&[("TERM", "xterm"), ("COLORTERM", "truecolor")], Some(80)).palette, Palette::Full);
    }

    #[test]
    fn the_command_line_decides_over_the_environment() {
        let none = |_: &str| None;
        let dumb = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
        assert_eq!(from_environment(&dumb, false, None, ColorWhen::Always).palette, Palette::Full);
        assert_eq!(from_environment(&none, true, Some(80), ColorWhen::Never).palette, Palette::None);
    }

    #[test]
    fn only_a_locale_without_unicode_turns_it_off() {
        assert!(screen(&[], None).unicode);
        assert!(screen(&[("LANG", "de_DE.UTF-8")], None).unicode);
        assert!(screen(&[("LANG", "C.utf8")], None).unicode);
        assert!(screen(&[("LANG", "de_DE")], None).unicode);
        assert!(!screen(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], None).unicode);
        assert!(!screen(&[("LANG", "de_DE.ISO-8859-1")], None).unicode);
    }
}

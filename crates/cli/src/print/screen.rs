//! Where the output goes: how wide it is, and which colours and letters it can show.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::ops::RangeInclusive;

use super::ascii::ascii;
use super::clean::{clean, is_hostile};
use super::role::{Colour, Role};

/// Widths outside this range are taken for mistakes.
const POSSIBLE: RangeInclusive<usize> = 20..=10_000;
/// A terminal that does not say how wide it is.
const USUAL_TERMINAL: usize = 80;
/// A file or a pipe.
const USUAL_FILE: usize = 120;

/// When to use colours, as asked for on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColourWhen {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Even into a file or a pipe.
    Always,
    /// Not at all.
    Never,
}

/// What the output can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns to lay out for.
    pub width: usize,
    /// Colours to use.
    pub colour: Colour,
    /// Whether letters outside ASCII can be shown.
    pub unicode: bool,
    /// Whether tables keep all columns and whole names, however wide they become (`--wide`).
    pub wide: bool,
    /// Whether a person's terminal reads the output, which must then not receive control characters.
    pub terminal: bool,
}

impl Screen {
    /// Asks the environment and the terminal behind `stdout`.
    ///
    /// `NO_COLOR` beats `CLICOLOR_FORCE`, which beats `CLICOLOR=0`, `TERM=dumb` and the absence of a terminal.
    /// `COLUMNS` beats the terminal's own width; without either a file gets 120 columns.
    pub fn detect(stdout: &impl IsTerminal) -> Self {
        Self::detect_with(stdout, ColourWhen::Auto)
    }

    /// The same, where the command line may have decided about colours.
    pub fn detect_with(stdout: &impl IsTerminal, when: ColourWhen) -> Self {
        let terminal = stdout.is_terminal();
        let size = terminal.then(terminal_size::terminal_size).flatten();
        let columns = size.map(|(columns, _)| usize::from(columns.0));
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self::from_environment(&variable, terminal, columns, when)
    }

    /// A screen of `width` columns without colours, with all letters: for files and tests.
    pub fn plain(width: usize) -> Self {
        Self { width, colour: Colour::None, unicode: true, wide: false, terminal: false }
    }

    /// The same screen with tables at their full width.
    pub fn with_wide(self, wide: bool) -> Self {
        Self { wide, ..self }
    }

    /// The same screen with or without letters outside ASCII.
    pub fn with_unicode(self, unicode: bool) -> Self {
        Self { unicode, ..self }
    }

    /// The same screen with other colours.
    pub fn with_colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// `text` as one line that is safe to print here.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let safe = clean(text);
        if self.unicode {
            return safe;
        }
        match safe {
            Cow::Borrowed(borrowed) => ascii(borrowed),
            Cow::Owned(owned) => Cow::Owned(ascii(&owned).into_owned()),
        }
    }

    /// `text` in the colour of `role`. The text itself is not cleaned: see [`Screen::text`].
    pub fn paint(&self, role: Role, text: &str) -> String {
        let style = role.style(self.colour);
        format!("{style}{text}{style:#}")
    }

    /// Data in many lines (CSV, Markdown) as it may be sent here: untouched into a file, harmless onto a
    /// terminal.
    pub fn guard<'t>(&self, data: &'t str) -> Cow<'t, str> {
        let hostile = |letter: char| letter != '\n' && is_hostile(letter);
        if !self.terminal || !data.contains(hostile) {
            return Cow::Borrowed(data);
        }
        let lines: Vec<_> = data.split('\n').map(clean).collect();
        Cow::Owned(lines.join("\n"))
    }

    fn from_environment(
        variable: &dyn Fn(&str) -> Option<String>,
        terminal: bool,
        columns: Option<usize>,
        when: ColourWhen,
    ) -> Self {
        let asked = variable("COLUMNS").and_then(|value| value.trim().parse::<usize>().ok());
        let usual = if terminal { USUAL_TERMINAL } else { USUAL_FILE };
        let width =
            [asked, columns].into_iter().flatten().find(|width| POSSIBLE.contains(width)).unwrap_or(usual);
        let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value == wanted);
        let colours = match when {
            ColourWhen::Always => true,
            ColourWhen::Never => false,
            ColourWhen::Auto if variable("NO_COLOR").is_some() => false,
            ColourWhen::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            ColourWhen::Auto => terminal && !is("TERM", "dumb") && !is("CLICOLOR", "0"),
        };
        let colour = if colours { palette(variable) } else { Colour::None };
        Self { width, colour, unicode: speaks_unicode(variable), wide: false, terminal }
    }
}

fn palette(variable: &dyn Fn(&str) -> Option<String>) -> Colour {
    let term = variable("TERM").unwrap_or_default();
    let old = ["linux", "ansi", "xterm", "screen", "cygwin", "rxvt"].contains(&term.as_str())
        || term.starts_with("vt");
    if old && variable("COLORTERM").is_none() { Colour::Basic } else { Colour::Full }
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
        Screen::from_environment(&variable, columns.is_some(), columns, ColourWhen::Auto)
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
    fn colour_follows_the_environment() {
        let term = ("TERM", "xterm-256color");
        assert_eq!(screen(&[term], Some(80)).colour, Colour::Full);
        assert_eq!(screen(&[term], None).colour, Colour::None);
        assert_eq!(screen(&[term, ("NO_COLOR", "1")], Some(80)).colour, Colour::None);
        assert_eq!(screen(&[term, ("NO_COLOR", "")], Some(80)).colour, Colour::Full);
        assert_eq!(screen(&[("CLICOLOR_FORCE", "1")], None).colour, Colour::Full);
        assert_eq!(screen(&[("CLICOLOR_FORCE", "0")], None).colour, Colour::None);
        assert_eq!(screen(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], None).colour, Colour::None);
        assert_eq!(screen(&[("TERM", "dumb")], Some(80)).colour, Colour::None);
        assert_eq!(screen(&[term, ("CLICOLOR", "0")], Some(80)).colour, Colour::None);
        assert_eq!(screen(&[("TERM", "linux")], Some(80)).colour, Colour::Basic);
        assert_eq!(screen(&[("TERM", "xterm"), ("COLORTERM", "truecolor")], Some(80)).colour, Colour::Full);
    }

    #[test]
    fn the_command_line_decides_over_the_environment() {
        let none = |_: &str| None;
        let dumb = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
        assert_eq!(Screen::from_environment(&dumb, false, None, ColourWhen::Always).colour, Colour::Full);
        assert_eq!(Screen::from_environment(&none, true, Some(80), ColourWhen::Never).colour, Colour::None);
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

    #[test]
    fn text_is_made_safe() {
        let screen = Screen::plain(80);
        assert_eq!(screen.text("a\u{1b}[2Jb"), "a␛[2Jb");
        assert_eq!(screen.with_unicode(false).text("a\u{1b}[2Jµ"), "a?[2Ju");
    }

    #[test]
    fn data_is_guarded_on_terminals_only() {
        let data = "a,\u{1b}[31mb\nc,d\n";
        assert_eq!(Screen::plain(80).guard(data), data);
        assert_eq!(Screen { terminal: true, ..Screen::plain(80) }.guard(data), "a,␛[31mb\nc,d\n");
    }

    #[test]
    fn paint_is_silent_without_colour() {
        assert_eq!(Screen::plain(80).paint(Role::Bad, "x"), "x");
        let coloured = Screen::plain(80).with_colour(Colour::Basic);
        assert_eq!(coloured.paint(Role::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
    }
}

//! Where the output goes: how wide it is, and which colors and letters it can show.

use std::borrow::Cow;

use super::ascii::ascii;
use super::clean::{clean, is_hostile};
use super::role::{Palette, Role};

/// What the output can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns to lay out for.
    pub width: usize,
    /// Colors to use.
    pub palette: Palette,
    /// Whether letters outside ASCII can be shown.
    pub unicode: bool,
    /// Whether tables keep all columns and whole names, however wide they become (`--wide`).
    pub wide: bool,
    /// Whether a person's terminal reads the output, which must then not receive control characters.
    pub terminal: bool,
}

impl Screen {
    /// A screen of `width` columns without colors, with all letters: for files and tests.
    pub fn plain(width: usize) -> Self {
        Self { width, palette: Palette::None, unicode: true, wide: false, terminal: false }
    }

    /// The same screen with tables at their full width.
    pub fn with_wide(self, wide: bool) -> Self {
        Self { wide, ..self }
    }

    /// The same screen with or without letters outside ASCII.
    pub fn with_unicode(self, unicode: bool) -> Self {
        Self { unicode, ..self }
    }

    /// The same screen with other colors.
    pub fn with_palette(self, palette: Palette) -> Self {
        Self { palette, ..self }
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

    /// `text` in the color of `role`. The text itself is not cleaned: see [`Screen::text`].
    pub fn paint(&self, role: Role, text: &str) -> String {
        let style = role.style(self.palette);
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn paint_is_silent_without_color() {
        assert_eq!(Screen::plain(80).paint(Role::Bad, "x"), "x");
        let colored = Screen::plain(80).with_palette(Palette::Basic);
        assert_eq!(colored.paint(Role::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
    }
}

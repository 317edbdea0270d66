//! One line of output, assembled from painted pieces and gaps.

use std::io::{self, Write};

use super::measure::width;
use super::role::Role;
use super::screen::Screen;

/// A line under construction. Gaps are only written when something follows them, so no line ends in spaces.
pub(super) struct Line<'s> {
    screen: &'s Screen,
    text: String,
    gap: usize,
}

impl<'s> Line<'s> {
    pub(super) fn new(screen: &'s Screen) -> Self {
        Self { screen, text: String::new(), gap: 0 }
    }

    pub(super) fn gap(&mut self, columns: usize) {
        self.gap += columns;
    }

    /// Adds text that is safe already; spaces at its end count as a gap.
    pub(super) fn push(&mut self, role: Option<Role>, text: &str) {
        let visible = text.trim_end_matches(' ');
        if !visible.is_empty() {
            self.text.push_str(&" ".repeat(self.gap));
            self.gap = 0;
            match role {
                Some(role) => self.text.push_str(&self.screen.paint(role, visible)),
                None => self.text.push_str(visible),
            }
        }
        self.gap += text.len() - visible.len();
    }

    pub(super) fn right(&mut self, role: Option<Role>, text: &str, columns: usize) {
        self.gap(columns.saturating_sub(width(text)));
        self.push(role, text);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn end(self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::role::Palette;
    use super::*;

    #[test]
    fn no_line_ends_in_spaces() {
        let screen = Screen::plain(80).with_palette(Palette::Basic);
        let mut line = Line::new(&screen);
        line.push(Some(Role::Bad), "ab  ");
        line.gap(2);
        line.right(None, "日", 4);
        line.push(Some(Role::Dim), "   ");
        line.gap(9);
        assert_eq!(line.into_text(), "\u{1b}[31mab\u{1b}[0m      日");
    }
}

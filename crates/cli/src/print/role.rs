//! What a colour means. Callers name a role; which colour that is on a given terminal is decided here.

use anstyle::{Ansi256Color, AnsiColor, Color, Effects, Style};

use super::screen::Colour;

/// The meaning of a piece of text, which its colour repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A title, a column header, a total: bold, in the terminal's own colour.
    Heading,
    /// Words that may be skipped: subtitles, rules, notes, zeroes.
    Dim,
    /// Better than before, or as it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Costs time or is wrong.
    Bad,
    /// Work on the device: kernels.
    Device,
    /// Work on the host: operators and Python.
    Host,
    /// Calls into the device's libraries.
    Runtime,
    /// Copies and fills of memory.
    Copy,
    /// Communication between devices.
    Comm,
    /// Waiting for or preparing input data.
    DataLoad,
    /// Nothing happened.
    Idle,
    /// A bar or mark without a meaning of its own.
    Accent,
}

impl Role {
    /// The style of this role for a given range of colours.
    pub fn style(self, colour: Colour) -> Style {
        match colour {
            Colour::None => Style::new(),
            Colour::Basic => self.basic(),
            Colour::Full => self.full(),
        }
    }

    // Each of these has a contrast of at least 3:1 against white as well as against black; the terminal's
    // own theme does not change them.
    fn full(self) -> Style {
        let colour = match self {
            Role::Heading => return Style::new().effects(Effects::BOLD),
            Role::Dim | Role::Idle => 244,
            Role::Good => 64,
            Role::Warn | Role::Runtime => 166,
            Role::Bad => 197,
            Role::Device | Role::Accent => 32,
            Role::Host => 134,
            Role::Copy => 30,
            Role::Comm => 168,
            Role::DataLoad => 136,
        };
        Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(colour))))
    }

    // Yellow cannot be read on white, dark blue and bright black not on black: none of them is used.
    fn basic(self) -> Style {
        let colour = match self {
            Role::Heading => return Style::new().effects(Effects::BOLD),
            Role::Dim | Role::Idle => return Style::new().effects(Effects::DIMMED),
            Role::Good | Role::DataLoad => AnsiColor::Green,
            Role::Warn | Role::Host => AnsiColor::Magenta,
            Role::Bad | Role::Comm => AnsiColor::Red,
            Role::Copy | Role::Device | Role::Runtime | Role::Accent => AnsiColor::Cyan,
        };
        Style::new().fg_color(Some(Color::Ansi(colour)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_is_styled() {
        assert!(Role::Heading.style(Colour::None).is_plain());
        assert!(Role::Bad.style(Colour::None).is_plain());
    }

    #[test]
    fn every_role_has_a_style() {
        for role in [Role::Heading, Role::Dim, Role::Good, Role::Warn, Role::Bad, Role::Device, Role::Host] {
            assert!(!role.style(Colour::Basic).is_plain());
            assert!(!role.style(Colour::Full).is_plain());
        }
        assert_eq!(format!("{}", Role::Device.style(Colour::Full)), "\u{1b}[38;5;32m");
    }
}

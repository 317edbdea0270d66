//! What a color means. Callers name a role; which color that is on a given terminal is decided here.

use anstyle::{Ansi256Color, AnsiColor, Color, Effects, Style};

/// How many colors may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// No escape sequences at all.
    None,
    /// The sixteen colors every terminal has.
    Basic,
    /// The fixed palette of 256 colors.
    Full,
}

/// The meaning of a piece of text, which its color repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A title, a column header, a total: bold, in the terminal's own color.
    Heading,
    /// Words that may be skipped: subtitles, rules, notes, zeroes.
    Dim,
    /// Better than before, or as it should be.
    Good,
    /// Worth a sample.
    Warn,
    /// Costs time or is wrong.
    Bad,
    /// Work on the device: kernels.
    Device,
    /// Work on the host: operators and Python.
    Host,
    /// Calls into the device's libraries.
    Runtime,
    /// Copies and memsets.
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
    /// The style of this role for a given range of colors.
    pub fn style(self, palette: Palette) -> Style {
        match palette {
            Palette::None => Style::new(),
            Palette::Basic => self.basic(),
            Palette::Full => self.full(),
        }
    }

    // Each of these has a contrast of at least 3:1 against white as well as against black; the terminal's
    // own theme does not change them.
    fn full(self) -> Style {
        let color = match self {
            Role::Heading => return Style::new().effects(Effects::BOLD),
            Role::Dim | Role::Idle => 244,
            Role::Good => 64,
            Role::Warn | Role::Copy => 166,
            Role::Bad => 197,
            Role::Accent => 32,
            Role::Device => 29,
            Role::Host => 68,
            Role::Runtime => 137,
            Role::Comm => 136,
            Role::DataLoad => 130,
        };
        Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(color))))
    }

    // Yellow cannot be read on white, dark blue and bright black not on black: none of them is used.
    fn basic(self) -> Style {
        let color = match self {
            Role::Heading => return Style::new().effects(Effects::BOLD),
            Role::Dim | Role::Idle => return Style::new().effects(Effects::DIMMED),
            Role::Good | Role::Device => AnsiColor::Green,
            Role::Warn | Role::Copy | Role::Runtime | Role::DataLoad => AnsiColor::Magenta,
            Role::Bad | Role::Comm => AnsiColor::Red,
            Role::Host | Role::Accent => AnsiColor::Cyan,
        };
        Style::new().fg_color(Some(Color::Ansi(color)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_color_nothing_is_styled() {
        assert!(Role::Heading.style(Palette::None).is_plain());
        assert!(Role::Bad.style(Palette::None).is_plain());
    }

    const ALL: [Role; 13] = [
        Role::Heading,
        Role::Dim,
        Role::Good,
        Role::Warn,
        Role::Bad,
        Role::Device,
        Role::Host,
        Role::Runtime,
        Role::Copy,
        Role::Comm,
        Role::DataLoad,
        Role::Idle,
        Role::Accent,
    ];

    #[test]
    fn every_role_has_a_style() {
        for role in ALL {
            assert!(!role.style(Palette::Basic).is_plain(), "{role:?}");
            assert!(!role.style(Palette::Full).is_plain(), "{role:?}");
        }
    }

    /// The color cube of 256-color terminals.
    fn cube(number: u8) -> [f64; 3] {
        let level = |n: u8| if n == 0 { 0.0 } else { 55.0 + 40.0 * f64::from(n) };
        let n = number - 16;
        [level(n / 36), level(n / 6 % 6), level(n % 6)]
    }

    fn hue([r, g, b]: [f64; 3]) -> f64 {
        (3.0_f64.sqrt() * (g - b)).atan2(2.0 * r - g - b).to_degrees()
    }

    #[test]
    fn the_browser_paints_the_same_things_in_the_same_hues() {
        let css = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/src/tokens.css");
        let css = std::fs::read_to_string(css).unwrap();
        // The number of a category in the browser: operators, runtime calls, matrix products, and so on.
        for (role, category) in [
            (Role::Host, 0),
            (Role::Runtime, 3),
            (Role::Device, 5),
            (Role::Comm, 9),
            (Role::Copy, 10),
            (Role::DataLoad, 14),
        ] {
            let value = css.split(&format!("--cat-{category}: #")).nth(1).unwrap();
            let part = |at: usize| f64::from(u8::from_str_radix(&value[at..at + 2], 16).unwrap());
            let browser = hue([part(0), part(2), part(4)]);
            let Some(Color::Ansi256(color)) = role.style(Palette::Full).get_fg_color() else { unreachable!() };
            let apart = (hue(cube(color.0)) - browser).abs();
            assert!(apart.min(360.0 - apart) < 20.0, "{role:?} is {apart:.0} degrees from the browser's");
        }
    }
}

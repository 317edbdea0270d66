//! Section headings, and remarks below what they are about.

use std::io::{self, Write};

use super::line::Line;
use super::measure::{width, wrap};
use super::role::Role;
use super::screen::Screen;

/// A bold title with a dim subtitle beside it, or below it where the line is too short for both.
pub fn heading(out: &mut dyn Write, screen: &Screen, title: &str, subtitle: &str) -> io::Result<()> {
    let title = screen.text(title);
    let subtitle = screen.text(subtitle);
    let together = width(&title) + 2 + width(&subtitle);
    if subtitle.is_empty() || together > screen.width {
        for part in wrap(&title, screen.width) {
            writeln!(out, "{}", screen.paint(Role::Heading, &part))?;
        }
        return note(out, screen, &subtitle);
    }
    let mut line = Line::new(screen);
    line.push(Some(Role::Heading), &title);
    line.gap(2);
    line.push(Some(Role::Dim), &subtitle);
    line.end(out)
}

/// A dim remark, wrapped to the width of the screen.
pub fn note(out: &mut dyn Write, screen: &Screen, text: &str) -> io::Result<()> {
    for part in wrap(&screen.text(text), screen.width) {
        writeln!(out, "{}", screen.paint(Role::Dim, &part))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, title: &str, subtitle: &str) -> String {
        let mut out = Vec::new();
        heading(&mut out, &Screen::plain(width), title, subtitle).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn subtitle_stands_beside_or_below() {
        assert_eq!(shown(60, "Kernels", "12 of 345"), "Kernels  12 of 345\n");
        assert_eq!(shown(20, "Kernels", "12 of 345 by total time"), "Kernels\n12 of 345 by total\ntime\n");
        assert_eq!(shown(60, "Kernels", ""), "Kernels\n");
    }

    #[test]
    fn hostile_titles_are_harmless() {
        assert_eq!(shown(60, "a\u{1b}[2J\nb", "\u{202e}x"), "a␛[2J b  \u{fffd}x\n");
    }
}

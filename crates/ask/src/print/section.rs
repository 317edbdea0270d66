//! Lines beside a label: a page whose sections are words in a column of their own.

use std::io::{self, Write};

use super::measure::width;
use super::role::Role;
use super::screen::Screen;

/// The width of the column of labels.
pub const LABEL_COLUMNS: usize = 6;

/// Lines, ready to be printed, with a label beside the first of them. Nothing if there are none.
pub fn labelled(out: &mut dyn Write, screen: &Screen, label: &str, lines: &[String]) -> io::Result<()> {
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        if line.is_empty() {
            writeln!(out, "{}", screen.paint(Role::Heading, label))?;
            continue;
        }
        let gap = " ".repeat(LABEL_COLUMNS.saturating_sub(width(label)).max(1));
        let label = if label.is_empty() { String::new() } else { screen.paint(Role::Heading, label) };
        writeln!(out, "{label}{gap}{line}")?;
    }
    Ok(())
}

/// What a drawing comes to on a screen, line by line: for drawings beside a label.
pub fn lines_of(draw: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<String>> {
    let mut text = Vec::new();
    draw(&mut text)?;
    Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(label: &str, lines: &[&str]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        lines_of(|out| labelled(out, &Screen::plain(80), label, &lines)).unwrap().join("\n")
    }

    #[test]
    fn only_the_first_line_has_the_label() {
        assert_eq!(shown("WHY", &["one", "two"]), "WHY   one\n      two");
        assert_eq!(shown("WHY", &[]), "");
        assert_eq!(shown("a long one", &["one", "", "two"]), "a long one one\n\n      two");
    }
}

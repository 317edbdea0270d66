//! A stand-in of the same width for every sign we draw with, for terminals that only know ASCII.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// `text` in ASCII, no wider than before: signs of our own get a similar letter, any other a `?`.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().filter(|letter| letter.width() != Some(0));
    Cow::Owned(letters.map(look_alike).collect())
}

fn look_alike(letter: char) -> char {
    match letter {
        _ if letter.is_ascii() => letter,
        'µ' | 'μ' => 'u',
        '–' | '—' | '─' | '−' | '‐' | '‑' => '-',
        '…' => '~',
        '·' | '•' => '*',
        '×' => 'x',
        '→' => '>',
        '←' => '<',
        '│' | '├' => '|',
        '└' => '`',
        '▼' => 'v',
        '▲' => '^',
        '\u{a0}' => ' ',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::width;
    use super::*;

    #[test]
    fn own_signs_have_look_alikes() {
        assert_eq!(ascii("12.35 µs – a…b"), "12.35 us - a~b");
        assert_eq!(ascii("├─ conv1"), "|- conv1");
        assert_eq!(ascii("日本 é e\u{301}"), "?? ? e");
        assert!(matches!(ascii("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_sign_becomes_wider() {
        for letter in (0x20..0x3000).filter_map(char::from_u32).filter(|letter| !letter.is_control()) {
            let text = letter.to_string();
            assert!(width(&ascii(&text)) <= width(&text), "{letter:?}");
        }
    }
}

//! Makes text from a trace safe to show: no escape sequence, line break or trick with the writing
//! direction gets through.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Marks on one letter beyond this many are a drawing, not a language.
const MARKS_PER_LETTER: usize = 4;

/// What represents a character that must not reach the terminal and has no picture of its own.
const REPLACEMENT: char = '\u{FFFD}';

/// One line of harmless text.
///
/// * Line breaks and tabs become one space.
/// * Other control characters become their pictures (an escape is shown as `␛`): a hostile name looks hostile.
/// * Characters that turn the writing direction become `�`.
/// * Invisible characters of no width are left out, since terminals disagree about them.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut marks = 0;
    let mut after_break = false;
    for letter in text.chars() {
        let is_break = is_break(letter);
        match letter {
            _ if is_break => {
                if !after_break {
                    safe.push(' ');
                }
                marks = 0;
            }
            _ if is_invisible(letter) => continue,
            _ => {
                let shown = visible(letter);
                marks = if shown.width() == Some(0) { marks + 1 } else { 0 };
                if marks <= MARKS_PER_LETTER {
                    safe.push(shown);
                }
            }
        }
        after_break = is_break;
    }
    Cow::Owned(safe)
}

/// True for a character that a terminal might obey instead of showing it.
pub(super) fn is_hostile(letter: char) -> bool {
    letter.is_control() || turns_direction(letter) || matches!(letter, '\u{2028}' | '\u{2029}')
}

fn visible(letter: char) -> char {
    match letter {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or(REPLACEMENT),
        '\u{7f}' => '\u{2421}',
        _ if letter.is_control() || turns_direction(letter) => REPLACEMENT,
        _ => letter,
    }
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn turns_direction(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(clean("void add<float>(int*)"), Cow::Borrowed(_)));
        assert_eq!(clean("Größe 日本語 αβγ"), "Größe 日本語 αβγ");
    }

    #[test]
    fn escapes_are_shown_and_not_obeyed() {
        assert_eq!(clean("\u{1b}[31mred\u{1b}[0m"), "␛[31mred␛[0m");
        assert_eq!(clean("\u{1b}]0;title\u{7}"), "␛]0;title␇");
        assert_eq!(clean("\u{9b}2J\u{7f}\u{8}"), "\u{fffd}2J␡␈");
    }

    #[test]
    fn a_name_stays_on_one_line() {
        assert_eq!(clean("a\r\n\tb\u{2028}c\u{85}d\u{b}e"), "a b c d e");
    }

    #[test]
    fn direction_overrides_are_replaced() {
        assert_eq!(clean("abc\u{202e}fed\u{2066}x\u{200f}"), "abc\u{fffd}fed\u{fffd}x\u{fffd}");
    }

    #[test]
    fn invisible_characters_are_left_out() {
        assert_eq!(clean("a\u{200b}b\u{feff}c\u{200d}d\u{fe0f}e\u{e0041}"), "abcde");
    }

    #[test]
    fn piles_of_marks_are_cut() {
        let pile = format!("e{}x", "\u{301}".repeat(500));
        assert_eq!(clean(&pile), format!("e{}x", "\u{301}".repeat(4)));
    }

    #[test]
    fn nothing_hostile_survives() {
        let every: String = (0..=0x10ffff).filter_map(char::from_u32).collect();
        assert!(!clean(&every).chars().any(is_hostile));
    }
}

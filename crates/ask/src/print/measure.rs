//! How wide text is on a terminal, and how to make it narrower.
//!
//! The functions expect text that went through [`clean`](super::clean()); the width of a text is the sum of the
//! widths of its characters, which is how terminals move the cursor.

use unicode_width::UnicodeWidthChar;

/// The number of terminal columns that `text` takes.
pub fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// At most `room` columns of `text`; what is missing in its middle is marked with `…`.
pub fn middle_ellipsis(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let tail_room = (room - 1) / 2;
    let head = head(text, room - 1 - tail_room);
    format!("{head}…{}", tail(text, tail_room))
}

/// At most `room` columns of `text`; what is missing at its end is marked with `…`.
pub fn end_ellipsis(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    format!("{}…", head(text, room - 1))
}

/// The words of `text` on lines of at most `room` columns; a word wider than that is shortened.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let word = middle_ellipsis(word, room.max(1));
        let size = width(&word);
        if used > 0 && used + 1 + size > room {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(&word);
        used += size;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn head(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > room {
            return &text[..at];
        }
    }
    text
}

fn tail(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        let size = letter.width().unwrap_or(0);
        used += size;
        if used > room {
            break;
        }
        // A mark without its letter would settle on the ellipsis.
        if size > 0 {
            start = at;
        }
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_count_twice_and_marks_not_at_all() {
        assert_eq!(width("abc"), 3);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("█▏─…µ"), 5);
    }

    #[test]
    fn ellipsis_never_exceeds_the_room() {
        for text in ["", "a", "abcdefghij", "日本語日本語日本語", "ae\u{301}e\u{301}e\u{301}e\u{301}e\u{301}z"]
        {
            for room in 0..25 {
                assert!(width(&middle_ellipsis(text, room)) <= room, "{text} in {room}");
                assert!(width(&end_ellipsis(text, room)) <= room, "{text} in {room}");
            }
        }
    }

    #[test]
    fn ellipsis_keeps_both_ends() {
        assert_eq!(middle_ellipsis("abcdefghij", 10), "abcdefghij");
        assert_eq!(middle_ellipsis("abcdefghij", 7), "abc…hij");
        assert_eq!(middle_ellipsis("abcdefghij", 6), "abc…ij");
        assert_eq!(middle_ellipsis("abcdefghij", 1), "…");
        assert_eq!(middle_ellipsis("日本語日本語", 6), "日…語");
        assert_eq!(end_ellipsis("abcdefghij", 5), "abcd…");
    }

    #[test]
    fn a_mark_is_never_parted_from_its_letter() {
        let text = "abcdefghe\u{301}";
        assert_eq!(middle_ellipsis(text, 3), "a…e\u{301}");
        assert_eq!(middle_ellipsis("e\u{301}bcdefgh", 3), "e\u{301}…h");
        assert_eq!(middle_ellipsis("abcdefghe\u{301}z", 3), "a…z");
    }

    #[test]
    fn words_wrap() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("  one\n two ", 80), ["one two"]);
        assert_eq!(wrap("incomprehensibilities", 7), ["inc…ies"]);
        assert!(wrap("", 7).is_empty());
        assert_eq!(wrap("ab cd", 0), ["…", "…"]);
    }
}

//! JSON for programs that may also be read by people.

use std::fmt::Write as _;

use serde::Serialize;

use super::clean::is_hostile;

/// Indented JSON with a line break at its end.
///
/// Characters that a terminal might obey are written as `\u` escapes, which changes nothing for a parser.
pub fn json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let plain = serde_json::to_string_pretty(value)?;
    let hostile = |letter: char| letter != '\n' && is_hostile(letter);
    let mut text = String::with_capacity(plain.len() + 1);
    for letter in plain.chars() {
        if hostile(letter) {
            // Only strings can hold such a character, and all of them are below U+10000.
            let _ = write!(text, "\\u{:04x}", u32::from(letter));
        } else {
            text.push(letter);
        }
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json as value};

    use super::*;

    #[test]
    fn hostile_names_are_escaped_and_unchanged() {
        let name = "a\u{1b}[31m\n\u{9b}\u{202e}\u{7f}日";
        let text = json(&value!({ "name": name })).unwrap();
        assert_eq!(text, "{\n  \"name\": \"a\\u001b[31m\\n\\u009b\\u202e\\u007f日\"\n}\n");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], name);
    }

    #[test]
    fn order_is_kept() {
        assert_eq!(json(&value!({ "b": 1, "a": 2 })).unwrap(), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
        assert_eq!(json(&Vec::<Value>::new()).unwrap(), "[]\n");
    }
}

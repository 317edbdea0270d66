//! Text inside HTML and XML.

/// A text that cannot be taken for markup; what XML has no place for is replaced.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_safe() {
        assert_eq!(
            escaped("<a b=\"1\">&'\u{1b}[0m\n"),
            "&lt;a b=&quot;1&quot;&gt;&amp;&#39;\u{fffd}[0m\u{fffd}"
        );
    }
}

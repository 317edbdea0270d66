//! Strings as written to strings as meant.

use super::scan::RawString;

/// What was odd about a string.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StringFaults {
    pub(super) bad_escape: bool,
}

/// Resolves escapes. A backslash that escapes nothing stays as it is; a lone surrogate becomes U+FFFD.
pub(super) fn unescape(raw: RawString<'_>, out: &mut Vec<u8>) -> StringFaults {
    out.clear();
    let mut oddities = StringFaults::default();
    let mut bytes = raw.bytes;
    while let Some(at) = memchr::memchr(b'\\', bytes) {
        out.extend_from_slice(&bytes[..at]);
        let escape = &bytes[at..];
        let (text, used) = match escape.get(1) {
            Some(b'"') => ('"', 2),
            Some(b'\\') => ('\\', 2),
            Some(b'/') => ('/', 2),
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') if hex4(escape).is_some() => unicode(escape),
            _ => {
                oddities.bad_escape = true;
                ('\\', 1)
            }
        };
        out.extend_from_slice(text.encode_utf8(&mut [0; 4]).as_bytes());
        bytes = &escape[used..];
    }
    out.extend_from_slice(bytes);
    oddities
}

/// `\uXXXX`, or two of them that form a pair, at the start of `escape`.
fn unicode(escape: &[u8]) -> (char, usize) {
    let Some(high) = hex4(escape) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(c) = char::from_u32(high) {
        return (c, 6);
    }
    let low = escape.get(6..).and_then(hex4).filter(|low| (0xdc00..0xe000).contains(low));
    match low {
        Some(low) if high < 0xdc00 => {
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex4(escape: &[u8]) -> Option<u32> {
    let digits = escape.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |code, &d| Some(code * 16 + char::from(d).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> (String, bool) {
        let mut out = Vec::new();
        let odd = unescape(RawString { bytes: raw.as_bytes(), escaped: true }, &mut out);
        (String::from_utf8(out).unwrap(), odd.bad_escape)
    }

    #[test]
    fn escapes_resolve_and_bad_ones_stay() {
        assert_eq!(text(r#"a\"b\\c\n"#), ("a\"b\\c\n".to_owned(), false));
        assert_eq!(text(r"\u00e9\ud83d\ude00"), ("é😀".to_owned(), false));
        assert_eq!(text(r"\ud83d!"), ("\u{fffd}!".to_owned(), false));
        assert_eq!(text(r"C:\Users\x"), ("C:\\Users\\x".to_owned(), true));
        assert_eq!(text(r"tail\"), ("tail\\".to_owned(), true));
        assert_eq!(text(r"\u12"), ("\\u12".to_owned(), true));
    }
}

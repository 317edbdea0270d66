//! Bytes as letters, for places that hold text alone.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends bytes as base64.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= chunk.len() { letter } else { b'=' });
        }
    }
}

/// The bytes of a text that [`encode`] made; none if it is another.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    if !text.len().is_multiple_of(4) || digits.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.chunks(4) {
        let mut word = 0u32;
        for &letter in chunk {
            word = word << 6 | value(letter)?;
        }
        word <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_everyone_writes_it_and_back() {
        for (plain, want) in
            [("", ""), ("M", "TQ=="), ("Ma", "TWE="), ("Man", "TWFu"), ("light w", "bGlnaHQgdw==")]
        {
            let mut got = Vec::new();
            encode(plain.as_bytes(), &mut got);
            assert_eq!(String::from_utf8(got.clone()).unwrap(), want);
            assert_eq!(decode(&got).as_deref(), Some(plain.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        let mut got = Vec::new();
        encode(&all, &mut got);
        assert_eq!(decode(&got), Some(all));
    }

    #[test]
    fn another_text_is_refused() {
        for text in ["TQ", "TQ=", "T===", "T", "TW\"u", "TWFu\n"] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}

//! Sections of a report: gzip in base64, safe inside any page.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use stepscope_ground::Problem;

/// A part of a report, compressed.
pub(super) struct Packed {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Packs a value as JSON.
pub(super) fn pack(name: &str, value: &impl Serialize) -> Result<Packed, Problem> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|e| Problem::new(format!("{name} cannot be written: {e}"), ""))?;
    pack_bytes(name, &text)
}

/// Packs bytes.
pub(super) fn pack_bytes(name: &str, bytes: &[u8]) -> Result<Packed, Problem> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::new(6));
    let bytes = gz.write_all(bytes).and_then(|()| gz.finish());
    let bytes = bytes.map_err(|e| Problem::new(format!("{name} cannot be packed: {e}"), ""))?;
    Ok(Packed { name: name.to_owned(), bytes })
}

/// Appends bytes as base64.
pub(super) fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= chunk.len() { letter } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_everyone_writes_it() {
        for (plain, want) in
            [("", ""), ("M", "TQ=="), ("Ma", "TWE="), ("Man", "TWFu"), ("light w", "bGlnaHQgdw==")]
        {
            let mut got = Vec::new();
            base64(plain.as_bytes(), &mut got);
            assert_eq!(String::from_utf8(got).unwrap(), want);
        }
    }
}

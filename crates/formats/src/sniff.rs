//! What a file is, by its first bytes.

/// A layer of compression or the content below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Gzip,
    Zstd,
    /// JSON text, perhaps after blanks or a byte order mark.
    Json,
    Empty,
    /// Something we do not read; in words.
    Other(&'static str),
}

/// Enough bytes to tell every format below, blanks before JSON included.
pub(crate) const SNIFF_BYTES: usize = 4096;

const MAGICS: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive (a PyTorch checkpoint is one)"),
    (b"\x7fELF", "a program or library"),
    (b"SQLite format 3\0", "an SQLite database (Nsight Systems exports are)"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ", "xz-compressed data"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"<!DOCTYPE", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"version https://git-lfs", "a Git LFS pointer (run `git lfs pull`)"),
];

pub(crate) fn sniff(head: &[u8]) -> Content {
    if head.is_empty() {
        return Content::Empty;
    }
    if head.starts_with(b"\x1f\x8b") {
        return Content::Gzip;
    }
    // Parallel compressors put a skippable frame first.
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == *b"\x2a\x4d\x18";
    if head.starts_with(b"\x28\xb5\x2f\xfd") || skippable {
        return Content::Zstd;
    }
    if let Some((_, what)) = MAGICS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Content::Other(what);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    match text.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Content::Json,
        // Only blanks so far: the reader will see whether anything follows.
        None => Content::Json,
        Some(_) if head.iter().any(|&b| b == 0 || b >= 0x80) => Content::Other("binary data"),
        Some(_) => Content::Other("text that is not JSON"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        assert_eq!(sniff(b""), Content::Empty);
        assert_eq!(sniff(b"\n  {\"a\""), Content::Json);
        assert_eq!(sniff(b"\xef\xbb\xbf[{"), Content::Json);
        assert_eq!(sniff(b"\x1f\x8b\x08"), Content::Gzip);
        assert_eq!(sniff(b"\x89PNG\r\n"), Content::Other("a PNG image"));
        assert_eq!(sniff(b"hello"), Content::Other("text that is not JSON"));
        assert_eq!(sniff(b"\x0a\x90\x01"), Content::Other("binary data"));
    }
}

//! What a file is that no reader reads: compressed data, and formats that are known but not read.

/// A layer of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

/// Enough bytes to tell every format, blanks before JSON included.
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
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"<!DOCTYPE", "an HTML page"),
    (b"<html", "an HTML page"),
    (
        b"memray\0",
        "a memray file (convert it: python -c \"import stepscope.memory; stepscope.memory.from_memray('FILE')\")",
    ),
    (
        b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f",
        "a Riegeli file, which XProf uses for profiles past 2 GB (its chunks are transposed and compressed; record fewer \
         steps, so that the profiler writes .xplane.pb)",
    ),
    (b"version https://git-lfs", "a Git LFS pointer (run `git lfs pull`)"),
];

/// The layer of compression that begins like this.
pub(crate) fn packing(head: &[u8]) -> Option<Packing> {
    // Parallel compressors put a skippable frame first.
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == *b"\x2a\x4d\x18";
    if head.starts_with(b"\x1f\x8b") {
        Some(Packing::Gzip)
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") || skippable {
        Some(Packing::Zstd)
    } else {
        None
    }
}

/// What begins like this and is certainly not read here, in words.
pub(crate) fn foreign(head: &[u8]) -> Option<&'static str> {
    MAGICS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what)
}

/// What begins like this, where nothing knows it.
pub(crate) fn unknown(head: &[u8]) -> &'static str {
    // Only some pickles are read, so that readers look first.
    if matches!(head, [0x80, 2..=5, ..]) {
        return "a Python pickle";
    }
    if head.iter().any(|&b| b == 0 || b >= 0x80) { "binary data" } else { "text in an unknown format" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell() {
        assert_eq!(packing(b"\x1f\x8b\x08"), Some(Packing::Gzip));
        assert_eq!(packing(b"\x5e\x2a\x4d\x18"), Some(Packing::Zstd));
        assert_eq!(packing(b"{"), None);
        assert_eq!(foreign(b"\x89PNG\r\n"), Some("a PNG image"));
        assert_eq!(foreign(b"{\"a\""), None);
        assert_eq!(unknown(b"hello"), "text in an unknown format");
        assert_eq!(unknown(b"\x0a\x90\x01"), "binary data");
    }
}

//! Writes lines as `python -m line_profiler FILE` reads them.

use std::io::{self, Write};

use stepscope_model::Profile;

/// `line_profiler.line_profiler.LineStats.__new__(LineStats)`, and a dict of its attributes that begins with `timings`.
const PICKLE_BEGIN: &[u8] = b"\x80\x02cline_profiler.line_profiler\nLineStats\n)\x81}(X\x07\0\0\0timings}(";
/// The other attribute; then the object's state is set, and that is all.
const PICKLE_END: &[u8] = b"uX\x04\0\0\0unitG\x3e\x11\x2e\x0b\xe8\x26\xd6\x95ub.";

/// Writes the lines of all functions, with times in nanoseconds.
pub fn write_lprof(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    out.write_all(PICKLE_BEGIN)?;
    for lines in profile.lines.chunk_by(|a, b| a.function == b.function) {
        let function = profile.stacks.get(lines[0].function);
        text(profile.stacks.text(function.file), out)?;
        int(u64::from(function.line), out)?;
        text(profile.stacks.text(function.name), out)?;
        out.write_all(b"\x87](")?;
        for line in lines {
            int(u64::from(line.line), out)?;
            int(line.hits, out)?;
            int(u64::try_from(line.ns.0).unwrap_or(0), out)?;
            out.write_all(b"\x87")?;
        }
        out.write_all(b"e")?;
    }
    out.write_all(PICKLE_END)
}

fn text(text: &str, out: &mut impl Write) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    out.write_all(b"X")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())
}

/// As a signed number of nine bytes, which every `u64` fits in.
fn int(number: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\x8a\x09")?;
    out.write_all(&number.to_le_bytes())?;
    out.write_all(b"\0")
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Document, Frame, LineRow, Ns};

    use super::*;
    use crate::{OpenOptions, read};

    #[test]
    fn what_is_written_is_read() {
        let mut profile = Profile::default();
        let (name, file) = (profile.stacks.intern("Model.ü"), profile.stacks.intern("a b.py"));
        let one = profile.stacks.frame(Frame { name, file, line: 3 });
        let two = profile.stacks.frame(Frame { name, file, line: 30 });
        let row = |function, line, hits, ns| LineRow { function, line, hits, ns: Ns(ns) };
        profile.lines =
            vec![row(one, 4, 2, 1000), row(one, 5, u64::from(u32::MAX), i64::MAX / 2), row(two, 31, 1, 0)];
        let mut written = Vec::new();
        write_lprof(&profile, &mut written).unwrap();
        let Ok(Document::Profile(back)) = read(&written[..], "test", &OpenOptions::default()) else {
            panic!("not read back")
        };
        let told = |profile: &Profile| -> Vec<(u32, u32, u64, i64)> {
            let told = |row: &LineRow| (profile.stacks.get(row.function).line, row.line, row.hits, row.ns.0);
            let mut rows: Vec<_> = profile.lines.iter().map(told).collect();
            rows.sort_unstable();
            rows
        };
        let near = |a: &[(u32, u32, u64, i64)], b: &[(u32, u32, u64, i64)]| {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| (a.0, a.1, a.2) == (b.0, b.1, b.2) && (a.3 - b.3).abs() <= a.3 / 1_000_000)
        };
        assert!(near(&told(&profile), &told(&back)), "{:?} {:?}", told(&profile), told(&back));
        assert_eq!(back.stacks.text(back.stacks.get(back.lines[0].function).file), "a b.py");
    }
}

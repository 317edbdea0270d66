//! Writes calls as `pstats.Stats(file)` reads them.

use std::io::{self, Write};

use stepscope_model::{CallRow, FrameId, Ns, Profile};

use super::read::NO_FILE;

/// Writes a row per function with its callers.
pub fn write_pstats(profile: &Profile, calls: &[CallRow], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{")?;
    for row in calls {
        key(profile, row.frame, out)?;
        out.write_all(b"(\x05\0\0\0")?;
        int(row.primitive_calls, out)?;
        int(row.calls, out)?;
        seconds(row.self_ns, out)?;
        seconds(row.total_ns, out)?;
        out.write_all(b"{")?;
        for caller in &row.callers {
            key(profile, caller.frame, out)?;
            out.write_all(b"(\x04\0\0\0")?;
            // All calls first, unlike the function's own row.
            int(caller.calls, out)?;
            int(caller.primitive_calls, out)?;
            seconds(caller.self_ns, out)?;
            seconds(caller.total_ns, out)?;
        }
        out.write_all(b"0")?;
    }
    out.write_all(b"0")
}

fn key(profile: &Profile, frame: FrameId, out: &mut impl Write) -> io::Result<()> {
    let frame = profile.stacks.get(frame);
    let file = match profile.stacks.text(frame.file) {
        "" => NO_FILE,
        file => file,
    };
    out.write_all(b"(\x03\0\0\0")?;
    text(file, out)?;
    int(u64::from(frame.line), out)?;
    text(profile.stacks.text(frame.name), out)
}

fn text(text: &str, out: &mut impl Write) -> io::Result<()> {
    let length = i32::try_from(text.len()).map_err(|_| io::Error::other("a name is too long for pstats"))?;
    out.write_all(b"u")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())
}

fn int(number: u64, out: &mut impl Write) -> io::Result<()> {
    if let Ok(small) = i32::try_from(number) {
        out.write_all(b"i")?;
        return out.write_all(&small.to_le_bytes());
    }
    let digits: Vec<u16> = (0..5).map(|at| (number >> (15 * at)) as u16 & 0x7fff).collect();
    let length = 5 - digits.iter().rev().take_while(|&&digit| digit == 0).count();
    out.write_all(b"l")?;
    out.write_all(&(length as i32).to_le_bytes())?;
    digits[..length].iter().try_for_each(|digit| out.write_all(&digit.to_le_bytes()))
}

fn seconds(ns: Ns, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"g")?;
    out.write_all(&(ns.0 as f64 / 1e9).to_le_bytes())
}

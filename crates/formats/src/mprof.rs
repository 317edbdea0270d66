//! What `mprof run` writes: how much memory the process took over time, and functions that were marked.

use std::collections::HashMap;

use stepscope_model::{
    Document, DocumentKind, Frame, HeapFacts, HeapLine, HeapPoint, NoteKind, Ns, Profile, Severity, heap_values,
};

use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;
use crate::reader::{Reader, trimmed, whole};

pub(crate) const READER: Reader = Reader {
    name: "an mprof file",
    about: "written by mprof run as mprofile_*.dat",
    yields: DocumentKind::Profile,
    example: b"CMDLINE /usr/bin/python demo.py\nMEM 10.500000 1700000000.1000\nFUNC demo.build 10.5000 1700000000.1500 \
42.2500 1700000000.3500 0\nMEM 42.250000 1700000000.2000\nCHLD 1 3.5 1700000000.2000\nMEM 12.000000 1700000000.3000\n",
    begins,
    read: |text, name, options| read(text, name, options).map(Document::Profile),
};

const BAD_ROW: &NoteKind =
    &NoteKind::new("bad-mprof-row", Severity::Lost, 68, "lines that are none of mprof's were set aside");
const CHILDREN: &NoteKind = &NoteKind::new(
    "mprof-children",
    Severity::Info,
    69,
    "readings of child processes are not in the curve of the process",
);
const BYTES_PER_MIB: f64 = 1_048_576.0;
/// Readings that are kept at most: of a longer curve every second one goes, as often as it must.
const MAX_POINTS: usize = 1 << 20;

fn begins(head: &[u8]) -> bool {
    let head = trimmed(head);
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    first.starts_with(b"CMDLINE ") || (first.starts_with(b"MEM ") && memory(first).is_some())
}

fn memory(line: &[u8]) -> Option<(f64, f64)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace().skip(1);
    let number = |word: Option<&str>| word?.parse::<f64>().ok().filter(|number| number.is_finite());
    Some((number(words.next())?, number(words.next())?))
}

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    whole(&mut text, "mprof file", name, options)?;
    let mut profile = Profile::new(heap_values());
    let mut readings: Vec<(f64, u64)> = Vec::new();
    let mut functions: HashMap<String, (u64, u64, i64)> = HashMap::new();
    let (mut bad, mut children) = (0, 0);
    for line in text.window().split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        match word {
            b"" => {}
            b"CMDLINE" => profile.name = String::from_utf8_lossy(&line[word.len()..]).trim().to_owned(),
            b"MEM" => match memory(line) {
                Some((mib, at_s)) if (0.0..1e12).contains(&mib) => {
                    readings.push((at_s, (mib * BYTES_PER_MIB).round() as u64));
                    if readings.len() >= MAX_POINTS {
                        let mut keep = false;
                        readings.retain(|_| {
                            keep = !keep;
                            keep
                        });
                    }
                }
                _ => bad += 1,
            },
            b"FUNC" => match function(line) {
                Some((name, before, after)) => {
                    let known = functions.entry(name).or_default();
                    known.0 += 1;
                    known.1 = known.1.max(after);
                    known.2 = known.2.saturating_add(after as i64 - before as i64);
                }
                None => bad += 1,
            },
            b"CHLD" => children += 1,
            _ => bad += 1,
        }
    }
    profile.notes.add_count(BAD_ROW, bad);
    profile.notes.add_count(CHILDREN, children);
    readings.sort_by(|a, b| a.0.total_cmp(&b.0));
    let start_s = readings.first().map_or(0.0, |reading| reading.0);
    let since = |at_s: f64| Ns(((at_s - start_s) * 1e9).round().clamp(0.0, 9e18) as i64);
    let peak = readings.iter().max_by_key(|reading| reading.1);
    let mut rows: Vec<_> = functions.into_iter().collect();
    rows.sort_by(|a, b| b.1.2.cmp(&a.1.2).then_with(|| a.0.cmp(&b.0)));
    let mut lines = Vec::with_capacity(rows.len());
    for (name, (hits, rss_bytes, increment_bytes)) in rows {
        let name = profile.stacks.intern(&name);
        let function = profile.stacks.frame(Frame { name, ..Frame::default() });
        lines.push(HeapLine { function, line: 0, hits, rss_bytes, increment_bytes });
    }
    profile.heap = Some(HeapFacts {
        on_device: false,
        duration: readings.last().map_or(Ns(0), |reading| since(reading.0)),
        peak_bytes: peak.map_or(0, |reading| reading.1),
        peak_at: peak.map_or(Ns(0), |reading| since(reading.0)),
        end_bytes: readings.last().map_or(0, |reading| reading.1),
        curve: readings
            .iter()
            .map(|&(at_s, bytes)| HeapPoint { at: since(at_s), live_bytes: None, rss_bytes: Some(bytes) })
            .collect(),
        lines,
        ..HeapFacts::default()
    });
    profile.source = text.source(name, "mprof");
    Ok(profile)
}

/// The name, and bytes before and after.
fn function(line: &[u8]) -> Option<(String, u64, u64)> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace().skip(1);
    let name = words.next()?.to_owned();
    let bytes = |word: &str| word.parse::<f64>().ok().filter(|mib| (0.0..1e12).contains(mib));
    let before = bytes(words.next()?)?;
    words.next()?.parse::<f64>().ok()?;
    let after = bytes(words.next()?)?;
    Some((name, (before * BYTES_PER_MIB).round() as u64, (after * BYTES_PER_MIB).round() as u64))
}

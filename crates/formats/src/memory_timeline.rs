//! What PyTorch's `export_memory_timeline` writes: how much memory was in use over time, by what it was for.
//!
//! Two forms: `[times, sizes]`, where each size is a list of bytes by category with a 0 before them; and rows of time, action,
//! bytes and category (`.raw.json`), whose bytes add up. Each category becomes a stack of one frame.

use stepscope_model::{
    Document, DocumentKind, Frame, HeapFacts, HeapPoint, Ns, Profile, Sample, StackId, heap_values,
};

use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;
use crate::reader::{Reader, trimmed, whole};

pub(crate) const READER: Reader = Reader {
    name: "a memory timeline",
    about: "written by PyTorch's export_memory_timeline as .json or .raw.json",
    yields: DocumentKind::Profile,
    example: b"[[1700000000000000, 1700000000000010, 1700000000000030], [[0, 100, 0, 0, 0, 0, 0, 0, 0], \
[0, 100, 0, 0, 0, 500, 0, 0, 7], [0, 100, 200, 0, 0, 0, 0, 0, 7]]]",
    begins,
    read: |text, name, options| read(text, name, options).map(Document::Profile),
};

const FORMAT_NAME: &str = "memory timeline";
/// What memory was for, in PyTorch's order.
const CATEGORIES: [&str; 8] = [
    "parameter",
    "optimizer state",
    "input",
    "temporary",
    "activation",
    "gradient",
    "autograd detail",
    "unknown",
];
/// Points of the curve that are kept at most: of a longer one the highest of every few.
const MAX_POINTS: usize = 1 << 16;

type Sums = [i64; CATEGORIES.len()];

/// A list of times and then one of lists, or rows of four numbers.
fn begins(head: &[u8]) -> bool {
    fn list(text: &[u8]) -> Option<&[u8]> {
        trimmed(text).strip_prefix(b"[")
    }
    let Some(first) = list(head).and_then(list) else { return false };
    if !trimmed(first).first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
        return false;
    }
    // Times may go on for longer than what is seen here.
    let Some(end) = first.iter().position(|byte| *byte == b']') else { return first.len() > 64 };
    let numbers = first[..end].split(|byte| *byte == b',').count();
    let rest = trimmed(&first[end + 1..]);
    let next = rest.strip_prefix(b",").and_then(list);
    match next {
        Some(next) if trimmed(next).starts_with(b"[") => true,
        // One row alone is one, too.
        Some(_) => numbers == ROW_VALUES,
        None => numbers == ROW_VALUES && (rest.is_empty() || rest.starts_with(b"]")),
    }
}

/// Time, action, bytes and category.
const ROW_VALUES: usize = 4;

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    whole(&mut text, FORMAT_NAME, name, options)?;
    let levels = timeline(text.window()).or_else(|| raw(text.window())).ok_or_else(|| {
        let why = "it is neither lists of times and sizes nor rows of time, action, bytes and category";
        ReadError::damaged(FORMAT_NAME, name, why)
    })?;
    let mut profile = Profile::new(heap_values());
    let start = levels.first().map_or(0, |level| level.0);
    let since = |at: i64| Ns(at.saturating_sub(start));
    let total =
        |sums: &Sums| sums.iter().fold(0u64, |all, bytes| all.saturating_add((*bytes).max(0).unsigned_abs()));
    let none = (0, Sums::default());
    let peak = levels.iter().rev().max_by_key(|level| total(&level.1)).unwrap_or(&none);
    let (end, middle) = (levels.last().unwrap_or(&none), levels.get(levels.len() / 2).unwrap_or(&none));
    for (at, category) in CATEGORIES.iter().enumerate() {
        let [then, earlier, left] = [peak, middle, end].map(|level| level.1[at].max(0));
        let most = levels.iter().map(|level| level.1[at]).max().unwrap_or(0).max(0);
        if most == 0 {
            continue;
        }
        let interned = profile.stacks.intern(&format!("({category})"));
        let frame = profile.stacks.frame(Frame { name: interned, ..Frame::default() });
        let stack = profile.stacks.push(StackId::EMPTY, frame);
        // How many allocations that were is not in the file.
        let amounts = [0, most, 0, 0, earlier, left, then];
        profile.add(Sample::new(0, stack, &amounts));
    }
    let each = levels.len().div_ceil(MAX_POINTS).max(1);
    let curve = levels.chunks(each).map(|few| HeapPoint {
        at: since(few[0].0),
        live_bytes: few.iter().map(|level| total(&level.1)).max(),
        rss_bytes: None,
    });
    profile.heap = Some(HeapFacts {
        on_device: true,
        duration: since(end.0),
        peak_bytes: total(&peak.1),
        peak_at: since(peak.0),
        end_bytes: total(&end.1),
        earlier_at: (levels.len() > 2).then(|| since(middle.0)),
        curve: curve.collect(),
        ..HeapFacts::default()
    });
    profile.source = text.source(name, FORMAT_NAME);
    Ok(profile)
}

/// Times in microseconds and sizes by category.
fn timeline(text: &[u8]) -> Option<Vec<(i64, Sums)>> {
    let (times, sizes): (Vec<i64>, Vec<Vec<i64>>) = serde_json::from_slice(text).ok()?;
    if times.len() != sizes.len() {
        return None;
    }
    let level = |(at, row): (i64, Vec<i64>)| {
        let mut sums = Sums::default();
        for (sum, bytes) in sums.iter_mut().zip(row.into_iter().skip(1)) {
            *sum = bytes;
        }
        (at.saturating_mul(1_000), sums)
    };
    Some(times.into_iter().zip(sizes).map(level).collect())
}

/// Rows of nanoseconds, action, bytes and category; what was there before has the time -1.
fn raw(text: &[u8]) -> Option<Vec<(i64, Sums)>> {
    let rows: Vec<(i64, i64, i64, i64)> = serde_json::from_slice(text).ok()?;
    let first = rows.iter().map(|row| row.0).find(|at| *at >= 0).unwrap_or(0);
    let mut sums = Sums::default();
    let mut levels: Vec<(i64, Sums)> = Vec::with_capacity(rows.len());
    for (at, _, bytes, category) in rows {
        let category = usize::try_from(category).ok().filter(|at| *at < CATEGORIES.len());
        let sum = &mut sums[category.unwrap_or(CATEGORIES.len() - 1)];
        *sum = sum.saturating_add(bytes);
        let at = if at < 0 { first } else { at };
        match levels.last_mut() {
            Some(last) if last.0 == at => last.1 = sums,
            _ => levels.push((at, sums)),
        }
    }
    Some(levels)
}

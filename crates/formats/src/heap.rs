//! The memory of a program, in and out: what `stepscope run --memory` writes. Stacks are a tree of frames, and each that
//! allocated has one amount for each of the profile's values.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use stepscope_model::{
    Document, DocumentKind, Frame, FrameId, HEAP_VALUES, HeapFacts, HeapLine, HeapPoint, LineIs, NoteKind, Ns,
    Profile, Sample, Severity, StackId, heap_values,
};

use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;
use crate::reader::{Reader, trimmed, whole};

pub(crate) const READER: Reader = Reader {
    name: "a memory profile",
    about: "written by stepscope run --memory",
    yields: DocumentKind::Profile,
    example: br#"{"stepscope_memory": 1, "sample_bytes": 0, "duration_ns": 2000000000, "peak_bytes": 1500,
"peak_at_ns": 1000000000, "end_bytes": 1000, "earlier_at_ns": 900000000, "unfinished": false,
"texts": ["main", "a.py", "load"], "frames": [[0, 1, 3], [2, 1, 9]], "stacks": [[0, 0], [1, 1]],
"samples": [[2, 3, 1500, 2, 3, 500, 1000, 1500]], "curve": [[0, 0, 9000], [1000000000, 1500, 12000]],
"lines": [[1, 9, 3, 12000, 3000]]}"#,
    begins: |head| trimmed(head).starts_with(b"{\"stepscope_memory\""),
    read: |text, name, options| read(text, name, options).map(Document::Profile),
};

const FORMAT_NAME: &str = "memory profile";
const FORMAT_VERSION: u32 = 1;
const BAD_ROW: &NoteKind = &NoteKind::new(
    "bad-memory-row",
    Severity::Lost,
    66,
    "rows of memory that name a text, frame or stack the file lacks were set aside",
);
const UNFINISHED: &NoteKind = &NoteKind::new(
    "unfinished-memory",
    Severity::Info,
    67,
    "file written while the program was still running: what came later is missing",
);

/// A stack and its values.
type Row = (u32, i64, i64, i64, i64, i64, i64, i64);

#[derive(Serialize, Deserialize)]
struct File {
    stepscope_memory: u32,
    sample_bytes: u64,
    duration_ns: i64,
    peak_bytes: u64,
    peak_at_ns: i64,
    end_bytes: u64,
    earlier_at_ns: Option<i64>,
    unfinished: bool,
    texts: Vec<String>,
    /// Name, file and line.
    frames: Vec<(u32, u32, u32)>,
    /// The stack that each continues, counted from 1, and its frame.
    stacks: Vec<(u32, u32)>,
    /// The stack, and the values.
    samples: Vec<Row>,
    curve: Vec<(i64, Option<u64>, Option<u64>)>,
    /// Function, line, hits, memory after it and what it added.
    lines: Vec<(u32, u32, u64, u64, i64)>,
}

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    whole(&mut text, FORMAT_NAME, name, options)?;
    let damaged = |why: String| ReadError::damaged(FORMAT_NAME, name, why);
    let file: File =
        serde_json::from_slice(trimmed(text.window())).map_err(|error| damaged(error.to_string()))?;
    if file.stepscope_memory != FORMAT_VERSION {
        return Err(damaged(format!(
            "it has version {}, and only {FORMAT_VERSION} is known",
            file.stepscope_memory
        )));
    }
    let mut profile = Profile::new(heap_values());
    profile.line_is = LineIs::Current;
    let texts: Vec<_> = file.texts.iter().map(|text| profile.stacks.intern(text)).collect();
    let mut bad = 0;
    let mut frames: Vec<Option<FrameId>> = Vec::with_capacity(file.frames.len());
    for (name, path, line) in file.frames {
        let (name, path) = (texts.get(name as usize).copied(), texts.get(path as usize).copied());
        let frame = name.zip(path).map(|(name, file)| profile.stacks.frame(Frame { name, file, line }));
        bad += u64::from(frame.is_none());
        frames.push(frame);
    }
    let frame = |at: u32| frames.get(at as usize).copied().flatten();
    let mut stacks: Vec<StackId> = vec![StackId::EMPTY];
    for (below, at) in file.stacks {
        let below = stacks.get(below as usize).copied();
        match below.zip(frame(at)) {
            Some((below, frame)) => stacks.push(profile.stacks.push(below, frame)),
            None => {
                bad += 1;
                stacks.push(StackId::EMPTY);
            }
        }
    }
    for (stack, a, b, c, d, e, f, g) in file.samples {
        match stacks.get(stack as usize) {
            Some(&stack) => profile.add(Sample::new(0, stack, &[a, b, c, d, e, f, g])),
            None => bad += 1,
        }
    }
    let mut lines = Vec::with_capacity(file.lines.len());
    for (function, line, hits, rss_bytes, increment_bytes) in file.lines {
        match frame(function) {
            Some(function) => lines.push(HeapLine { function, line, hits, rss_bytes, increment_bytes }),
            None => bad += 1,
        }
    }
    profile.notes.add_count(BAD_ROW, bad);
    profile.notes.add_count(UNFINISHED, u64::from(file.unfinished));
    let point = |(at, live_bytes, rss_bytes)| HeapPoint { at: Ns(at), live_bytes, rss_bytes };
    profile.heap = Some(HeapFacts {
        on_device: false,
        sample_bytes: file.sample_bytes,
        duration: Ns(file.duration_ns),
        peak_bytes: file.peak_bytes,
        peak_at: Ns(file.peak_at_ns),
        end_bytes: file.end_bytes,
        earlier_at: file.earlier_at_ns.map(Ns),
        unfinished: file.unfinished,
        curve: file.curve.into_iter().map(point).collect(),
        lines,
    });
    profile.source = text.source(name, "stepscope memory");
    Ok(profile)
}

/// Writes the memory of a program. A profile of something else is written without any.
pub fn write_memory(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let none = HeapFacts::default();
    let facts = profile.heap.as_ref().unwrap_or(&none);
    let mut texts: Vec<String> = Vec::new();
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut text = |word: &str| {
        *known.entry(word.to_owned()).or_insert_with(|| {
            texts.push(word.to_owned());
            texts.len() as u32 - 1
        })
    };
    let frames: Vec<(u32, u32, u32)> = profile
        .stacks
        .frames()
        .map(|(id, frame)| (text(profile.stacks.name(id)), text(profile.stacks.text(frame.file)), frame.line))
        .collect();
    let mut stacks = Vec::with_capacity(profile.stacks.len());
    for (_, below, frame) in profile.stacks.nodes() {
        stacks.push((below.index() as u32, frame.index() as u32));
    }
    let at = |values: &[i64], at: usize| values.get(at).copied().unwrap_or(0);
    let sample = |sample: Sample<'_>| {
        let v = sample.amounts;
        let stack = sample.stack.index() as u32;
        (stack, at(v, 0), at(v, 1), at(v, 2), at(v, 3), at(v, 4), at(v, 5), at(v, 6))
    };
    const { assert!(HEAP_VALUES.len() == 7) };
    let line = |line: &HeapLine| {
        (line.function.index() as u32, line.line, line.hits, line.rss_bytes, line.increment_bytes)
    };
    let file = File {
        stepscope_memory: FORMAT_VERSION,
        sample_bytes: facts.sample_bytes,
        duration_ns: facts.duration.0,
        peak_bytes: facts.peak_bytes,
        peak_at_ns: facts.peak_at.0,
        end_bytes: facts.end_bytes,
        earlier_at_ns: facts.earlier_at.map(|at| at.0),
        unfinished: facts.unfinished,
        frames,
        stacks,
        samples: profile.samples().iter().map(sample).collect(),
        curve: facts.curve.iter().map(|point| (point.at.0, point.live_bytes, point.rss_bytes)).collect(),
        lines: facts.lines.iter().map(line).collect(),
        texts,
    };
    serde_json::to_writer(&mut *out, &file)?;
    out.write_all(b"\n")
}

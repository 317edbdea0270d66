//! Reads timelines of calls, chunk by chunk.

use std::collections::HashMap;

use stepscope_model::{
    ArgValue, CatId, Domain, Kind, LaneId, LaneKey, NewPoint, NewSlice, NoteKind, Ns, OpenSlice, PointKind,
    Severity, StrId, Tag, Trace, TraceBuilder,
};

use super::{
    CALLS_TAG, DONE_TAG, ENTER_NEAR_WORD, ENTER_WORD, FUNCTIONS_TAG, KIND_SHIFT, LATER_WORD, MAGIC,
    MAX_CHUNK_BYTES, NEAR_TICK_BITS, NS_PER_TICK_BITS, PROCESS_TAG, THREAD_TAG, TICK_BITS,
};
use crate::OpenOptions;
use crate::chunks::{End, Text};
use crate::error::ReadError;
use crate::notes::{DAMAGED_COMPRESSION, INVALID_UTF8};

/// A file that ends before its end.
const CUT: &NoteKind = &NoteKind::new(
    "calls-cut",
    Severity::Repaired,
    70,
    "processes did not end their recording (killed, or still running); what they had written was read",
);
/// Something that is not a chunk.
const BAD_CHUNK: &NoteKind = &NoteKind::new(
    "bad-chunk",
    Severity::Lost,
    71,
    "pieces of the file could not be understood and were left out",
);
/// A call without an end.
const LEFT_OPEN: &NoteKind = &NoteKind::new(
    "calls-left-open",
    Severity::Repaired,
    72,
    "calls without an end were ended with the last call of their thread",
);
/// An end without a beginning.
const BAD_LEAVE: &NoteKind =
    &NoteKind::new("calls-bad-end", Severity::Lost, 73, "ends of calls that never began were set aside");
/// A function that nothing names.
const UNNAMED: &NoteKind =
    &NoteKind::new("calls-unnamed", Severity::Repaired, 74, "calls of functions without a name were kept");
/// Recording stopped while the program went on.
const ENDED_EARLY: &NoteKind = &NoteKind::new(
    "calls-ended-early",
    Severity::Lost,
    75,
    "recordings ended before their program did; later calls are not in the file",
);

/// What recording one call cost, as analyses look for it.
const CALL_COST_KEY: &str = "python_call_cost_ns";
const PYTHON_CATEGORY: &str = "python_function";

pub(super) fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Trace, ReadError> {
    let mut reader = CallsReader::new();
    loop {
        while text.window().len() < 8 && !text.is_last() {
            text.more();
        }
        let window = text.window();
        if window.starts_with(&MAGIC) {
            reader.end_process();
            reader.process = Process::default();
            reader.began = true;
            text.consume(MAGIC.len());
            continue;
        }
        let Some((head, _)) = window.split_at_checked(8) else {
            if !window.is_empty() {
                reader.builder.notes().add(BAD_CHUNK, text.offset());
                skip_rest(&mut reader, &mut text);
            }
            break;
        };
        let kind = [head[0], head[1], head[2], head[3]];
        let length = number(head, 4) as usize;
        if length > MAX_CHUNK_BYTES || !reader.began {
            reader.builder.notes().add(BAD_CHUNK, text.offset());
            skip_rest(&mut reader, &mut text);
            break;
        }
        while text.window().len() < 8 + length && !text.is_last() {
            text.more();
        }
        let offset = text.offset();
        let window = text.window();
        let whole = window.len() >= 8 + length;
        let body = &window[8..(8 + length).min(window.len())];
        // Of a chunk that is cut only calls are worth something.
        if whole || kind == CALLS_TAG {
            reader.chunk(kind, body, offset, options.max_events);
        }
        let used = 8 + body.len();
        text.consume(used);
        if reader.full || !whole {
            break;
        }
    }
    reader.end_process();
    let mut builder = reader.builder;
    match text.end() {
        Some(End::Damaged(why)) => {
            builder.notes().add_with(DAMAGED_COMPRESSION, text.offset(), why.clone());
        }
        Some(End::Limit(limit)) => {
            builder.notes().add_with(NoteKind::LIMIT_REACHED, text.offset(), limit.to_string());
        }
        _ => {}
    }
    if reader.full {
        builder.notes().add(NoteKind::LIMIT_REACHED, text.offset());
    }
    builder.meta().source = text.source(name, "a timeline of calls");
    Ok(builder.finish())
}

fn skip_rest(reader: &mut CallsReader, text: &mut Text) {
    loop {
        let rest = text.window().len();
        reader.builder.meta().skipped_bytes += rest as u64;
        text.consume(rest);
        if text.is_last() {
            return;
        }
        text.more();
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// A process of the file.
#[derive(Default)]
struct Process {
    number: i64,
    name: StrId,
    begun: bool,
    done: bool,
    functions: HashMap<u32, StrId>,
    threads: HashMap<u32, Thread>,
}

/// A thread: its open calls, and when its last word was.
struct Thread {
    lane: LaneId,
    open: Vec<OpenSlice>,
    now: i64,
}

struct CallsReader {
    builder: TraceBuilder,
    process: Process,
    began: bool,
    full: bool,
    category: CatId,
}

impl CallsReader {
    fn new() -> CallsReader {
        let mut builder = TraceBuilder::new();
        let category = builder.category(PYTHON_CATEGORY);
        CallsReader { builder, process: Process::default(), began: false, full: false, category }
    }

    fn chunk(&mut self, kind: [u8; 4], body: &[u8], offset: u64, max_events: u64) {
        match kind {
            PROCESS_TAG if body.len() >= 24 => {
                self.process.number = i64::from(number(body, 0));
                self.process.begun = true;
                self.process.name = self.text(&body[24..], offset);
                if self.builder.meta().base_ns.is_none() {
                    self.builder.meta().base_ns = Some(0);
                    let cost_ns = long(body, 8);
                    if cost_ns > 0 {
                        self.builder.meta().extra.push((CALL_COST_KEY.to_owned(), cost_ns.to_string()));
                    }
                }
            }
            THREAD_TAG if body.len() >= 12 => {
                let name = self.text(&body[12..], offset);
                self.thread_named(number(body, 0), long(body, 4) as i64, name);
            }
            FUNCTIONS_TAG => self.functions(body, offset),
            CALLS_TAG if body.len() >= 20 => self.calls(body, max_events),
            DONE_TAG if body.len() >= 16 => {
                self.process.done = true;
                if body.len() > 16 {
                    let why = String::from_utf8_lossy(&body[16..]).into_owned();
                    self.builder.notes().add_with(ENDED_EARLY, offset, why);
                }
            }
            _ => self.builder.notes().add(BAD_CHUNK, offset),
        }
    }

    fn text(&mut self, bytes: &[u8], offset: u64) -> StrId {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.builder.notes().add(INVALID_UTF8, offset);
        }
        self.builder.intern(&text)
    }

    fn thread_named(&mut self, thread: u32, system: i64, name: StrId) {
        let key =
            LaneKey { process: Tag::Int(self.process.number), thread: Tag::Int(system), domain: Domain::Host };
        let known = self.builder.find_lane(key).is_some();
        let lane = self.builder.lane(key);
        let given = self.builder.text(name).trim();
        let shown =
            if given.is_empty() { format!("thread {system}") } else { format!("thread {system} ({given})") };
        let shown = self.builder.intern(&shown);
        let process_name = self.process.name;
        let lane_now = self.builder.lane_mut(lane);
        let before = std::mem::replace(&mut lane_now.thread_name, shown);
        lane_now.process_name = process_name;
        if !known {
            self.metadata("process_name", process_name, lane);
        }
        if before != shown {
            self.metadata("thread_name", shown, lane);
        }
        self.process.threads.entry(thread).or_insert(Thread { lane, open: Vec::new(), now: i64::MIN }).lane =
            lane;
    }

    fn metadata(&mut self, what: &str, text: StrId, lane: LaneId) {
        let (key, what) = (self.builder.intern("name"), self.builder.intern(what));
        self.builder.push_arg(key, ArgValue::Str(text));
        let args = self.builder.commit_args();
        self.builder.meta().events_in_file += 1;
        self.builder.point(NewPoint {
            at: Ns::ZERO,
            name: what,
            lane,
            args,
            kind: PointKind::Metadata,
            ..NewPoint::default()
        });
    }

    fn functions(&mut self, mut body: &[u8], offset: u64) {
        while let Some((head, rest)) = body.split_at_checked(16) {
            let (file, name) = (number(head, 8) as usize, number(head, 12) as usize);
            let Some((texts, rest)) = file.checked_add(name).and_then(|both| rest.split_at_checked(both))
            else {
                break;
            };
            let (file, name) =
                (String::from_utf8_lossy(&texts[..file]), String::from_utf8_lossy(&texts[file..]));
            // Built-in functions have no file.
            let shown =
                if file == "~" { name.into_owned() } else { format!("{file}({}): {name}", number(head, 4)) };
            let shown = self.builder.intern(&shown);
            self.process.functions.insert(number(head, 0), shown);
            body = rest;
        }
        if !body.is_empty() {
            self.builder.notes().add(BAD_CHUNK, offset);
        }
    }

    fn calls(&mut self, body: &[u8], max_events: u64) {
        let number_of = number(body, 0);
        if !self.process.threads.contains_key(&number_of) {
            self.thread_named(number_of, i64::from(number_of), StrId::default());
        }
        let Some(mut thread) = self.process.threads.remove(&number_of) else { return };
        let (base_ns, ns_per_tick) = (long(body, 4) as i64, long(body, 12));
        let mut ticks: u64 = 0;
        let mut words = body[20..].chunks_exact(4).map(|word| number(word, 0));
        while let Some(word) = words.next() {
            let tick_mask = (1 << TICK_BITS) - 1;
            let function = match word >> KIND_SHIFT {
                LATER_WORD => {
                    ticks = ticks.saturating_add(u64::from(word & tick_mask) << TICK_BITS);
                    continue;
                }
                ENTER_NEAR_WORD => {
                    ticks = ticks.saturating_add(u64::from(word & ((1 << NEAR_TICK_BITS) - 1)));
                    Some((word >> NEAR_TICK_BITS) & ((1 << (KIND_SHIFT - NEAR_TICK_BITS)) - 1))
                }
                ENTER_WORD => {
                    ticks = ticks.saturating_add(u64::from(word & tick_mask));
                    // A file that is cut here has lost which function it is.
                    let Some(function) = words.next() else { break };
                    Some(function)
                }
                _ => {
                    ticks = ticks.saturating_add(u64::from(word & tick_mask));
                    None
                }
            };
            let passed = (u128::from(ticks) * u128::from(ns_per_tick)) >> NS_PER_TICK_BITS;
            let at = base_ns.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
            // The length of a tick is known better with every chunk: what was called earlier stays earlier. Half of what
            // there is stays free, so that no difference of two times overflows.
            thread.now = at.clamp(0, i64::MAX / 4).max(thread.now);
            match function {
                Some(function) => {
                    if self.builder.meta().events_in_file >= max_events {
                        self.full = true;
                        break;
                    }
                    self.begin(&mut thread, function);
                }
                None => match thread.open.pop() {
                    Some(open) => {
                        self.builder.end(open, Ns(thread.now));
                    }
                    None => {
                        self.builder.meta().events_in_file += 1;
                        self.builder.meta().events_set_aside += 1;
                        self.builder.notes().add_count(BAD_LEAVE, 1);
                    }
                },
            }
        }
        self.process.threads.insert(number_of, thread);
    }

    fn begin(&mut self, thread: &mut Thread, function: u32) {
        let name = match self.process.functions.get(&function) {
            Some(&name) => name,
            None => {
                self.builder.notes().add_count(UNNAMED, 1);
                let name = self.builder.intern(&format!("function {function}"));
                self.process.functions.insert(function, name);
                name
            }
        };
        self.builder.meta().events_in_file += 1;
        let (start, lane, cat) = (Ns(thread.now), thread.lane, self.category);
        let new = NewSlice { start, name, cat, kind: Kind::PythonFunction, lane, ..NewSlice::default() };
        thread.open.extend(self.builder.begin(new));
    }

    /// The file of a process has ended; calls that are open end with the last word of their thread.
    fn end_process(&mut self) {
        if !self.process.begun {
            return;
        }
        let threads = std::mem::take(&mut self.process.threads);
        let mut open = 0;
        for thread in threads.into_values() {
            open += thread.open.len() as u64;
            for slice in thread.open {
                self.builder.end(slice, Ns(thread.now));
            }
        }
        self.builder.notes().add_count(LEFT_OPEN, open);
        self.builder.notes().add_count(CUT, u64::from(!self.process.done));
        self.process.begun = false;
    }
}

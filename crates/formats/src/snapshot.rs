//! Memory snapshots of PyTorch's allocators: the pickled dictionary of `torch.cuda.memory._snapshot()`.
//!
//! All keys are optional, since they came one by one from PyTorch 2.1 to 2.15, and what is not known is kept out of
//! nobody's way. The history may have millions of entries, so each becomes a row of the table while the file is read.

use stepscope_model::{
    Action, Block, BlockState, Document, DocumentKind, Frame, HistoryEntry, Mark, NoteKind, Ns, Segment,
    Severity, Snapshot, StackId, StackTable,
};

use crate::OpenOptions;
use crate::chunks::{End, Text};
use crate::error::{Limit, ReadError};
use crate::notes::DAMAGED_COMPRESSION;
use crate::pickle::{Pickle, Take, Value};
use crate::reader::Reader;

pub(crate) const READER: Reader = Reader {
    name: "a memory snapshot",
    about: "written by torch.cuda.memory._dump_snapshot or pickled from _snapshot()",
    yields: DocumentKind::Snapshot,
    example: EXAMPLE,
    begins,
    read: |text, name, options| read(text, name, options).map(Document::Snapshot),
};

/// A segment of 2 MiB with one block in use, and the entry that tells of it, in protocol 4.
const EXAMPLE: &[u8] = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94}\x94(\x8c\x06device\x94K\0\x8c\x07address\x94J\0\0\x20\0\
\x8c\x0atotal_size\x94J\0\0\x20\0\x8c\x0csegment_type\x94\x8c\x05small\x94\x8c\x06blocks\x94]\x94(}\x94(h\x05J\0\0\x20\0\
\x8c\x04size\x94M\0\x02\x8c\x0erequested_size\x94K\x04\x8c\x05state\x94\x8c\x10active_allocated\x94u}\x94(h\x0bJ\0\xfe\x1f\0\
h\x0d\x8c\x08inactive\x94ueua\x8c\x0ddevice_traces\x94]\x94]\x94}\x94(\x8c\x06action\x94\x8c\x05alloc\x94\x8c\x04addr\x94\
J\0\0\x20\0h\x0bM\0\x02\x8c\x06stream\x94K\0\x8c\x07time_us\x94M\xe8\x03\x8c\x06frames\x94]\x94}\x94(\x8c\x04name\x94\
\x8c\x01f\x94\x8c\x08filename\x94\x8c\x04a.py\x94\x8c\x04line\x94K\x07uauaau.";

const WHAT: &str = "memory snapshot";
const ENDS_EARLY: &NoteKind = &NoteKind::new(
    "snapshot-ends-early",
    Severity::Lost,
    66,
    "the snapshot is damaged or cut short; what came before was read",
);
const UNKNOWN_ACTION: &NoteKind = &NoteKind::new(
    "unknown-action",
    Severity::Info,
    67,
    "entries of the history with an action that is not known were kept",
);
const BAD_ENTRY: &NoteKind = &NoteKind::new(
    "bad-snapshot-entry",
    Severity::Lost,
    68,
    "segments, blocks or ranges without an address, a size or a name were set aside",
);

/// A pickle whose first texts are keys of a snapshot.
fn begins(head: &[u8]) -> bool {
    let start = &head[..head.len().min(200)];
    let has = |word: &[u8]| memchr::memmem::find(start, word).is_some();
    head.first() == Some(&0x80)
        && matches!(head.get(1), Some(2..=5))
        && (has(b"segments") || has(b"device_traces") || has(b"total_size"))
}

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Snapshot, ReadError> {
    let path = || name.to_owned();
    if !text.take_whole(options.max_whole_bytes) {
        let limit = Limit::WholeBytes(options.max_whole_bytes as u64);
        return Err(ReadError::Limit { limit, path: path() });
    }
    let mut snapshot = Snapshot::default();
    match text.end() {
        Some(End::Limit(limit)) => return Err(ReadError::Limit { limit: *limit, path: path() }),
        Some(End::Damaged(why)) => snapshot.notes.add_with(DAMAGED_COMPRESSION, 0, why.clone()),
        _ => {}
    }
    let mut history = History::default();
    let (pickle, why) = Pickle::read_with(text.window(), &mut history);
    let root = pickle.root();
    // Before PyTorch 2.0 a snapshot was the list of segments.
    let is_snapshot = ["segments", "device_traces"].iter().any(|key| pickle.under(root, key).is_some());
    if let Some(why) = why {
        if !is_snapshot || why.starts_with("it asks for") {
            return Err(ReadError::Damaged { what: WHAT.to_owned(), why: why.into_owned(), path: path() });
        }
        snapshot.notes.add_with(ENDS_EARLY, 0, why.into_owned());
    }
    let segments = pickle.under(root, "segments").unwrap_or(root);
    for &value in pickle.items(segments) {
        match segment(&pickle, value, &mut history, &mut snapshot) {
            Some(segment) => snapshot.segments.push(segment),
            None => snapshot.notes.add_count(BAD_ENTRY, 1),
        }
    }
    for &value in pickle.under(root, "external_annotations").map_or(&[][..], |list| pickle.items(list)) {
        match mark(&pickle, value, &mut history.stacks) {
            Some(mark) => snapshot.marks.push(mark),
            None => snapshot.notes.add_count(BAD_ENTRY, 1),
        }
    }
    for pair in pickle.under(root, "allocator_settings").map_or(&[][..], |d| pickle.pairs(d)).chunks_exact(2) {
        if let Some(key) = pickle.text(pair[0]) {
            snapshot.settings.push((key.into_owned(), in_words(&pickle, pair[1])));
        }
    }
    history.place(&pickle, root);
    for (action, count) in &history.unknown {
        snapshot.notes.add_with(UNKNOWN_ACTION, 0, format!("{count} of {action}"));
    }
    snapshot.history = history.entries;
    snapshot.stacks = history.stacks;
    snapshot.source = text.source(name, "memory snapshot");
    Ok(snapshot)
}

fn in_words(pickle: &Pickle<'_>, value: Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => pickle.text(value).map_or_else(String::new, |text| text.into_owned()),
    }
}

fn unsigned(pickle: &Pickle<'_>, value: Value, key: &str) -> Option<u64> {
    pickle.under(value, key).and_then(|v| pickle.int(v)).and_then(|n| u64::try_from(n).ok())
}

fn segment(
    pickle: &Pickle<'_>,
    value: Value,
    history: &mut History,
    snapshot: &mut Snapshot,
) -> Option<Segment> {
    let number = |key: &str| unsigned(pickle, value, key);
    let (address, bytes) = (number("address")?, number("total_size")?);
    let is = |key: &str, word: &str| {
        pickle.under(value, key).and_then(|v| pickle.bytes_of(v)).is_some_and(|text| text == word.as_bytes())
    };
    let int = |v: &Value| pickle.int(*v).unwrap_or(0);
    let pool = pickle.under(value, "segment_pool_id").map_or(&[][..], |pair| pickle.items(pair));
    let mut blocks = Vec::new();
    let mut next = address;
    for &inside in pickle.under(value, "blocks").map_or(&[][..], |list| pickle.items(list)) {
        let Some(bytes) = unsigned(pickle, inside, "size") else {
            snapshot.notes.add_count(BAD_ENTRY, 1);
            continue;
        };
        // Before 2.1 a block had no address, and a history of what was in it, the newest first.
        let latest = pickle.under(inside, "history").and_then(|list| pickle.items(list).first().copied());
        let frames = pickle.under(inside, "frames").or_else(|| pickle.under(latest?, "frames"));
        let requested = unsigned(pickle, inside, "requested_size")
            .or_else(|| unsigned(pickle, latest?, "real_size"))
            .unwrap_or(bytes);
        let state = pickle.under(inside, "state").and_then(|v| pickle.bytes_of(v));
        let at = unsigned(pickle, inside, "address").unwrap_or(next);
        next = at.saturating_add(bytes);
        blocks.push(Block {
            address: at,
            bytes,
            requested_bytes: requested,
            state: match state {
                Some(b"active_allocated") => BlockState::Allocated,
                Some(b"active_pending_free" | b"active_awaiting_free") => BlockState::AwaitingFree,
                _ => BlockState::Free,
            },
            stack: frames.map_or(StackId::EMPTY, |frames| history.stack(pickle, frames)),
        });
    }
    blocks.sort_by_key(|block: &Block| block.address);
    Some(Segment {
        device: pickle.under(value, "device").map_or(0, |v| int(&v)),
        address,
        bytes,
        stream: number("stream").unwrap_or(0),
        small: is("segment_type", "small"),
        expandable: pickle.under(value, "is_expandable") == Some(Value::True),
        pool: (pool.first().map_or(0, int), pool.get(1).map_or(0, int)),
        stack: pickle.under(value, "frames").map_or(StackId::EMPTY, |frames| history.stack(pickle, frames)),
        blocks,
    })
}

fn mark(pickle: &Pickle<'_>, value: Value, stacks: &mut StackTable) -> Option<Mark> {
    let stage = pickle.under(value, "stage").and_then(|v| pickle.bytes_of(v))?;
    Some(Mark {
        name: stacks.intern(&pickle.under(value, "name").and_then(|v| pickle.text(v))?),
        begins: stage == b"START",
        device: pickle.under(value, "device").and_then(|v| pickle.int(v)).unwrap_or(0),
        at: time(pickle.under(value, "time_us").and_then(|v| pickle.int(v))?),
    })
}

fn time(us: i64) -> Ns {
    Ns(us.saturating_mul(1_000))
}

/// Keys of an entry of the history.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Key {
    NotLooked,
    Action,
    Address,
    Bytes,
    Stream,
    Time,
    Frames,
    Other,
}

fn key(name: &[u8]) -> Key {
    match name {
        b"action" => Key::Action,
        // An entry about a lack of memory has what the device had left instead.
        b"addr" | b"device_free" => Key::Address,
        b"size" => Key::Bytes,
        b"stream" => Key::Stream,
        b"time_us" => Key::Time,
        b"frames" => Key::Frames,
        _ => Key::Other,
    }
}

fn action(name: &[u8]) -> Action {
    match name {
        b"alloc" => Action::Alloc,
        b"free_requested" => Action::FreeRequested,
        b"free_completed" | b"free" => Action::FreeCompleted,
        b"segment_alloc" => Action::SegmentAlloc,
        b"segment_free" => Action::SegmentFree,
        b"segment_map" => Action::SegmentMap,
        b"segment_unmap" => Action::SegmentUnmap,
        b"oom" => Action::OutOfMemory,
        b"snapshot" => Action::Snapshot,
        _ => Action::Other,
    }
}

/// The entries of all devices' histories, while the file is read.
#[derive(Default)]
struct History {
    stacks: StackTable,
    entries: Vec<HistoryEntry>,
    /// By text of the file, which key it is.
    keys: Vec<u8>,
    /// Stacks by the list they are in: most entries share one with others.
    of_list: Vec<Option<StackId>>,
    unknown: std::collections::BTreeMap<String, u64>,
}

const KEYS: [Key; 8] =
    [Key::NotLooked, Key::Action, Key::Address, Key::Bytes, Key::Stream, Key::Time, Key::Frames, Key::Other];

impl Take for History {
    const CLASSES: bool = false;

    fn take(&mut self, pickle: &Pickle<'_>, pairs: &[Value]) -> Option<u32> {
        let mut entry = HistoryEntry {
            device: 0,
            action: Action::Other,
            address: 0,
            bytes: 0,
            stream: 0,
            at: None,
            stack: StackId::EMPTY,
        };
        let (mut named, mut placed, mut frames) = (None, false, None);
        for pair in pairs.chunks_exact(2) {
            let Value::Text(text) = pair[0] else { return None };
            let number = || pickle.int(pair[1]);
            match self.key(pickle, text) {
                Key::Action => named = pickle.bytes_of(pair[1]),
                Key::Address => {
                    entry.address = number()? as u64;
                    placed = true;
                }
                Key::Bytes => entry.bytes = u64::try_from(number()?).unwrap_or(0),
                Key::Stream => entry.stream = number()? as u64,
                Key::Time => entry.at = number().map(time),
                Key::Frames => frames = Some(pair[1]),
                Key::NotLooked | Key::Other => {}
            }
        }
        let named = named.filter(|_| placed)?;
        entry.action = action(named);
        if entry.action == Action::Other {
            *self.unknown.entry(String::from_utf8_lossy(named).into_owned()).or_default() += 1;
        }
        entry.stack = frames.map_or(StackId::EMPTY, |frames| self.stack(pickle, frames));
        let taken = u32::try_from(self.entries.len()).ok()?;
        self.entries.push(entry);
        Some(taken)
    }
}

impl History {
    fn key(&mut self, pickle: &Pickle<'_>, text: u32) -> Key {
        let at = text as usize;
        if self.keys.len() <= at {
            self.keys.resize(at + 1, Key::NotLooked as u8);
        }
        if self.keys[at] == Key::NotLooked as u8 {
            self.keys[at] = pickle.bytes_of(Value::Text(text)).map_or(Key::Other, key) as u8;
        }
        KEYS[usize::from(self.keys[at])]
    }

    /// The stack that a list of frames stands for, the innermost first there.
    fn stack(&mut self, pickle: &Pickle<'_>, frames: Value) -> StackId {
        let Value::List(list) = frames else { return StackId::EMPTY };
        let list = list as usize;
        if let Some(&Some(stack)) = self.of_list.get(list) {
            return stack;
        }
        let mut stack = StackId::EMPTY;
        for &frame in pickle.items(frames).iter().rev() {
            let text = |key: &str| pickle.under(frame, key).and_then(|v| pickle.text(v)).unwrap_or_default();
            let line = pickle.under(frame, "line").and_then(|v| pickle.int(v));
            let (name, file) = (self.stacks.intern(&text("name")), self.stacks.intern(&text("filename")));
            let line = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            let frame = self.stacks.frame(Frame { name, file, line });
            stack = self.stacks.push(stack, frame);
        }
        if self.of_list.len() <= list {
            self.of_list.resize(list + 1, None);
        }
        self.of_list[list] = Some(stack);
        stack
    }

    /// Says of each entry which device it is about: there is a list for each, and one for the host.
    fn place(&mut self, pickle: &Pickle<'_>, root: Value) {
        let lists = |key: &str| pickle.under(root, key).map_or(&[][..], |list| pickle.items(list));
        let devices = lists("device_traces").iter().enumerate().map(|(device, list)| (device as i64, *list));
        let host = lists("host_traces").iter().map(|list| (Snapshot::HOST, *list));
        for (device, list) in devices.chain(host) {
            for &taken in pickle.items(list) {
                if let Value::Taken(taken) = taken {
                    self.entries[taken as usize].device = device;
                }
            }
        }
    }
}

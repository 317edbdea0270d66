//! Memory snapshots of PyTorch's allocators: the pickled dictionary of `torch.cuda.memory._snapshot()`.
//!
//! All keys are optional, since they came one by one from PyTorch 2.1 to 2.15, and what is not known is kept out of
//! no one's way. The file is read piece by piece and not held: see `entries`.

mod entries;

use std::ops::Range;

use stepscope_model::{
    Block, BlockState, Document, DocumentKind, HistoryTable, Mark, NoteKind, Segment, Severity, Snapshot,
    StackId,
};

use crate::OpenOptions;
use crate::chunks::{End, Text};
use crate::error::{Limit, ReadError};
use crate::notes::DAMAGED_COMPRESSION;
use crate::pickle::{Pickle, Stop, Value};
use crate::reader::Reader;
use entries::{EntryCollector, time};

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
\x8c\x04size\x94M\0\x02\x8c\x0erequested_size\x94K\x04\x8c\x05state\x94\x8c\x10active_allocated\x94u}\x94(h\x0cJ\0\xfe\x1f\0\
h\x0e\x8c\x08inactive\x94ueua\x8c\x0ddevice_traces\x94]\x94]\x94}\x94(\x8c\x06action\x94\x8c\x05alloc\x94\x8c\x04addr\x94\
J\0\0\x20\0h\x0cM\0\x02\x8c\x06stream\x94K\0\x8c\x07time_us\x94M\xe8\x03\x8c\x06frames\x94]\x94}\x94(\x8c\x04name\x94\
\x8c\x01f\x94\x8c\x08filename\x94\x8c\x04a.py\x94\x8c\x04line\x94K\x07uauaau.";

const FORMAT_NAME: &str = "memory snapshot";
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

/// Settings of the allocator, actions that are not known, and how many bytes of a text are shown.
const MAX_SETTINGS: usize = 1_000;
const MAX_ACTIONS: usize = 1_000;
const LONGEST_WORDS: usize = 4 << 10;

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
    let mut snapshot = Snapshot::default();
    let mut taken = EntryCollector::default();
    let (pickle, stop) = Pickle::read_with(&mut text, &mut taken, options.max_whole_bytes);
    if let Some(Stop::Limit) = stop {
        let limit = Limit::WholeBytes(options.max_whole_bytes as u64);
        return Err(ReadError::Limit { limit, path: path() });
    }
    // What follows is not read, but it belongs to the file.
    while !text.is_last() {
        text.consume(text.window().len());
        text.more();
    }
    match text.end() {
        Some(End::Limit(limit)) => return Err(ReadError::Limit { limit: *limit, path: path() }),
        Some(End::Damaged(why)) => snapshot.notes.add_with(DAMAGED_COMPRESSION, 0, why.clone()),
        _ => {}
    }
    let root = pickle.root();
    // Before PyTorch 2.0 a snapshot was the list of segments.
    let is_snapshot = ["segments", "device_traces"].iter().any(|key| pickle.under(root, key).is_some());
    if let Some(Stop::Why(why)) = stop {
        if !is_snapshot || why.starts_with("it asks for") {
            return Err(ReadError::damaged(FORMAT_NAME, name, why));
        }
        snapshot.notes.add_with(ENDS_EARLY, 0, why.into_owned());
    }
    let mut parts = SnapshotParts { pickle: &pickle, taken: &mut taken, used: vec![false; pickle.counts().1] };
    let segments = pickle.under(root, "segments").unwrap_or(root);
    for &value in pickle.items(segments) {
        match parts.segment(value, &mut snapshot) {
            Some(segment) => snapshot.segments.push(segment),
            None => snapshot.notes.add_count(BAD_ENTRY, 1),
        }
    }
    for &value in pickle.under(root, "external_annotations").map_or(&[][..], |list| pickle.items(list)) {
        match parts.mark(value) {
            Some(mark) => snapshot.marks.push(mark),
            None => snapshot.notes.add_count(BAD_ENTRY, 1),
        }
    }
    let settings = pickle.under(root, "allocator_settings").map_or(&[][..], |dict| pickle.pairs(dict));
    for pair in settings.chunks_exact(2).take(MAX_SETTINGS) {
        if pickle.bytes_of(pair[0]).is_some() {
            snapshot.settings.push((in_words(&pickle, pair[0]), in_words(&pickle, pair[1])));
        }
    }
    place(&pickle, root, &mut taken.entries);
    for (&action, count) in taken.unknown.iter().take(MAX_ACTIONS) {
        let action = in_words(&pickle, Value::Text(action));
        snapshot.notes.add_with(UNKNOWN_ACTION, 0, format!("{count} of {action}"));
    }
    snapshot.history = taken.entries;
    snapshot.stacks = taken.stacks;
    snapshot.source = text.source(name, "memory snapshot");
    Ok(snapshot)
}

/// A short text or a number.
fn in_words(pickle: &Pickle, value: Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => {
            let bytes = pickle.bytes_of(value).unwrap_or_default();
            String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_WORDS)]).into_owned()
        }
    }
}

/// What is put together when all of a file is read. A file may refer to one dictionary a million times: each counts once,
/// so that a file costs what its length says.
struct SnapshotParts<'a> {
    pickle: &'a Pickle,
    taken: &'a mut EntryCollector,
    /// By dictionary.
    used: Vec<bool>,
}

impl SnapshotParts<'_> {
    /// The value if it is a dictionary that was not used yet.
    fn once(&mut self, value: Value) -> Option<Value> {
        let Value::Dict(dict) = value else { return None };
        let used = self.used.get_mut(dict as usize)?;
        (!std::mem::replace(used, true)).then_some(value)
    }

    fn unsigned(&self, value: Value, key: &str) -> Option<u64> {
        let number = self.pickle.under(value, key).and_then(|value| self.pickle.int(value))?;
        u64::try_from(number).ok()
    }

    fn stack(&mut self, frames: Option<Value>) -> StackId {
        frames.map_or(StackId::EMPTY, |frames| self.taken.stack(self.pickle, frames))
    }

    fn segment(&mut self, value: Value, snapshot: &mut Snapshot) -> Option<Segment> {
        let pickle = self.pickle;
        let value = self.once(value)?;
        let (address, bytes) = (self.unsigned(value, "address")?, self.unsigned(value, "total_size")?);
        let is = |key: &str, word: &str| {
            let text = pickle.under(value, key).and_then(|value| pickle.bytes_of(value));
            text.is_some_and(|text| text == word.as_bytes())
        };
        let int = |value: &Value| pickle.int(*value).unwrap_or(0);
        let pool = pickle.under(value, "segment_pool_id").map_or(&[][..], |pair| pickle.items(pair));
        let mut blocks = Vec::new();
        let mut next = address;
        for &inside in pickle.under(value, "blocks").map_or(&[][..], |list| pickle.items(list)) {
            match self.block(inside, next) {
                Some(block) => {
                    next = block.address.saturating_add(block.bytes);
                    blocks.push(block);
                }
                None => snapshot.notes.add_count(BAD_ENTRY, 1),
            }
        }
        blocks.sort_by_key(|block: &Block| block.address);
        Some(Segment {
            device: pickle.under(value, "device").map_or(0, |value| int(&value)),
            address,
            bytes,
            stream: self.unsigned(value, "stream").unwrap_or(0),
            small: is("segment_type", "small"),
            expandable: pickle.under(value, "is_expandable") == Some(Value::True),
            pool: (pool.first().map_or(0, int), pool.get(1).map_or(0, int)),
            stack: self.stack(pickle.under(value, "frames")),
            blocks,
        })
    }

    /// A block, which begins at `next` if it does not say where.
    fn block(&mut self, value: Value, next: u64) -> Option<Block> {
        let pickle = self.pickle;
        let value = self.once(value)?;
        let bytes = self.unsigned(value, "size")?;
        // Before 2.1 a block had no address, and a history of what was in it, the newest first.
        let latest = pickle.under(value, "history").and_then(|list| pickle.items(list).first().copied());
        let latest = latest.and_then(|latest| self.once(latest));
        let frames = pickle.under(value, "frames").or_else(|| pickle.under(latest?, "frames"));
        let requested = self
            .unsigned(value, "requested_size")
            .or_else(|| self.unsigned(latest?, "real_size"))
            .unwrap_or(bytes);
        let state = pickle.under(value, "state").and_then(|value| pickle.bytes_of(value));
        Some(Block {
            address: self.unsigned(value, "address").unwrap_or(next),
            bytes,
            requested_bytes: requested,
            state: match state {
                Some(b"active_allocated") => BlockState::Allocated,
                Some(b"active_pending_free" | b"active_awaiting_free") => BlockState::AwaitingFree,
                _ => BlockState::Free,
            },
            stack: self.stack(frames),
        })
    }

    fn mark(&mut self, value: Value) -> Option<Mark> {
        let pickle = self.pickle;
        let value = self.once(value)?;
        let stage = pickle.under(value, "stage").and_then(|value| pickle.bytes_of(value))?;
        let Value::Text(name) = pickle.under(value, "name")? else { return None };
        Some(Mark {
            begins: stage == b"START",
            device: pickle.under(value, "device").and_then(|value| pickle.int(value)).unwrap_or(0),
            at: time(pickle.under(value, "time_us").and_then(|value| pickle.int(value))?),
            name: self.taken.name(pickle, name),
        })
    }
}

/// Says of each entry which device it is about: there is a list for each, and one for the host. If several have an entry,
/// the last counts.
fn place(pickle: &Pickle, root: Value, entries: &mut HistoryTable) {
    let lists = |key: &str| pickle.under(root, key).map_or(&[][..], |list| pickle.items(list));
    let devices = lists("device_traces").iter().enumerate().map(|(device, list)| (device as i64, *list));
    let host = lists("host_traces").iter().map(|list| (Snapshot::HOST, *list));
    // One list may be there a million times: it is looked at once, for the last of its devices.
    let mut used = vec![false; pickle.counts().0];
    let mut stretches: Vec<(Range<u32>, i64)> = Vec::new();
    let all: Vec<(i64, Value)> = devices.chain(host).collect();
    for &(device, value) in all.iter().rev() {
        let Value::List(list) = value else { continue };
        if !std::mem::replace(&mut used[list as usize], true) {
            stretches.extend(pickle.items(value).iter().filter_map(|item| match *item {
                Value::Run(first, count) => Some((first..first.saturating_add(count), device)),
                _ => None,
            }));
        }
    }
    // What comes first counts, so the sort must keep the order of those that begin alike.
    let overlap = |pair: &[(Range<u32>, i64)]| pair[0].0.end > pair[1].0.start;
    let mut sorted = stretches.clone();
    sorted.sort_by_key(|stretch| stretch.0.start);
    if sorted.windows(2).any(overlap) {
        let mut painted: Vec<Option<i64>> = vec![None; entries.len()];
        for (range, device) in stretches {
            for at in range {
                painted[at as usize].get_or_insert(device);
            }
        }
        let one = |(at, device): (usize, Option<i64>)| (at as u32..at as u32 + 1, device.unwrap_or(0));
        entries.set_devices(painted.into_iter().enumerate().map(one));
    } else {
        entries.set_devices(sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pickle::Input;
    use std::io::Read;
    use std::path::Path;

    /// Bytes that come a few at a time, so that nearly nothing is at hand as a whole.
    struct Trickle<'a> {
        all: &'a [u8],
        from: usize,
        to: usize,
        each: usize,
    }

    impl Input for Trickle<'_> {
        fn window(&self) -> &[u8] {
            &self.all[self.from..self.to]
        }

        fn advance(&mut self, used: usize) -> bool {
            self.from += used;
            let before = self.to;
            self.to = (self.to + self.each).min(self.all.len());
            self.to > before
        }
    }

    fn files() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory");
        let mut files = vec![EXAMPLE.to_vec()];
        for name in ["2.1.protocol4", "2.15.protocol2", "2.15.protocol5"] {
            files.push(std::fs::read(folder.join(format!("schemas/{name}.pickle"))).unwrap());
        }
        let mut unpacked = Vec::new();
        let packed = std::fs::File::open(folder.join("graph_pool.pickle.gz")).unwrap();
        flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut unpacked).unwrap();
        files.push(unpacked);
        files
    }

    fn taken(input: &mut impl Input) -> (HistoryTable, [usize; 2], u64, String) {
        let mut taken = EntryCollector::default();
        let (pickle, stop) = Pickle::read_with(input, &mut taken, 1 << 30);
        place(&pickle, pickle.root(), &mut taken.entries);
        let sizes = [taken.stacks.len(), taken.stacks.frames().len()];
        (taken.entries, sizes, taken.unknown.values().sum(), format!("{stop:?}"))
    }

    /// Whole dictionaries at once and one instruction after the other are two ways through a file.
    fn assert_same(bytes: &[u8], each: usize) {
        let at_once = taken(&mut &*bytes);
        let in_drops = taken(&mut Trickle { all: bytes, from: 0, to: 0, each });
        assert!(at_once == in_drops, "{at_once:?}\n{in_drops:?}");
    }

    #[test]
    fn files_say_the_same_however_they_come() {
        for file in files() {
            for each in [1, 2, 7, 64, 1_000] {
                assert_same(&file, each);
            }
            assert!(!taken(&mut &file[..]).0.is_empty());
        }
    }

    #[test]
    fn damaged_files_say_the_same_however_they_come() {
        let mut random = 1u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        // Instructions, and whatever else.
        let codes = b"}](ueas0hjqrKMJNtl1\x94\x8c\x8a\x88\x85\x93\x95X\x00\x01\x05\xff";
        for file in files() {
            for _ in 0..400 {
                let mut bytes = file.clone();
                for _ in 0..=next(3) {
                    let at = next(bytes.len());
                    match next(4) {
                        0 => bytes[at] = codes[next(codes.len())],
                        1 => bytes[at] ^= 1 << next(8),
                        2 => bytes.insert(at, codes[next(codes.len())]),
                        _ => drop(bytes.drain(at..(at + 1 + next(9)).min(bytes.len()))),
                    }
                }
                assert_same(&bytes, 1 + next(40));
            }
        }
    }

    #[test]
    fn the_last_device_that_has_an_entry_counts() {
        // {"segments": [], "device_traces": [L, [], L, M]}, with three entries, of which M has the second again.
        let entry = |memo: u8| {
            let mut entry = b"}q".to_vec();
            entry.extend([memo, b'(']);
            entry.extend(b"X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0addrK\x01u");
            entry
        };
        let bytes = [
            &b"\x80\x02}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces](]q\0("[..],
            &entry(1),
            &entry(2),
            &entry(3),
            b"e]h\0](h\x02eeu.",
        ]
        .concat();
        let devices: Vec<i64> = taken(&mut &bytes[..]).0.iter().map(|entry| entry.device).collect();
        assert_eq!(devices, [2, 3, 2]);
    }
}

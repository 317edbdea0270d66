//! What is taken out of a snapshot while it is read: entries of the history, frames and stacks.
//!
//! There may be millions of entries, so each becomes a row of the table at once. Frames come before the lists they are in, and
//! most lists are like one that came before: PyTorch writes one for every allocation.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use stepscope_model::{Action, Frame, FrameId, HistoryEntry, HistoryTable, Ns, StackId, StackTable, StrId};

use crate::pickle::{Collector, Pickle, Value};

/// Keys of an entry of the history, and of a frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Key {
    Action,
    Address,
    Bytes,
    Stream,
    Time,
    Frames,
    Name,
    File,
    Line,
    Other,
}

/// What a text means where it is a key, and where it is an action.
#[derive(Copy, Clone, Debug)]
struct TextMeaning {
    key: Key,
    action: Action,
}

impl TextMeaning {
    fn new(text: &[u8]) -> TextMeaning {
        let key = match text {
            b"action" => Key::Action,
            // An entry about a lack of memory has what the device had left instead.
            b"addr" | b"device_free" => Key::Address,
            b"size" => Key::Bytes,
            b"stream" => Key::Stream,
            b"time_us" => Key::Time,
            b"frames" => Key::Frames,
            b"name" => Key::Name,
            b"filename" => Key::File,
            b"line" => Key::Line,
            _ => Key::Other,
        };
        let action = match text {
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
        };
        TextMeaning { key, action }
    }
}

pub(super) fn time(us: i64) -> Ns {
    Ns(us.saturating_mul(1_000))
}

/// What has been seen of the dictionary under construction: by key, the last number, text or list.
#[derive(Debug, Default)]
struct OpenDict {
    kinds: [u8; KEY_COUNT],
    ints: [i64; KEY_COUNT],
    places: [u32; KEY_COUNT],
}

const KEY_COUNT: usize = 16;
const TAG_NONE: u8 = 0;
const TAG_INT: u8 = 1;
const TAG_TEXT: u8 = 2;
const TAG_LIST: u8 = 3;
const TAG_OTHER: u8 = 4;

impl OpenDict {
    #[inline]
    fn int(&self, key: Key) -> Option<i64> {
        (self.kinds[key as usize] == TAG_INT).then_some(self.ints[key as usize])
    }

    #[inline]
    fn text(&self, key: Key) -> Option<u32> {
        (self.kinds[key as usize] == TAG_TEXT).then_some(self.places[key as usize])
    }
}

/// The entries of all devices' histories, frames and stacks.
#[derive(Debug, Default)]
pub(super) struct EntryCollector {
    pub(super) stacks: StackTable,
    pub(super) entries: HistoryTable,
    /// By text of an action that is not known, how many entries have it.
    pub(super) unknown: BTreeMap<u32, u64>,
    seen: OpenDict,
    /// By text of the file.
    words: Vec<TextMeaning>,
    /// By text of the file: its number in the table, once it was looked up.
    names: Vec<Option<StrId>>,
    /// Lists of frames that differ, by the frames' numbers.
    lists: NumberLists,
    made: Vec<StackId>,
    /// By list of the file that was not taken: its stack.
    of_list: Vec<Option<StackId>>,
    /// By dictionary of the file that was not taken: its frame.
    of_dict: Vec<Option<FrameId>>,
}

impl Collector for EntryCollector {
    const ALLOWS_CLASSES: bool = false;
    const COLLECTS_DICTS: bool = true;

    #[inline]
    fn begin(&mut self) {
        self.seen.kinds = [TAG_NONE; KEY_COUNT];
    }

    #[inline]
    fn key(&mut self, pickle: &Pickle, text: u32) -> u8 {
        self.word(pickle, text).key as u8
    }

    #[inline]
    fn int(&mut self, key: u8, number: i64) {
        let key = key as usize % KEY_COUNT;
        self.seen.kinds[key] = TAG_INT;
        self.seen.ints[key] = number;
    }

    #[inline]
    fn text(&mut self, key: u8, text: u32) {
        let key = key as usize % KEY_COUNT;
        self.seen.kinds[key] = TAG_TEXT;
        self.seen.places[key] = text;
    }

    #[inline]
    fn other(&mut self, key: u8, value: Value) {
        let key = key as usize % KEY_COUNT;
        self.seen.kinds[key] = TAG_OTHER;
        if let Value::List(list) = value {
            self.seen.kinds[key] = TAG_LIST;
            self.seen.places[key] = list;
        }
    }

    #[inline]
    fn end(&mut self, pickle: &Pickle) -> Option<Value> {
        let seen = &self.seen;
        let (Some(action), Some(address)) = (seen.text(Key::Action), seen.int(Key::Address)) else {
            let no_entry = seen.kinds[Key::Action as usize] != TAG_TEXT;
            let [name, file] = [Key::Name, Key::File].map(|key| seen.text(key));
            let (Some(name), Some(file), Some(line), true) = (name, file, seen.int(Key::Line), no_entry) else {
                return None;
            };
            let frame = self.frame(pickle, Some(name), Some(file), Some(line));
            return Some(Value::Part(u32::try_from(frame.index()).ok()?));
        };
        if [Key::Bytes, Key::Stream].iter().any(|&key| seen.kinds[key as usize] > TAG_INT) {
            return None;
        }
        let mut entry = HistoryEntry {
            device: 0,
            action: Action::Other,
            address: address as u64,
            bytes: seen.int(Key::Bytes).unwrap_or(0).max(0) as u64,
            stream: seen.int(Key::Stream).unwrap_or(0) as u64,
            at: seen.int(Key::Time).map(time),
            stack: StackId::EMPTY,
        };
        if seen.kinds[Key::Frames as usize] == TAG_LIST {
            entry.stack = self.stack(pickle, Value::List(seen.places[Key::Frames as usize]));
        }
        entry.action = self.word(pickle, action).action;
        if entry.action == Action::Other {
            *self.unknown.entry(action).or_default() += 1;
        }
        let taken = u32::try_from(self.entries.len()).ok()?;
        self.entries.push(entry).then_some(Value::Taken(taken))
    }

    #[inline]
    fn list(&mut self, parts: &[u32]) -> Option<u32> {
        let number = self.lists.number(parts)?;
        if number as usize == self.made.len() {
            let mut stack = StackId::EMPTY;
            for &part in parts.iter().rev() {
                stack = self.stacks.push(stack, FrameId::from_index(part));
            }
            self.made.push(stack);
        }
        Some(number)
    }

    fn parts(&self, list: u32) -> &[u32] {
        self.lists.get(list)
    }
}

impl EntryCollector {
    #[inline]
    fn word(&mut self, pickle: &Pickle, text: u32) -> TextMeaning {
        match self.words.get(text as usize) {
            Some(&word) => word,
            None => self.new_word(pickle, text),
        }
    }

    #[cold]
    fn new_word(&mut self, pickle: &Pickle, text: u32) -> TextMeaning {
        for text in self.words.len()..=text as usize {
            self.words.push(TextMeaning::new(pickle.bytes_of(Value::Text(text as u32)).unwrap_or_default()));
        }
        self.words[text as usize]
    }

    /// A text of the file in the table; each is looked up once, however often it is referred to.
    pub(super) fn name(&mut self, pickle: &Pickle, text: u32) -> StrId {
        let at = text as usize;
        if self.names.len() <= at {
            self.names.resize(pickle.text_count().max(at + 1), None);
        }
        *self.names[at]
            .get_or_insert_with(|| self.stacks.intern(&pickle.text(Value::Text(text)).unwrap_or_default()))
    }

    fn frame(&mut self, pickle: &Pickle, name: Option<u32>, file: Option<u32>, line: Option<i64>) -> FrameId {
        let [name, file] = [name, file].map(|text| text.map_or(StrId::EMPTY, |text| self.name(pickle, text)));
        let line = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        self.stacks.frame(Frame { name, file, line })
    }

    /// The stack that a list of frames represents, the innermost first there.
    #[inline]
    pub(super) fn stack(&mut self, pickle: &Pickle, frames: Value) -> StackId {
        match pickle.taken_list(frames) {
            Some(list) => self.made[list as usize],
            None if pickle.items(frames).is_empty() => StackId::EMPTY,
            None => self.other_stack(pickle, frames),
        }
    }

    /// The same for a list that was not taken, since its frames are not as usual.
    #[cold]
    fn other_stack(&mut self, pickle: &Pickle, frames: Value) -> StackId {
        let Value::List(list) = frames else { return StackId::EMPTY };
        let list = list as usize;
        if let Some(&Some(stack)) = self.of_list.get(list) {
            return stack;
        }
        let mut stack = StackId::EMPTY;
        for &frame in pickle.items(frames).iter().rev() {
            let frame = match frame {
                Value::Part(part) => FrameId::from_index(part),
                _ => self.other_frame(pickle, frame),
            };
            stack = self.stacks.push(stack, frame);
        }
        // Such a list may still grow; one that is complete is looked at once.
        if self.of_list.len() <= list {
            self.of_list.resize(pickle.counts().0.max(list + 1), None);
        }
        self.of_list[list] = Some(stack);
        stack
    }

    fn other_frame(&mut self, pickle: &Pickle, frame: Value) -> FrameId {
        let text = |key: &str| match pickle.under(frame, key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        };
        let Value::Dict(dict) = frame else { return self.frame(pickle, None, None, None) };
        let dict = dict as usize;
        if let Some(&Some(frame)) = self.of_dict.get(dict) {
            return frame;
        }
        let line = pickle.under(frame, "line").and_then(|line| pickle.int(line));
        let found = self.frame(pickle, text("name"), text("filename"), line);
        if self.of_dict.len() <= dict {
            self.of_dict.resize(pickle.counts().1.max(dict + 1), None);
        }
        self.of_dict[dict] = Some(found);
        found
    }
}

/// Lists of numbers that differ, numbered in the order first seen.
#[derive(Debug, Default)]
struct NumberLists {
    parts: Vec<u32>,
    /// Where each ends; it begins where the one before ends.
    ends: Vec<u64>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl NumberLists {
    #[inline]
    fn number(&mut self, list: &[u32]) -> Option<u32> {
        let hash = self.hasher.hash_one(list);
        let NumberLists { parts, ends, numbers, hasher } = self;
        if let Some(&number) = numbers.find(hash, |&number| at(parts, ends, number) == list) {
            return Some(number);
        }
        let number = u32::try_from(ends.len()).ok()?;
        parts.extend_from_slice(list);
        ends.push(parts.len() as u64);
        numbers.insert_unique(hash, number, |&number| hasher.hash_one(at(parts, ends, number)));
        Some(number)
    }

    fn get(&self, number: u32) -> &[u32] {
        at(&self.parts, &self.ends, number)
    }
}

fn at<'a>(parts: &'a [u32], ends: &[u64], number: u32) -> &'a [u32] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &parts[start as usize..ends[number] as usize]
}

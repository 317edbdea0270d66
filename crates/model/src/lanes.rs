//! Lanes: where slices live. A host thread, a device stream, a counter track.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::strings::StrId;

#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub(crate) u32);

impl LaneId {
    /// The position of this lane in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A process or thread as the file names it: by number or by text.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    Int(i64),
    /// A text (`"Spans"`, or a thread id written as a text).
    Str(StrId),
    /// Not given.
    #[default]
    None,
}

impl Tag {
    /// The number, if it is one.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Tag::Int(v) => Some(v),
            _ => None,
        }
    }
}

/// Which side a lane is on. Part of the key, because inside a container the process id may equal a device's.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// A host thread or anything else that is not a device.
    #[default]
    Host,
    /// A stream of a device; the process tag is the device's number, the thread tag the stream's.
    Device,
}

/// What tells one lane from another.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey {
    /// Host or device.
    pub domain: Domain,
    /// Process, or device.
    pub process: Tag,
    /// Thread, or stream.
    pub thread: Tag,
}

/// A lane and what the file said about it.
#[derive(Copy, Clone, Default, Debug)]
pub struct Lane {
    pub key: LaneKey,
    /// The process's name (`python`), or empty.
    pub process_name: StrId,
    /// The thread's name (`thread 403 (python)`, `stream 7`), or empty.
    pub thread_name: StrId,
}

/// What recorders put before a thread on the lanes beside its own, in their names and in their keys.
pub const SAMPLES_OF: &str = "samples of ";
pub const LOCK_OF: &str = "lock of ";
pub const ASYNCIO_TASKS_OF: &str = "asyncio tasks of ";

/// All lanes of a trace, in the order they were first seen.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    lanes: Vec<Lane>,
    ids: HashTable<LaneId>,
    hasher: RandomState,
}

impl Lanes {
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    pub fn get(&self, id: LaneId) -> &Lane {
        &self.lanes[id.index()]
    }

    pub fn iter(&self) -> impl Iterator<Item = (LaneId, &Lane)> {
        self.lanes.iter().enumerate().map(|(i, lane)| (LaneId(i as u32), lane))
    }

    /// The lane of a key, if there is one.
    pub fn find(&self, key: LaneKey) -> Option<LaneId> {
        let hash = self.hasher.hash_one(key);
        self.ids.find(hash, |&id| self.lanes[id.index()].key == key).copied()
    }

    /// `None` where there is no number left for a new one.
    pub(crate) fn find_or_add(&mut self, key: LaneKey) -> Option<LaneId> {
        if let Some(id) = self.find(key) {
            return Some(id);
        }
        let id = LaneId(u32::try_from(self.lanes.len()).ok()?);
        self.lanes.push(Lane { key, ..Lane::default() });
        let Lanes { lanes, ids, hasher } = self;
        ids.insert_unique(hasher.hash_one(key), id, |&id| hasher.hash_one(lanes[id.index()].key));
        Some(id)
    }

    pub(crate) fn get_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.lanes[id.index()]
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.lanes.len() * size_of::<Lane>() + self.ids.allocation_size()
    }
}

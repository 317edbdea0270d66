//! Interned strings: each distinct text is stored once and named by a [`StrId`].
//!
//! A trace of 700,000 events has a few thousand distinct texts. The hash is seeded at random, so a file made
//! to collide cannot slow the reader down; nothing ever iterates in hash order.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Names one text of a [`Strings`] table.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrId(u32);

impl StrId {
    /// The empty text, present in every table.
    pub const EMPTY: StrId = StrId(0);

    pub(crate) fn raw(self) -> u32 {
        self.0
    }

    pub(crate) fn from_raw(raw: u32) -> StrId {
        StrId(raw)
    }

    /// The position of this text in its table, for columns indexed by text.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The text at a position of its table.
    pub fn from_index(index: usize) -> StrId {
        StrId(index as u32)
    }
}

/// A table of distinct texts.
#[derive(Debug, Clone)]
pub struct Strings {
    text: String,
    /// `ends[i]` is where text `i` ends; it starts where text `i - 1` ends.
    ends: Vec<usize>,
    ids: HashTable<StrId>,
    hasher: RandomState,
    most: usize,
    refused: u64,
}

impl Default for Strings {
    fn default() -> Self {
        Strings::with_limit(u32::MAX as usize)
    }
}

impl Strings {
    fn with_limit(most: usize) -> Strings {
        let mut strings = Strings {
            text: String::new(),
            ends: Vec::new(),
            ids: HashTable::new(),
            hasher: RandomState::default(),
            most,
            refused: 0,
        };
        strings.intern("");
        strings
    }

    /// The id of `text`, stored if it is new. Past four billion texts new ones are read as empty, and counted.
    pub fn intern(&mut self, text: &str) -> StrId {
        self.intern_new(text).0
    }

    /// As [`Strings::intern`], and whether the text was new.
    pub fn intern_new(&mut self, text: &str) -> (StrId, bool) {
        let hash = self.hasher.hash_one(text.as_bytes());
        match self.lookup(hash, text.as_bytes()) {
            Some(id) => (id, false),
            None => self.add(hash, text),
        }
    }

    /// The id of text given as bytes, and whether it was new. Bytes that are not UTF-8 are kept with
    /// replacement characters; the reader that cares compares what it stored with what it gave.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> (StrId, bool) {
        let hash = self.hasher.hash_one(bytes);
        if let Some(id) = self.lookup(hash, bytes) {
            return (id, false);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.add(hash, text),
            Err(_) => self.intern_new(&String::from_utf8_lossy(bytes)),
        }
    }

    /// The id of `text` if it is in the table.
    pub fn find(&self, text: &str) -> Option<StrId> {
        self.lookup(self.hasher.hash_one(text.as_bytes()), text.as_bytes())
    }

    /// The text behind an id.
    pub fn get(&self, id: StrId) -> &str {
        let end = self.ends[id.index()];
        let start = match id.index() {
            0 => 0,
            i => self.ends[i - 1],
        };
        &self.text[start..end]
    }

    /// How many distinct texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether only the empty text is there.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// All texts in the order they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = (StrId, &str)> {
        (0..self.ends.len() as u32).map(|i| (StrId(i), self.get(StrId(i))))
    }

    /// Bytes held by the table.
    pub fn heap_bytes(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<usize>() + self.ids.allocation_size()
    }

    fn lookup(&self, hash: u64, bytes: &[u8]) -> Option<StrId> {
        self.ids.find(hash, |&id| self.get(id).as_bytes() == bytes).copied()
    }

    /// How many times a text found no room.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    fn add(&mut self, hash: u64, text: &str) -> (StrId, bool) {
        if self.ends.len() >= self.most {
            self.refused = self.refused.saturating_add(1);
            return (StrId::EMPTY, false);
        }
        let id = StrId(self.ends.len() as u32);
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let Strings { text, ends, ids, hasher, .. } = self;
        ids.insert_unique(hash, id, |&id| {
            let start = if id.index() == 0 { 0 } else { ends[id.index() - 1] };
            hasher.hash_one(&text.as_bytes()[start..ends[id.index()]])
        });
        (id, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_text_same_id() {
        let mut s = Strings::default();
        let a = s.intern("aten::mm");
        assert_eq!(s.intern("aten::mm"), a);
        assert_ne!(s.intern("aten::add"), a);
        assert_eq!(s.get(a), "aten::mm");
        assert_eq!(s.find("aten::bmm"), None);
        assert_eq!(s.get(StrId::EMPTY), "");
    }

    #[test]
    fn texts_without_room_are_empty_and_counted() {
        let mut s = Strings::with_limit(2);
        let a = s.intern("a");
        assert_eq!(s.intern_new("b"), (StrId::EMPTY, false));
        assert_eq!(s.intern_bytes(b"c"), (StrId::EMPTY, false));
        assert_eq!(s.intern("a"), a);
        assert_eq!((s.len(), s.refused()), (2, 2));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept_readable() {
        let mut s = Strings::default();
        let (id, new) = s.intern_bytes(b"a\xffb");
        assert!(new);
        assert_eq!(s.get(id), "a\u{fffd}b");
        assert_eq!(s.intern_bytes(b"a\xffb").0, id);
    }
}

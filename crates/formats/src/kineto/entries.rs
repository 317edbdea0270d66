//! What a file says beside its events, within bounds: a file of nothing but keys costs no more than these.

use std::collections::HashMap;

/// The top-level entries of a file, each key once, in the order the keys first came.
pub(super) struct Entries {
    entries: Vec<(String, String)>,
    places: HashMap<String, usize>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryOutcome {
    Kept,
    /// It took the place of an earlier value of its key.
    Replaced,
    /// There is no room left for it.
    NoRoom,
}

impl Entries {
    /// Room for so many entries, keys and values together no longer than so many bytes.
    pub(super) fn new(most: usize, most_bytes: usize) -> Entries {
        Entries { entries: Vec::new(), places: HashMap::new(), bytes: 0, most, most_bytes }
    }

    /// Keeps an entry; of several with one key the last that finds room counts.
    pub(super) fn put(&mut self, key: &str, text: &str) -> EntryOutcome {
        if let Some(&at) = self.places.get(key) {
            let old = &mut self.entries[at].1;
            let bytes = self.bytes - old.len() + text.len();
            if bytes > self.most_bytes {
                return EntryOutcome::NoRoom;
            }
            self.bytes = bytes;
            *old = text.to_owned();
            return EntryOutcome::Replaced;
        }
        let bytes = self.bytes + key.len() + text.len();
        if self.entries.len() >= self.most || bytes > self.most_bytes {
            return EntryOutcome::NoRoom;
        }
        self.bytes = bytes;
        self.places.insert(key.to_owned(), self.entries.len());
        self.entries.push((key.to_owned(), text.to_owned()));
        EntryOutcome::Kept
    }

    /// The entries, in file order.
    pub(super) fn into_vec(self) -> Vec<(String, String)> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_counts_and_room_is_given_back() {
        let mut entries = Entries::new(2, 10);
        assert_eq!(entries.put("a", "12345"), EntryOutcome::Kept);
        assert_eq!(entries.put("b", "123"), EntryOutcome::Kept);
        assert_eq!(entries.put("c", ""), EntryOutcome::NoRoom);
        assert_eq!(entries.put("b", "1234"), EntryOutcome::NoRoom);
        assert_eq!(entries.put("a", "1"), EntryOutcome::Replaced);
        assert_eq!(entries.put("b", "1234"), EntryOutcome::Replaced);
        let want = [("a", "1"), ("b", "1234")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(entries.into_vec(), want);
    }
}

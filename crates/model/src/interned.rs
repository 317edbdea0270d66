//! Values stored once each, numbered in the order first seen.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// A table of different values.
#[derive(Clone, Debug)]
pub(crate) struct Interned<T> {
    values: Vec<T>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl<T> Default for Interned<T> {
    fn default() -> Interned<T> {
        Interned { values: Vec::new(), numbers: HashTable::new(), hasher: RandomState::default() }
    }
}

impl<T: Eq + Hash> Interned<T> {
    /// The number of a value, stored if it is new. `None` where there is no number left for a new one.
    pub(crate) fn number(&mut self, value: T) -> Option<u32> {
        let Interned { values, numbers, hasher } = self;
        let hash = hasher.hash_one(&value);
        if let Some(&number) = numbers.find(hash, |&number| values[number as usize] == value) {
            return Some(number);
        }
        let number = u32::try_from(values.len()).ok()?;
        values.push(value);
        numbers.insert_unique(hash, number, |&number| hasher.hash_one(&values[number as usize]));
        Some(number)
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// Lets go of what only adding needs.
    pub(crate) fn freeze(&mut self) {
        self.numbers = HashTable::new();
        self.values.shrink_to_fit();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.values.len() * size_of::<T>() + self.numbers.allocation_size()
    }
}

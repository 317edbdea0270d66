//! What a file refers back to, in four bytes each: Python numbers every list, dictionary and text it writes.

use std::collections::HashMap;

use super::Value;

/// Values by number. Numbers count up in every file that Python writes.
#[derive(Default)]
pub(super) struct Memo {
    pub(super) in_order: Vec<u32>,
    /// Those that do not fit into four bytes.
    wide: Vec<Value>,
    /// Those whose number was not the next.
    others: HashMap<u64, Value>,
}

const PLACE_BITS: u32 = 29;
const PLACES: u32 = 1 << PLACE_BITS;
const TEXT: u32 = 0;
const LIST: u32 = 1;
const DICT: u32 = 2;
const TAKEN: u32 = 3;
const PART: u32 = 4;
const WIDE: u32 = 5;
/// What represents a value that is not complete yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// A value in four bytes, if it fits.
#[inline]
pub(super) fn small(value: Value) -> Option<u32> {
    let (kind, place) = match value {
        Value::Text(place) => (TEXT, place),
        Value::List(place) => (LIST, place),
        Value::Dict(place) => (DICT, place),
        Value::Taken(place) => (TAKEN, place),
        Value::Part(place) => (PART, place),
        _ => return None,
    };
    (place < PLACES).then_some(kind << PLACE_BITS | place)
}

/// The text that four bytes stand for, if they do.
#[inline]
pub(super) fn text(held: u32) -> Option<u32> {
    (held >> PLACE_BITS == TEXT).then_some(held & (PLACES - 1))
}

impl Memo {
    pub(super) fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }

    /// Whether all numbers so far counted up.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.others.is_empty()
    }

    pub(super) fn set(&mut self, number: u64, value: Value) {
        let next = self.in_order.len() as u64;
        if number < next || number == next && !self.others.contains_key(&number) {
            let held = small(value).unwrap_or_else(|| {
                let place = self.wide.len() as u32;
                self.wide.push(value);
                WIDE << PLACE_BITS | (place & (PLACES - 1))
            });
            match self.in_order.get_mut(number as usize) {
                Some(there) => *there = held,
                None => self.in_order.push(held),
            }
        } else {
            self.others.insert(number, value);
        }
    }

    #[inline]
    pub(super) fn value(&self, held: u32) -> Option<Value> {
        let place = held & (PLACES - 1);
        Some(match held >> PLACE_BITS {
            TEXT => Value::Text(place),
            LIST => Value::List(place),
            DICT => Value::Dict(place),
            TAKEN => Value::Taken(place),
            PART => Value::Part(place),
            WIDE => *self.wide.get(place as usize)?,
            _ => return None,
        })
    }

    pub(super) fn get(&self, number: u64) -> Option<Value> {
        match usize::try_from(number).ok().and_then(|at| self.in_order.get(at)) {
            Some(&held) => self.value(held),
            None => self.others.get(&number).copied(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.in_order.len() * 4 + self.wide.len() * size_of::<Value>() + self.others.len() * 48
    }
}

//! Dictionaries of texts, numbers and what the file refers back to, read at once.
//!
//! A history has millions of them, and nearly all of a file is in them: they go from the bytes to the reader without the
//! stack, the table of dictionaries and the table of lists. Whatever is not as expected is left to the machine, which
//! reads the same bytes again: so nothing is changed here before all of a dictionary is known, other than texts and lists
//! that nothing refers to.

use super::cursor::long;
use super::machine::Machine;
use super::memo::{UNKNOWN, small, text};
use super::{Collector, ListContent, Value};

/// The bytes at a place.
#[inline]
fn bytes<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

impl<T: Collector> Machine<'_, T> {
    /// Reads a dictionary that begins right before a place: where it ends, if that is known and the reader took it.
    #[inline]
    pub(super) fn flat(&mut self, from: &[u8], mut at: usize) -> Option<usize> {
        if !self.memo.is_in_order() {
            return None;
        }
        self.fresh.clear();
        at = self.memoize(from, at, UNKNOWN)?;
        let remembered = !self.fresh.is_empty();
        if *from.get(at)? != b'(' {
            return None;
        }
        at += 1;
        self.collector.begin();
        loop {
            let key;
            (key, at) = match *from.get(at)? {
                b'h' => (text(self.held(from.get(at + 1).copied()?.into())?)?, at + 2),
                b'u' => break,
                _ => self.other_key(from, at)?,
            };
            let key = self.collector.key(&self.pickle, key);
            at = self.flat_value(from, at, key)?;
        }
        let value = self.collector.end(&self.pickle)?;
        if remembered {
            // A number that is too large is rare enough to be left out of what can be referred to.
            self.fresh[0] = small(value).unwrap_or(UNKNOWN);
        }
        // One or two, nearly always: less work than to copy them as a slice.
        for &held in &self.fresh {
            self.memo.in_order.push(held);
        }
        self.stack.push(value);
        Some(at + 1)
    }

    fn other_key(&mut self, from: &[u8], at: usize) -> Option<(u32, usize)> {
        match *from.get(at)? {
            b'j' => Some((text(self.held(u32::from_le_bytes(bytes(from, at + 1)?))?)?, at + 5)),
            0x8c | b'X' => self.flat_text(from, at),
            _ => None,
        }
    }

    /// Hands the value of a key over: where it ends.
    #[inline(always)]
    fn flat_value(&mut self, from: &[u8], at: usize, key: u8) -> Option<usize> {
        let (number, end) = match *from.get(at)? {
            b'K' => (from.get(at + 1).copied()?.into(), at + 2),
            b'M' => (u16::from_le_bytes(bytes(from, at + 1)?).into(), at + 3),
            b'J' => (i32::from_le_bytes(bytes(from, at + 1)?).into(), at + 5),
            0x8a => {
                let length = usize::from(*from.get(at + 1)?);
                let end = at + 2 + length;
                // Numbers of up to 8 bytes, of which the last is below 128, are most.
                match bytes::<8>(from, at + 2) {
                    Some(low) if (1..=8).contains(&length) && low[length - 1] < 0x80 => {
                        ((u64::from_le_bytes(low) & (u64::MAX >> (64 - 8 * length))) as i64, end)
                    }
                    _ => (long(from.get(at + 2..end)?), end),
                }
            }
            code @ (b'h' | b'j') => {
                let (held, end) = match code {
                    b'h' => (self.held(from.get(at + 1).copied()?.into())?, at + 2),
                    _ => (self.held(u32::from_le_bytes(bytes(from, at + 1)?))?, at + 5),
                };
                match text(held) {
                    Some(text) => self.collector.text(key, text),
                    None => self.collector.other(key, self.memo.value(held)?),
                }
                return Some(end);
            }
            0x8c | b'X' => {
                let (text, end) = self.flat_text(from, at)?;
                self.collector.text(key, text);
                return Some(end);
            }
            code => {
                let (value, end) = match code {
                    b']' => self.flat_list(from, at + 1)?,
                    b'G' => (Value::Float(f64::from_be_bytes(bytes(from, at + 1)?)), at + 9),
                    b'N' | 0x89 => (Value::Nothing, at + 1),
                    0x88 => (Value::True, at + 1),
                    _ => return None,
                };
                self.collector.other(key, value);
                return Some(end);
            }
        };
        self.collector.int(key, number);
        Some(end)
    }

    /// What a reference at a place represents, if there is one.
    #[inline(always)]
    fn flat_reference(&self, from: &[u8], at: usize) -> Option<(Value, usize)> {
        match *from.get(at)? {
            b'h' => Some((self.memo.value(self.held(from.get(at + 1).copied()?.into())?)?, at + 2)),
            b'j' => Some((self.memo.value(self.held(u32::from_le_bytes(bytes(from, at + 1)?))?)?, at + 5)),
            _ => None,
        }
    }

    #[inline]
    fn flat_text(&mut self, from: &[u8], at: usize) -> Option<(u32, usize)> {
        let (start, length) = match from[at] {
            b'X' => (at + 5, usize::try_from(i32::from_le_bytes(bytes(from, at + 1)?)).ok()?),
            _ => (at + 2, usize::from(*from.get(at + 1)?)),
        };
        let text = from.get(start..start.checked_add(length)?)?;
        let text = self.pickle.texts.add(text)?;
        let at = self.memoize(from, start + length, small(Value::Text(text))?)?;
        Some((text, at))
    }

    /// A list of nothing, or of parts that came before.
    #[inline]
    fn flat_list(&mut self, from: &[u8], at: usize) -> Option<(Value, usize)> {
        let list = u32::try_from(self.pickle.lists.len()).ok()?;
        let value = Value::List(list);
        let mut at = self.memoize(from, at, small(value)?)?;
        self.parts.clear();
        if *from.get(at)? == b'(' {
            at += 1;
            while *from.get(at)? != b'e' {
                let (Value::Part(part), end) = self.flat_reference(from, at)? else { return None };
                self.parts.push(part);
                at = end;
            }
            at += 1;
        } else if let Some((Value::Part(part), end)) = self.flat_reference(from, at)
            && *from.get(end)? == b'a'
        {
            self.parts.push(part);
            at = end + 1;
        }
        let body = match self.parts.is_empty() {
            true => ListContent::Empty,
            false => ListContent::Taken(self.collector.list(&self.parts)?),
        };
        self.pickle.lists.push(body);
        Some((value, at))
    }

    /// Notes that a value is referred to later, if the file says so: where its instruction ends.
    #[inline]
    fn memoize(&mut self, from: &[u8], at: usize, held: u32) -> Option<usize> {
        let (number, end) = match *from.get(at)? {
            0x94 => (None, at + 1),
            b'q' => (Some(u32::from(*from.get(at + 1)?)), at + 2),
            b'r' => (Some(u32::from_le_bytes(bytes(from, at + 1)?)), at + 5),
            _ => return Some(at),
        };
        let next = self.memo.in_order.len() + self.fresh.len();
        if number.is_some_and(|number| number as usize != next) {
            return None;
        }
        self.fresh.push(held);
        Some(end)
    }

    #[inline(always)]
    fn held(&self, number: u32) -> Option<u32> {
        let number = number as usize;
        match self.memo.in_order.get(number) {
            Some(&held) => Some(held),
            None => self.fresh.get(number - self.memo.in_order.len()).copied(),
        }
    }
}

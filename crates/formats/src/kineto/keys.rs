//! Keys and categories seen before: a few dozen short texts make up a third of a file.
//!
//! A direct-mapped table in front of the interner. It only saves time: what it does not hold is looked up.

use stepscope_model::StrId;

const SLOTS: usize = 128;
const LONGEST: usize = 30;

#[derive(Copy, Clone)]
struct Slot {
    len: u8,
    bytes: [u8; LONGEST],
    id: StrId,
}

pub(super) struct Keys {
    slots: Box<[Slot; SLOTS]>,
}

impl Keys {
    pub(super) fn new() -> Keys {
        Keys { slots: Box::new([Slot { len: 0, bytes: [0; LONGEST], id: StrId::EMPTY }; SLOTS]) }
    }

    /// The id of this text, if it is held.
    #[inline]
    pub(super) fn get(&self, text: &[u8]) -> Option<StrId> {
        let slot = &self.slots[place(text)?];
        (usize::from(slot.len) == text.len() && slot.bytes[..text.len()] == *text).then_some(slot.id)
    }

    /// Holds a text from now on, in place of another.
    pub(super) fn put(&mut self, text: &[u8], id: StrId) {
        if let Some(place) = place(text) {
            let slot = &mut self.slots[place];
            slot.len = text.len() as u8;
            slot.bytes[..text.len()].copy_from_slice(text);
            slot.id = id;
        }
    }
}

#[inline]
fn place(text: &[u8]) -> Option<usize> {
    let (&first, &last) = (text.first()?, text.last()?);
    let hash = usize::from(first) * 5 + usize::from(last) * 3 + text.len() * 11;
    (text.len() <= LONGEST).then_some(hash % SLOTS)
}

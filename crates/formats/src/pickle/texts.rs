//! The texts of a pickle. Writers repeat short ones: PyTorch makes three new texts per entry of a history, nearly always the
//! same ones.

#[derive(Debug)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Where each ends; it begins where the one before ends.
    ends: Vec<u64>,
    /// By hash, the number after that of a short text that was seen lately.
    recent: Box<[u32; RECENT_COUNT]>,
}

const RECENT_COUNT: usize = 1 << RECENT_BITS;
const RECENT_BITS: u32 = 12;
/// Longer texts are not looked for.
const MAX_SHORT_BYTES: usize = 64;

impl Default for Texts {
    fn default() -> Texts {
        Texts { bytes: Vec::new(), ends: Vec::new(), recent: Box::new([0; RECENT_COUNT]) }
    }
}

impl Texts {
    /// The number of a text; none where there is no number left.
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) -> Option<u32> {
        if text.len() > MAX_SHORT_BYTES {
            return self.push(text);
        }
        let slot = slot(text);
        if let Some(number) = self.recent[slot].checked_sub(1)
            && self.get(number) == text
        {
            return Some(number);
        }
        let number = self.push(text)?;
        self.recent[slot] = number + 1;
        Some(number)
    }

    fn push(&mut self, text: &[u8]) -> Option<u32> {
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number < u32::MAX)?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u64);
        Some(number)
    }

    /// The text of a number that was given.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * 8
    }
}

/// Where a text is looked for. A file made to collide costs what one without repeated texts does.
#[inline]
fn slot(text: &[u8]) -> usize {
    let eight = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mixed = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => eight(first) ^ eight(last).rotate_left(23),
        _ => text.iter().fold(0, |mixed, &byte| mixed << 8 | u64::from(byte)),
    };
    let mixed = mixed ^ (text.len() as u64) << 59;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT_BITS)) as usize
}

//! Long columns of whole numbers in few bytes.
//!
//! Numbers that follow each other are near each other: times, addresses, levels. So they are kept in blocks, as what each is
//! above the lowest of its block, in as many bytes as the highest of them needs. A column that never changes takes no bytes
//! but those of its blocks' heads.

use std::ops::Range;

const BLOCK: usize = Packed::BLOCK;

/// A column of whole numbers that can be read at any place and only grows.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    heads: Vec<BlockHead>,
    /// Eight more than there are numbers for, so that eight can be read and written at once everywhere.
    bytes: Vec<u8>,
    open: Vec<i64>,
}

#[derive(Copy, Clone, Debug)]
struct BlockHead {
    lowest: i64,
    /// Where its bytes begin, and in the lowest four bits how many there are for each number.
    place: u64,
}

impl BlockHead {
    fn width(self) -> usize {
        (self.place & 15) as usize
    }

    fn start(self) -> usize {
        (self.place >> 4) as usize
    }
}

impl Packed {
    pub const BLOCK: usize = 256;

    #[inline]
    pub fn push(&mut self, number: i64) {
        self.open.push(number);
        if let Ok(full) = <[i64; BLOCK]>::try_from(&self.open[..]) {
            self.open.clear();
            self.push_block(&full);
        }
    }

    pub fn len(&self) -> usize {
        self.heads.len() * BLOCK + self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a place.
    pub fn get(&self, at: usize) -> Option<i64> {
        let Some(&head) = self.heads.get(at / BLOCK) else {
            return self.open.get(at - self.heads.len() * BLOCK).copied();
        };
        let from = head.start() + at % BLOCK * head.width();
        let above = eight(&self.bytes, from) & mask(head.width());
        Some(head.lowest.wrapping_add(above as i64))
    }

    pub fn iter(&self) -> PackedNumbers<'_> {
        self.range(0..self.len())
    }

    /// Those of a stretch, which is cut to what there is.
    pub fn range(&self, range: Range<usize>) -> PackedNumbers<'_> {
        let end = range.end.min(self.len());
        PackedNumbers { of: self, at: range.start.min(end), end, block: usize::MAX, numbers: [0; BLOCK] }
    }

    pub fn heap_bytes(&self) -> usize {
        self.heads.capacity() * size_of::<BlockHead>() + self.bytes.capacity() + self.open.capacity() * 8
    }

    /// Adds a full block of numbers. Whoever adds blocks adds nothing else.
    pub fn push_block(&mut self, numbers: &[i64; BLOCK]) {
        debug_assert!(self.open.is_empty());
        let (lowest, highest) = numbers
            .iter()
            .fold((i64::MAX, i64::MIN), |(low, high), &number| (low.min(number), high.max(number)));
        let most = highest.wrapping_sub(lowest) as u64;
        let width = (64 - most.leading_zeros()).div_ceil(8) as usize;
        let start = self.bytes.len().saturating_sub(8);
        self.heads.push(BlockHead { lowest, place: (start as u64) << 4 | width as u64 });
        self.bytes.resize(start + BLOCK * width + 8, 0);
        let room = &mut self.bytes[start..];
        match width {
            0 => {}
            1 => write::<1>(room, numbers, lowest),
            2 => write::<2>(room, numbers, lowest),
            3 => write::<3>(room, numbers, lowest),
            4 => write::<4>(room, numbers, lowest),
            5 => write::<5>(room, numbers, lowest),
            6 => write::<6>(room, numbers, lowest),
            7 => write::<7>(room, numbers, lowest),
            _ => write::<8>(room, numbers, lowest),
        }
    }

    pub(crate) fn block(&self, block: usize, numbers: &mut [i64; BLOCK]) {
        let Some(&head) = self.heads.get(block) else {
            numbers[..self.open.len()].copy_from_slice(&self.open);
            return;
        };
        let bytes = &self.bytes[head.start()..head.start() + BLOCK * head.width() + 8];
        match head.width() {
            0 => numbers.fill(head.lowest),
            1 => read::<1>(bytes, numbers, head.lowest),
            2 => read::<2>(bytes, numbers, head.lowest),
            3 => read::<3>(bytes, numbers, head.lowest),
            4 => read::<4>(bytes, numbers, head.lowest),
            5 => read::<5>(bytes, numbers, head.lowest),
            6 => read::<6>(bytes, numbers, head.lowest),
            7 => read::<7>(bytes, numbers, head.lowest),
            _ => read::<8>(bytes, numbers, head.lowest),
        }
    }
}

/// The bits of a number of so many bytes.
fn mask(width: usize) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - 8 * width) }
}

#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Rising, so that what is written too much is overwritten by the next.
fn write<const WIDTH: usize>(room: &mut [u8], numbers: &[i64; BLOCK], lowest: i64) {
    let Some(room) = room.get_mut(..BLOCK * WIDTH + 8) else { return };
    for (at, number) in numbers.iter().enumerate() {
        room[at * WIDTH..at * WIDTH + 8].copy_from_slice(&number.wrapping_sub(lowest).to_le_bytes());
    }
}

#[inline]
fn read<const WIDTH: usize>(bytes: &[u8], numbers: &mut [i64; BLOCK], lowest: i64) {
    let Some(bytes) = bytes.get(..BLOCK * WIDTH + 8) else { return };
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = lowest.wrapping_add((eight(bytes, at * WIDTH) & mask(WIDTH)) as i64);
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Packed) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Packed {}

impl FromIterator<i64> for Packed {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> Packed {
        let mut packed = Packed::default();
        numbers.into_iter().for_each(|number| packed.push(number));
        packed
    }
}

/// A stretch of a [`Packed`] column.
#[derive(Clone, Debug)]
pub struct PackedNumbers<'a> {
    of: &'a Packed,
    at: usize,
    end: usize,
    block: usize,
    numbers: [i64; BLOCK],
}

impl Iterator for PackedNumbers<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        if self.at >= self.end {
            return None;
        }
        if self.at / BLOCK != self.block {
            self.block = self.at / BLOCK;
            self.of.block(self.block, &mut self.numbers);
        }
        let number = self.numbers[self.at % BLOCK];
        self.at += 1;
        Some(number)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.at, Some(self.end - self.at))
    }
}

impl ExactSizeIterator for PackedNumbers<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were() {
        let mut random = 7u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random
        };
        // Every width, both signs, and the ends of what there is.
        let mut numbers: Vec<i64> = Vec::new();
        for width in 0..=64 {
            let most = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let base = next() as i64;
            numbers.extend((0..100 + width * 3).map(|_| base.wrapping_add((next() & most) as i64)));
            numbers.extend([i64::MIN, i64::MAX, 0, -1].into_iter().take(width % 5));
        }
        let packed: Packed = numbers.iter().copied().collect();
        assert_eq!(packed.len(), numbers.len());
        assert!(packed.iter().eq(numbers.iter().copied()));
        for (at, &number) in numbers.iter().enumerate() {
            assert_eq!(packed.get(at), Some(number));
        }
        assert_eq!(packed.get(numbers.len()), None);
        for range in [0..0, 5..300, 255..256, 256..257, 700..5_000, numbers.len() - 3..usize::MAX] {
            let expected = &numbers[range.start..range.end.min(numbers.len())];
            assert!(packed.range(range.clone()).eq(expected.iter().copied()), "{range:?}");
        }
        assert_eq!(packed, packed.iter().collect());
        assert_ne!(packed, packed.iter().skip(1).collect());
    }

    #[test]
    fn what_is_alike_takes_little() {
        let same: Packed = std::iter::repeat_n(1 << 60, 256 * 1_000).collect();
        assert_eq!(same.bytes.len(), 8);
        // Microseconds apart, a long time after the epoch.
        let times: Packed = (0..256 * 1_000).map(|at| 1_700_000_000_000_000 + 20 * at).collect();
        assert_eq!(times.bytes.len(), 2 * 256 * 1_000 + 8);
    }
}

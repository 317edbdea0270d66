//! Histograms in files: one after the other what each is made of, and of its buckets only those that hold something.
//!
//! There are thousands per minute, so its parts have no numbers. What is added one day comes last, where readers that do not
//! know it stop.

use stepscope_ground::protobuf::{Field, Message, Put, unzigzag, varint, zigzag};

use super::{MAX_BUCKETS, MIN_SCALE, Sketch, bounds};
use crate::wire::{Pairs, Wire};

impl Wire for Sketch {
    fn put(&self, number: u32, out: &mut Message) {
        let used = || self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let first = used().next().map_or(0, |(at, _)| at);
        out.nested(number, |out| {
            out.varint(zigzag(self.scale.into()));
            for value in [self.zeros, self.sum, self.min().unwrap_or(0), self.max] {
                out.varint(value);
            }
            out.varint(zigzag(i64::from(self.offset) + first as i64));
            out.varint(used().count() as u64);
            let mut next = first;
            for (at, count) in used() {
                // How many are skipped, and the count.
                out.varint((at - next) as u64);
                out.varint(*count);
                next = at + 1;
            }
        });
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        *self = Self::in_order(&mut value.bytes()?)?;
        Some(())
    }

    /// `None` if its parts contradict each other.
    fn in_order(from: &mut &[u8]) -> Option<Self> {
        let mut next = || varint(from).ok();
        let scale = i8::try_from(unzigzag(next()?)).ok()?;
        let (zeros, sum, min, max) = (next()?, next()?, next()?, next()?);
        let offset = i32::try_from(unzigzag(next()?)).ok()?;
        let mut counts = Vec::new();
        let mut count = zeros;
        for (skipped, in_bucket) in Pairs::<u64, u64>::in_order(from)?.0 {
            let place = counts.len().checked_add(usize::try_from(skipped).ok()?)?;
            if place >= MAX_BUCKETS {
                return None;
            }
            counts.resize(place, 0);
            counts.push(in_bucket);
            count = count.checked_add(in_bucket)?;
        }
        let sane = (MIN_SCALE..=bounds::MAX_SCALE).contains(&scale)
            && (-1..=64 << bounds::MAX_SCALE).contains(&offset)
            && (count == 0 || min <= max);
        let (min, max) = if count == 0 { (u64::MAX, 0) } else { (min, max) };
        let max_buckets = MAX_BUCKETS;
        sane.then_some(Sketch { scale, offset, counts, zeros, count, sum, min, max, max_buckets })
    }
}

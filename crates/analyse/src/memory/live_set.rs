//! A set of small numbers in which the next one is found at once: which blocks are in use, by the order of their addresses.

/// Bits, and for every 64 of them one bit a level higher that says whether any is set.
#[derive(Debug, Default)]
pub(super) struct LiveSet {
    /// The lowest level first.
    levels: Vec<Vec<u64>>,
}

impl LiveSet {
    /// An empty set of numbers below a limit.
    pub(super) fn new(limit: usize) -> LiveSet {
        let mut levels = Vec::new();
        let mut words = limit.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return LiveSet { levels };
            }
            words = words.div_ceil(64);
        }
    }

    pub(super) fn insert(&mut self, number: u32) {
        let mut at = number as usize;
        for level in &mut self.levels {
            let was_empty = level[at / 64] == 0;
            level[at / 64] |= 1 << (at % 64);
            if !was_empty {
                return;
            }
            at /= 64;
        }
    }

    pub(super) fn remove(&mut self, number: u32) {
        let mut at = number as usize;
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The lowest number from this one on.
    pub(super) fn next(&self, number: u32) -> Option<u32> {
        let mut at = number as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let word = *level.get(at / 64)?;
            let rest = word & u64::MAX << (at % 64);
            if rest != 0 {
                let mut found = at / 64 * 64 + rest.trailing_zeros() as usize;
                for level in self.levels[..height].iter().rev() {
                    found = found * 64 + level[found].trailing_zeros() as usize;
                }
                return u32::try_from(found).ok();
            }
            at = at / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_does_what_a_tree_does() {
        for limit in [1, 63, 64, 65, 4_096, 4_097, 300_000] {
            let (mut set, mut tree) = (LiveSet::new(limit), BTreeSet::new());
            let mut random = 11u32;
            let mut next = || {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 4) % limit as u32
            };
            for turn in 0..4_000 {
                let number = next();
                if turn % 3 == 2 {
                    set.remove(number);
                    tree.remove(&number);
                } else {
                    set.insert(number);
                    tree.insert(number);
                }
                let from = next();
                assert_eq!(set.next(from), tree.range(from..).next().copied(), "{from} below {limit}");
            }
            assert_eq!(set.next(limit as u32 + 1), None);
        }
    }
}

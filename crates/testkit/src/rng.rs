//! A tiny random source (splitmix64), so that a seed means the same bytes on every machine.

/// A splitmix64 generator.
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    /// A generator started from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `low..high` (just `low` where the range is empty).
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        let width = u128::from(high.saturating_sub(low));
        // The upper half of the product is `width * fraction`, which needs no division.
        low + ((u128::from(self.next()) * width) >> 64) as u64
    }
}

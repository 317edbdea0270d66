//! Which allocations are recorded: all of them, or one in so many bytes on average.
//!
//! Sampled bytes lie as far apart as the clicks of a counter of radiation do. An allocation of `size` bytes then holds one
//! with a chance of `1 - exp(-size / mean)`, and counts for `size` divided by that: on average sums are right, and what is
//! much larger than the mean is always seen and counts as it is.

/// How far samples lie apart, in bytes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Sampling {
    mean: f64,
}

impl Sampling {
    pub const EXACT: Sampling = Sampling { mean: 0.0 };

    /// One sample in so many bytes; 0 means every allocation.
    pub fn every(mean_bytes: u64) -> Sampling {
        Sampling { mean: mean_bytes as f64 }
    }

    pub fn is_exact(self) -> bool {
        self.mean == 0.0
    }

    /// What a sampled allocation represents: bytes, and how many.
    #[inline]
    pub(super) fn weight(self, size: u64) -> (u64, f64) {
        if self.is_exact() {
            return (size, 1.0);
        }
        let chance = -(-(size.max(1) as f64) / self.mean).exp_m1();
        ((size as f64 / chance).round() as u64, 1.0 / chance)
    }

    pub fn state(self, seed: u64) -> SamplingState {
        let mut state = SamplingState { left: 0.0, mean: self.mean, seed: seed | 1 };
        state.left = state.gap();
        state
    }
}

/// How far a thread is from its next sample.
#[derive(Copy, Clone, Debug)]
pub struct SamplingState {
    left: f64,
    mean: f64,
    seed: u64,
}

impl SamplingState {
    /// One that takes nothing, to begin with.
    pub const NONE: SamplingState = SamplingState { left: f64::INFINITY, mean: 0.0, seed: 1 };

    /// Whether an allocation is recorded.
    #[inline]
    pub fn takes(&mut self, size: u64) -> bool {
        self.left -= size as f64;
        if self.left > 0.0 {
            return false;
        }
        self.left = self.gap();
        true
    }

    #[cold]
    fn gap(&mut self) -> f64 {
        // Marsaglia's xorshift: enough for where samples fall.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let uniform = ((self.seed >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        -uniform.ln() * self.mean
    }
}

//! The calls of one thread as words. This runs at every call of the program that is recorded.

use super::{
    ENTER_NEAR_WORD, ENTER_WORD, KIND_SHIFT, LATER_WORD, LEAVE_WORD, NEAR_FUNCTION_BITS, NEAR_TICK_BITS,
    TICK_BITS,
};

/// Where a stream of words has come to, to go back there.
#[derive(Copy, Clone, Debug)]
pub struct Mark {
    words: usize,
    last: u64,
}

/// Beginnings and ends of calls, in the order of time.
#[derive(Debug)]
pub struct CallWords {
    words: Vec<u32>,
    base: u64,
    last: u64,
}

impl CallWords {
    /// No words; ticks count from `now`.
    pub fn new(now: u64, capacity: usize) -> CallWords {
        CallWords { words: Vec::with_capacity(capacity), base: now, last: now }
    }

    #[inline]
    pub fn enter(&mut self, function: u32, now: u64) {
        let delta = now.saturating_sub(self.last);
        if delta >> NEAR_TICK_BITS == 0 && function >> NEAR_FUNCTION_BITS == 0 {
            self.words.push((ENTER_NEAR_WORD << KIND_SHIFT) | (function << NEAR_TICK_BITS) | delta as u32);
        } else {
            self.enter_far(function, delta);
        }
        self.last = self.last.max(now);
    }

    /// The innermost call ends.
    #[inline]
    pub fn leave(&mut self, now: u64) {
        let delta = now.saturating_sub(self.last);
        let near = if delta >> TICK_BITS == 0 { delta as u32 } else { self.later(delta) };
        self.words.push((LEAVE_WORD << KIND_SHIFT) | near);
        self.last = self.last.max(now);
    }

    fn enter_far(&mut self, function: u32, delta: u64) {
        let near = self.later(delta);
        self.words.extend([(ENTER_WORD << KIND_SHIFT) | near, function]);
    }

    /// A word for the ticks that do not fit into one; those that are left.
    fn later(&mut self, delta: u64) -> u32 {
        const MAX_TICKS: u64 = (1 << TICK_BITS) - 1;
        let far = delta >> TICK_BITS;
        if far > 0 {
            self.words.push((LATER_WORD << KIND_SHIFT) | far.min(MAX_TICKS) as u32);
        }
        (delta & MAX_TICKS) as u32
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words, and the tick they count from.
    pub fn words(&self) -> (&[u32], u64) {
        (&self.words, self.base)
    }

    /// The tick that the words count from.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where it has come to.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { words: self.words.len(), last: self.last }
    }

    /// Forgets what came after the mark, which was made since the last [`CallWords::restart`].
    #[inline]
    pub fn roll_back(&mut self, mark: Mark) {
        self.words.truncate(mark.words);
        self.last = mark.last;
    }

    /// The words were written: begins anew, with room for so many.
    pub fn restart(&mut self, capacity: usize) {
        self.words.clear();
        self.words.reserve(capacity);
        self.base = self.last;
    }
}

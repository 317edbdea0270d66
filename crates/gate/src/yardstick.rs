//! A fixed task, timed next to every run of a saved measurement: it tells a slower program from a slower machine.
//!
//! A machine that others share changes its speed by some percent within minutes. Runs of one side follow each other, so
//! that change looks like one of the program. The task slows down with the machine, but not with the program.

use std::hint::black_box;
use std::time::Instant;

/// Chosen for some 30 ms: arithmetic that waits for itself, and a walk through memory beyond the caches of a core.
const NUMBERS: u32 = 300_000;
const WORDS: usize = 1 << 20;
const LOOKS: usize = 1 << 17;

/// Does the task: how many nanoseconds it took.
pub fn yardstick() -> f64 {
    let words: Vec<u64> = (0..WORDS as u64).collect();
    let began = Instant::now();
    let mut sum = 0.5f64;
    for number in 0..NUMBERS {
        sum = (sum * 1.000_000_1 + f64::from(number)).sin();
    }
    let mut at = 1u64;
    for _ in 0..LOOKS {
        // Each look depends on the one before, so that the processor cannot look ahead.
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(words[(at >> 44) as usize % WORDS]);
    }
    black_box((sum, at));
    began.elapsed().as_secs_f64() * 1e9
}

//! A fixed task, timed next to every run of a saved measurement: it tells a slower program from a slower machine.
//!
//! A machine that others share changes its speed by some percent within minutes. Runs of one side follow each other, so
//! that change looks like one of the program. The task slows down with the machine, but not with the program.

use std::hint::black_box;
use std::time::Instant;

/// Chosen for some 30 ms: arithmetic that waits for itself, and a walk through memory beyond the caches of a core.
const SINE_COUNT: u32 = 300_000;
const WORD_COUNT: usize = 1 << 20;
const READ_COUNT: usize = 1 << 17;

/// Does the task: how many nanoseconds it took.
pub fn yardstick() -> f64 {
    let words: Vec<u64> = (0..WORD_COUNT as u64).collect();
    let began = Instant::now();
    let mut sum = 0.5f64;
    for number in 0..SINE_COUNT {
        sum = (sum * 1.000_000_1 + f64::from(number)).sin();
    }
    let mut at = 1u64;
    for _ in 0..READ_COUNT {
        // Each read depends on the one before, so that the processor cannot run ahead.
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(words[(at >> 44) as usize % WORD_COUNT]);
    }
    black_box((sum, at));
    began.elapsed().as_secs_f64() * 1e9
}

//! Prefills among the iterations of a generation: much more device work, each before many that are alike.

use stepscope_model::Ns;

use super::{MIN_REPEATS, alike, median};
use crate::steps::Steps;

/// A prefill takes its device this many times as long as the usual iteration.
const MIN_FACTOR: i64 = 2;
/// The others are alike: most of them within this factor of the usual one.
const ALIKE_FACTOR: f64 = 1.25;
const MIN_ALIKE: f64 = 0.8;
/// At most this share of all are prefills.
const MAX_SHARE: f64 = 0.25;
/// So many prefills may follow each other, as for a batch whose prompts come one by one; then others follow.
const MAX_IN_A_ROW: usize = 2;

/// Takes the prefills out of the steps, and says how many there were.
pub(super) fn set_apart(steps: &mut Steps, device_ns: &[Ns]) -> u64 {
    let times: Vec<i64> = device_ns.iter().map(|ns| ns.0).collect();
    let usual = median(&times);
    let is_large: Vec<bool> = times.iter().map(|&ns| usual > 0 && ns / MIN_FACTOR >= usual).collect();
    let large = is_large.iter().filter(|large| **large).count();
    let small: Vec<i64> =
        times.iter().zip(&is_large).filter(|(_, large)| !**large).map(|(ns, _)| *ns).collect();
    // A recording may end in the last one.
    let whole = &small[..small.len().saturating_sub(1)];
    let likely = large > 0
        && large as f64 <= MAX_SHARE * times.len() as f64
        && small.len() >= MIN_REPEATS
        && alike(whole, ALIKE_FACTOR, MIN_ALIKE)
        && is_large.last() == Some(&false)
        && is_large.chunk_by(|a, b| a == b).all(|run| !run[0] || run.len() <= MAX_IN_A_ROW);
    if !likely {
        return 0;
    }
    let mut at = 0;
    let mut outside = 0u64;
    steps.steps.retain(|step| {
        at += 1;
        let keep = !is_large[at - 1];
        if !keep {
            outside = outside.saturating_add(step.device_slices);
        }
        keep
    });
    for (number, step) in steps.steps.iter_mut().enumerate() {
        step.step = number as i64;
    }
    steps.device_slices_outside = steps.device_slices_outside.saturating_add(outside);
    large as u64
}

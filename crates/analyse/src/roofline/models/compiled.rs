//! Kernels that `torch.compile` fused into one (`triton_poi_fused_add_mul_0`).
//!
//! Their tensors are recorded, inputs and outputs alike, but not which is which nor what is computed. So each
//! is counted as moved once, which is too little for one that is read and overwritten, and no arithmetic is
//! counted at all: the roofline time is a lower bound. Templates for products (`triton_tem_`) have no model.

use super::{Call, Cost, Counter, Family, vector};

pub(super) fn model(name: &str) -> Option<Counter> {
    let kinds = ["triton_poi_", "triton_red_", "triton_per_"];
    kinds.iter().any(|kind| name.starts_with(kind)).then_some(count as Counter)
}

fn count(_: &str, call: &Call) -> Option<Cost> {
    let moved = call.bytes_of(0..call.inputs())?;
    // Its largest tensor says what it works on; of equals the first.
    let largest = (0..call.inputs()).rev().filter_map(|i| Some((call.bytes(i)?, call.element(i)?)));
    let (_, element) = largest.max_by_key(|(bytes, _)| *bytes)?;
    (moved > 0).then(|| vector(Family::Compiled, 0, moved, 0, element))
}

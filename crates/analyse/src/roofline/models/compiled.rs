//! Kernels that `torch.compile` fused into one (`triton_poi_fused_add_mul_0`).
//!
//! Their tensors are recorded, inputs and outputs alike, but not which is which nor what is computed. So each
//! is counted as moved once, which is too little for one that is read and overwritten, and no arithmetic is
//! counted at all: the roofline time is a lower bound. Templates for products (`triton_tem_`) have no model.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::number::of_type;

pub(super) fn model(name: &str) -> Option<Counter> {
    let kinds = ["triton_poi_", "triton_red_", "triton_per_"];
    kinds.iter().any(|kind| name.starts_with(kind)).then_some(count as Counter)
}

fn count(_: &str, call: &Call) -> Option<Cost> {
    let moved = call.bytes_of(0..call.inputs())?;
    (moved > 0).then(|| of_type("float").map(|float| vector(Family::Compiled, 0, moved, 0, float)))?
}

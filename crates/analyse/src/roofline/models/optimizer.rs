//! Updates of parameters, lists of tensors at a time: `_foreach_*` and the fused optimizers.
//!
//! A list has no element type in the profiler's record, so the name of the kernel must tell it; and older files
//! record no sizes of lists at all. Without either there is no cost.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::call::sum;

pub(super) fn model(op: &str) -> Option<Counter> {
    let is_foreach = op.strip_prefix("_foreach_").is_some_and(|op| foreach_shape(op).is_some());
    if is_foreach {
        Some(foreach)
    } else if matches!(op, "_fused_adam_" | "_fused_adamw_" | "_fused_sgd_" | "_fused_adagrad_") {
        Some(fused)
    } else {
        None
    }
}

/// How many lists are read, and operations for each element.
fn foreach_shape(op: &str) -> Option<(usize, u64)> {
    Some(match op.strip_suffix('_').unwrap_or(op) {
        "addcdiv" | "addcmul" => (3, 3),
        "lerp" => (2, 3),
        "add" | "sub" | "mul" | "div" | "maximum" | "minimum" | "clamp_min" | "clamp_max" | "pow" => (2, 1),
        "sqrt" | "rsqrt" | "neg" | "reciprocal" | "abs" | "sign" | "exp" => (1, 1),
        "norm" => (1, 2),
        "zero" => (0, 0),
        "copy" => (2, 0),
        _ => return None,
    })
}

fn foreach(op: &str, call: &Call) -> Option<Cost> {
    let base = op.strip_prefix("_foreach_")?;
    let (lists, flops) = foreach_shape(base)?;
    let (elements, bytes) = call.list(0)?;
    let mut read = 0u64;
    for i in 0..lists {
        // The second operand may be a number, a tensor, or a list of numbers.
        let own = if i == 0 { Some((elements, bytes)) } else { call.list(i) };
        // A copy does not read what it overwrites.
        if !(i == 0 && base == "copy_") {
            read = sum(&[read, own.map_or(call.bytes_if(i), |(_, bytes)| Some(bytes))?])?;
        }
    }
    // A norm leaves one number of each tensor.
    let written = if base == "norm" { 0 } else { bytes };
    Some(vector(Family::Optimizer, elements.checked_mul(flops)?, read, written, call.list_element()?))
}

/// (parameters, gradients, state, …): all lists as long as the parameters are read, all but the gradients
/// written.
fn fused(op: &str, call: &Call) -> Option<Cost> {
    let (elements, bytes) = call.list(0)?;
    let state = (2..call.inputs())
        .filter(|&i| call.list(i).is_some_and(|(of_list, _)| of_list == elements && elements > 0))
        .count() as u64;
    // Adam: both averages, their corrections, the step and the decay; plain descent: a product and a sum, with
    // momentum one more of each.
    let flops: u64 = match op {
        "_fused_sgd_" => 2 + 2 * state,
        "_fused_adagrad_" => 6,
        _ => 13,
    };
    let read = bytes.checked_mul(2 + state)?;
    let written = bytes.checked_mul(1 + state)?;
    Some(vector(Family::Optimizer, elements.checked_mul(flops)?, read, written, call.list_element()?))
}

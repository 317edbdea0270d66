//! Pooling over windows, forward and backward.
//!
//! One operation for each element a window covers. Bytes: input and result once, and for maxima where they were
//! found, eight bytes each.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::call::{product, size, sum};

pub(super) fn model(op: &str) -> Option<Counter> {
    Some(match op {
        "max_pool2d_with_indices" | "max_pool3d_with_indices" | "avg_pool2d" | "avg_pool3d" => forward,
        "max_pool2d_with_indices_backward" | "max_pool3d_with_indices_backward" => max_backward,
        "avg_pool2d_backward" | "avg_pool3d_backward" => mean_backward,
        "_adaptive_avg_pool2d_backward" => mean_backward,
        _ => return None,
    })
}

/// (input, kernel, stride, padding, dilation, ceil_mode); means have no dilation.
fn forward(op: &str, call: &Call) -> Option<Cost> {
    let is_max = op.starts_with("max");
    let (sizes, element) = (call.sizes(0)?, call.element(0)?);
    let kernel = call.ints(1)?;
    let dimensions = if op.contains("3d") { 3 } else { 2 };
    let space = sizes.len().checked_sub(dimensions)?;
    let stride = call.ints(2).filter(|s| !s.is_empty()).unwrap_or_else(|| kernel.clone());
    let padding = call.ints(3)?;
    let (dilation, ceil) = if is_max { (call.ints(4)?, call.flag(5)?) } else { (vec![1], call.flag(4)?) };
    let along = |values: &[i64], d: usize| match *values {
        [all] => Some(all),
        _ => values.get(d).copied(),
    };
    let (mut results, mut window) = (product(sizes.get(..space)?)?, 1u64);
    for (d, &n) in sizes.get(space..)?.iter().enumerate() {
        let (k, s) = (along(&kernel, d)?, along(&stride, d)?);
        let reach = along(&dilation, d)?.checked_mul(k.checked_sub(1)?)?;
        let room = n.checked_add(along(&padding, d)?.checked_mul(2)?)?.checked_sub(reach)?.checked_sub(1)?;
        let more = if ceil { s.checked_sub(1)? } else { 0 };
        let out = room.checked_add(more)?.checked_div(s)?.checked_add(1)?;
        results = results.checked_mul(size(out)?)?;
        window = window.checked_mul(size(k)?)?;
    }
    let written = results.checked_mul(element.bytes + if is_max { 8 } else { 0 })?;
    Some(vector(Family::Pooling, results.checked_mul(window)?, call.bytes(0)?, written, element))
}

/// (grad_output, input, kernel, stride, padding, dilation, ceil_mode, indices)
fn max_backward(_: &str, call: &Call) -> Option<Cost> {
    let element = call.element(0)?;
    let written = call.elements(1)?.checked_mul(element.bytes)?;
    let read = sum(&[call.bytes(0)?, call.bytes(7)?])?;
    Some(vector(Family::Pooling, call.elements(0)?, read, written, element))
}

/// (grad_output, input, …)
fn mean_backward(_: &str, call: &Call) -> Option<Cost> {
    let element = call.element(0)?;
    let elements = call.elements(1)?;
    Some(vector(Family::Pooling, elements, call.bytes(0)?, elements.checked_mul(element.bytes)?, element))
}

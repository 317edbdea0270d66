//! Many elements to one: sums, means, maxima, norms; and running sums.
//!
//! One operation for each element read (a norm and a variance take two). Bytes: the input once, and the
//! results, whose number follows from the dimensions given; without any, all elements become one.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::call::{product, sum};

pub(super) fn model(op: &str) -> Option<Counter> {
    places(op).map(|_| count as Counter)
}

/// Where the dimensions stand, operations for each element, and bytes of a result where its type is not the
/// input's.
fn places(op: &str) -> Option<(usize, u64, Option<u64>)> {
    Some(match op {
        "sum" | "mean" | "amax" | "amin" | "max" | "min" | "prod" | "logsumexp" | "nansum" | "cumsum"
        | "cumprod" => (1, 1, None),
        "argmax" | "argmin" => (1, 1, Some(8)),
        "all" | "any" => (1, 1, Some(1)),
        "count_nonzero" => (1, 1, Some(8)),
        "std" | "var" | "var_mean" | "std_mean" => (1, 2, None),
        "norm" | "linalg_vector_norm" => (2, 2, None),
        _ => return None,
    })
}

fn count(op: &str, call: &Call) -> Option<Cost> {
    let (dims_at, per_element, out_bytes) = places(op)?;
    let (sizes, element) = (call.sizes(0)?, call.element(0)?);
    // `max` of two tensors is not a reduction.
    if matches!(op, "max" | "min") && call.sizes(1).is_some() {
        return super::elementwise::model("maximum").and_then(|count| count("maximum", call));
    }
    let elements = product(sizes)?;
    let dims = call.ints(dims_at);
    let mut results =
        if matches!(op, "cumsum" | "cumprod") { elements } else { product(&kept(sizes, dims.as_deref()))? };
    if matches!(op, "var_mean" | "std_mean") {
        results = results.checked_mul(2)?;
    }
    let mut written = results.checked_mul(out_bytes.unwrap_or(element.bytes))?;
    // Along a dimension, extrema also say where they were found.
    if matches!(op, "max" | "min") && dims.is_some() {
        written = sum(&[written, results.checked_mul(8)?])?;
    }
    Some(vector(Family::Reduction, elements.checked_mul(per_element)?, call.bytes(0)?, written, element))
}

/// The sizes left after a reduction along dimensions; all go without any.
fn kept(sizes: &[i64], dims: Option<&[i64]>) -> Vec<i64> {
    let dims = dims.unwrap_or_default();
    let rank = sizes.len() as i64;
    let reduced = |i: usize| dims.iter().any(|&d| d == i as i64 || d.checked_add(rank) == Some(i as i64));
    if dims.is_empty() {
        return Vec::new();
    }
    sizes.iter().enumerate().filter(|&(i, _)| !reduced(i)).map(|(_, &n)| n).collect()
}

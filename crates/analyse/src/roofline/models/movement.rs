//! Moving elements without arithmetic: copies and casts, concatenation, fills, random numbers.
//!
//! `to`, `clone`, `contiguous` and their kin have no models: all of them end in `copy_`. Drawing random numbers
//! counts as one operation an element.

use super::{Call, Cost, Counter, Family, vector};

pub(super) fn model(op: &str) -> Option<Counter> {
    Some(match op {
        "copy_" | "copy" => copy,
        "fill_" | "zero_" | "arange" => fill,
        "normal_" | "uniform_" | "random_" | "bernoulli_" | "exponential_" => draw,
        "cat" | "stack" => join,
        "_local_scalar_dense" => fetch,
        "constant_pad_nd" => pad,
        _ => return None,
    })
}

/// (to, from): what is read may be repeated along what is written.
fn copy(_: &str, call: &Call) -> Option<Cost> {
    let element = call.element(0)?;
    let written = call.elements(0)?.checked_mul(element.bytes)?;
    Some(vector(Family::Copy, 0, call.bytes(1)?, written, element))
}

/// The one tensor, which `arange` names last.
fn fill(op: &str, call: &Call) -> Option<Cost> {
    let to = if op == "arange" { call.inputs().checked_sub(1)? } else { 0 };
    Some(vector(Family::Copy, 0, 0, call.bytes(to)?, call.element(to)?))
}

fn draw(_: &str, call: &Call) -> Option<Cost> {
    Some(vector(Family::Copy, call.elements(0)?, 0, call.bytes(0)?, call.element(0)?))
}

/// One number to the host, as `item()` does.
fn fetch(_: &str, call: &Call) -> Option<Cost> {
    Some(vector(Family::Copy, 0, call.bytes(0)?, call.bytes(0)?, call.element(0)?))
}

fn join(_: &str, call: &Call) -> Option<Cost> {
    let (_, bytes) = call.list(0)?;
    Some(vector(Family::Copy, 0, bytes, bytes, call.list_element()?))
}

/// (input, pad, value): the padding is given from the last dimension on, two numbers each.
fn pad(_: &str, call: &Call) -> Option<Cost> {
    let pad = call.ints(1)?;
    let mut sizes = call.sizes(0)?.to_vec();
    for (size, ends) in sizes.iter_mut().rev().zip(pad.chunks(2)) {
        *size = ends.iter().try_fold(*size, |size, end| size.checked_add(*end))?;
    }
    let element = call.element(0)?;
    let written = crate::roofline::call::product(&sizes)?.checked_mul(element.bytes)?;
    // What a negative padding cuts off is not read.
    Some(vector(Family::Copy, 0, call.bytes(0)?.min(written), written, element))
}

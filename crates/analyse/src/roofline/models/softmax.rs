//! Softmax and its logarithm, forward and backward.
//!
//! Operations for each element: five forward (maximum, difference, exponential, sum, quotient or difference),
//! four backward. Bytes: inputs and result once; a kernel that cannot hold a row on chip reads it more often.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::number::{of_scalar_type, of_type};

pub(super) fn model(op: &str) -> Option<Counter> {
    Some(match op {
        "_softmax" | "_log_softmax" => forward,
        "_softmax_backward_data" | "_log_softmax_backward_data" => backward,
        _ => return None,
    })
}

/// (input, dim, half_to_float)
fn forward(_: &str, call: &Call) -> Option<Cost> {
    let (elements, element) = (call.elements(0)?, call.element(0)?);
    let out = if call.flag(2) == Some(true) { of_type("float")? } else { element };
    let written = elements.checked_mul(out.bytes)?;
    Some(vector(Family::Softmax, elements.checked_mul(5)?, call.bytes(0)?, written, element))
}

/// (grad_output, output, dim, input_dtype)
fn backward(_: &str, call: &Call) -> Option<Cost> {
    let (elements, element) = (call.elements(0)?, call.element(0)?);
    let out = call.int(3).and_then(of_scalar_type).unwrap_or(element);
    let written = elements.checked_mul(out.bytes)?;
    Some(vector(Family::Softmax, elements.checked_mul(4)?, call.bytes_of(0..2)?, written, element))
}

//! Losses: of a classification by the logarithms of its probabilities, forward and backward, and of squares.
//!
//! The former reads one element a target and one target each; backward it writes a gradient as large as the
//! input, nearly all of it zeros. The latter takes three operations an element; backward it is elementwise.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::call::sum;

pub(super) fn model(op: &str) -> Option<Counter> {
    Some(match op {
        "nll_loss_forward" | "nll_loss2d_forward" => forward,
        "nll_loss_backward" | "nll_loss2d_backward" => backward,
        "mse_loss" => squares,
        _ => return None,
    })
}

/// (input, target, weight, reduction, ignore_index)
fn forward(_: &str, call: &Call) -> Option<Cost> {
    let (targets, element) = (call.elements(1)?, call.element(0)?);
    let picked = targets.checked_mul(element.bytes)?;
    // Without a reduction there is a loss for each target, else one for all.
    let written = if call.int(3)? == 0 { picked } else { element.bytes };
    let read = sum(&[picked, call.bytes(1)?, call.bytes_if(2)?])?;
    Some(vector(Family::Loss, targets, read, written, element))
}

/// (grad_output, input, target, weight, reduction, ignore_index, total_weight)
fn backward(_: &str, call: &Call) -> Option<Cost> {
    let (targets, element) = (call.elements(2)?, call.element(1)?);
    let read = sum(&[call.bytes(0)?, call.bytes(2)?, call.bytes_if(3)?])?;
    let written = call.elements(1)?.checked_mul(element.bytes)?;
    Some(vector(Family::Loss, targets, read, written, element))
}

/// (input, target, reduction)
fn squares(_: &str, call: &Call) -> Option<Cost> {
    let (elements, element) = (call.elements(0)?, call.element(0)?);
    let results = if call.int(2)? == 0 { elements } else { 1 };
    let written = results.checked_mul(element.bytes)?;
    Some(vector(Family::Loss, elements.checked_mul(3)?, call.bytes_of(0..2)?, written, element))
}

//! Layer, batch, group and RMS normalization, forward and backward.
//!
//! Operations for each element: mean 1, variance 2, normalizing 2, weight 1, bias 1; batch normalization by
//! running statistics 2 in total; RMS 3 and the weight 1. Backward: 10 for the input's gradient (RMS 8), 2 for
//! the weights', 1 for the bias'. All of it is far under what the bytes take. Bytes: all tensors given once,
//! and the results: the normalized tensor or the gradients, and the statistics in `float`.

use super::{Call, Cost, Counter, Element, Family, vector};
use crate::roofline::call::{product, size, sum, times};

pub(super) fn model(op: &str) -> Option<Counter> {
    Some(match op {
        "native_layer_norm"
        | "_fused_rms_norm"
        | "native_group_norm"
        | "native_batch_norm"
        | "cudnn_batch_norm"
        | "miopen_batch_norm"
        | "_native_batch_norm_legit"
        | "_batch_norm_with_update" => forward,
        "native_layer_norm_backward"
        | "_fused_rms_norm_backward"
        | "native_group_norm_backward"
        | "native_batch_norm_backward"
        | "cudnn_batch_norm_backward"
        | "miopen_batch_norm_backward" => backward,
        _ => return None,
    })
}

fn forward(op: &str, call: &Call) -> Option<Cost> {
    let input = call.sizes(0)?;
    let (elements, element) = (product(input)?, call.element(0)?);
    // The sets of statistics kept, and the operations an element takes.
    let (weight, bias, kept, flops) = match op {
        "native_layer_norm" => (2, Some(3), rows(call, elements, 1)?.checked_mul(2)?, 5),
        "_fused_rms_norm" => (2, None, rows(call, elements, 1)?, 3),
        "native_group_norm" => {
            let groups = size(call.int(6)?)?;
            (1, Some(2), times(&[2, size(*input.first()?)?, groups])?, 5)
        }
        _ => {
            let training = match op {
                "_batch_norm_with_update" => true,
                _ => call.flag(5)?,
            };
            let channels = size(*input.get(1)?)?;
            // Statistics of the batch for the backward pass, and the running ones brought up to date.
            let kept = if training { channels.checked_mul(4)? } else { 0 };
            (1, Some(2), kept, if training { 5 } else { 2 })
        }
    };
    let scales = u64::from(call.sizes(weight).is_some());
    let shifts = u64::from(bias.is_some_and(|i| call.sizes(i).is_some()));
    // Running statistics fold the weight and the bias into one factor and one sum.
    let per_element = if flops == 2 { 2 } else { flops + scales + shifts };
    let written = sum(&[bytes(elements, element)?, kept.checked_mul(4)?])?;
    let read = call.bytes_of(0..call.inputs())?;
    Some(vector(Family::Normalization, times(&[elements, per_element])?, read, written, element))
}

fn backward(op: &str, call: &Call) -> Option<Cost> {
    // cuDNN's and MIOpen's name the input first.
    let input = if matches!(op, "cudnn_batch_norm_backward" | "miopen_batch_norm_backward") { 0 } else { 1 };
    let (elements, element) = (call.elements(input)?, call.element(input)?);
    let (weight, mask) = match op {
        "native_layer_norm_backward" => (5, Some(7)),
        "_fused_rms_norm_backward" => (4, Some(5)),
        "native_group_norm_backward" => (4, Some(9)),
        "native_batch_norm_backward" => (2, Some(9)),
        _ => (2, None),
    };
    let wanted = match mask {
        Some(i) => call.flags(i)?,
        None => vec![true; 3],
    };
    let wants = |i: usize| u64::from(wanted.get(i).copied().unwrap_or(false));
    let parameters = call.bytes_if(weight)?;
    let to_input: u64 = if op == "_fused_rms_norm_backward" { 8 } else { 10 };
    let per_element = wants(0) * to_input + wants(1) * 2 + wants(2);
    let written = sum(&[
        wants(0).checked_mul(bytes(elements, element)?)?,
        (wants(1) + wants(2)).checked_mul(parameters)?,
    ])?;
    let read = call.bytes_of(0..call.inputs())?;
    Some(vector(Family::Normalization, times(&[elements, per_element])?, read, written, element))
}

/// How often the normalized sizes, a concrete input, fit into the elements.
fn rows(call: &Call, elements: u64, normalized: usize) -> Option<u64> {
    elements.checked_div(product(&call.ints(normalized)?)?)
}

fn bytes(elements: u64, element: Element) -> Option<u64> {
    elements.checked_mul(element.bytes)
}

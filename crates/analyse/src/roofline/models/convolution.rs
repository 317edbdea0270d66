//! Convolutions and their gradients, in any number of dimensions, transposed or not.
//!
//! Operations: two for each product of an output element with the weights it sees, padding included, as
//! PyTorch's `with_flops` counts; the bias is not counted. A gradient for the input and one for the weights
//! cost as much as the forward pass each. Bytes: each tensor once, also backwards, where two kernels each read
//! the output's gradient.

use super::{Call, Cost, Counter, Family, Pipe};
use crate::roofline::call::{product, size, sum, times};

pub(super) fn model(op: &str) -> Option<Counter> {
    if op == "convolution_backward" {
        return Some(backward);
    }
    places(op).map(|_| forward as Counter)
}

/// Where the parameters of a convolution stand among its inputs.
struct Places {
    bias: Option<usize>,
    stride: usize,
    padding: usize,
    dilation: usize,
    /// Whether it is transposed: always, never or as this input says.
    transposed: Transposed,
    output_padding: Option<usize>,
    /// Needed only where it may be transposed: else the sizes tell.
    groups: Option<usize>,
}

enum Transposed {
    No,
    Yes,
    Says(usize),
}

fn places(op: &str) -> Option<Places> {
    let plain = |bias, stride, padding, dilation| Places {
        bias,
        stride,
        padding,
        dilation,
        transposed: Transposed::No,
        output_padding: None,
        groups: None,
    };
    Some(match op {
        "convolution" | "_convolution" | "convolution_overrideable" => {
            let plain = plain(Some(2), 3, 4, 5);
            Places { transposed: Transposed::Says(6), output_padding: Some(7), groups: Some(8), ..plain }
        }
        "conv1d" | "conv2d" | "conv3d" | "cudnn_convolution_relu" | "miopen_convolution_relu" => {
            plain(Some(2), 3, 4, 5)
        }
        "cudnn_convolution" => plain(None, 3, 2, 4),
        "miopen_convolution" | "miopen_depthwise_convolution" => plain(Some(2), 4, 3, 5),
        "cudnn_convolution_transpose" => {
            let plain = plain(None, 4, 2, 5);
            Places { transposed: Transposed::Yes, output_padding: Some(3), groups: Some(6), ..plain }
        }
        "miopen_convolution_transpose" => {
            let plain = plain(Some(2), 5, 3, 6);
            Places { transposed: Transposed::Yes, output_padding: Some(4), groups: Some(7), ..plain }
        }
        "_conv_depthwise2d" | "conv_depthwise3d" => plain(Some(3), 4, 5, 6),
        _ => return None,
    })
}

fn forward(op: &str, call: &Call) -> Option<Cost> {
    let at = places(op)?;
    let (input, weight) = (call.sizes(0)?, call.sizes(1)?);
    let transposed = match at.transposed {
        Transposed::No => false,
        Transposed::Yes => true,
        Transposed::Says(i) => call.flag(i)?,
    };
    let (&[out_or_in, in_or_out, ref kernel @ ..], &[batch, _, ref space @ ..]) = (weight, input) else {
        return None;
    };
    if kernel.len() != space.len() {
        return None;
    }
    let [stride, padding, dilation] = [at.stride, at.padding, at.dilation].map(|i| call.ints(i));
    let (stride, padding, dilation) = (stride?, padding?, dilation?);
    let more = at.output_padding.and_then(|i| call.ints(i)).unwrap_or_else(|| vec![0]);
    let mut positions = size(batch)?;
    for (d, (&space, &kernel)) in space.iter().zip(kernel).enumerate() {
        let (stride, padding, dilation) = (along(&stride, d)?, along(&padding, d)?, along(&dilation, d)?);
        let reach = dilation.checked_mul(kernel.checked_sub(1)?)?;
        let both_sides = padding.checked_mul(2)?;
        let out = if transposed {
            let spread = space.checked_sub(1)?.checked_mul(stride)?;
            let out = spread.checked_sub(both_sides)?.checked_add(reach)?.checked_add(along(&more, d)?)?;
            out.checked_add(1)?
        } else {
            // Division toward zero, as integers do it: a window that does not fit is dropped.
            let room = space.checked_add(both_sides)?.checked_sub(reach)?.checked_sub(1)?;
            room.checked_div(stride)?.checked_add(1)?
        };
        positions = positions.checked_mul(size(out)?)?;
    }
    let out_channels = match transposed {
        false => size(out_or_in)?,
        true => size(in_or_out)?.checked_mul(size(call.int(at.groups?)?)?)?,
    };
    let out = positions.checked_mul(out_channels)?;
    let products = if transposed { product(input)? } else { out }.checked_mul(per_element(weight)?)?;
    let element = call.element(0)?;
    let bias = at.bias.map_or(Some(0), |i| call.bytes_if(i))?;
    Some(Cost {
        family: Family::Convolution,
        flops: products.checked_mul(2)?,
        recomputed: 0,
        read: sum(&[call.bytes(0)?, call.bytes(1)?, bias])?,
        written: out.checked_mul(element.bytes)?,
        precision: element.precision?,
        data: element.precision,
        pipe: Pipe::Matrix,
    })
}

/// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
/// mask)
fn backward(_: &str, call: &Call) -> Option<Cost> {
    let (grad, input, weight) = (call.sizes(0)?, call.sizes(1)?, call.sizes(2)?);
    let transposed = call.flag(7)?;
    let [to_input, to_weight, to_bias] = call.flags(10)?[..] else { return None };
    let gradients = u64::from(to_input) + u64::from(to_weight);
    let products = product(if transposed { input } else { grad })?.checked_mul(per_element(weight)?)?;
    let element = call.element(0)?;
    let only_if = |wanted: bool, bytes: Option<u64>| if wanted { bytes } else { Some(0) };
    let out_channels = grad.get(1).copied().and_then(size)?;
    // The gradient of one tensor needs the other.
    let read = [call.bytes(0)?, only_if(to_weight, call.bytes(1))?, only_if(to_input, call.bytes(2))?];
    let written = [
        only_if(to_input, product(input)?.checked_mul(element.bytes))?,
        only_if(to_weight, product(weight)?.checked_mul(element.bytes))?,
        only_if(to_bias, out_channels.checked_mul(element.bytes))?,
    ];
    Some(Cost {
        family: Family::Convolution,
        flops: times(&[2, gradients, products])?,
        recomputed: 0,
        read: sum(&read)?,
        written: sum(&written)?,
        precision: element.precision?,
        data: element.precision,
        pipe: Pipe::Matrix,
    })
}

/// Products for each element of the output (transposed: of the input): all but the weights' first size.
fn per_element(weight: &[i64]) -> Option<u64> {
    product(weight.get(1..)?)
}

/// A parameter along one dimension; one value counts for all.
fn along(values: &[i64], dimension: usize) -> Option<i64> {
    match *values {
        [all] => Some(all),
        _ => values.get(dimension).copied(),
    }
}

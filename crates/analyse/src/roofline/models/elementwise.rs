//! One result for each element.
//!
//! Every function of an element counts as one operation, whether an addition or an exponential: hardware takes
//! a different number of instructions for each, and all of them fewer than the bytes take time. Tensors of
//! different sizes are repeated along each other; each is read once, as it lies in memory. The result has the
//! widest type of the tensors with dimensions, comparisons give `bool`, and in-place forms write what they
//! read.

use super::{Call, Cost, Counter, Element, Family, Precision, vector};
use crate::roofline::call::{broadcast, product};
use crate::roofline::number::of_type;

/// How many inputs are operands, and operations for each result.
type Shape = (usize, u64);

pub(super) fn model(op: &str) -> Option<Counter> {
    shape(op).map(|_| count as Counter)
}

fn shape(op: &str) -> Option<Shape> {
    let base = op.strip_suffix('_').unwrap_or(op);
    if UNARY_OPS.contains(&base) || RANDOM_MASKED_OPS.contains(&base) {
        Some((1, 1))
    } else if BINARY_OPS.contains(&base) || COMPARISON_OPS.contains(&base) {
        Some((2, 1))
    } else {
        TERNARY_OPS.iter().find(|(name, _)| *name == base).map(|&(_, flops)| (3, flops))
    }
}

fn count(op: &str, call: &Call) -> Option<Cost> {
    let (operands, flops) = shape(op)?;
    let base = op.strip_suffix('_').unwrap_or(op);
    let tensors: Vec<usize> = (0..operands).filter(|&i| call.sizes(i).is_some()).collect();
    let mut sizes: Vec<i64> = Vec::new();
    for &i in &tensors {
        sizes = broadcast(&sizes, call.sizes(i)?)?;
    }
    // `where`'s condition has no say in the type.
    let typed = tensors.iter().copied().filter(|&i| !(base == "where" && i == 0));
    let element = result_type(call, typed)?;
    let results = product(&sizes)?;
    let in_place = op.ends_with('_');
    let out = match base {
        _ if in_place => call.element(0)?.bytes,
        _ if COMPARISON_OPS.contains(&base) => of_type("bool")?.bytes,
        _ => element.bytes,
    };
    // Dropout also writes which elements it kept.
    let mask = if RANDOM_MASKED_OPS.contains(&base) { 1 } else { 0 };
    let written = results.checked_mul(out + mask)?;
    Some(vector(
        Family::Elementwise,
        results.checked_mul(flops)?,
        call.bytes_of(0..operands)?,
        written,
        element,
    ))
}

/// Floats win over integers and wide over narrow; a tensor without dimensions counts only where there is no
/// other.
fn result_type(call: &Call, tensors: impl Iterator<Item = usize>) -> Option<Element> {
    let rank = |i: usize| {
        let element = call.element(i)?;
        let is_float = element.precision.is_some_and(|p| p != Precision::Int8);
        Some((!call.sizes(i)?.is_empty(), is_float, element.bytes, std::cmp::Reverse(i)))
    };
    call.element(tensors.filter_map(|i| rank(i).map(|rank| (rank, i))).max()?.1)
}

const UNARY_OPS: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "ceil",
    "celu",
    "clamp",
    "clamp_max",
    "clamp_min",
    "cos",
    "cosh",
    "digamma",
    "elu",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "gelu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_sigmoid_forward",
    "logical_not",
    "logit",
    "mish",
    "nan_to_num",
    "neg",
    "positive",
    "reciprocal",
    "relu",
    "relu6",
    "round",
    "rsqrt",
    "rsub",
    "selu",
    "sgn",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinc",
    "sinh",
    "softplus",
    "softshrink",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "threshold",
    "trunc",
    "tril",
    "triu",
];

/// Elementwise with a mask of bytes as a second result.
const RANDOM_MASKED_OPS: &[&str] = &["native_dropout"];

/// The second operand may be a number.
const BINARY_OPS: &[&str] = &[
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "div",
    "elu_backward",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gelu_backward",
    "hardsigmoid_backward",
    "hardswish_backward",
    "hardtanh_backward",
    "hypot",
    "leaky_relu_backward",
    "logaddexp",
    "masked_fill",
    "maximum",
    "minimum",
    "mul",
    "native_dropout_backward",
    "pow",
    "remainder",
    "sigmoid_backward",
    "silu_backward",
    "softplus_backward",
    "sub",
    "tanh_backward",
    "threshold_backward",
    "xlogy",
    "true_divide",
];

const COMPARISON_OPS: &[&str] = &[
    "eq",
    "ge",
    "gt",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "logical_and",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
];

const TERNARY_OPS: &[(&str, u64)] =
    &[("addcdiv", 3), ("addcmul", 3), ("lerp", 3), ("where", 1), ("mse_loss_backward", 3)];

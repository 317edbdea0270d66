//! The cost models, one file per family, and how a name finds its model.
//!
//! A model is a pure function from the recorded inputs of a call to its [`Cost`]. It refuses (`None`) rather
//! than guess: a call whose shapes, types or parameters it cannot read has no cost and is listed as such.

mod attention;
mod compiled;
mod convolution;
mod elementwise;
mod gemm;
mod indexing;
mod loss;
mod movement;
mod normalization;
mod optimizer;
mod pooling;
mod reduction;
mod softmax;

#[cfg(test)]
mod tests;

use super::call::Call;
use super::cost::{Cost, Family};
use super::number::{Element, Pipe, Precision};

/// The model of an operator.
#[derive(Copy, Clone)]
pub(super) struct Model {
    /// The cost of a call; the text is the operator's name without its namespace.
    pub(super) count: fn(&str, &Call) -> Option<Cost>,
    /// Whether the operator usually only calls others that have models of their own: it is costed only where
    /// nothing inside it is.
    pub(super) wrapper: bool,
}

/// The model of an operator of this name.
pub(super) fn model(name: &str) -> Option<Model> {
    let op = short_name(name);
    let wrapper = is_wrapper(op);
    let count = if let Some(count) = attention::model(name).or_else(|| compiled::model(name)) {
        count
    } else if !name.starts_with("aten::") {
        return None;
    } else {
        let families: [fn(&str) -> Option<Counter>; 11] = [
            gemm::model,
            convolution::model,
            normalization::model,
            softmax::model,
            loss::model,
            indexing::model,
            movement::model,
            optimizer::model,
            pooling::model,
            reduction::model,
            elementwise::model,
        ];
        families.iter().find_map(|family| family(op))?
    };
    Some(Model { count, wrapper })
}

/// A model's function; see [`Model::count`].
type Counter = fn(&str, &Call) -> Option<Cost>;

/// A name without its namespace: `mm` of `aten::mm`.
pub(super) fn short_name(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn is_wrapper(op: &str) -> bool {
    matches!(
        op,
        "linear" | "matmul" | "conv1d" | "conv2d" | "conv3d" | "scaled_dot_product_attention" | "embedding"
    )
}

/// The cost of work on the vector units. Narrow types are computed in `float`; so are types that matrix products do not use.
fn vector(family: Family, flops: u64, read: u64, written: u64, element: Element) -> Cost {
    let precision = match element.precision {
        Some(Precision::Fp64) => Precision::Fp64,
        _ => Precision::Fp32,
    };
    Cost { family, flops, recomputed: 0, read, written, precision, data: element.precision, pipe: Pipe::Vector }
}

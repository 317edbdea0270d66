//! Matrix products.
//!
//! Two operations for each of M·N·K, as PyTorch's own `with_flops` counts; adding the bias is not counted.
//! Bytes: both factors and the result once, and the bias where there is one. The result has the factors' type
//! unless a parameter says otherwise.

use super::{Call, Cost, Counter, Family, Pipe};
use crate::roofline::call::{product, size, sum, times};
use crate::roofline::number::of_scalar_type;

pub(super) fn model(op: &str) -> Option<Counter> {
    matches!(
        op.strip_suffix('_').unwrap_or(op),
        "mm" | "addmm"
            | "bmm"
            | "baddbmm"
            | "addbmm"
            | "_addmm_activation"
            | "_scaled_mm"
            | "_int_mm"
            | "mv"
            | "addmv"
            | "dot"
            | "vdot"
            | "linear"
            | "matmul"
    )
    .then_some(count as Counter)
}

fn count(op: &str, call: &Call) -> Option<Cost> {
    let op = op.strip_suffix('_').unwrap_or(op);
    // Where the first factor is, where the second, and where what is added to the product.
    let (a, b, added) = match op {
        "addmm" | "baddbmm" | "addbmm" | "_addmm_activation" | "addmv" => (1, 2, Some(0)),
        "linear" => (0, 1, Some(2)),
        "_scaled_mm" => (0, 1, Some(4)),
        _ => (0, 1, None),
    };
    let (left, right) = (call.sizes(a)?, call.sizes(b)?);
    let (products, out_elements) = match op {
        "linear" => linear(left, right)?,
        "addbmm" => {
            // The products of a batch are summed into one matrix.
            let (products, batched) = matmul(left, right)?;
            (products, batched.checked_div(size(*left.first()?)?)?)
        }
        _ => matmul(left, right)?,
    };
    let element = call.element(a)?;
    let out_bytes = match op {
        "_int_mm" => 4,
        "_scaled_mm" => call.int(6).and_then(of_scalar_type).map_or(element.bytes, |out| out.bytes),
        _ => element.bytes,
    };
    // A factor of zero means that what would be added is not even read.
    let adds = !(matches!(op, "addmm" | "baddbmm" | "addbmm" | "addmv") && call.value(3) == Some("0"));
    let bias = match added {
        Some(i) if adds => call.bytes_if(i)?,
        _ => 0,
    };
    Some(Cost {
        family: Family::Gemm,
        flops: products.checked_mul(2)?,
        recomputed: 0,
        read: sum(&[call.bytes(a)?, call.bytes(b)?, bias])?,
        written: out_elements.checked_mul(out_bytes)?,
        precision: element.precision?,
        data: element.precision,
        pipe: Pipe::Matrix,
    })
}

/// Products and results of `input @ weight.T`.
fn linear(input: &[i64], weight: &[i64]) -> Option<(u64, u64)> {
    let (&inner, rows) = input.split_last()?;
    let (columns, k) = match *weight {
        [columns, k] => (columns, k),
        [k] => (1, k),
        _ => return None,
    };
    let out = product(rows)?.checked_mul(size(columns)?)?;
    (inner == k).then_some(())?;
    Some((out.checked_mul(size(k)?)?, out))
}

/// Products and results of `a @ b` by the rules of `matmul`: vectors, matrices, and batches that are repeated
/// along each other.
fn matmul(a: &[i64], b: &[i64]) -> Option<(u64, u64)> {
    let (&k, a_rest) = a.split_last()?;
    let (rows, a_batch) = match a_rest.split_last() {
        None => (1, a_rest),
        Some((&rows, batch)) => (size(rows)?, batch),
    };
    let (b_k, columns, b_batch) = match *b {
        [] => return None,
        [k] => (k, 1, &[][..]),
        [ref batch @ .., k, columns] => (k, size(columns)?, batch),
    };
    (k == b_k).then_some(())?;
    let batch = product(&crate::roofline::call::broadcast(a_batch, b_batch)?)?;
    let out = times(&[batch, rows, columns])?;
    Some((out.checked_mul(size(k)?)?, out))
}

//! Reading or writing at places that an index tensor names.
//!
//! Bytes are those of the elements named, not of the table they are in: a table smaller than its indices may be
//! read from cache, and short rows cost more than their bytes because memory is read in sectors. Both show as a
//! rate far from the peak.

use super::{Call, Cost, Counter, Family, vector};
use crate::roofline::call::{broadcast, product, size, sum};

pub(super) fn model(op: &str) -> Option<Counter> {
    Some(match op {
        "index_select" | "embedding" => rows,
        "embedding_dense_backward" => table_gradient,
        "gather" => gather,
        "scatter" | "scatter_" | "scatter_add" | "scatter_add_" => scatter,
        "index" => index,
        "index_put_" | "_index_put_impl_" => index_put,
        "index_add_" | "index_copy_" => add_rows,
        _ => return None,
    })
}

/// `index_select` is (table, dim, indices), `embedding` (table, indices, …).
fn rows(op: &str, call: &Call) -> Option<Cost> {
    let (dim, indices) = if op == "embedding" { (0, 1) } else { (position(call.int(1)?, call.sizes(0)?)?, 2) };
    let (table, element) = (call.sizes(0)?, call.element(0)?);
    let row = product(table)?.checked_div(size(*table.get(dim)?)?)?;
    let moved = row.checked_mul(call.elements(indices)?)?.checked_mul(element.bytes)?;
    Some(vector(Family::Indexing, 0, sum(&[moved, call.bytes(indices)?])?, moved, element))
}

/// (grad_output, indices, num_weights, …): every row of the table is written, most of them zero.
fn table_gradient(_: &str, call: &Call) -> Option<Cost> {
    let (width, element) = (*call.sizes(0)?.last()?, call.element(0)?);
    let table = product(&[call.int(2)?, width])?.checked_mul(element.bytes)?;
    Some(vector(Family::Indexing, call.elements(0)?, call.bytes_of(0..2)?, table, element))
}

/// (input, dim, index)
fn gather(_: &str, call: &Call) -> Option<Cost> {
    let element = call.element(0)?;
    let moved = call.elements(2)?.checked_mul(element.bytes)?;
    Some(vector(Family::Indexing, 0, sum(&[moved, call.bytes(2)?])?, moved, element))
}

/// (input, dim, index, values): not in place, the input is copied first.
fn scatter(op: &str, call: &Call) -> Option<Cost> {
    let element = call.element(0)?;
    let (elements, copied) = (call.elements(2)?, if op.ends_with('_') { 0 } else { call.bytes(0)? });
    let moved = elements.checked_mul(element.bytes)?;
    let adds = op.starts_with("scatter_add");
    // Adding reads what is there.
    let before = if adds { moved } else { 0 };
    let read = sum(&[copied, call.bytes(2)?, call.bytes_if(3)?, before])?;
    Some(vector(Family::Indexing, if adds { elements } else { 0 }, read, sum(&[copied, moved])?, element))
}

/// (input, dim, index, source): whole rows.
fn add_rows(op: &str, call: &Call) -> Option<Cost> {
    let (element, elements) = (call.element(0)?, call.elements(3)?);
    let moved = elements.checked_mul(element.bytes)?;
    let adds = op == "index_add_";
    let read = sum(&[call.bytes(2)?, call.bytes(3)?, if adds { moved } else { 0 }])?;
    Some(vector(Family::Indexing, if adds { elements } else { 0 }, read, moved, element))
}

/// (input, indices): how many elements are named, and the bytes of the indices.
fn named(call: &Call) -> Option<(u64, u64)> {
    let (input, indices) = (call.sizes(0)?, call.list_sizes(1)?);
    let given: Vec<&Vec<i64>> = indices.iter().filter(|sizes| !sizes.is_empty()).collect();
    // A mask has the sizes of what it masks, and how many elements it keeps is not recorded.
    let mask = |sizes: &Vec<i64>| sizes.len() > 1 && input.starts_with(sizes);
    if given.is_empty() || given.iter().any(|sizes| mask(sizes)) {
        return None;
    }
    let mut places = Vec::new();
    let mut index_elements = 0u64;
    for sizes in &given {
        places = broadcast(&places, sizes)?;
        index_elements = index_elements.checked_add(product(sizes)?)?;
    }
    let whole = |(i, _): &(usize, &i64)| indices.get(*i).is_none_or(Vec::is_empty);
    let rest: Vec<i64> = input.iter().enumerate().filter(whole).map(|(_, &n)| n).collect();
    let elements = product(&places)?.checked_mul(product(&rest)?)?;
    Some((elements, index_elements.checked_mul(8)?))
}

fn index(_: &str, call: &Call) -> Option<Cost> {
    let ((elements, indices), element) = (named(call)?, call.element(0)?);
    let moved = elements.checked_mul(element.bytes)?;
    Some(vector(Family::Indexing, 0, sum(&[moved, indices])?, moved, element))
}

/// (input, indices, values, accumulate)
fn index_put(_: &str, call: &Call) -> Option<Cost> {
    let ((elements, indices), element) = (named(call)?, call.element(0)?);
    let moved = elements.checked_mul(element.bytes)?;
    let adds = call.flag(3) == Some(true);
    let read = sum(&[call.bytes_if(2)?, indices, if adds { moved } else { 0 }])?;
    Some(vector(Family::Indexing, if adds { elements } else { 0 }, read, moved, element))
}

/// A dimension counted from the front.
fn position(dim: i64, sizes: &[i64]) -> Option<usize> {
    let dim = if dim < 0 { dim.checked_add(i64::try_from(sizes.len()).ok()?)? } else { dim };
    usize::try_from(dim).ok()
}

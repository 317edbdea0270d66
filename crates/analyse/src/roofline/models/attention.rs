//! Fused attention and its gradient.
//!
//! Forward there are two products (scores, and scores with values), backward five: the scores once more,
//! because fused kernels keep none, and the gradients of values, scores, queries and keys. The softmax between
//! them is not counted. A causal mask leaves the pairs on and under the diagonal: half of a square, counted as
//! exactly half. Any other mask counts as none: its content is not recorded. Sequences packed into one batch
//! (`cu_seqlens`) have no model, because their lengths are not recorded. Bytes: queries, keys, values, bias and
//! result once; backward also the result's gradient and the three gradients written. Row statistics are left
//! out: a few bytes per row.

use super::{Call, Cost, Counter, Family, Pipe};
use crate::roofline::call::{size, sum, times};

pub(super) fn model(name: &str) -> Option<Counter> {
    let op = match name.split_once("::")? {
        ("aten" | "flash_attn", op) => op,
        _ => return None,
    };
    layout(op).map(|_| count as Counter)
}

/// Which of two sequences of different lengths the mask's diagonal starts from.
#[derive(Copy, Clone)]
enum Causal {
    /// An input says whether there is a mask; its diagonal starts at the first query and the first key.
    FirstIf(usize),
    /// An input says whether there is a mask; its diagonal ends at the last query and the last key.
    LastIf(usize),
    /// An input numbers the mask: 0 none, 1 from the first, 2 from the last.
    Numbered(usize),
}

struct Layout {
    /// Where queries, keys and values begin: they stand in a row.
    query: usize,
    /// Heads before positions (batch, heads, positions, size), or behind.
    heads_first: bool,
    causal: Causal,
    bias: Option<usize>,
    /// Where the lengths of packed sequences stand, if anywhere.
    packed: Option<usize>,
    backward: bool,
}

fn layout(op: &str) -> Option<Layout> {
    use Causal::{FirstIf, LastIf, Numbered};
    let forward = |heads_first, causal, bias, packed| Layout {
        query: 0,
        heads_first,
        causal,
        bias,
        packed,
        backward: false,
    };
    let backward = |heads_first, causal, bias, packed| Layout {
        query: 1,
        backward: true,
        ..forward(heads_first, causal, bias, packed)
    };
    Some(match op {
        "scaled_dot_product_attention" => forward(true, FirstIf(5), Some(3), None),
        "_scaled_dot_product_flash_attention" => forward(true, FirstIf(4), None, None),
        "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => {
            forward(true, FirstIf(6), Some(3), None)
        }
        "_flash_attention_forward" => forward(false, FirstIf(8), None, Some(3)),
        "_efficient_attention_forward" => forward(false, Numbered(9), Some(3), Some(4)),
        "_cudnn_attention_forward" => forward(true, FirstIf(10), Some(3), Some(4)),
        "_scaled_dot_product_flash_attention_backward" => backward(true, FirstIf(11), None, Some(6)),
        "_scaled_dot_product_efficient_attention_backward" => backward(true, FirstIf(11), Some(4), None),
        "_scaled_dot_product_cudnn_attention_backward" | "_cudnn_attention_backward" => {
            backward(true, FirstIf(14), Some(8), Some(9))
        }
        "_flash_attention_backward" => backward(false, FirstIf(11), None, Some(6)),
        "_efficient_attention_backward" => backward(false, Numbered(14), Some(4), Some(6)),
        "_flash_attn_forward" => forward(false, LastIf(5), None, None),
        "_flash_attn_backward" => backward(false, LastIf(11), None, None),
        _ => return None,
    })
}

fn count(op: &str, call: &Call) -> Option<Cost> {
    let at = layout(op)?;
    let (q, k, v) = (at.query, at.query + 1, at.query + 2);
    if let Some(packed) = at.packed
        && call.elements(packed).is_some_and(|lengths| lengths > 1)
    {
        return None;
    }
    let part = |i: usize| {
        let &[batch, x, y, width] = call.sizes(i)? else { return None };
        let (heads, positions) = if at.heads_first { (x, y) } else { (y, x) };
        Some([size(batch)?, size(heads)?, size(positions)?, size(width)?])
    };
    let [batch, heads, queries, width] = part(q)?;
    let [_, _, keys, key_width] = part(k)?;
    let [_, _, _, value_width] = part(v)?;
    (width == key_width).then_some(())?;
    // Twice the pairs, so that half of a square is a whole number.
    let pairs = twice_the_pairs(at.causal, call, queries, keys)?;
    let pairs = times(&[batch, heads, pairs])?;
    let element = call.element(q)?;
    let out = times(&[batch, heads, queries, value_width, element.bytes])?;
    let inputs = sum(&[call.bytes(q)?, call.bytes(k)?, call.bytes(v)?])?;
    let bias = at.bias.map_or(Some(0), |i| call.bytes_if(i))?;
    // Each pair costs a multiplication and an addition for each element of the width.
    let (flops, recomputed, read, written) = if at.backward {
        let products = sum(&[times(&[3, width])?, times(&[2, value_width])?])?;
        (
            times(&[pairs, products])?,
            times(&[pairs, width])?,
            sum(&[inputs, bias, out, out])?,
            sum(&[call.elements(q)?, call.elements(k)?, call.elements(v)?])?.checked_mul(element.bytes)?,
        )
    } else {
        (times(&[pairs, sum(&[width, value_width])?])?, 0, sum(&[inputs, bias])?, out)
    };
    Some(Cost {
        family: Family::Attention,
        flops,
        recomputed,
        read,
        written,
        precision: element.precision?,
        data: element.precision,
        pipe: Pipe::Matrix,
    })
}

/// Twice the number of pairs of a query and a key that the mask leaves.
fn twice_the_pairs(causal: Causal, call: &Call, queries: u64, keys: u64) -> Option<u64> {
    let all = times(&[2, queries, keys])?;
    let (masked, from_last) = match causal {
        Causal::FirstIf(i) => (call.flag(i)?, false),
        Causal::LastIf(i) => (call.flag(i)?, true),
        Causal::Numbered(i) => (call.int(i)? != 0, call.int(i)? == 2),
    };
    let shorter = queries.min(keys);
    let triangle = shorter.checked_mul(shorter)?;
    if !masked {
        return Some(all);
    }
    // More keys than queries: from the first, the keys behind the square are never seen; from the last, those
    // before it always are. More queries than keys: the other way round.
    if (keys >= queries) == from_last { all.checked_sub(triangle) } else { Some(triangle) }
}

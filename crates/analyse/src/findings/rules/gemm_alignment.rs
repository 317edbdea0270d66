//! Matrix products whose sizes keep them off the fast kernels.

use stepscope_model::{Attr, Input, Order, parse_shapes};

use super::matrix::{good_ns, kernels, scale, total};
use super::named_matrix::{BY_NAME, example, named, time};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, Needs, Rule, USUAL, evidence, thresholds,
};
use crate::roofline::{Family, OpCost, Precision};

pub(super) const RULE: Rule = Rule {
    name: "gemm_alignment",
    about: "Matrix products have rows whose length is not a multiple of 8 (16-bit) or 4 (TF32), so slow kernels run.",
    thresholds: thresholds! {
        "gemm_alignment.max_efficiency" = 0.4, "share of the peak above which such a product is fast enough";
        "gemm_alignment.min_flops" = 1e8, "FLOPs of a product below which its sizes do not matter";
    },
    needs: &[Needs::MoreShapes],
    answers: &["gpu"],
    check,
    ..USUAL
};

/// The lengths of rows in memory, of a product's operands and its result, that are no multiple of what tensor cores load
/// at once.
fn odd_rows(context: &Context<'_>, op: &OpCost, multiple: i64) -> Vec<i64> {
    let args = context.trace().args(op.slice);
    let shapes = args.input_shapes().unwrap_or_default();
    let strides = args.text(Attr::InputStrides).and_then(parse_shapes).unwrap_or_default();
    let matrices = shapes.iter().enumerate().filter_map(|(at, input)| {
        let sizes = input.tensor().filter(|sizes| sizes.len() >= 2)?;
        Some((sizes, strides.get(at).and_then(Input::tensor)))
    });
    let mut odd = Vec::new();
    let mut columns = None;
    for (sizes, strides) in matrices {
        odd.push(row_length(sizes, strides));
        columns = sizes.last().copied();
    }
    // The result has as many columns as the last operand.
    odd.extend(columns);
    odd.retain(|n| n % multiple != 0);
    odd.sort_unstable();
    odd.dedup();
    odd
}

/// How far apart rows lie in memory, which is a matrix's columns unless it is transposed.
fn row_length(sizes: &[i64], strides: Option<&[i64]>) -> i64 {
    let last = sizes[sizes.len() - 1];
    match strides {
        Some([.., 1, apart]) => *apart,
        Some([.., apart, 1]) => *apart,
        _ => last,
    }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut edit = Edit::new(context.trace());
    let mut slow: Vec<(&OpCost, Vec<i64>)> = Vec::new();
    for op in &context.costs().ops {
        let multiple = match op.precision {
            Precision::Fp16 | Precision::Bf16 => 8,
            Precision::Tf32 => 4,
            _ => continue,
        };
        if op.cost.family != Family::Gemm
            || (op.cost.flops as f64) < context.threshold("gemm_alignment.min_flops")
        {
            continue;
        }
        let (Some(peak), Some(good)) = (op.ideal, good_ns(context, op, op.precision, 1.0)) else { continue };
        let reached = peak.ns() / op.device_ns.max(1) as f64;
        if reached > context.threshold("gemm_alignment.max_efficiency") || good >= op.device_ns as f64 {
            continue;
        }
        let odd = odd_rows(context, op, multiple);
        if !odd.is_empty() {
            scale(context, &mut edit, op, good);
            slow.push((op, odd));
        }
    }
    let mut by_name = named(context);
    by_name.retain(|kernel| kernel.misaligned && !kernel.attention && kernel.precision != Precision::Fp32);
    by_name.iter().for_each(|kernel| kernel.change(context, &mut edit, kernel.precision));
    if slow.is_empty() && by_name.is_empty() {
        return Vec::new();
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    slow.order_by_key(|s| std::cmp::Reverse(s.0.device_ns));
    let ops: Vec<&OpCost> = slow.iter().map(|s| s.0).collect();
    let mut sizes: Vec<i64> = slow.iter().flat_map(|s| s.1.iter().copied()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let listed: Vec<String> = sizes.iter().take(4).map(i64::to_string).collect();
    let slow_ns = (total(ops.iter().copied()) + time(context, &by_name)).0;
    let share = slow_ns as f64 / context.attributed_ns().max(1) as f64;
    finding.confidence = if ops.is_empty() { Confidence::Low } else { Confidence::Medium };
    finding.title = match ops.is_empty() {
        true => "Odd sizes: matrix products run on slow kernels for unaligned rows".to_owned(),
        false => format!(
            "Odd sizes: matrix products with rows of {} elements run on slow kernels",
            listed.join(", ")
        ),
    };
    finding.evidence = evidence! {
        "such products" => Amount::Share(share),
            "Device time of products with an odd size that reach little of the peak, divided by all device time.";
    };
    if ops.is_empty() {
        finding.evidence.push(example(context, &by_name));
    } else {
        finding.evidence.push(Evidence::new(
            "sizes",
            Amount::Text(listed.join(", ")),
            "Elements per row in memory, of their operands or results, that are not multiples of 8 (TF32: 4). A transposed \
             operand's rows in memory are its columns.",
        ));
    }
    if let Some(&kernel) = kernels(context, &ops).first() {
        finding.evidence.push(Evidence::new(
            "for example",
            Amount::Text(context.trace().name(kernel).to_owned()),
            "A kernel of the longest of them.",
        ));
    }
    let padded = sizes.last().map_or(0, |n| n.saturating_add(63) / 64 * 64);
    let size = sizes.last().copied().unwrap_or_default();
    finding.why = "Tensor cores load 16 bytes at once. Rows that do not start on a 16-byte boundary need kernels that load element by \
                   element."
        .to_owned();
    finding.fix = format!(
        "Pad these sizes to a multiple of 64, for example {size} to {padded}, and mask or ignore the padding."
    );
    finding.code = Some(format!(
        "size = (size + 63) // 64 * 64  # {size} becomes {padded}: vocabulary, channels or tokens\n\
         # mask the padding, or never use it as a target"
    ));
    finding.verify =
        "Record again: in `stepscope roofline` these products should reach about the same share of the peak as others."
            .to_owned();
    if ops.is_empty() {
        finding.why.push(' ');
        finding.why.push_str(BY_NAME);
        finding.fix = "Find the sizes with record_shapes=True, pad those that are not multiples of 8 to a multiple of 64, and mask \
                       or ignore the padding."
            .to_owned();
        finding.code = Some("size = (size + 63) // 64 * 64".to_owned());
    }
    let named = by_name.iter().map(|kernel| kernel.kernel);
    finding.slices = context.shown(kernels(context, &ops).into_iter().chain(named));
    vec![finding]
}

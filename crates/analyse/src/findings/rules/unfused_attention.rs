//! Attention built from matrix products and a softmax, with the matrix of scores going through memory.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Input, Ns, SliceId};

use super::matrix::{kernels, total};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Needs, Rule, USUAL, evidence, thresholds,
};
use crate::names::kernel_family::{KernelFamily, kernel_family};
use crate::roofline::{Family, OpCost, Pipe};

pub(super) const RULE: Rule = Rule {
    name: "unfused_attention",
    about: "Attention runs as matrix products with a softmax between them instead of one fused kernel.",
    thresholds: thresholds! {
        "unfused_attention.min_sequence" = 128.0, "shortest sequence for which fusing pays off";
        "unfused_attention.min_share" = 0.02, "share of the device time in work on the scores";
    },
    needs: &[Needs::MoreShapes],
    answers: &["gpu"],
    check,
    ..USUAL
};

/// The number of elements of a call's largest input, and its last two sizes.
fn largest(context: &Context<'_>, op: &OpCost) -> Option<(i64, i64, i64)> {
    let inputs = context.trace().args(op.slice).input_shapes()?;
    let tensors = inputs.iter().filter_map(Input::tensor).filter(|s| s.len() >= 2);
    let sized = tensors.filter_map(|s| {
        let all = s.iter().try_fold(1i64, |a, &n| a.checked_mul(n))?;
        Some((all, s[s.len() - 2], s[s.len() - 1]))
    });
    sized.max()
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let costs = context.costs();
    let mut scores: HashMap<i64, (i64, i64), RandomState> = HashMap::default();
    for op in costs.ops.iter().filter(|op| op.cost.family == Family::Softmax) {
        let least = context.threshold("unfused_attention.min_sequence") as i64;
        if let Some((all, rows, columns)) = largest(context, op)
            && rows.min(columns) >= least
            && context.trace().name(op.slice).contains("_softmax")
            && !context.trace().name(op.slice).contains("log_softmax")
        {
            scores.insert(all, (rows, columns));
        }
    }
    if scores.is_empty() {
        return by_name(context);
    }
    let mut edit = Edit::new(context.trace());
    let (mut around, mut products) = (Vec::new(), Vec::new());
    for op in &costs.ops {
        match op.cost.family {
            Family::Softmax | Family::Elementwise | Family::Copy
                if largest(context, op).is_some_and(|l| scores.contains_key(&l.0)) =>
            {
                around.push(op);
            }
            Family::Gemm if makes_scores(context, op, &scores) => products.push(op),
            _ => {}
        }
    }
    let share = total(around.iter().copied()).0 as f64 / context.attributed_ns().max(1) as f64;
    if products.is_empty() || share < context.threshold("unfused_attention.min_share") {
        return Vec::new();
    }
    for op in &around {
        costs.kernels_of(op).iter().for_each(|&kernel| edit.device_length(kernel, 0));
        edit.remove_host(op.slice);
    }
    let biased = around.iter().any(|op| adds_to_each_head(context, op));
    let reaches = if biased { "assume.masked_attention_efficiency" } else { "assume.attention_efficiency" };
    for op in &products {
        let peak = op.hardware.and_then(|h| h.peak_tflops(op.precision, Pipe::Matrix));
        if let Some(peak) = peak {
            // Fused kernels do the scores again on the way back: five products instead of four.
            let ns = op.cost.flops as f64 * 1.2 / (peak * 1e3) / context.threshold(reaches);
            // With a bias they are slower than the products alone, and still faster than all of it.
            let factor = ns / op.device_ns.max(1) as f64;
            for &kernel in costs.kernels_of(op) {
                let length = context.trace().slices().dur(kernel).0 as f64;
                edit.device_length(
                    kernel,
                    (length * if biased { factor } else { factor.min(1.0) }).max(1.0) as i64,
                );
            }
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    let (rows, columns) = scores.values().copied().max().unwrap_or_default();
    finding.confidence = Confidence::Medium;
    finding.title = format!("Attention is not fused: scores of {rows} x {columns} go through memory");
    finding.evidence = evidence! {
        "work on the scores" => Amount::Share(share),
            "Device time of softmax, scaling, masking and copies on tensors as large as the scores, divided by all device \
             time.";
        "products per step" => Amount::Count((products.len() / context.steps().steps.len().max(1)) as u64),
            "Matrix products that compute or use the scores, per step.";
    };
    explain(&mut finding);
    if biased {
        finding.fix = "Use scaled_dot_product_attention with the bias as its mask. Its fastest kernels take no mask, so try \
                       flex_attention too, which compiles the bias into the kernel."
            .to_owned();
        finding.code = Some(
            "out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)\n\
             # or: flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + bias[h, i, j])"
                .to_owned(),
        );
    }
    finding.slices = context.shown(kernels(context, &around));
    vec![finding]
}

/// Whether something is added to the scores that differs from head to head: no causal mask, and no kernel without masks
/// can do it.
fn adds_to_each_head(context: &Context<'_>, op: &OpCost) -> bool {
    if !matches!(context.trace().name(op.slice), "aten::add" | "aten::add_") {
        return false;
    }
    let Some(inputs) = context.trace().args(op.slice).input_shapes() else { return false };
    let tensors: Vec<&[i64]> = inputs.iter().filter_map(Input::tensor).collect();
    let sizes = |s: &[i64]| s.iter().filter(|&&n| n > 1).count();
    matches!(tensors[..], [a, b, ..] if sizes(a).max(sizes(b)) == 4 && sizes(a).min(sizes(b)) >= 3)
}

/// Whether a product reads the scores, or makes them: both operands are then as large as what comes out.
fn makes_scores(context: &Context<'_>, op: &OpCost, scores: &HashMap<i64, (i64, i64), RandomState>) -> bool {
    let Some(inputs) = context.trace().args(op.slice).input_shapes() else { return false };
    let batched: Vec<&[i64]> = inputs.iter().filter_map(Input::tensor).filter(|s| s.len() == 3).collect();
    let [.., a, b] = batched[..] else { return false };
    let size = |s: &[i64]| s.iter().try_fold(1i64, |all, &n| all.checked_mul(n));
    let out = a[0].checked_mul(a[1]).and_then(|n| n.checked_mul(b[2]));
    [size(a), size(b), out].into_iter().flatten().any(|n| scores.contains_key(&n))
}

/// The reason, the change and the check.
fn explain(finding: &mut Finding) {
    finding.why = "For each head, a matrix of sequence length squared is written to memory, scaled, masked, put through softmax and \
                   read again. Fused attention keeps it on the chip and never writes it."
        .to_owned();
    finding.fix = "Use scaled_dot_product_attention, which picks a fused kernel. If your code already uses it, find out why it fell \
                   back: fp32 inputs, a mask it cannot fuse, the head size, or a forced backend."
        .to_owned();
    finding.code = Some(
        "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # the mask, if any\n\
         # instead of: softmax(q @ k.transpose(-2, -1) / math.sqrt(d) + mask) @ v"
            .to_owned(),
    );
    finding.verify =
        "Record again: `stepscope kernels` should show flash, fmha or cudnn sdpa kernels instead of softmax."
            .to_owned();
}

/// Kernels between a product and a softmax at most.
const MAX_BETWEEN: usize = 5;

/// The same without recorded sizes: a softmax between two batched products, with little but arithmetic between them. What
/// goes is that; the products stay as they are.
fn by_name(context: &Context<'_>) -> Vec<Finding> {
    let trace = context.trace();
    let mut around: Vec<SliceId> = Vec::new();
    let mut products = 0;
    for stream in context.streams() {
        let work: Vec<SliceId> =
            stream.work.iter().map(|w| w.slice).filter(|&w| context.selection().contains(trace, w)).collect();
        let ops: Vec<Option<SliceId>> = work.iter().map(|&w| context.op_of(w)).collect();
        let name = |at: usize| ops.get(at).copied().flatten().map_or("", |op| trace.name(op));
        let is_product = |at: usize| matches!(name(at), "aten::bmm" | "aten::baddbmm");
        let is_between = |at: usize| kernel_family(trace.name(work[at])) == KernelFamily::Elementwise;
        for at in 0..work.len() {
            if !matches!(name(at), "aten::_softmax" | "aten::_softmax_backward_data") {
                continue;
            }
            let before = (at.saturating_sub(MAX_BETWEEN + 1)..at).rev().find(|&i| !is_between(i));
            let after = (at + 1..work.len().min(at + MAX_BETWEEN + 2)).find(|&i| !is_between(i));
            if let (Some(before), Some(after)) = (before, after)
                && is_product(before)
                && is_product(after)
            {
                around.extend(&work[before + 1..after]);
                products += 2;
            }
        }
    }
    let ns: Ns = around.iter().map(|&kernel| trace.slices().dur(kernel)).sum();
    let share = ns.0 as f64 / context.attributed_ns().max(1) as f64;
    if products == 0 || share < context.threshold("unfused_attention.min_share") {
        return Vec::new();
    }
    let mut edit = Edit::new(trace);
    for &kernel in &around {
        edit.device_length(kernel, 0);
        context.op_of(kernel).into_iter().for_each(|op| edit.remove_host(op));
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    finding.confidence = Confidence::Low;
    finding.title = "Attention is not fused: softmax between two products goes through memory".to_owned();
    finding.evidence = evidence! {
        "work on the scores" => Amount::Share(share),
            "Device time of softmax and what runs between it and the products before and after, divided by all device time.";
        "products per step" => Amount::Count((products / context.steps().steps.len().max(1)) as u64),
            "Batched matrix products before and after such a softmax, per step.";
    };
    explain(&mut finding);
    finding.slices = context.shown(around);
    vec![finding]
}

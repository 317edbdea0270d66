//! Matrix work in 32 bits on a device that is several times faster in 16.

use stepscope_model::Order;

use super::matrix::{good_ns, is_matrix, kernels, names, scale, total};
use super::named_matrix::{BY_NAME, BY_NAME_IN_GRAPHS, device_time, example, named, time};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, Needs, OtherFrameworks, Rule, evidence,
    thresholds,
};
use crate::roofline::{Hardware, OpCost, Pipe, Precision};
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "mixed_precision",
    about: "Matrix products, convolutions or attention run in fp32 or TF32 on a device with 16-bit tensor cores.",
    thresholds: thresholds! {
        "mixed_precision.min_share" = 0.1, "share of the device time that is matrix work in 32 bits";
        "mixed_precision.max_new_share" = 0.9,
            "new time of an operator, divided by the old, above which it is not worth changing";
    },
    trials: &["autocast"],
    other_frameworks: OtherFrameworks::Words(reword),
    needs: &[Needs::MoreShapes],
    answers: &["gpu"],
    check,
};

/// The 16-bit format a device multiplies fastest: bfloat16 where it has that.
fn half_of(hardware: &Hardware) -> Option<Precision> {
    let has = |precision: &Precision| hardware.peak_tflops(*precision, Pipe::Matrix).is_some();
    [Precision::Bf16, Precision::Fp16].into_iter().find(has)
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let costs = context.costs();
    let worth = context.threshold("mixed_precision.max_new_share");
    let half = |op: &OpCost| op.hardware.and_then(half_of);
    let wide: Vec<&OpCost> = costs
        .ops
        .iter()
        .filter(|op| {
            is_matrix(op) && matches!(op.precision, Precision::Fp32 | Precision::Tf32) && half(op).is_some()
        })
        .collect();
    let mut by_name = named(context);
    by_name.retain(|kernel| {
        let old = context.trace().slices().dur(kernel.kernel).0 as f64;
        matches!(kernel.precision, Precision::Fp32 | Precision::Tf32)
            && half_of(kernel.hardware)
                .and_then(|half| kernel.ns(context, half))
                .is_some_and(|ns| (ns as f64) < old * worth)
    });
    let wide_ns = (total(wide.iter().copied()) + time(context, &by_name)).0;
    let share = wide_ns as f64 / device_time(context) as f64;
    if share < context.threshold("mixed_precision.min_share") {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    let mut changed: Vec<&OpCost> = Vec::new();
    for &op in &wide {
        if let Some(half) = half(op)
            && let Some(ns) = good_ns(context, op, half, 2.0)
            && ns < op.device_ns as f64 * worth
        {
            scale(context, &mut edit, op, ns);
            changed.push(op);
        }
    }
    for kernel in &by_name {
        half_of(kernel.hardware).into_iter().for_each(|half| kernel.change(context, &mut edit, half));
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    changed.order_by_key(|op| std::cmp::Reverse(op.device_ns));
    let hardware =
        changed.first().and_then(|op| op.hardware).or_else(|| by_name.first().map(|kernel| kernel.hardware));
    let peak = |precision| hardware.and_then(|h| h.peak_tflops(precision, Pipe::Matrix)).unwrap_or(0.0);
    let half = hardware.and_then(half_of).unwrap_or(Precision::Bf16);
    let now = changed.first().map_or(Precision::Fp32, |op| op.precision);
    finding.confidence = if changed.is_empty() { Confidence::Low } else { Confidence::Medium };
    finding.title =
        format!("Mixed precision unused: {} of the device time is matrix work in 32 bits", percent(share));
    finding.evidence = evidence! {
        "matrix work in 32 bits" => Amount::Share(share),
            "Device time of matrix products, convolutions and fused attention with fp32 inputs, divided by all device time.";
    };
    if changed.is_empty() {
        finding.evidence.push(example(context, &by_name));
    } else {
        finding.evidence.extend([
            Evidence::new(
                format!("peak in {}, TFLOP/s", now.name()),
                Amount::Number(peak(now)),
                "The device's dense peak by its data sheet.",
            ),
            Evidence::new(
                format!("peak in {}, TFLOP/s", half.name()),
                Amount::Number(peak(half)),
                "The device's dense peak by its data sheet.",
            ),
            Evidence::new(
                "mostly",
                Amount::Text(names(context, &changed, 3)),
                "The operators with most of that time.",
            ),
        ]);
    }
    finding.why =
        "Tensor cores multiply 16-bit numbers many times faster than 32-bit ones, and half as many bytes move. Sums \
                   stay in 32 bits."
            .to_owned();
    let (fix, code) = match half {
        Precision::Bf16 => (
            "Run the forward pass under autocast with bfloat16; parameters stay in 32 bits and no gradient scaling is needed. \
             Check the loss or the outputs.",
            "with torch.autocast(\"cuda\", dtype=torch.bfloat16):  # around forward and loss\n\
             \x20   output = model(x)",
        ),
        _ => (
            "Run the forward pass under autocast with float16, and scale the loss so that small gradients survive: this device \
             has no tensor cores for bfloat16. Check the loss or the outputs.",
            "scaler = torch.amp.GradScaler(\"cuda\")\n\
             with torch.autocast(\"cuda\", dtype=torch.float16):   # around forward and loss\n\
             \x20   loss = loss_function(model(x), y)\n\
             scaler.scale(loss).backward()\n\
             scaler.step(optimizer); scaler.update()",
        ),
    };
    (finding.fix, finding.code) = (fix.to_owned(), Some(code.to_owned()));
    finding.verify = format!(
        "Record again: `stepscope roofline` should show {} for these operators, and `stepscope gpu` a higher tensor-core share. \
         The estimate assumes that they reach the share of the peak in assume.matrix_efficiency.",
        half.name()
    );
    if changed.is_empty() {
        finding.why.push(' ');
        finding.why.push_str(BY_NAME);
    }
    let named = by_name.iter().map(|kernel| kernel.kernel);
    finding.slices = context.shown(kernels(context, &changed).into_iter().chain(named));
    vec![finding]
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "Tensor cores multiply 16-bit numbers several times faster than 32-bit ones, and half as many bytes move. \
                   Sums stay in 32 bits."
        .to_owned();
    if finding.confidence == Confidence::Low {
        finding.why.push(' ');
        finding.why.push_str(BY_NAME_IN_GRAPHS);
    }
    finding.fix =
        "Compute in bfloat16, and keep the weights that the optimizer updates in 32 bits. Check the loss."
            .to_owned();
    let code = match framework {
        "TensorFlow" => {
            "keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")  # before the model is built"
        }
        _ => {
            "half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)  # in the loss; params stay float32\n\
             logits = model.apply(half, batch[\"x\"].astype(jnp.bfloat16))\n\
             return loss(logits.astype(jnp.float32), batch[\"y\"])"
        }
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: `stepscope roofline` should show bf16 for these products. The estimate assumes that they \
                      reach the share of the peak in assume.matrix_efficiency."
        .to_owned();
}

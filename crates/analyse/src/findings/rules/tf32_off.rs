//! fp32 matrix work that could run on tensor cores with one switch.

use stepscope_model::Order;

use super::matrix::{good_ns, is_matrix, kernels, names, scale, total};
use super::named_matrix::{BY_NAME, BY_NAME_IN_GRAPHS, device_time, example, named, time};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, Needs, OtherFrameworks, Rule, evidence,
    thresholds,
};
use crate::roofline::{Family, OpCost, Pipe, Precision};
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "tf32_off",
    about: "fp32 matrix products run on the ordinary cores, although the device has TF32 tensor cores.",
    thresholds: thresholds! {
        "tf32_off.min_share" = 0.05, "share of the device time that is such work";
    },
    trials: &["tf32"],
    other_frameworks: OtherFrameworks::Words(reword),
    needs: &[Needs::MoreShapes],
    answers: &["gpu"],
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let costs = context.costs();
    let could = |op: &&OpCost| {
        // Attention has no TF32 kernels behind this switch.
        is_matrix(op)
            && op.cost.family != Family::Attention
            && op.precision == Precision::Fp32
            && op.hardware.is_some_and(|h| h.peak_tflops(Precision::Tf32, Pipe::Matrix).is_some())
    };
    let mut ops: Vec<&OpCost> = costs.ops.iter().filter(could).collect();
    let mut by_name = named(context);
    by_name.retain(|kernel| {
        kernel.precision == Precision::Fp32
            && !kernel.attention
            && kernel
                .ns(context, Precision::Tf32)
                .is_some_and(|ns| ns < context.trace().slices().dur(kernel.kernel).0)
    });
    let exact_ns = (total(ops.iter().copied()) + time(context, &by_name)).0;
    let share = exact_ns as f64 / device_time(context) as f64;
    if share < context.threshold("tf32_off.min_share") {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    for &op in &ops {
        if let Some(ns) = good_ns(context, op, Precision::Tf32, 1.0) {
            scale(context, &mut edit, op, ns);
        }
    }
    by_name.iter().for_each(|kernel| kernel.change(context, &mut edit, Precision::Tf32));
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    ops.order_by_key(|op| std::cmp::Reverse(op.device_ns));
    finding.confidence = if ops.is_empty() { Confidence::Low } else { Confidence::Medium };
    finding.title =
        format!("TF32 is off: {} of the device time is fp32 matrix work without tensor cores", percent(share));
    finding.evidence = evidence! {
        "fp32 without tensor cores" => Amount::Share(share),
            "Device time of fp32 matrix products and convolutions whose kernels do not use tensor cores, divided by all device \
             time.";
    };
    if ops.is_empty() {
        finding.evidence.push(example(context, &by_name));
    } else {
        let mostly = Amount::Text(names(context, &ops, 3));
        finding.evidence.push(Evidence::new("mostly", mostly, "The operators with most of that time."));
    }
    if let Some(kernel) = kernels(context, &ops).into_iter().max_by_key(|&k| context.trace().slices().dur(k)) {
        finding.evidence.push(Evidence::new(
            "for example",
            Amount::Text(context.trace().name(kernel).to_owned()),
            "The longest of these kernels.",
        ));
    }
    finding.why = "By default PyTorch multiplies fp32 matrices in full precision, on the ordinary cores. TF32 rounds the inputs of a \
                   product to 10 bits of mantissa, keeps range and sums in fp32, and runs on tensor cores."
        .to_owned();
    finding.fix =
        "Allow TF32 once at the start. bfloat16 autocast computes faster still, but changes more numbers."
            .to_owned();
    finding.code = Some(
        "torch.set_float32_matmul_precision(\"high\")  # matrix products\n\
         torch.backends.cudnn.allow_tf32 = True      # convolutions (the default)"
            .to_owned(),
    );
    finding.verify = "Record again: `stepscope roofline` should show tf32 for these operators.".to_owned();
    if ops.is_empty() {
        finding.why.push(' ');
        finding.why.push_str(BY_NAME);
    }
    let named = by_name.iter().map(|kernel| kernel.kernel);
    finding.slices = context.shown(kernels(context, &ops).into_iter().chain(named));
    vec![finding]
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "Products of 32-bit numbers run in full precision, on the ordinary cores. TF32 rounds the inputs of a product \
                   to 10 bits of mantissa, keeps range and sums in 32 bits, and runs on tensor cores."
        .to_owned();
    if finding.confidence == Confidence::Low {
        finding.why.push(' ');
        finding.why.push_str(BY_NAME_IN_GRAPHS);
    }
    finding.fix = "Ask for full precision only where it matters: drop precision=\"highest\" and the global setting. bfloat16 \
                   computes faster still, but changes more numbers."
        .to_owned();
    let code = match framework {
        "TensorFlow" => "tf.config.experimental.enable_tensor_float_32_execution(True)",
        _ => {
            "jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\")\n\
             # and no precision=\"highest\" in jnp.dot, jnp.einsum or a model's layers"
        }
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: `stepscope roofline` should show tf32 for these products.".to_owned();
}

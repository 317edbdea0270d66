//! Copies from pinned memory that nothing hides.

use stepscope_model::{Kind, Ns, SliceId};

use super::xla::{JAX_PREFETCH, staging};
use crate::causes::transfers::bytes;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, OtherFrameworks, Rule, USUAL, evidence, thresholds,
};
use crate::names::copies::{Direction, HostMemory, copy_name};

pub(super) const RULE: Rule = Rule {
    name: "exposed_copies",
    about: "Copies to the device run while no kernel does, although their memory is pinned and they could overlap.",
    thresholds: thresholds! {
        "exposed_copies.min_exposed_share" = 0.5, "share of the time of these copies during which no kernel ran";
        "exposed_copies.max_copy_share" = 0.9,
            "share of the steps in copies above which there is nothing left to hide them behind";
        "exposed_copies.min_share" = 0.05,
            "share of a step in which arrays are prepared and copied, where JAX or TensorFlow do that";
    },
    trials: &["async-copies"],
    other_frameworks: OtherFrameworks::Words(reword),
    answers: &["host", "copies"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    if context.trace().meta().framework.is_some() {
        return staging::find(context, RULE.name);
    }
    let (trace, slices) = (context.trace(), context.trace().slices());
    let is_ours = |memory| memory != HostMemory::Pageable;
    let rows = || {
        let rows = context.transfers().rows.iter();
        rows.filter(|r| r.direction == Direction::HostToDevice && is_ours(r.memory))
    };
    let total = rows().map(|r| Ns(r.total_ns)).sum::<Ns>().0;
    let exposed = rows().map(|r| Ns(r.exposed_ns)).sum::<Ns>().0;
    let wall = context.steps().wall_ns();
    let exposed_share = exposed as f64 / total.max(1) as f64;
    let copy_share = total as f64 / wall.max(1) as f64;
    if total == 0
        || exposed_share < context.threshold("exposed_copies.min_exposed_share")
        || copy_share > context.threshold("exposed_copies.max_copy_share")
    {
        return Vec::new();
    }
    let copies: Vec<SliceId> = context
        .device_work()
        .filter(|&id| slices.kind(id) == Kind::Memcpy)
        .filter(|&id| matches!(copy_name(trace.name(id)), (Direction::HostToDevice, m) if is_ours(m)))
        .collect();
    let mut edit = Edit::new(context.trace());
    copies.iter().for_each(|&copy| edit.device_length(copy, 0));
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let steps = context.steps().steps.len().max(1) as i64;
    let moved = copies.iter().filter_map(|&c| bytes(trace, c)).fold(0, i64::saturating_add);
    finding.confidence = Confidence::Medium;
    finding.title = "Exposed copies: the device computes nothing while its input is copied".to_owned();
    finding.evidence = evidence! {
        "copying per step" => Amount::Ns(total / steps), "Time of the copies to the device, per step.";
        "exposed share" => Amount::Share(exposed_share), "Share of that time during which no kernel ran on the same device.";
        "bytes per step" => Amount::Bytes(moved / steps), "Bytes copied to the device, per step.";
    };
    finding.why = "The copies and the kernels are in the same stream, so they run one after the other, although the device has \
                   separate engines for copies."
        .to_owned();
    finding.fix = "Copy the next batch on a second stream while the device computes this one.".to_owned();
    finding.code = Some(
        "side = torch.cuda.Stream()  # copy the next batch here, one step ahead\n\
         def prefetch(batch):\n\
         \x20   with torch.cuda.stream(side):\n\
         \x20       return [t.to(device, non_blocking=True) for t in batch]\n\
         upcoming = prefetch(next(batches))\n\
         for batch in batches:\n\
         \x20   torch.cuda.current_stream().wait_stream(side)\n\
         \x20   current, upcoming = upcoming, prefetch(batch)\n\
         \x20   for t in current: t.record_stream(torch.cuda.current_stream())\n\
         \x20   run(*current)  # your step"
            .to_owned(),
    );
    finding.verify = "Record again: `stepscope transfers` should show most of the copy time hidden.".to_owned();
    finding.slices = context.shown(copies);
    vec![finding]
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "Arrays of the host go to the device when the step needs them: threads of the runtime first put them into \
                   memory that the device can read, then they are copied. Meanwhile the device computes nothing, although it \
                   can copy and compute at the same time."
        .to_owned();
    finding.fix = "Put the next batch on the device while it computes this one, and keep what does not change there. Send \
                   fewer bytes: 8-bit images rather than 32-bit floats, converted on the device."
        .to_owned();
    let code = match framework {
        "TensorFlow" => TF_PREFETCH_TO_DEVICE,
        _ => JAX_PREFETCH,
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: `stepscope transfers` should show most of the copy time hidden.".to_owned();
}

const TF_PREFETCH_TO_DEVICE: &str =
    "dataset = dataset.apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\", buffer_size=2))";

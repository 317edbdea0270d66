//! Copies from ordinary host memory: slower, and the host waits for them.

use stepscope_model::{Kind, Ns, SliceId};

use crate::causes::transfers::bytes;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, ShownSlice, USUAL, evidence, thresholds,
};
use crate::names::copies::{Direction, HostMemory, copy_name};

pub(super) const RULE: Rule = Rule {
    name: "pageable_copies",
    about: "Data is copied to the device from pageable memory: through a staging buffer, while the host waits.",
    thresholds: thresholds! {
        "pageable_copies.min_bytes_per_step" = 1048576.0, "bytes per step copied from pageable memory";
    },
    trials: &["pinned-loader", "async-copies"],
    answers: &["copies"],
    check,
    ..USUAL
};

/// What an asynchronous call costs the host.
const ASYNC_CALL_NS: i64 = 10_000;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let steps = context.steps().steps.len().max(1) as i64;
    let uploads: Vec<(SliceId, i64)> = context
        .device_work()
        .filter(|&id| is_upload(context, id))
        .filter_map(|id| Some((id, bytes(trace, id)?)))
        .collect();
    let moved = uploads.iter().map(|u| u.1).fold(0, i64::saturating_add);
    if (moved as f64) < context.threshold("pageable_copies.min_bytes_per_step") * steps as f64 {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    for &(copy, _) in &uploads {
        // Pinned and prefetched, the copy runs beside the kernels of the step before and no one waits.
        edit.device_length(copy, 0);
        if let Some(call) = trace.links().launch(copy) {
            edit.no_wait(call);
            edit.host_length(call, ASYNC_CALL_NS);
        }
    }
    for wait in context.waits() {
        if wait.until.is_some_and(|work| is_upload(context, work)) {
            edit.no_wait(wait.call);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let copy_ns = uploads.iter().map(|u| slices.dur(u.0)).sum::<Ns>().0;
    let calls = uploads.iter().filter_map(|u| trace.links().launch(u.0));
    let host_ns = calls.map(|call| slices.dur(call)).sum::<Ns>().0;
    let rate = moved as f64 / (copy_ns.max(1) as f64 / 1e9);
    finding.confidence = Confidence::High;
    finding.title =
        "Pageable copies: inputs come from ordinary memory, and the host waits for each copy".to_owned();
    finding.evidence = evidence! {
        "bytes per step" => Amount::Bytes(moved / steps), "Bytes copied to the device from pageable memory, per step.";
        "rate" => Amount::BytesPerSecond(rate), "Those bytes divided by the summed time of the copies on the device.";
        "copying per step" => Amount::Ns(copy_ns / steps), "Time of the copies on the device, per step.";
        "host in copy calls per step" => Amount::Ns(host_ns / steps),
            "Time the host spent in the calls that started these copies, per step.";
    };
    finding.why = "The device can only read page-locked (pinned) memory. From ordinary memory, the driver first copies piece by piece \
                   into a pinned buffer on the calling thread. That slows the copy, and meanwhile the host launches nothing."
        .to_owned();
    finding.fix = "Put batches into pinned memory and copy with non_blocking=True, ideally one batch ahead on a stream of its own.".to_owned();
    finding.code = Some(
        "loader = DataLoader(dataset, ..., pin_memory=True)\n\
         for x, y in loader:\n\
         \x20   x = x.to(device, non_blocking=True)\n\
         \x20   y = y.to(device, non_blocking=True)"
            .to_owned(),
    );
    finding.source = uploads.iter().find_map(|u| context.source(trace.links().launch(u.0)?));
    finding.verify =
        "Record again: `stepscope transfers` should list only pinned copies, with little exposed time."
            .to_owned();
    finding.slices = context.shown(uploads.iter().map(|u| u.0));
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

fn is_upload(context: &Context<'_>, work: SliceId) -> bool {
    context.trace().slices().kind(work) == Kind::Memcpy
        && copy_name(context.trace().name(work)) == (Direction::HostToDevice, HostMemory::Pageable)
}

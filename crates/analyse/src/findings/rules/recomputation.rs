//! Activation checkpointing: the backward pass runs parts of the forward pass again.

use stepscope_model::Ns;

use super::text::percent;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, Rule, USUAL, evidence, thresholds,
};
use crate::run::Phase;

pub(super) const RULE: Rule = Rule {
    name: "recomputation",
    about: "The backward pass runs parts of the forward pass again (activation checkpointing), though memory may be free.",
    thresholds: thresholds! {
        "recomputation.min_share" = 0.05, "share of the device work that is done a second time";
        "recomputation.max_memory_share" = 0.7,
            "share of the device's memory in use above which recomputation is taken to be needed";
    },
    answers: &["gpu"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    if trace.meta().framework.is_some() {
        // What it would take to keep is decided by the compiler there.
        return Vec::new();
    }
    let phases = context.phases();
    let mut edit = Edit::new(trace);
    let (mut work, mut all) = (Vec::new(), Ns::ZERO);
    for id in context.device_work() {
        all += slices.dur(id);
        if phases.phase_of(trace, context.host(), id) == Phase::Recompute {
            work.push(id);
            edit.device_length(id, 0);
        }
    }
    let ns: Ns = work.iter().map(|&id| slices.dur(id)).sum();
    let share = ns.0 as f64 / all.0.max(1) as f64;
    let used = memory_share(context);
    if share < context.threshold("recomputation.min_share")
        || used.is_some_and(|used| used > context.threshold("recomputation.max_memory_share"))
    {
        return Vec::new();
    }
    slices.ids().filter(|&id| phases.is_recompute(id)).for_each(|id| edit.remove_host(id));
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    finding.confidence = if used.is_some() { Confidence::High } else { Confidence::Medium };
    finding.title = format!("Recomputation: {} of the device work runs the forward pass again", percent(share));
    finding.evidence = evidence! {
        "recomputed per step" => Amount::Ns(context.per_step(ns.0)),
            "Device time of work launched by forward operators that ran under a node of the backward pass, divided by the \
             number of steps.";
        "of the device work" => Amount::Share(share),
            "The same as a share of the device time of all kernels, copies and memsets of the steps.";
    };
    if let Some(used) = used {
        finding.evidence.push(Evidence::new(
            "memory in use",
            Amount::Share(used),
            "The most memory allocated at a time, as a share of the device's memory.",
        ));
    }
    finding.why =
        "Activation checkpointing drops intermediate results and computes them again in the backward \
                   pass. It trades time for memory, which pays off only if you need the memory."
            .to_owned();
    finding.fix = match used {
        Some(_) => "Memory is free here: checkpoint fewer layers, or none. If you need the memory for a larger batch, \
                    checkpoint only the layers that hold most of it.",
        None => "Check how much memory is free (torch.cuda.max_memory_allocated()). If there is room, checkpoint fewer \
                 layers, or none.",
    }
    .to_owned();
    finding.code = Some(
        "# transformers: model.gradient_checkpointing_disable()\n\
         for i, block in enumerate(self.blocks):\n\
         \x20   x = checkpoint(block, x, use_reentrant=False) if i % 2 else block(x)"
            .to_owned(),
    );
    finding.verify = "Record again: `stepscope phases` should show less time in recompute.".to_owned();
    finding.slices = context.shown(work);
    vec![finding]
}

/// The largest share of a device's memory that was allocated at a time, if both are known.
fn memory_share(context: &Context<'_>) -> Option<f64> {
    let devices = &context.trace().meta().devices;
    let shares = context.memory().devices.iter().filter_map(|row| {
        let total = devices.iter().find(|d| Some(d.index) == row.device_id)?.total_memory_bytes?;
        (row.device_type != Some(0)).then(|| row.peak_allocated_bytes as f64 / total.max(1) as f64)
    });
    shares.reduce(f64::max)
}

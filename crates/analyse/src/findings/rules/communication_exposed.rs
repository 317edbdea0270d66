//! Devices wait for communication that nothing hides.

use std::collections::BTreeMap;

use stepscope_model::{Kind, SliceId};

use crate::causes::cause::Cause;
use crate::findings::{Confidence, Context, Estimate, Evidence, Figure, Finding, Rule, Shown, Threshold};
use crate::names::by_name::ByName;
use crate::names::comm::{is_comm_kernel, is_comm_range};
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "communication_exposed",
    about: "Communication between ranks goes on while the device computes nothing.",
    thresholds: &[Threshold {
        name: "communication_exposed.min_share",
        default: 0.1,
        text: "part of the step in communication with nothing computed meanwhile",
    }],
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let exposed = |row: &crate::causes::account::AccountRow| {
        (row.causes.get(Cause::Communication), row.causes.get(Cause::Host(Activity::Communication)))
    };
    let rows = context.account().devices.iter();
    let Some(row) = rows.max_by_key(|row| exposed(row).0.saturating_add(exposed(row).1)) else {
        return Vec::new();
    };
    let (kernels, host) = exposed(row);
    let both = kernels.saturating_add(host);
    let share = both as f64 / row.wall_ns.max(1) as f64;
    if share < context.limit("communication_exposed.min_share") {
        return Vec::new();
    }
    let per_step = |ns: i64| ns / (context.counted_steps() as i64).max(1);
    let Some(mut finding) = context.costing(RULE.name, context.measured(per_step(both)), Estimate::UpperBound)
    else {
        return Vec::new();
    };
    let names = collectives(context);
    // Part of this time is waiting for slower ranks, which one rank's trace cannot tell.
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Communication: {:.0} % of each step waits for other ranks with nothing to compute",
        share * 100.0
    );
    finding.evidence = vec![
        Evidence::new(
            "exposed communication a step",
            Figure::Ns(per_step(both)),
            "Time of a device in communication that no computation hides, on average over the whole steps: the two below.",
        ),
        Evidence::new(
            "in kernels",
            Figure::Ns(per_step(kernels)),
            "A communication kernel ran and nothing computed.",
        ),
        Evidence::new(
            "on the host",
            Figure::Ns(per_step(host)),
            "The device was idle while the host was in a communication library.",
        ),
        Evidence::new(
            "part of the step",
            Figure::Share(share),
            "Exposed communication over the steps' wall time.",
        ),
    ];
    for (name, (count, ns, _)) in names.iter().take(3) {
        finding.evidence.push(Evidence::new(
            format!("{name}, {count} times"),
            Figure::Ns(*ns),
            "Sum of the lengths of these ranges or kernels in the whole recording, hidden or not.",
        ));
    }
    let has = |word: &str| context.trace().strings().iter().any(|(_, text)| text.contains(word));
    let sharded = has("FullyShardedDataParallel") || has("FSDP");
    finding.why = "Gradients or parameters travel between ranks, and the device has nothing to compute until they arrive. \
                   Part of the time may be waiting for a rank that is late: a collective ends when the last one has come."
        .to_owned();
    let (fix, code) = if sharded {
        (
            "Fetch the next layer's parameters while this one computes (forward and backward prefetch), wrap larger \
             units so that there are fewer and larger collectives, and shard within a node only (hybrid sharding) if \
             the network is slow.",
            "model = FSDP(model, auto_wrap_policy=policy, forward_prefetch=True,\n\
             \x20            backward_prefetch=BackwardPrefetch.BACKWARD_PRE,\n\
             \x20            sharding_strategy=ShardingStrategy.HYBRID_SHARD)",
        )
    } else {
        (
            "Let the reduction of gradients overlap with the backward pass: larger batches per rank, buckets of a \
             fitting size, no reduction in the steps that only accumulate, compressed gradients, and NCCL as backend. \
             Compare the ranks: if one of them is always last, its delay is the cause.",
            "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n\
             model = DistributedDataParallel(model, bucket_cap_mb=100,\n\
             \x20                               gradient_as_bucket_view=True)\n\
             # half the bytes\n\
             model.register_comm_hook(None, default_hooks.bf16_compress_hook)\n\
             with model.no_sync():  # when accumulating gradients\n\
             \x20   loss.backward()",
        )
    };
    (finding.fix, finding.code) = (fix.to_owned(), Some(code.to_owned()));
    finding.verify =
        "Record all ranks again: exposed communication in `stepscope account` should shrink. What is left on \
                      every rank but one is waiting for that one."
            .to_owned();
    finding.slices = context.shown(names.iter().map(|n| n.1.2));
    finding.range_ns = finding.slices.first().map(Shown::range_ns);
    vec![finding]
}

/// Collectives by name, most time first: how often, how long, and the longest.
fn collectives(context: &Context<'_>) -> Vec<(String, (u64, i64, SliceId))> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut is_range = ByName::new(trace, is_comm_range);
    let mut is_kernel = ByName::new(trace, is_comm_kernel);
    let mut by_name: BTreeMap<_, (u64, i64, SliceId)> = BTreeMap::new();
    for id in slices.ids() {
        let name = slices.name(id);
        let counts = match slices.kind(id) {
            Kind::Kernel => is_kernel.get(name),
            Kind::HostAnnotation | Kind::HostOp => is_range.get(name),
            _ => false,
        };
        if counts {
            let row = by_name.entry(name).or_insert((0, 0, id));
            let longest = if slices.dur(id) > slices.dur(row.2) { id } else { row.2 };
            *row = (row.0 + 1, row.1.saturating_add(slices.dur(id).0), longest);
        }
    }
    let mut rows: Vec<_> = by_name.into_iter().map(|(name, row)| (trace.text(name).to_owned(), row)).collect();
    rows.sort_by(|a, b| b.1.1.cmp(&a.1.1).then_with(|| a.0.cmp(&b.0)));
    rows
}

//! Devices wait for communication that nothing hides.

use std::collections::BTreeMap;

use stepscope_model::{Kind, Ns, Order, SliceId};

use crate::causes::cause::Cause;
use crate::findings::{
    Amount, Confidence, Context, Estimate, Evidence, Finding, OtherFrameworks, Rule, ShownSlice, USUAL,
    evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::collective::Operation;
use crate::names::comm::{is_comm_kernel, is_comm_range};
use crate::run::CollectiveRow;
use crate::scope::share::percent;
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "communication_exposed",
    about: "The device communicates with other ranks while it computes nothing.",
    thresholds: thresholds! {
        "communication_exposed.min_share" = 0.1, "share of the steps in communication that no computation hides";
        "communication_exposed.small_kib" = 1024.0,
            "KiB of a message below which the time to start it decides, not the bandwidth";
    },
    trials: &["ddp-views"],
    other_frameworks: OtherFrameworks::Words(reword),
    answers: &["communication"],
    check,
    ..USUAL
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
    if share < context.threshold("communication_exposed.min_share") {
        return Vec::new();
    }
    let per_step = |ns: i64| ns / (context.counted_steps() as i64).max(1);
    let Some(mut finding) = context.costing(RULE.name, context.measured(per_step(both)), Estimate::UpperBound)
    else {
        return Vec::new();
    };
    let names = collectives(context);
    let sent = MessageSizes::from_run(context);
    // Part of this time is waiting for slower ranks, which one rank's trace cannot tell.
    finding.confidence = Confidence::Medium;
    let who = if row.device.is_some() { "the device" } else { "the program" };
    finding.title = format!(
        "Communication: for {} of the time {who} communicates and computes nothing{}",
        percent(share),
        if sent.small { ", mostly in small messages" } else { "" }
    );
    finding.evidence = evidence! {
        "exposed communication per step" => Amount::Ns(per_step(both)),
            "Time of a device in communication that no computation hides, averaged over the whole steps: the sum of the two \
             below.";
        "in kernels" => Amount::Ns(per_step(kernels)), "A communication kernel ran and nothing computed.";
        "on the host" => Amount::Ns(per_step(host)), "The device was idle while the host was in a communication library.";
        "share of the step" => Amount::Share(share), "Exposed communication divided by the steps' wall time.";
    };
    for (name, (count, ns, _)) in names.iter().take(3) {
        finding.evidence.push(Evidence::new(
            format!("{name}, {count} times"),
            Amount::Ns(*ns),
            "Summed time of these ranges or kernels in the whole recording, hidden or not.",
        ));
    }
    if let Some(row) = &sent.leading {
        let rate =
            row.bus_bytes_per_second.map_or("unknown".to_owned(), |rate| format!("{:.1} GB/s", rate / 1e9));
        finding.evidence.push(Evidence::new(
            format!("{} of {} KiB, bus bandwidth", row.operation.name(), row.bytes.unwrap_or(0) / 1024),
            Amount::Text(rate),
            "The collective with most exposed time: the size of its message, and how fast each link carried it.",
        ));
    }
    finding.why = "Tensors travel between ranks, and the device has nothing to compute until they arrive. Some of this time may be \
                   waiting for a late rank: a collective ends only after the last rank has joined."
        .to_owned();
    let (fix, code) = sent.advice(context);
    (finding.fix, finding.code) = (fix.to_owned(), code.map(str::to_owned));
    finding.verify =
        "Record all ranks again: exposed communication in `stepscope account` should shrink. If one rank has far less of \
                      it than the others, they are waiting for that rank."
            .to_owned();
    finding.slices = context.shown(names.iter().map(|n| n.1.2));
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

/// Small messages per step from which on there is something to put together.
const MIN_SMALL_MESSAGES: u64 = 3;

/// What is sent, which decides what helps.
struct MessageSizes {
    /// The row with most exposed time that says how large its messages are.
    leading: Option<CollectiveRow>,
    /// Most of the exposed time goes to messages that are small, and there are several in a step.
    small: bool,
}

impl MessageSizes {
    fn from_run(context: &Context<'_>) -> MessageSizes {
        let limit = (context.threshold("communication_exposed.small_kib") * 1024.0) as i64;
        let mut rows = context.collectives().rows;
        rows.retain(|row| row.bytes.is_some_and(|bytes| bytes > 0));
        let exposed = |small: bool| -> Ns {
            let of = rows.iter().filter(|row| !small || row.bytes.is_some_and(|bytes| bytes < limit));
            of.map(|row| Ns(row.exposed_ns)).sum()
        };
        let messages: u64 =
            rows.iter().filter(|row| row.bytes.is_some_and(|bytes| bytes < limit)).map(|row| row.calls).sum();
        let small = exposed(false) > Ns::ZERO
            && exposed(true).0 >= exposed(false).0 / 2
            && messages >= MIN_SMALL_MESSAGES.saturating_mul(context.counted_steps() as u64);
        let leading = rows.into_iter().max_by_key(|row| row.exposed_ns).filter(|row| row.exposed_ns > 0);
        MessageSizes { leading, small }
    }

    fn advice(&self, context: &Context<'_>) -> (&'static str, Option<&'static str>) {
        let has = |word: &str| context.trace().strings().iter().any(|(_, text)| text.contains(word));
        let sharded = has("FullyShardedDataParallel") || has("FSDP");
        let replicated = has("DistributedDataParallel");
        match self.leading.as_ref().map(|row| row.operation) {
            Some(Operation::AllToAll) => (
                "Tokens travel to their experts and back. Overlap the exchange with work that needs no exchange (a shared \
                 expert, the other half of the batch), keep experts that talk to each other inside a node, and balance the \
                 load: the fullest expert decides how long every rank waits.",
                None,
            ),
            Some(Operation::SendReceive) => (
                "Stages of a pipeline wait for each other. Use more and smaller micro-batches, a schedule that interleaves \
                 forward and backward (1F1B), and stages of equal length.",
                None,
            ),
            _ if self.small && !sharded => (
                "Send fewer and larger messages: each costs the time to start it, however few bytes it has. Put small tensors \
                 into one buffer before they are sent, and reduce metrics once every few steps.",
                Some(if replicated {
                    "model = DistributedDataParallel(model, bucket_cap_mb=100)"
                } else {
                    "flat = torch.cat([t.flatten() for t in tensors])\n\
                     torch.distributed.all_reduce(flat)   # one message instead of many"
                }),
            ),
            _ if sharded => (
                "Prefetch the next layer's parameters while this one computes (forward and backward prefetch), wrap larger \
                 units so that there are fewer and larger collectives, and shard only within a node (hybrid sharding) if the \
                 network is slow.",
                Some(
                    "model = FSDP(model, forward_prefetch=True, auto_wrap_policy=policy,\n\
                     \x20            backward_prefetch=BackwardPrefetch.BACKWARD_PRE,\n\
                     \x20            sharding_strategy=ShardingStrategy.HYBRID_SHARD)",
                ),
            ),
            _ if replicated => (
                "Compare the ranks first: if one is always last, its delay is the cause. Otherwise give each rank larger \
                 batches, let buckets fit, and skip the reduction in steps that only accumulate gradients.",
                Some(
                    "model = DistributedDataParallel(model, bucket_cap_mb=100)\n\
                     with model.no_sync():            # around backward() in steps that only accumulate\n\
                     \x20   loss.backward()",
                ),
            ),
            _ => (
                "Compare the ranks first: if one is always last, its delay is the cause. Otherwise overlap communication with \
                 computation (start collectives early, wait for them late), and send fewer bytes.",
                Some(
                    "work = torch.distributed.all_reduce(tensor, async_op=True)  # start it early\n\
                     ...                                                         # compute something else\n\
                     work.wait()                                                 # just before the result is used",
                ),
            ),
        }
    }
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
    rows.order_by(|a, b| b.1.1.cmp(&a.1.1).then_with(|| a.0.cmp(&b.0)));
    rows
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "Arrays travel between devices, and the device has nothing to compute until they arrive. Some of this time \
                   may be waiting for a device that is late."
        .to_owned();
    finding.fix = "Let XLA start collectives early and compute meanwhile, give each device more work per collective (a larger \
                   batch, gradients summed over several steps), and check that arrays are sharded the way the next operation \
                   needs them, so that nothing is gathered only to be split again."
        .to_owned();
    let code = match framework {
        "TensorFlow" => {
            "strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())"
        }
        _ => {
            "# before the first import of jax\n\
             os.environ[\"XLA_FLAGS\"] = \"--xla_gpu_enable_latency_hiding_scheduler=true\""
        }
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: communication in `stepscope account` should shrink.".to_owned();
}

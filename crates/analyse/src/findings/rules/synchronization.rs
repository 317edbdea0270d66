//! The host waits for the device in the middle of a step.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Ns, Order, SliceId, StrId};

use crate::causes::waits::{Wait, WaitKind};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, OtherFrameworks, Rule, ShownSlice, USUAL,
    evidence, thresholds,
};
use crate::names::copies::{Direction, copy_name};

pub(super) const RULE: Rule = Rule {
    name: "synchronization",
    about: "The host waits for the device in the middle of a step (.item(), .cpu(), synchronize()) and cannot launch the next \
            work meanwhile.",
    thresholds: thresholds! {
        "synchronization.min_per_step" = 2.0, "waits per step, on average; one, to log a loss, is common";
        "synchronization.min_per_step_of_results" = 0.5,
            "the same for JAX and TensorFlow, which hand over whole steps ahead: one wait per step stops that";
    },
    trials: &["no-synchronize"],
    other_frameworks: OtherFrameworks::Words(reword),
    answers: &["host", "synchronization"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let in_step = |wait: &&Wait| context.steps().at(slices.start(wait.call)).is_some();
    let avoidable: Vec<&Wait> =
        context.waits().iter().filter(in_step).filter(|w| is_avoidable(context, w)).collect();
    let steps = context.steps().steps.len().max(1);
    let least = match context.trace().meta().framework {
        Some(_) => "synchronization.min_per_step_of_results",
        None => "synchronization.min_per_step",
    };
    if (avoidable.len() as f64) < context.threshold(least) * steps as f64 {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    let mut counted: HashSet<SliceId, RandomState> = HashSet::default();
    let mut places: HashMap<Option<StrId>, (u64, i64, SliceId), RandomState> = HashMap::default();
    for wait in &avoidable {
        edit.no_wait(wait.call);
        let asked = context.asked_for(wait.call);
        let op = asked.filter(|&op| reads_a_value(trace.name(op)));
        // Without the question there is no answer to fetch either.
        let counts = context.callers().op(wait.call).filter(|&op| trace.name(op) == "aten::nonzero");
        counted.extend(counts);
        edit.remove_host(op.or(counts).unwrap_or(wait.call));
        let place = places.entry(asked.map(|a| slices.name(a))).or_insert((0, 0, wait.call));
        *place = (place.0 + 1, place.1.saturating_add(wait.wait_ns), place.2);
    }
    remove_copies_back(context, &mut edit, &avoidable);
    // No one counts rows any more either.
    for work in context.device_work() {
        let op = trace.links().launch(work).and_then(|call| context.callers().op(call));
        if op.is_some_and(|op| counted.contains(&op)) {
            edit.device_length(work, 0);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let waited = avoidable.iter().map(|w| Ns(w.wait_ns)).sum::<Ns>().0;
    let per_step = avoidable.len() as f64 / steps as f64;
    let mut by_time: Vec<_> = places.into_iter().collect();
    by_time.order_by_key(|p| (std::cmp::Reverse((p.1.1, p.1.0)), p.0));
    let name = |op: Option<StrId>| op.map_or("a call outside any operator", |op| trace.text(op)).to_owned();
    let worst = by_time.first().map_or(String::new(), |p| name(p.0));
    let times = match per_step {
        rarely if rarely > 0.0 && rarely < 0.75 => format!("every {:.0} steps", 1.0 / rarely),
        once if once < 1.5 => "once per step".to_owned(),
        often => format!("{often:.0} times per step"),
    };
    finding.title = format!("Synchronization: the host waits for the device {times}, mostly in {worst}");
    finding.confidence = Confidence::High;
    finding.evidence = evidence! {
        "waits per step" => Amount::Number(per_step), "Calls inside the steps that wait for a device, per step.";
        "waiting per step" => Amount::Ns(waited / steps as i64),
            "Time from the start of such a call to the end of the device work it waited for, per step.";
    };
    for (op, (count, ns, _)) in by_time.iter().take(3) {
        finding.evidence.push(Evidence::new(
            match count / steps as u64 {
                0 => format!("{} ({count} in total)", name(*op)),
                each => format!("{} ({each} per step)", name(*op)),
            },
            Amount::Ns(ns / steps as i64),
            "Waiting time per step in this operator or range.",
        ));
    }
    finding.why =
        "Each of these calls stops the host until the device has finished the work before it. Meanwhile the host \
                   launches nothing, and when it continues, the device has run out of work."
            .to_owned();
    let calls = avoidable.iter().filter(|w| w.kind == WaitKind::Device).count();
    (finding.fix, finding.code) = if calls * 2 > avoidable.len() {
        (
            "Remove torch.cuda.synchronize() from the loop. To measure time, use CUDA events, or synchronize once around \
             many steps."
                .to_owned(),
            None,
        )
    } else {
        (
            "Keep values on the device and fetch them rarely: add up losses and metrics as tensors, call .item() every hundred \
             steps, replace `if tensor:` with torch.where, and clip or scale without reading the value."
                .to_owned(),
            Some(
                "total += loss.detach()         # no wait; start with torch.zeros((), device=device)\n\
                 if step % 100 == 99:\n\
                 \x20   print(total.item() / 100)  # one wait in a hundred steps\n\
                 \x20   total.zero_()"
                    .to_owned(),
            ),
        )
    };
    finding.source = by_time.first().and_then(|p| context.source(p.1.2));
    finding.verify = "Record again: `stepscope waits` should list at most one wait per step. With \
                      torch.cuda.set_sync_debug_mode(\"warn\"), PyTorch names each line that still waits."
        .to_owned();
    finding.slices = context.shown(avoidable.iter().map(|w| w.call));
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

/// Waits that the program asked for: not those for pageable uploads or returned memory, which other rules know.
fn is_avoidable(context: &Context<'_>, wait: &Wait) -> bool {
    let trace = context.trace();
    let way = wait.until.map(|work| copy_name(trace.name(work)).0);
    match wait.kind {
        WaitKind::Free | WaitKind::FullQueue => false,
        WaitKind::Result => wait.until.is_some(),
        WaitKind::BlockingCopy => way == Some(Direction::DeviceToHost),
        WaitKind::Stream | WaitKind::Device | WaitKind::Event => {
            let asked = context.asked_for(wait.call);
            let fetches = asked.is_some_and(|op| reads_a_value(trace.name(op)));
            // The call behind a pageable upload belongs to the upload, and one that found nothing to wait for is free.
            let waited = wait.until.is_some() || trace.slices().dur(wait.call) >= MIN_WAIT;
            fetches || (waited && way != Some(Direction::HostToDevice))
        }
    }
}

/// A synchronizing call that has nothing to wait for takes less.
const MIN_WAIT: Ns = Ns(20_000);

/// Operators whose only purpose is to bring a value to the host.
fn reads_a_value(op: &str) -> bool {
    matches!(op, "aten::item" | "aten::_local_scalar_dense" | "aten::is_nonzero" | "aten::equal")
}

/// The small copies that carried the values back.
fn remove_copies_back(context: &Context<'_>, edit: &mut Edit<'_>, waits: &[&Wait]) {
    let (trace, slices) = (context.trace(), context.trace().slices());
    for wait in waits {
        if let Some(copy) = wait.until
            && slices.kind(copy) == stepscope_model::Kind::Memcpy
            && copy_name(trace.name(copy)).0 == Direction::DeviceToHost
        {
            edit.device_length(copy, 0);
        }
    }
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    let why = match framework {
        "TensorFlow" => {
            "Operations are handed to the device and run later. Reading a value (.numpy(), float(), print) stops the host \
             until the device has caught up, and when it continues, the device has run out of work."
        }
        _ => {
            "JAX hands work to the device and goes on. Reading a value (float(), print, np.asarray) or calling \
             block_until_ready stops the host until the device has caught up, and when it continues, the device has run \
             out of work."
        }
    };
    finding.why = why.to_owned();
    finding.fix = "Keep losses and metrics on the device and read them rarely, or read those of an earlier step, which are \
                   ready. Wait once around many steps when you measure time."
        .to_owned();
    let code = match framework {
        "TensorFlow" => {
            "total.assign_add(loss)                # a tf.Variable: no wait\n\
             if step % 100 == 99:\n\
             \x20   print(total.numpy() / 100)        # one wait in a hundred steps\n\
             \x20   total.assign(0.0)"
        }
        _ => {
            "losses.append(loss)                   # no wait\n\
             if step % 100 == 99:\n\
             \x20   print(np.mean(jax.device_get(losses)))  # one wait in a hundred steps\n\
             \x20   losses.clear()"
        }
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: `stepscope waits` should list hardly any. The wait at the very end of a loop has to stay."
        .to_owned();
}

//! The device was full: the peak came close to what there is, or the allocator had to give back its cache to serve a
//! request.

use stepscope_model::Snapshot;

use super::super::text::{percent, size};
use super::{bytes, device, histories, short, source};
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, Rule, Severity, USUAL, evidence, thresholds,
};
use crate::memory::capacity::{counted_retries, usable};
use crate::memory::history::History;
use crate::memory::retries::{Retry, retries};

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_near_limit",
    about: "In a memory snapshot, the peak comes close to what the process can have, or the allocator had to give its cache \
            back to the device to serve a request.",
    thresholds: thresholds! {
        "snapshot_near_limit.share" = 0.9, "share of the memory that the process can have, in use or reserved at the peak";
        "snapshot_near_limit.retries" = 1.0,
            "requests for which the cache was given back (low)";
        "snapshot_near_limit.many_retries" = 3.0, "the same, from which on it is no accident (medium)";
    },
    trials: &["expandable-segments"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    // Where a request was refused, that is what to say.
    let of_devices = histories(context)
        .filter(|(_, history)| history.device != Snapshot::HOST && history.refusals.is_empty());
    of_devices.filter_map(|(snapshot, history)| finding(context, snapshot, history)).collect()
}

fn finding(context: &Context<'_>, snapshot: &Snapshot, history: &History) -> Option<Finding> {
    let least = context.threshold("snapshot_near_limit.retries").max(1.0);
    let seen = retries(snapshot, history.device);
    // PyTorch's own count goes back to the start of the process, the history perhaps not.
    let times = counted_retries(snapshot, history.device).unwrap_or(0).max(seen.len() as u64);
    let retried = times as f64 >= least;
    let limit = usable(snapshot, history);
    let share = |bytes: u64| limit.map_or(0.0, |limit| bytes as f64 / limit as f64);
    let near = |bytes: u64| share(bytes) >= context.threshold("snapshot_near_limit.share");
    let (in_use, held) = (near(history.peak.allocated), near(history.peak.reserved));
    if !retried && !in_use && !held {
        return None;
    }
    let mut finding = context.remark(RULE.name);
    finding.severity = match () {
        () if in_use || times as f64 >= context.threshold("snapshot_near_limit.many_retries") => {
            Severity::Medium
        }
        () if retried => Severity::Low,
        () => Severity::Info,
    };
    finding.confidence = Confidence::High;
    let name = device(history.device);
    let of_limit = |bytes_then: u64| {
        let all = limit.map_or_else(String::new, |limit| format!(" of {}", size(bytes(limit))));
        format!("{}{all} ({})", size(bytes(bytes_then)), percent(share(bytes_then)))
    };
    let again = match times {
        1 => "the allocator gave back its cache once to serve a request".to_owned(),
        n => format!("the allocator gave back its cache {n} times to serve a request"),
    };
    finding.title = match (in_use, retried, held) {
        (true, true, _) => {
            format!("{name}: {} in use at the peak, and {again}", of_limit(history.peak.allocated))
        }
        (true, false, _) => format!("{name}: {} in use at the peak", of_limit(history.peak.allocated)),
        (false, true, _) => format!("{name} was full: {again}"),
        (false, false, _) => format!("{name}: {} reserved at the peak", of_limit(history.peak.reserved)),
    };
    finding.evidence = evidence(history, limit, times, &seen);
    finding.why = match (in_use, retried) {
        (_, true) => "The device had nothing left for a request, so the allocator gave every unused segment back to it and asked again. \
                      That waits for all work on the device, and the segments are taken anew right after. The next, slightly larger \
                      request is refused."
            .to_owned(),
        (true, false) => "Little is left: a slightly longer sequence or larger batch ends in an out-of-memory error.".to_owned(),
        (false, false) => "Most of this is the allocator's cache, which it gives back when it must. Doing so waits for the device, and \
                           until then others on the device cannot use the memory."
            .to_owned(),
    };
    finding.fix = match in_use || retried {
        true => "Lower the peak: recompute activations, split the batch and accumulate gradients, train in bfloat16, or use an \
                 optimizer with smaller state. `stepscope memory SNAPSHOT --at peak --by category` says what it is made of."
            .to_owned(),
        false => "Let segments grow in place so that the cache fits what is used, and check whether an earlier peak (start-up, \
                  validation) can be lowered."
            .to_owned(),
    };
    finding.code = (!in_use && !retried)
        .then(|| "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py".to_owned());
    finding.verify = "Take another snapshot: nothing should be given back to serve a request \
                      (torch.cuda.memory_stats()[\"num_alloc_retries\"] stays 0), and a tenth should be left at the peak."
        .to_owned();
    if let Some(last) = seen.last() {
        finding.source = source(&context.places().line(last.stack));
        finding.evidence.push(Evidence::new(
            "last one asked for by",
            Amount::Text(short(&context.places().line(last.stack))),
            "The line whose request made the allocator give back its cache, the last time.",
        ));
    }
    Some(finding)
}

fn evidence(history: &History, limit: Option<u64>, times: u64, seen: &[Retry]) -> Vec<Evidence> {
    let mut evidence = evidence! {
        "peak in use" => Amount::Bytes(bytes(history.peak.allocated)), "The most bytes that the program held at once.";
        "peak reserved" => Amount::Bytes(bytes(history.peak.reserved)),
            "The most bytes that the allocator had taken from the device at once.";
    };
    if let Some(limit) = limit {
        evidence.push(Evidence::new(
            "memory for this process",
            Amount::Bytes(bytes(limit)),
            "What the process can have on the device: what it reserved and what was left, or a limit set for it.",
        ));
    }
    if times > 0 {
        evidence.push(Evidence::new(
            "cache given back",
            Amount::Count(times),
            "Requests for which the allocator gave back all of its cache and tried again: PyTorch's num_alloc_retries, or as many \
             as the history shows.",
        ));
    }
    let returned: u64 = seen.iter().map(|retry| retry.returned).sum();
    if returned > 0 {
        evidence.push(Evidence::new(
            "segments given back then",
            Amount::Count(returned),
            "Segments, or pieces of those that grow, that were given back to the device for these requests.",
        ));
    }
    evidence
}

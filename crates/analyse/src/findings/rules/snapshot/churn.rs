//! Segments are given back to the device and taken again.

use stepscope_model::{Snapshot, StackId};

use super::{device, histories, short, source};
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};
use crate::memory::history::History;
use crate::memory::retries::retries;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_churn",
    about: "In a memory snapshot, segments are given back to the device and taken again, over and over.",
    thresholds: thresholds! {
        "snapshot_churn.segments" = 10.0, "segments given back, and segments taken afterwards";
    },
    trials: &["keep-cache"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    histories(context).filter_map(|(snapshot, history)| finding(context, snapshot, history)).collect()
}

fn finding(context: &Context<'_>, snapshot: &Snapshot, history: &History) -> Option<Finding> {
    let first = returned(snapshot, history).next()?;
    let given_back = returned(snapshot, history).count() as u64;
    let again = history.grown.iter().filter(|(moment, _)| *moment > first.0).count();
    let least = context.threshold("snapshot_churn.segments");
    if (given_back as f64) < least || (again as f64) < least {
        return None;
    }
    let line = context.places().line(first.1);
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Low;
    finding.confidence = Confidence::High;
    finding.title = format!(
        "{}: {given_back} segments were given back to the device and {again} taken again",
        device(history.device)
    );
    finding.evidence = evidence! {
        "given back" => Amount::Count(given_back),
            "Calls of cudaFree in the history, without those for a request that would not have fit.";
        "taken again" => Amount::Count(again as u64), "Calls of cudaMalloc after the first cudaFree.";
        "first given back at" => Amount::Text(short(&line)), "The line that was running when the first segment was given back.";
    };
    finding.why = "Each of these calls waits for the device and takes up to milliseconds. torch.cuda.empty_cache() in a loop causes \
                   them."
        .to_owned();
    finding.fix = "Take empty_cache() out of the loop: it frees nothing that the program could not use anyway."
        .to_owned();
    finding.verify =
        "Take another snapshot: after the first iteration no segment should be given back or taken.".to_owned();
    finding.source = source(&line);
    Some(finding)
}

/// Entries at which a segment was given back, but not to serve a request: that is a full device.
fn returned<'a>(snapshot: &Snapshot, history: &'a History) -> impl Iterator<Item = (u32, StackId)> + 'a {
    let mut served: Vec<(u32, u32)> = Vec::new();
    for retry in retries(snapshot, history.device) {
        let first = retry.moment.saturating_sub(u32::try_from(retry.returned).unwrap_or(u32::MAX));
        served.push((first, retry.moment));
    }
    let is_served = move |moment: u32| {
        let at = served.partition_point(|stretch| stretch.1 < moment);
        served.get(at).is_some_and(|stretch| stretch.0 <= moment)
    };
    history.returned.iter().copied().filter(move |entry| !is_served(entry.0))
}

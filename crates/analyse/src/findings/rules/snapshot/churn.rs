//! Segments are given back to the device and taken again.

use super::{device, histories, short, source};
use crate::findings::{Confidence, Context, Evidence, Figure, Finding, Rule, Severity, Threshold};
use crate::memory::history::History;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_churn",
    about: "In a memory snapshot, segments are given back to the device and taken again, over and over.",
    thresholds: &[Threshold {
        name: "snapshot_churn.segments",
        default: 10.0,
        text: "segments given back, and segments taken afterwards",
    }],
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    histories(context).filter_map(|(_, history)| look(context, history)).collect()
}

fn look(context: &Context<'_>, history: &History) -> Option<Finding> {
    let first = *history.returned.first()?;
    let again = history.grown.iter().filter(|(moment, _)| *moment > first.0).count();
    let (given_back, least) = (history.segments.1, context.limit("snapshot_churn.segments"));
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
    finding.evidence = vec![
        Evidence::new("given back", Figure::Count(given_back), "Calls of cudaFree in the history."),
        Evidence::new(
            "taken again",
            Figure::Count(again as u64),
            "Calls of cudaMalloc after the first cudaFree.",
        ),
        Evidence::new(
            "first given back at",
            Figure::Text(short(&line)),
            "The line that was running when the first segment was given back.",
        ),
    ];
    finding.why = "Each of these calls waits for the device and takes up to milliseconds. torch.cuda.empty_cache() in a loop causes \
                   them; so does a device that is nearly full, where the allocator has to give back its cache to get larger pieces."
        .to_owned();
    finding.fix = "Take empty_cache() out of the loop. If the device is full, lower the peak or let segments grow in place."
        .to_owned();
    finding.verify =
        "Take another snapshot: after the first iteration no segment should be given back or taken.".to_owned();
    finding.source = source(&line);
    Some(finding)
}

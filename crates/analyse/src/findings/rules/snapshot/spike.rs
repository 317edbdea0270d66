//! One iteration needs much more memory than the others.

use stepscope_model::{Snapshot, StackId};

use super::super::text::{percent, size};
use super::{bytes, device, histories, short, source};
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};
use crate::memory::history::History;
use crate::memory::iterations::{IterationMark, iterations};
use crate::memory::places::Line;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_spike",
    about: "In a memory snapshot, the peak belongs to one iteration that needs much more than the others.",
    thresholds: thresholds! {
        "snapshot_spike.share" = 0.3, "how far the highest iteration is above the middle one, as a share of it";
        "snapshot_spike.mib" = 256.0, "the least of it, in MiB";
        "snapshot_spike.min_iterations" = 5.0, "iterations needed to judge";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    histories(context).filter_map(|(snapshot, history)| finding(context, snapshot, history)).collect()
}

fn finding(context: &Context<'_>, snapshot: &Snapshot, history: &History) -> Option<Finding> {
    let iterations = iterations(snapshot, history, context.places())
        .filter(|iterations| iterations.mark != IterationMark::Time)?;
    // The first iteration makes states and tries out kernels.
    let peaks: Vec<(u64, u32)> = iterations
        .moments
        .windows(2)
        .skip(1)
        .filter_map(|pair| {
            let (from, to) = (pair[0], pair[1]);
            let levels = history.levels.allocated(from as usize..to as usize);
            let (at, allocated) = levels.enumerate().max_by_key(|(_, allocated)| *allocated)?;
            Some((allocated, from + at as u32))
        })
        .collect();
    if (peaks.len() as f64) < context.threshold("snapshot_spike.min_iterations") {
        return None;
    }
    let &(highest, moment) = peaks.iter().max_by_key(|peak| peak.0)?;
    let mut sorted: Vec<u64> = peaks.iter().map(|peak| peak.0).collect();
    sorted.sort_unstable();
    let usual = sorted[sorted.len() / 2];
    let above = highest.saturating_sub(usual);
    let is_spike = above as f64 >= context.threshold("snapshot_spike.share") * usual as f64
        && above as f64 >= context.threshold("snapshot_spike.mib") * 1_048_576.0;
    // A level that rises on and on has its highest iteration at the end: that is a leak.
    let is_last = peaks.last().is_some_and(|last| last.1 == moment);
    if !is_spike || is_last {
        return None;
    }
    let (line, held) = largest(context, history, moment)?;
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Low;
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "{}: one iteration needs {}, {} more than the middle one",
        device(history.device),
        size(bytes(highest)),
        percent(above as f64 / usual.max(1) as f64)
    );
    finding.evidence = evidence! {
        "highest iteration" => Amount::Bytes(bytes(highest)), "The most in use in one iteration, the first left out.";
        "middle iteration" => Amount::Bytes(bytes(usual)), "The median of the most in use in each iteration.";
        format!("largest allocation then, by {}", short(&line)) => Amount::Bytes(bytes(held)),
            "The largest allocation in use when the highest iteration was at its peak.";
    };
    finding.why = "The device must have room for the largest iteration: a long sequence, a full evaluation, or something done every so \
                   often decides which batch fits."
        .to_owned();
    finding.fix = "Sort or bucket samples by length, cut the longest, and run evaluation under torch.no_grad() in smaller batches."
        .to_owned();
    finding.verify = "Take another snapshot: the peaks of all iterations should be about the same.".to_owned();
    finding.source = source(&line);
    Some(finding)
}

fn largest(context: &Context<'_>, history: &History, moment: u32) -> Option<(Line, u64)> {
    let live = history.allocations.iter().filter(|allocation| allocation.lives_at(moment));
    let most = live.max_by_key(|allocation| (allocation.bytes, std::cmp::Reverse(allocation.from)))?;
    let stack: StackId = most.stack;
    Some((context.places().line(stack), most.bytes))
}

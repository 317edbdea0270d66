//! Memory that a line keeps rises from iteration to iteration.

use super::super::text::{size, time};
use super::{device, histories, short, source};
use crate::findings::{Amount, Confidence, Context, Evidence, Finding, Rule, Severity, USUAL, thresholds};
use crate::memory::iterations::IterationMark;
use crate::memory::leaks::{Grouping, Leaks, MIN_GROWTH_BYTES, leaks};
use crate::memory::places::Line;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_leak",
    about: "In a memory snapshot, what a line holds between iterations keeps growing. A heuristic: a robust \
            slope over the iterations, without the first; the thresholds `leak.*` say when.",
    thresholds: thresholds! {
        "snapshot_leak.mib" = MIN_GROWTH_BYTES as f64 / 1_048_576.0,
            "growth of a line over the iterations compared, in MiB";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let least = (context.threshold("snapshot_leak.mib") * 1_048_576.0) as u64;
    let rule = context.thresholds().counted_growth();
    let found = histories(context).filter_map(|(snapshot, history)| {
        finding(context, &leaks(snapshot, history, context.places(), Grouping::Line, least, &rule))
    });
    found.collect()
}

fn finding(context: &Context<'_>, leaks: &Leaks) -> Option<Finding> {
    let first = leaks.rows.first()?;
    let line = Line { function: first.function.clone(), file: first.file.clone(), line: first.line };
    let each = leaks.total();
    let others = match leaks.rows.len() - 1 {
        0 => String::new(),
        1 => " and another line".to_owned(),
        n => format!(" and {n} other lines"),
    };
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Medium;
    finding.confidence = match leaks.mark {
        Some(IterationMark::Time) => Confidence::Medium,
        _ if first.compared < 8 => Confidence::Medium,
        _ => Confidence::High,
    };
    finding.title = format!(
        "{}: memory kept by {}{others} grows by {} per {}",
        device(leaks.device),
        short(&line),
        size(each),
        leaks.per()
    );
    for row in leaks.rows.iter().take(5) {
        let place = Line { function: row.function.clone(), file: row.file.clone(), line: row.line };
        let interval = format!(
            "{} per {} ({} to {})",
            size(row.growth_bytes_each),
            row.per,
            size(row.growth_low),
            size(row.growth_high)
        );
        finding.evidence.push(Evidence::new(
            format!("growth from {}", short(&place)),
            Amount::Text(interval),
            "The median slope between all pairs of iterations of what this line holds there (Theil-Sen), without the first that \
             holds any, and its 95% interval.",
        ));
    }
    finding.evidence.push(Evidence::new(
        "iterations compared",
        Amount::Count(first.compared),
        "Moments at which levels are compared, after the first at which this line holds anything.",
    ));
    finding.evidence.push(Evidence::new(
        "iterations are",
        Amount::Text(match &leaks.mark {
            Some(IterationMark::Range(name)) => format!("ranges named {name}"),
            Some(IterationMark::Allocations) => {
                "allocations of one size that come back at one line (a guess)".to_owned()
            }
            _ => "unknown; equal stretches of time instead, and only what is never freed".to_owned(),
        }),
        "What the history shows of the program's iterations.",
    ));
    finding.evidence.push(Evidence::new(
        "held now by it",
        Amount::Bytes(super::bytes(first.held_bytes)),
        "What this line holds at the last iteration compared.",
    ));
    for row in leaks.full() {
        let limit = size(super::bytes(row.limit_bytes));
        let when = match row.left_ns {
            Some(ns) if leaks.per() == "iteration" => {
                format!("{} more iterations ({})", row.iterations_left, time(ns))
            }
            _ => format!("{} s", row.iterations_left),
        };
        finding.evidence.push(Evidence::new(
            if row.known {
                format!("{limit}, all there is, are full after")
            } else {
                format!("{limit} would be full after")
            },
            Amount::Text(when),
            "This much memory minus what the allocator holds now, divided by the growth of all lines together.",
        ));
    }
    finding.why = "What is allocated here is still in use when later iterations run: something refers to it. Most often a list or \
                   a dictionary keeps tensors, or a loss or an output that is kept holds the graph behind it. A program that is \
                   meant to collect tensors on the device (a cache of keys and values, a replay buffer that fills) looks the same."
        .to_owned();
    finding.fix = "Keep numbers instead of tensors, or copies without a graph on the host: loss.item(), \
                   output.detach().cpu(). Clear what collects them, and remove hooks."
        .to_owned();
    finding.code = Some(
        "kept.append(output.detach().cpu())  # not: kept.append(output)\n\
         total += loss.item()                # not: total += loss"
            .to_owned(),
    );
    finding.verify = "Record a snapshot of ten iterations or more again: `stepscope memory SNAPSHOT --leaks` should list nothing."
        .to_owned();
    finding.source = source(&line);
    Some(finding)
}

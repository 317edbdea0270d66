//! The memory of the process grows for as long as it runs.

use stepscope_model::Kind;

use super::super::text::size;
use super::machine;
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};
use crate::statistics::growth;

pub(in super::super) const RULE: Rule = Rule {
    name: "growing_memory",
    about: "The memory of the process keeps growing over the run. A heuristic: a robust slope of the monitor's values, without the first \
            quarter of the run; the thresholds `leak.*` say when. Not judged where operators are recorded, which fill memory themselves.",
    thresholds: thresholds! {
        "growing_memory.min_seconds" = 2.0, "seconds that the values must span";
        "growing_memory.mib" = 64.0, "growth over these values in MiB";
        "growing_memory.share" = 0.2, "the same as a share of the level at which they begin";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    finding(context).into_iter().collect()
}

fn finding(context: &Context<'_>) -> Option<Finding> {
    // Recorded operators stay in memory until the trace is written: they would be what grows.
    if context.trace().slices().kinds().contains(&Kind::HostOp) {
        return None;
    }
    let all = machine::process_memory(context.trace());
    let (first, last) = (all.first()?.0, all.last()?.0);
    let settled = first.saturating_add(last.saturating_sub(first) / 4);
    let curve: Vec<(f64, f64)> = all
        .into_iter()
        .filter(|(at, _)| *at >= settled)
        .map(|(at, level)| (at.saturating_sub(settled) as f64 / 1e9, level))
        .collect();
    let (begins, ends) = (curve.first()?.1, curve.last()?.1);
    let least = (context.threshold("growing_memory.mib") * 1_048_576.0)
        .max(context.threshold("growing_memory.share") * begins);
    let found = growth(&curve, least, &context.thresholds().sampled_growth())?;
    let seconds = last.saturating_sub(settled) as f64 / 1e9;
    if !found.grows || ends <= begins || seconds < context.threshold("growing_memory.min_seconds") {
        return None;
    }
    let per_second = found.slope.slope;
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Medium;
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "The process's memory grows by {} per second, to {}",
        size(per_second as i64),
        size(ends as i64)
    );
    finding.evidence = evidence! {
        "growth per second" => Amount::BytesPerSecond(per_second),
            "The median slope between all pairs of values of the process's resident memory (Theil-Sen), without the first \
             quarter of the run.";
        "fit of the line" => Amount::Number(found.fit),
            "R², the share of the variance that a straight line explains; 1 is a perfect line.";
        "first level" => Amount::Bytes(begins as i64), "Resident memory where the line begins.";
        "last level" => Amount::Bytes(ends as i64), "Resident memory at the end.";
    };
    finding.why = "Something keeps more and more objects: a list, a cache without a bound, results that are all kept, or a library. A \
                   program that reads its data piece by piece may also be meant to grow; this is a heuristic."
        .to_owned();
    finding.fix = "Write results out as they come, bound caches (functools.lru_cache(maxsize=…)), and read files piece by piece. \
                   `stepscope run --memory` shows which lines the memory comes from."
        .to_owned();
    finding.code = Some(
        "for row in rows: writer.writerow(work(row))  # not: results.append(work(row)) for all of them"
            .to_owned(),
    );
    finding.verify = "Record again: the counter process memory (RSS) should become level.".to_owned();
    finding.range_ns = Some((settled, last));
    Some(finding)
}

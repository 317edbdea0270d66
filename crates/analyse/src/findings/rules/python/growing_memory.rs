//! The memory of the process grows for as long as it runs.

use stepscope_model::Kind;

use super::super::words::size;
use super::machine::{self, Curve};
use crate::findings::{Confidence, Context, Evidence, Figure, Finding, Rule, Severity, Threshold};

pub(in super::super) const RULE: Rule = Rule {
    name: "growing_memory",
    about: "The memory of the process rises steadily over the run. A heuristic: a straight line through the monitor's values, without \
            the first quarter of the run. Not judged where operators are recorded, which fill memory themselves.",
    thresholds: &[
        Threshold { name: "growing_memory.min_points", default: 10.0, text: "values needed to judge" },
        Threshold { name: "growing_memory.min_seconds", default: 2.0, text: "seconds that they must span" },
        Threshold {
            name: "growing_memory.fit",
            default: 0.9,
            text: "how well a straight line must fit them (R²)",
        },
        Threshold { name: "growing_memory.mib", default: 64.0, text: "growth over these values in MiB" },
        Threshold {
            name: "growing_memory.share",
            default: 0.2,
            text: "the same as a share of the level at which they begin",
        },
    ],
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    look(context).into_iter().collect()
}

fn look(context: &Context<'_>) -> Option<Finding> {
    // Recorded operators stay in memory until the trace is written: they would be what grows.
    if context.trace().slices().kinds().contains(&Kind::HostOp) {
        return None;
    }
    let all = machine::process_memory(context.trace());
    let (first, last) = (all.first()?.0, all.last()?.0);
    let settled = first.saturating_add(last.saturating_sub(first) / 4);
    let curve: Curve = all.into_iter().filter(|(at, _)| *at >= settled).collect();
    let seconds = last.saturating_sub(settled) as f64 / 1e9;
    if (curve.len() as f64) < context.limit("growing_memory.min_points").max(3.0)
        || seconds < context.limit("growing_memory.min_seconds")
    {
        return None;
    }
    let (per_second, fit) = line(&curve);
    let (begins, ends) = (curve.first()?.1, curve.last()?.1);
    let growth = per_second * seconds;
    let enough = growth >= context.limit("growing_memory.mib") * 1_048_576.0
        && growth >= context.limit("growing_memory.share") * begins
        && ends > begins;
    if !enough || fit < context.limit("growing_memory.fit") {
        return None;
    }
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Medium;
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "The process's memory grows by {} per second, to {}",
        size(per_second as i64),
        size(ends as i64)
    );
    finding.evidence = vec![
        Evidence::new(
            "growth per second",
            Figure::BytesPerSecond(per_second),
            "The slope of a straight line through the process's resident memory over time (least squares), without the first \
             quarter of the run.",
        ),
        Evidence::new(
            "fit of the line",
            Figure::Number(fit),
            "R², the share of the variance that the line explains; 1 is a perfect line.",
        ),
        Evidence::new("first level", Figure::Bytes(begins as i64), "Resident memory where the line begins."),
        Evidence::new("last level", Figure::Bytes(ends as i64), "Resident memory at the end."),
    ];
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

/// Slope per second and R² of the straight line through the values.
fn line(curve: &Curve) -> (f64, f64) {
    let n = curve.len() as f64;
    let start = curve.first().map_or(0, |value| value.0);
    let x = |at: i64| at.saturating_sub(start) as f64 / 1e9;
    let mean_x = curve.iter().map(|(at, _)| x(*at)).sum::<f64>() / n;
    let mean_y = curve.iter().map(|(_, value)| value).sum::<f64>() / n;
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (at, value) in curve {
        let (x, y) = (x(*at) - mean_x, value - mean_y);
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    if xx == 0.0 || yy == 0.0 { (0.0, 0.0) } else { (xy / xx, xy * xy / (xx * yy)) }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_has_a_slope_per_second() {
        let rising: Vec<(i64, f64)> = (0..5).map(|i| (i * 500_000_000, 100.0 + 10.0 * i as f64)).collect();
        let (slope, fit) = line(&rising);
        assert!((slope - 20.0).abs() < 1e-9 && (fit - 1.0).abs() < 1e-9, "{slope} {fit}");
        assert_eq!(line(&vec![(0, 1.0), (1, 1.0), (2, 1.0)]), (0.0, 0.0));
    }
}

//! A device is idle most of the time: the largest reasons in one place.

use crate::causes::cause::Cause;
use crate::findings::{Context, Evidence, Figure, Finding, Rule, Threshold};

pub(super) const RULE: Rule = Rule {
    name: "low_utilization",
    about: "A device is idle for most of the steps; names the largest causes.",
    thresholds: &[Threshold {
        name: "low_utilization.busy_share",
        default: 0.5,
        text: "share of the steps during which the device is busy, below which it is reported",
    }],
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let rows = context.account().devices.iter().filter(|row| row.device.is_some() && row.wall_ns > 0);
    let steps = (context.counted_steps() as i64).max(1);
    rows.filter_map(|row| {
        let busy = 1.0 - row.causes.idle() as f64 / row.wall_ns as f64;
        if busy >= context.limit("low_utilization.busy_share") {
            return None;
        }
        let idle: Vec<(Cause, i64)> = row.causes.by_size().into_iter().filter(|c| !c.0.is_busy()).collect();
        let (first, _) = idle.first()?;
        let mut finding = context.remark(RULE.name);
        let device = row.device.unwrap_or_default();
        let reason = first.label().trim_start_matches("idle: ");
        finding.title = format!(
            "GPU {device} is idle {:.0}% of the time, mostly: {reason}",
            (1.0 - busy) * 100.0
        );
        finding.evidence = vec![Evidence::new(
            "busy",
            Figure::Share(busy),
            "Share of the steps' wall time during which at least one kernel, copy or memset ran on the device.",
        )];
        for (cause, ns) in idle.iter().take(4) {
            finding.evidence.push(Evidence::new(
                cause.label(),
                Figure::Ns(ns / steps),
                "Idle time with this cause, per step, as in `stepscope account`.",
            ));
        }
        finding.why = "A device that waits is paid for but not used. The numbers above say what it waits for."
            .to_owned();
        finding.fix =
            "Remove the largest cause above, then record again: `stepscope gaps` shows what the host did in each gap, and \
             with_stack=True adds the lines of your program."
                .to_owned();
        finding.verify = "Record again: the largest cause should shrink in `stepscope account`.".to_owned();
        Some(finding)
    })
    .collect()
}

//! A device is idle most of the time: the largest reasons in one place.

use crate::causes::cause::Cause;
use crate::findings::{Context, Evidence, Figure, Finding, Rule, Threshold};

pub(super) const RULE: Rule = Rule {
    name: "low_utilization",
    about: "A device is idle for most of the steps; names the largest causes.",
    thresholds: &[Threshold {
        name: "low_utilization.busy_share",
        default: 0.5,
        text: "part of the steps during which the device does any work, under which it is reported",
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
            "GPU {device} does nothing for {:.0} % of the steps, mostly: {reason}",
            (1.0 - busy) * 100.0
        );
        finding.evidence = vec![Evidence::new(
            "busy",
            Figure::Share(busy),
            "Part of the steps' wall time during which at least one kernel, copy or fill ran on the device.",
        )];
        for (cause, ns) in idle.iter().take(4) {
            finding.evidence.push(Evidence::new(
                cause.label(),
                Figure::Ns(ns / steps),
                "Idle time of this cause a step, as in `stepscope account`.",
            ));
        }
        finding.why = "A device that waits is paid for but not used. The figures say why it waits; the other \
                       findings say what to do about it."
            .to_owned();
        finding.fix =
            "Start with the finding that saves most; then look again, since hidden causes come to light."
                .to_owned();
        finding.verify = "`stepscope account` shows each cause before and after.".to_owned();
        Some(finding)
    })
    .collect()
}

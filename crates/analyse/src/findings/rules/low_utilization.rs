//! A device is idle most of the time: the largest reasons in one place.

use stepscope_model::Order;

use crate::causes::account::AccountRow;
use crate::causes::cause::Cause;
use crate::findings::{Amount, Context, Evidence, Finding, Rule, USUAL, evidence, thresholds};
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "low_utilization",
    about: "A device is idle for most of the steps; names the largest causes.",
    thresholds: thresholds! {
        "low_utilization.busy_share" = 0.5,
            "share of the steps during which the device is busy, below which it is reported";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let least = context.threshold("low_utilization.busy_share");
    let busy = |row: &AccountRow| 1.0 - row.causes.idle() as f64 / row.wall_ns as f64;
    let devices = context.account().devices.iter().filter(|row| row.device.is_some() && row.wall_ns > 0);
    let mut idle: Vec<&AccountRow> = devices.filter(|row| busy(row) < least).collect();
    idle.order_by(|a, b| busy(a).total_cmp(&busy(b)).then(a.device.cmp(&b.device)));
    // Ranks of one job wait for the same things: the worst speaks for all.
    let (Some(worst), Some(best)) = (idle.first(), idle.last()) else { return Vec::new() };
    let steps = (context.counted_steps() as i64).max(1);
    let causes: Vec<(Cause, i64)> = worst.causes.by_size().into_iter().filter(|c| !c.0.is_busy()).collect();
    let Some((first, _)) = causes.first() else { return Vec::new() };
    let mut finding = context.remark(RULE.name);
    let device = worst.device.unwrap_or_default();
    let reason = first.label().trim_start_matches("idle: ");
    let (most, fewest) = (percent(1.0 - busy(worst)), percent(1.0 - busy(best)));
    finding.title = match idle.len() {
        1 => format!("GPU {device} is idle {most} of the time, mostly: {reason}"),
        n if most == fewest => format!("{n} GPUs are idle {most} of the time, mostly: {reason}"),
        n => format!("{n} GPUs are idle {fewest} to {most} of the time, mostly: {reason}"),
    };
    finding.evidence = evidence! {
        if idle.len() > 1 { format!("GPU {device} busy") } else { "busy".to_owned() } => Amount::Share(busy(worst)),
            "Share of the steps' wall time during which at least one kernel, copy or memset ran on the device.";
    };
    for (cause, ns) in causes.iter().take(4) {
        finding.evidence.push(Evidence::new(
            cause.label(),
            Amount::Ns(ns / steps),
            "Idle time with this cause, per step, as in `stepscope account`.",
        ));
    }
    finding.why = "An idle device still costs money. The evidence shows what it waits for.".to_owned();
    finding.fix = format!(
        "Remove the largest cause, then record again: `stepscope gaps` shows what the host did in each gap, and {} adds the \
         lines of your program.",
        context.recorder().stacks()
    );
    finding.verify = "Record again: the largest cause should shrink in `stepscope account`.".to_owned();
    vec![finding]
}

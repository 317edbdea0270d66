//! Whether targets are kept, what is left of their error budgets, and how fast these are used up.

use schemars::JsonSchema;
use serde::Serialize;

use super::gather::ReportInput;
use crate::sla;
use crate::stats::TargetCount;
use crate::thresholds::{
    BURN_WINDOWS_MINUTES, FAST_BURN_MINUTES, FAST_BURN_TIMES, SLOW_BURN_MINUTES, SLOW_BURN_TIMES,
};

/// One target of one route.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TargetReport {
    pub route: String,
    /// The target: `p95<100ms`.
    pub target: String,
    /// The share of requests that may miss it.
    pub allowed: f64,
    /// Requests that it was held against.
    pub requests: u64,
    pub missed: u64,
    pub kept: bool,
    /// What is left of the error budget of the period: 1 is all, below 0 it is overdrawn. Unknown where nothing is allowed.
    pub budget_left: Option<f64>,
    /// How fast the budget is used up, over stretches that end with the period.
    pub burn: Vec<Burn>,
    /// `fast` or `slow` where a short and a long stretch agree that the budget will not last.
    #[schemars(extend("enum" = ["fast", "slow", null]))]
    pub alert: Option<&'static str>,
}

/// One stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Burn {
    pub minutes: i64,
    pub requests: u64,
    /// Those that missed the target.
    pub missed: u64,
    /// The share that missed it by the share that may: 1 uses the budget up exactly.
    pub rate: Option<f64>,
}

impl TargetReport {
    /// The long stretch that its alert is about.
    pub(crate) fn alerting(&self) -> Option<&Burn> {
        let [_, minutes] = if self.alert? == "fast" { FAST_BURN_MINUTES } else { SLOW_BURN_MINUTES };
        self.burn.iter().find(|burn| burn.minutes == minutes)
    }
}

pub(super) fn reports(input: &ReportInput) -> Vec<TargetReport> {
    let mut found = Vec::new();
    for (route, stats) in &input.now {
        for (text, count) in &stats.targets {
            // What was written was read from text; a damaged file is not asked for more.
            let Some(target) = sla::parse(text).ok().and_then(|mut targets| targets.pop()) else { continue };
            let TargetCount { requests, missed } = *count;
            let windows = input.windows.get(&(route.clone(), text.clone())).copied().unwrap_or_default();
            let burn: Vec<Burn> = BURN_WINDOWS_MINUTES
                .iter()
                .zip(windows)
                .map(|(minutes, TargetCount { requests, missed })| Burn {
                    minutes: *minutes,
                    requests,
                    missed,
                    rate: target.burn_rate(requests, missed),
                })
                .collect();
            let burns = |stretches: [i64; 2], times: f64| {
                let over = |b: &Burn| b.rate.is_some_and(|rate| rate > times);
                stretches.iter().all(|minutes| burn.iter().any(|b| b.minutes == *minutes && over(b)))
            };
            let fast = burns(FAST_BURN_MINUTES, FAST_BURN_TIMES).then_some("fast");
            let alert = fast.or_else(|| burns(SLOW_BURN_MINUTES, SLOW_BURN_TIMES).then_some("slow"));
            found.push(TargetReport {
                route: route.clone(),
                target: text.clone(),
                allowed: target.allowed,
                requests,
                missed,
                kept: target.is_kept(requests, missed),
                budget_left: target.burn_rate(requests, missed).map(|rate| 1.0 - rate),
                burn,
                alert,
            });
        }
    }
    found.sort_by(|a, b| (a.kept, &a.route, &a.target).cmp(&(b.kept, &b.route, &b.target)));
    found
}

//! Whether targets are kept, what is left of their error budgets, and how fast these are used up.

use schemars::JsonSchema;
use serde::Serialize;

use super::gather::{Gathered, WINDOWS};
use crate::sla;
use crate::stats::TargetCount;

/// A month's budget is gone in two days at this rate: worth waking somebody.
const FAST: f64 = 14.4;
/// In five days.
const SLOW: f64 = 6.0;

/// One target of one route.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TargetReport {
    /// The route.
    pub route: String,
    /// The target: `p95<100ms`.
    pub target: String,
    /// The share of requests that may miss it.
    pub allowed: f64,
    /// Requests that it was held against.
    pub requests: u64,
    /// Those that missed it.
    pub missed: u64,
    /// Whether that is fine.
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
    /// Its length.
    pub minutes: i64,
    /// Requests in it.
    pub requests: u64,
    /// Those that missed the target.
    pub missed: u64,
    /// The share that missed it by the share that may: 1 uses the budget up exactly.
    pub rate: Option<f64>,
}

pub(super) fn reports(gathered: &Gathered) -> Vec<TargetReport> {
    let mut found = Vec::new();
    for (route, stats) in &gathered.now {
        for (text, count) in &stats.targets {
            // What was written was read from text; a damaged file is not asked for more.
            let Some(target) = sla::parse(text).ok().and_then(|mut targets| targets.pop()) else { continue };
            let TargetCount { requests, missed } = *count;
            let windows = gathered.windows.get(&(route.clone(), text.clone())).copied().unwrap_or_default();
            let burn: Vec<Burn> = WINDOWS
                .iter()
                .zip(windows)
                .map(|(minutes, TargetCount { requests, missed })| Burn {
                    minutes: *minutes,
                    requests,
                    missed,
                    rate: target.burn_rate(requests, missed),
                })
                .collect();
            let over = |minutes: i64, rate: f64| {
                burn.iter().any(|b| b.minutes == minutes && b.rate.is_some_and(|r| r > rate))
            };
            let alert = if over(5, FAST) && over(60, FAST) {
                Some("fast")
            } else if over(30, SLOW) && over(360, SLOW) {
                Some("slow")
            } else {
                None
            };
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

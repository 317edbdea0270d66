//! Where the latency of a route changed its level, and which region made the difference.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::statistics::{ChangeRule, change_points};

use super::gather::{PointSums, ReportInput};
use super::{OUTSIDE, RegionGrowth, grown};
use crate::thresholds::{CHANGED_SHARE, MIN_LEVEL_REQUESTS, Pace};

/// Routes that are searched: those with the most time.
const MAX_ROUTES: usize = 20;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelChange {
    pub route: String,
    /// `p50` or `p95`.
    #[schemars(extend("enum" = ["p50", "p95"]))]
    pub metric: &'static str,
    /// The first minute of the new level, in minutes since 1970.
    pub minute: i64,
    pub before_ns: u64,
    pub after_ns: u64,
    /// How it compares with the level before.
    pub pace: Pace,
    /// How likely such a cut would be if the order of the points meant nothing.
    pub p: f64,
    /// The region that grew most, if the level rose.
    pub grew: Option<RegionGrowth>,
}

pub(super) fn find(input: &ReportInput) -> Vec<LevelChange> {
    let mut routes: Vec<(&String, u64)> =
        input.now.iter().map(|(name, stats)| (name, stats.latency.sum())).collect();
    routes.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    let mut found = Vec::new();
    for (route, _) in routes.into_iter().take(MAX_ROUTES) {
        let Some(points) = input.points.get(route) else { continue };
        found.extend(of_route(route, points));
    }
    found.sort_by(|a, b| (a.minute, &a.route, a.metric).cmp(&(b.minute, &b.route, b.metric)));
    found
}

fn of_route(route: &str, points: &BTreeMap<i64, PointSums>) -> Vec<LevelChange> {
    let enough: Vec<(i64, &PointSums)> = points
        .iter()
        .filter(|(_, point)| point.requests >= MIN_LEVEL_REQUESTS)
        .map(|(minute, point)| (*minute, point))
        .collect();
    let mut found = Vec::new();
    for metric in ["p50", "p95"] {
        let of = |point: &PointSums| if metric == "p50" { point.p50_ns } else { point.p95_ns };
        let values: Vec<f64> = enough.iter().map(|(_, point)| of(point) as f64).collect();
        let changes = change_points(&values, &ChangeRule { margin: CHANGED_SHARE, ..ChangeRule::default() });
        for (index, change) in changes.iter().enumerate() {
            let start = index.checked_sub(1).and_then(|at| changes.get(at)).map_or(0, |change| change.at);
            let end = changes.get(index + 1).map_or(enough.len(), |change| change.at);
            let (before_ns, after_ns) = (change.before as u64, change.after as u64);
            let pace = Pace::between(before_ns, after_ns);
            found.push(LevelChange {
                route: route.to_owned(),
                metric,
                minute: enough[change.at].0,
                before_ns,
                after_ns,
                pace,
                p: change.p,
                grew: pace
                    .is_worse()
                    .then(|| grown(&mean(&enough[start..change.at]), &mean(&enough[change.at..end])))
                    .flatten(),
            });
        }
    }
    found
}

/// Time per request by region over some points.
fn mean(points: &[(i64, &PointSums)]) -> Vec<(String, u64)> {
    let requests: u64 = points.iter().map(|(_, point)| point.requests).sum();
    let total: u64 = points.iter().map(|(_, point)| point.latency_sum_ns).sum();
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, point) in points {
        for (name, ns) in &point.self_ns {
            *own.entry(name).or_default() += ns;
        }
    }
    if own.is_empty() {
        return Vec::new();
    }
    let inside: u64 = own.values().sum();
    let requests = requests.max(1);
    let mut all: Vec<(String, u64)> =
        own.into_iter().map(|(name, ns)| (name.to_owned(), ns / requests)).collect();
    all.push((OUTSIDE.to_owned(), total.saturating_sub(inside) / requests));
    all
}

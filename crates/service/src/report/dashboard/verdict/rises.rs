//! Levels of latency that rose: which of the changes of a route matters, and whether it is over.

use crate::report::{LevelChange, RegionGrowth};
use crate::thresholds::RECOVERED_SHARE;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rise {
    pub metric: &'static str,
    pub minute: i64,
    pub before_ns: u64,
    pub after_ns: u64,
    pub grew: Option<RegionGrowth>,
    /// When it was over.
    pub until: Option<i64>,
}

/// The rise of a route that matters. What most requests notice is p95; a middle that moved alone counts, too.
pub(super) fn of_route(changes: &[&LevelChange]) -> Option<Rise> {
    let rises = ["p95", "p50"].map(|metric| {
        let of: Vec<&LevelChange> = changes.iter().copied().filter(|one| one.metric == metric).collect();
        of_metric(&of)
    });
    let lasting = rises.iter().flatten().find(|rise| rise.until.is_none());
    lasting.or_else(|| rises.iter().flatten().next()).cloned()
}

/// The rise that matters in the changes of one number, which are in the order of time: the latest that lasts, else the
/// highest.
pub(super) fn of_metric(changes: &[&LevelChange]) -> Option<Rise> {
    let level_ns = changes.last()?.after_ns;
    let rises = || changes.iter().filter(|one| one.pace.is_worse());
    let lasts = |one: &&&LevelChange| {
        let recovered_ns = one.before_ns as f64 * (1.0 + RECOVERED_SHARE);
        level_ns as f64 >= recovered_ns.min(one.after_ns as f64)
    };
    let rise = |one: &LevelChange, after_ns, until| Rise {
        metric: one.metric,
        minute: one.minute,
        before_ns: one.before_ns,
        after_ns,
        grew: one.grew.clone(),
        until,
    };
    if let Some(lasting) = rises().rfind(lasts) {
        return Some(rise(lasting, level_ns, None));
    }
    let highest = rises().rev().max_by_key(|one| one.after_ns)?;
    let over = changes.iter().find(|one| one.minute > highest.minute && one.after_ns < highest.after_ns);
    Some(rise(highest, highest.after_ns, over.map(|one| one.minute)))
}

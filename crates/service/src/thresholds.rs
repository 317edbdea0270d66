//! What counts as slower, as failing, as silent: every threshold behind the report, the terminal and the page.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

/// A latency that differs by less is the same: levels wander. A share of the latency before.
pub const CHANGED_SHARE: f64 = 0.05;
/// A latency that rose by this share of the latency before is slow.
pub const SLOW_SHARE: f64 = 0.25;
/// A level that is above the one before its rise by at most this share has recovered.
pub const RECOVERED_SHARE: f64 = 0.10;
/// Fewer requests in a point are not a level.
pub const MIN_LEVEL_REQUESTS: u64 = 20;
/// A region that takes more time than before has grown if that is more than this share of a request.
pub const GROWN_SHARE: f64 = 0.01;

/// Nothing written for longer than this is news, in minutes: a minute is written every minute.
pub const SILENT_MINUTES: i64 = 3;

/// Fewer failed requests in a point are not a burst.
pub const BURST_MIN_ERRORS: u64 = 5;
/// A burst has at least this share of failed requests,
pub const BURST_MIN_SHARE: f64 = 0.01;
/// at least this many times the usual share,
pub const BURST_TIMES_USUAL: f64 = 4.0;
/// and this many standard deviations more than usual.
pub const BURST_DEVIATIONS: f64 = 4.0;
/// Points between two bursts that still make them one.
pub const BURST_GAP_POINTS: usize = 2;
/// Points with fewer requests do not say what is usual.
pub const USUAL_MIN_REQUESTS: u64 = 10;
/// A burst that goes on with this share of failed requests comes before a slow route.
pub const MANY_FAIL_SHARE: f64 = 0.05;
/// A route with more than this share of all failures is where they are.
pub const ERROR_SOURCE_SHARE: f64 = 0.6;
/// A route with more than this share of failed requests is marked in a table.
pub const HIGH_ERROR_SHARE: f64 = 0.01;
/// Below this share of failed requests, its change says nothing.
pub const MIN_ERROR_SHARE: f64 = 0.001;
/// With less than this share of an error budget left, it is nearly gone.
pub const LOW_BUDGET_SHARE: f64 = 0.25;

/// A budget that burns so many times too fast is gone in two days of thirty: worth waking a person.
pub const FAST_BURN_TIMES: f64 = 14.4;
/// In five days.
pub const SLOW_BURN_TIMES: f64 = 6.0;
/// The short and the long stretch that must agree on a fast burn, in minutes.
pub const FAST_BURN_MINUTES: [i64; 2] = [5, 60];
pub const SLOW_BURN_MINUTES: [i64; 2] = [30, 360];
/// All four, the shortest first.
pub const BURN_WINDOWS_MINUTES: [i64; 4] =
    [FAST_BURN_MINUTES[0], SLOW_BURN_MINUTES[0], FAST_BURN_MINUTES[1], SLOW_BURN_MINUTES[1]];

/// Points of a counter before and after a moment at most: hours ago is another time of day.
pub const MOVED_MAX_POINTS: usize = 30;
/// Fewer are not a level.
pub const MOVED_MIN_POINTS: usize = 3;
/// A counter moved if its level changed by this many times what it wanders,
pub const MOVED_MIN_SCORE: f64 = 3.0;
/// by this share of its level,
pub const MOVED_MIN_SHARE: f64 = 0.05;
/// and by this much in its unit.
pub const MOVED_MIN_CHANGE: &[(&str, f64)] =
    &[("percent", 4.0), ("celsius", 2.0), ("watts", 5.0), ("megahertz", 20.0), ("count", 2.0)];

/// How a latency compares with the one before it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Lower.
    Faster,
    /// No difference that matters.
    Same,
    /// Higher.
    Slower,
    /// So much higher that users notice.
    Slow,
}

impl Pace {
    /// The pace of a latency after another one.
    pub fn between(before_ns: u64, after_ns: u64) -> Self {
        // Whole nanoseconds: rounding may have taken one.
        let is_at_least =
            |share: f64| (after_ns.abs_diff(before_ns).saturating_add(1)) as f64 >= share * before_ns as f64;
        match after_ns.cmp(&before_ns) {
            Ordering::Greater if is_at_least(SLOW_SHARE) => Self::Slow,
            Ordering::Greater if is_at_least(CHANGED_SHARE) => Self::Slower,
            Ordering::Less if is_at_least(CHANGED_SHARE) => Self::Faster,
            _ => Self::Same,
        }
    }

    /// Whether it is worse than before.
    pub fn is_worse(self) -> bool {
        self > Self::Same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_name_these_thresholds() {
        let text = |field: &str| {
            crate::report::DEFINITIONS.iter().find(|one| one.field == field).map_or("", |one| one.text)
        };
        let percent = |share: f64| format!("{:.0}%", share * 100.0);
        for (field, words) in [
            ("verdict", format!("for {SILENT_MINUTES} minutes")),
            ("verdict", format!("slow from {} on", percent(SLOW_SHARE))),
            ("verdict", format!("within {} of", percent(RECOVERED_SHARE))),
            ("verdict", format!("{} or more of a point", percent(BURST_MIN_SHARE))),
            ("verdict", format!("{BURST_TIMES_USUAL:.0} times the usual")),
            ("p", format!("{MIN_LEVEL_REQUESTS} requests or more")),
            ("p", format!("changes below {}", percent(CHANGED_SHARE))),
            ("rate", format!("fast above {FAST_BURN_TIMES}")),
            ("rate", format!("slow above {SLOW_BURN_TIMES}")),
        ] {
            assert!(text(field).contains(&words), "{field}: {words}");
        }
    }

    #[test]
    fn a_latency_is_slower_from_five_percent_and_slow_from_a_quarter_on() {
        for (after, pace) in [
            (95, Pace::Faster),
            (96, Pace::Same),
            (104, Pace::Same),
            (105, Pace::Slower),
            (124, Pace::Slower),
            (125, Pace::Slow),
        ] {
            assert_eq!(Pace::between(100_000_000, after * 1_000_000), pace, "{after}");
        }
        assert_eq!((Pace::between(0, 0), Pace::between(0, 1)), (Pace::Same, Pace::Slow));
        assert!(Pace::Slower.is_worse() && !Pace::Faster.is_worse());
    }
}

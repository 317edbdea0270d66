//! One metric of a baseline over its measurements, and where its level changed.

use stepscope_analyse::statistics::{Change, ChangeRule, Statistic, change_points};
use stepscope_ground::Problem;

use crate::baselines::Record;
use crate::metric::Metric;
use crate::report::percent;

/// Fewer measurements than this have no levels.
pub const MIN_MEASUREMENTS: usize = 6;

/// A metric over time.
#[derive(Clone, Debug)]
pub struct History {
    pub metric: Metric,
    /// The measurements that can be compared with the newest one, the oldest first.
    pub points: Vec<Point>,
    /// Where the level changed: places in `points`.
    pub changes: Vec<Change>,
    /// Measurements of another machine, taken in another way, or without the metric.
    pub left_out: usize,
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct Point {
    /// The measurement and where it is kept.
    pub record: Record,
    /// The median over its runs.
    pub value: f64,
    /// The lowest of its runs.
    pub low: f64,
    pub high: f64,
}

impl Point {
    /// The commit and its subject, or when it was measured.
    pub fn name(&self) -> String {
        match &self.record.measurement.commit {
            Some(commit) => format!("{} {}", commit.short(), commit.subject),
            None => self.record.measurement.measured_at.clone(),
        }
    }
}

impl History {
    /// The history of a metric. `margin` is the smallest change that matters, as a share.
    pub fn new(records: Vec<Record>, name: &str, metric: Metric, margin: f64) -> Result<History, Problem> {
        let total = records.len();
        // Times of another machine, or taken in another way, are not a change of the code.
        let newest = records.last().map(|record| record.measurement.clone());
        let alike = |record: &Record| {
            newest.as_ref().is_some_and(|newest| {
                let here = (&record.measurement.machine, &newest.machine);
                let other_machine = matches!(here, (Some(a), Some(b)) if a.differs_from(b).is_some());
                record.measurement.how == newest.how && (metric.counted || !other_machine)
            })
        };
        let points: Vec<Point> =
            records.into_iter().filter(alike).filter_map(|record| point(record, &metric)).collect();
        if points.is_empty() {
            let has = newest
                .map(|m| m.keys().iter().take(12).map(|k| (*k).to_owned()).collect::<Vec<_>>().join(", "));
            return Err(Problem::new(
                format!("the baseline {name} has no {metric}"),
                format!("it has {}", has.unwrap_or_default()),
            ));
        }
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let changes = change_points(&values, &ChangeRule { margin, ..ChangeRule::default() });
        Ok(History { metric, left_out: total - points.len(), points, changes })
    }

    /// A change in words: `+12.0% from 10.00 ms to 11.20 ms at 1a2b3c4 use a larger cache (p = 0.002)`.
    pub fn sentence(&self, change: &Change) -> String {
        let text = |value: f64| self.metric.quantity.text(value);
        let (before, after) = (text(change.before), text(change.after));
        let place = self.points.get(change.at).map(Point::name).unwrap_or_default();
        format!(
            "{} from {before} to {after} at {place} (p = {:.3})",
            percent(change.after / change.before),
            change.p
        )
    }
}

fn point(record: Record, metric: &Metric) -> Option<Point> {
    let sample = record.measurement.sample(metric);
    let value = sample.center(metric.statistic)?;
    let units = sample.units(metric.statistic);
    let of = |share: f64| Statistic::Quantile(share).compute(&mut units.clone()).unwrap_or(value);
    Some(Point { value, low: of(0.0), high: of(1.0), record })
}

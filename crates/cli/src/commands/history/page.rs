//! `stepscope history --view`: the baselines of a store in the browser.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use stepscope_analyse::compare::MetricUnit;
use stepscope_ground::Problem;
use stepscope_regression::{Baselines, History, Metric, Quantity};
use stepscope_serve::{
    Backend, BaselineListed, Histories, HistoryChange, HistoryPoint, MetricHistory, PendingRun, RunFile,
};

use super::super::{measure, view};
use crate::args::History as Args;
use crate::failure::Failure;

/// Names of metrics that are offered; a measurement of a large trace has hundreds.
const MAX_METRICS: usize = 2_000;

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let store = measure::store(&args.place)?;
    if store.names()?.is_empty() {
        return Err(Failure::wrong_use(
            format!("no baselines in {}", store.place()),
            "make one: stepscope baseline save main -- python train.py",
        ));
    }
    let kept = BaselineBackend { store, margin: args.margin / 100.0 };
    let place = match &args.metric {
        // Checked before a browser opens.
        Some(metric) => {
            let words = [("baseline", args.baseline.as_str()), ("metric", &measure::metric(metric)?.name)];
            format!("#/history?{}", words.map(|(key, value)| format!("{key}={}", escaped(value))).join("&"))
        }
        None => "#/history".to_owned(),
    };
    let server = view::begin_at(&place, &args.page, Arc::new(kept), false, "press Ctrl-C to stop", out)?;
    server.run().map_err(Failure::Output)
}

/// A text in a URL.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (text.bytes())
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Baselines, and no traces.
struct BaselineBackend {
    store: Baselines,
    margin: f64,
}

impl Backend for BaselineBackend {
    fn discover(&self) -> Result<Vec<RunFile>, Problem> {
        Ok(Vec::new())
    }

    fn open(&self, path: &Path) -> PendingRun {
        let what = format!("there is no trace here: {}", path.display());
        PendingRun {
            progress: Box::new(|| (0, 0)),
            read: Box::new(move || Err(Problem::new(what, "open it with `stepscope view`"))),
        }
    }

    fn histories(&self) -> Option<&dyn Histories> {
        Some(self)
    }
}

impl Histories for BaselineBackend {
    fn baselines(&self) -> Result<Vec<BaselineListed>, Problem> {
        let mut all = Vec::new();
        for name in self.store.names()? {
            let records = self.store.history(&name)?;
            let metrics = records.last().map(|record| {
                let mut keys: Vec<String> =
                    record.measurement.keys().into_iter().map(str::to_owned).take(MAX_METRICS).collect();
                // What most people look for comes first.
                keys.sort_by_key(|key| (key.contains(':'), key != "step_time", key != "wall_time"));
                keys
            });
            let measurements = records.len() as u64;
            all.push(BaselineListed { name, measurements, metrics: metrics.unwrap_or_default() });
        }
        Ok(all)
    }

    fn history(&self, baseline: &str, metric: &str) -> Result<MetricHistory, Problem> {
        let metric = Metric::parse(metric)?;
        let records = self.store.history(baseline)?;
        let history = History::new(records, baseline, metric, self.margin)?;
        let points = history.points.iter().map(|point| HistoryPoint {
            measured_at: point.record.measurement.measured_at.clone(),
            commit: point.record.measurement.commit.as_ref().map(|commit| commit.short().to_owned()),
            subject: point.record.measurement.commit.as_ref().map(|commit| commit.subject.clone()),
            value: point.value,
            low: point.low,
            high: point.high,
            runs: point.record.measurement.repeats.len() as u64,
        });
        let changes = history.changes.iter().map(|change| HistoryChange {
            at: change.at as u64,
            before: change.before,
            after: change.after,
            p: change.p,
            sentence: history.sentence(change),
        });
        Ok(MetricHistory {
            baseline: baseline.to_owned(),
            metric: history.metric.name.clone(),
            unit: unit(history.metric.quantity),
            points: points.collect(),
            changes: changes.collect(),
            left_out: history.left_out as u64,
        })
    }
}

fn unit(quantity: Quantity) -> MetricUnit {
    match quantity {
        Quantity::Time => MetricUnit::Nanoseconds,
        Quantity::Bytes => MetricUnit::Bytes,
        Quantity::Share => MetricUnit::Share,
        Quantity::Energy => MetricUnit::Joules,
        Quantity::Rate => MetricUnit::PerSecond,
        Quantity::Count | Quantity::Number => MetricUnit::Count,
    }
}

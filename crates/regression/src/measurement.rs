//! Numbers of one or more runs of the same thing, as they are kept in a baseline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_analyse::statistics::Sample;
use stepscope_ground::{Problem, utc};

use crate::git::Commit;
use crate::machine::Machine;
use crate::metric::Metric;

/// The version of the file that is written; older ones are read.
pub const VERSION: u64 = 1;

/// Only the last so many steps of a repeat are kept.
const MAX_STEPS: usize = 10_000;

/// How the numbers came about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The command ran without a profiler.
    Bare,
    /// From traces: a profiler ran along.
    Traces,
    /// From a file of another benchmark tool.
    Imported,
}

impl How {
    pub fn text(self) -> &'static str {
        match self {
            How::Bare => "bare runs",
            How::Traces => "traces",
            How::Imported => "imported benchmarks",
        }
    }
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// The values of each metric: one per step where there are steps, else one. Times in nanoseconds, sizes in bytes.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Where it came from, if that is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How long a fixed task took next to it, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yardstick: Option<f64>,
}

impl Repeat {
    /// Puts in values of a metric; none and what is not a number are left out.
    pub fn put(&mut self, key: &str, values: impl IntoIterator<Item = f64>) {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.drain(..values.len().saturating_sub(MAX_STEPS));
        if !values.is_empty() {
            self.values.insert(key.to_owned(), values);
        }
    }
}

/// Repeats of one thing on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// When, in UTC.
    pub measured_at: String,
    pub how: How,
    /// What a step is, in words: where the step times come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_from: Option<String>,
    /// The command, if one was run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The commit of the working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Traces of the same program: they explain a difference, and decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<String>,
    /// The runs, in the order in which they ran.
    pub repeats: Vec<Repeat>,
}

/// The file around a measurement.
#[derive(Serialize)]
struct MeasurementFile<'a> {
    stepscope: &'static str,
    version: u64,
    #[serde(flatten)]
    measurement: &'a Measurement,
}

impl Measurement {
    /// A measurement of now.
    pub fn new(how: How) -> Measurement {
        Measurement {
            measured_at: utc::second_text(utc::now_ns() / 1_000_000_000),
            how,
            steps_from: None,
            command: Vec::new(),
            commit: None,
            machine: None,
            traces: Vec::new(),
            repeats: Vec::new(),
        }
    }

    /// The values of a metric, one group per repeat.
    pub fn sample(&self, metric: &Metric) -> Sample {
        Sample::new(self.repeats.iter().filter_map(|repeat| repeat.values.get(&metric.key).cloned()))
    }

    /// The values of a metric over the time of a fixed task next to each run; none unless every run has both.
    pub fn over_yardstick(&self, metric: &Metric) -> Option<Sample> {
        let group = |repeat: &Repeat| {
            let unit = repeat.yardstick.filter(|unit| *unit > 0.0)?;
            Some(repeat.values.get(&metric.key)?.iter().map(|value| value / unit).collect())
        };
        self.repeats.iter().map(group).collect::<Option<Vec<_>>>().map(Sample::new)
    }

    /// The times of the fixed task.
    pub fn yardsticks(&self) -> Sample {
        Sample::of_repeats(self.repeats.iter().filter_map(|repeat| repeat.yardstick))
    }

    /// The traces that show what it spends its time on: those that were named, or those that it is made of.
    pub fn explaining_traces(&self) -> Vec<String> {
        match self.how {
            _ if !self.traces.is_empty() => self.traces.clone(),
            How::Traces => self.repeats.iter().filter_map(|repeat| repeat.source.clone()).collect(),
            How::Bare | How::Imported => Vec::new(),
        }
    }

    /// What represents all values of a metric, given by name.
    pub fn center(&self, name: &str) -> Option<f64> {
        let metric = Metric::parse(name).ok()?;
        self.sample(&metric).center(metric.statistic)
    }

    /// The metric to go by if no one says which: steps if there are any.
    pub fn usual_metric(&self) -> &'static str {
        if self.has("step_time") { "step_time" } else { "wall_time" }
    }

    /// Whether any repeat has values of a metric.
    pub fn has(&self, key: &str) -> bool {
        self.repeats.iter().any(|repeat| repeat.values.contains_key(key))
    }

    /// The names of all metrics that it has values of.
    pub fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> =
            self.repeats.iter().flat_map(|repeat| repeat.values.keys().map(String::as_str)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// As it is written to a file.
    pub fn to_json(&self) -> String {
        let written = MeasurementFile { stepscope: "measurement", version: VERSION, measurement: self };
        // Texts and finite numbers only: this cannot fail.
        let mut text = serde_json::to_string(&written).unwrap_or_default();
        text.push('\n');
        text
    }

    /// From what a file holds. `place` names it in errors.
    pub fn from_json(text: &[u8], place: &str) -> Result<Measurement, Problem> {
        let broken = |what: String| {
            Problem::new(
                format!("this baseline file is damaged ({what}): {place}"),
                "nothing was changed; restore the file from a backup or version control, or delete it and save again",
            )
        };
        let value: serde_json::Value =
            serde_json::from_slice(text).map_err(|error| broken(error.to_string()))?;
        if value.get("stepscope").and_then(|v| v.as_str()) != Some("measurement") {
            return Err(Problem::new(
                format!("this file is not a stepscope measurement: {place}"),
                "baselines are written by `stepscope baseline save`; move other files elsewhere",
            ));
        }
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version > VERSION => Err(Problem::new(
                format!(
                    "this baseline was written by a newer stepscope (version {version}, this one reads {VERSION}): {place}"
                ),
                "update stepscope; the file is unchanged",
            )),
            Some(1..) => serde_json::from_value(value).map_err(|error| broken(error.to_string())),
            _ => Err(broken("it has no version".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Measurement {
        let mut measurement = Measurement::new(How::Bare);
        let mut repeat = Repeat::default();
        repeat.put("step_time", [1e6, 2e6, f64::NAN]);
        repeat.put("wall_time", [5e9]);
        repeat.put("nothing", []);
        measurement.repeats.push(repeat);
        measurement
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = one().to_json();
        assert_eq!(Measurement::from_json(text.as_bytes(), "x.json").unwrap(), one());
        assert_eq!(one().keys(), ["step_time", "wall_time"]);
        // Fields of later versions that mean nothing here are not an error.
        let more = text.replacen('{', "{\"color\": 3, ", 1);
        assert_eq!(Measurement::from_json(more.as_bytes(), "x.json").unwrap(), one());
    }

    #[test]
    fn other_files_are_refused_with_a_hint() {
        let error = |text: &str| Measurement::from_json(text.as_bytes(), "b/x.json").unwrap_err();
        let text = one().to_json();
        for cut in (0..text.len() - 1).step_by(7) {
            let found = error(&text[..cut]);
            assert!(found.what.contains("damaged") && found.what.ends_with("b/x.json"), "{found:?}");
        }
        assert!(error(&text.replace("\"version\":1", "\"version\":2")).what.contains("newer stepscope"));
        assert!(error(&text.replace("\"version\":1", "\"version\":0")).what.contains("no version"));
        assert!(error("{}").what.contains("not a stepscope measurement"));
        assert!(error(&text.replace("\"repeats\":[", "\"repeats\":[7,")).what.contains("damaged"));
        assert!(Measurement::from_json(&[0xff, 0xfe], "x").is_err());
    }
}

//! The verdict: each condition passes, fails, or is not decided.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::statistics::{Comparison, Level, Method, Rule, compare, holm, level};

use crate::condition::{Condition, Limit};
use crate::explain::Explanation;
use crate::measurement::{How, Measurement};
use crate::metric::{Metric, Quantity};

/// What is left over when two numbers that should be equal are worked out in two ways.
const ROUNDING_ERROR: f64 = 1e-9;
/// So far from the ratio of two medians, a change needs a remark.
const MISLEADING_DIFFERENCE: f64 = 0.05;

/// How a check is made.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Options {
    /// How sure a verdict must be.
    pub confidence: f64,
    /// Compares timings of different machines all the same.
    pub any_machine: bool,
    /// Both sides ran in turns, so their repeats are compared in pairs.
    pub in_turns: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { confidence: 0.95, any_machine: false, in_turns: false }
    }
}

/// What becomes of a condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The limit is kept, and it is certain enough.
    Pass,
    /// Neither was shown. This is not a pass.
    Inconclusive,
    /// The limit is broken, and it is certain enough.
    Fail,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Inconclusive => "inconclusive",
            Outcome::Fail => "fail",
        }
    }
}

/// One condition and what became of it.
#[derive(Clone, Debug)]
pub struct Finding {
    pub condition: Condition,
    pub outcome: Outcome,
    /// Why, in a sentence.
    pub why: String,
    /// The comparison with the baseline, if it is relative.
    pub comparison: Option<Comparison>,
    /// The level, if it is absolute.
    pub level: Option<Level>,
}

impl Finding {
    /// A value of its metric with the unit.
    pub fn text(&self, value: f64) -> String {
        self.condition.metric.quantity.text(value)
    }
}

/// All conditions of one check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// In the order given.
    pub findings: Vec<Finding>,
    /// What a reader of the verdict has to know.
    pub remarks: Vec<String>,
    /// Whether traces were judged, not bare runs.
    pub from_traces: bool,
    /// What traces of both sides say about a failure; they have no part in a verdict on bare runs.
    pub explanation: Option<Explanation>,
}

impl Checked {
    /// The worst of all.
    pub fn outcome(&self) -> Outcome {
        self.findings.iter().map(|f| f.outcome).max().unwrap_or(Outcome::Inconclusive)
    }
}

/// Holds a measurement to its conditions. Without a baseline, relative conditions cannot be decided.
pub fn check(
    conditions: &[Condition],
    baseline: Option<&Measurement>,
    current: &Measurement,
    options: &Options,
) -> Checked {
    let mut findings: Vec<Finding> =
        conditions.iter().map(|condition| judge(condition, baseline, current, options)).collect();
    correct_for_several(&mut findings, options);
    let mut remarks = Vec::new();
    if current.how == How::Traces {
        remarks.push(
            "judged from traces alone: recording costs time of its own, and not the same for every program; for a verdict \
             on bare runs use `stepscope check --baseline NAME -- command`"
                .to_owned(),
        );
    }
    if findings.iter().any(|f| matches!(f.method(), Some(Method::Blocks { .. } | Method::FewSteps))) {
        remarks.push(
            "one run per side: its steps show how much steps differ, not how much runs do; for a verdict that holds, "
                .to_owned()
                + match current.how {
                    How::Traces => "record several runs per side",
                    _ => "repeat the run (--repeats 10)",
                },
        );
    }
    if findings.iter().filter_map(|f| f.comparison.as_ref()).any(medians_mislead) {
        remarks.push(
            "some runs are far from the others: the change is the typical one between two runs, not that between the two \
             medians"
                .to_owned(),
        );
    }
    Checked { findings, remarks, from_traces: current.how == How::Traces, explanation: None }
}

impl Finding {
    fn method(&self) -> Option<Method> {
        self.comparison.as_ref().map(|c| c.method).or(self.level.map(|l| l.method))
    }
}

fn judge(
    condition: &Condition,
    baseline: Option<&Measurement>,
    current: &Measurement,
    options: &Options,
) -> Finding {
    let metric = &condition.metric;
    let finding = |outcome, why: String| Finding {
        condition: condition.clone(),
        outcome,
        why,
        comparison: None,
        level: None,
    };
    if !current.has(&metric.key) {
        return finding(Outcome::Inconclusive, missing(metric, current, "the current run"));
    }
    let rule = Rule {
        statistic: metric.statistic,
        margin: 0.0,
        confidence: options.confidence,
        counted: metric.counted,
        in_turns: false,
    };
    match condition.limit {
        Limit::Above(value) | Limit::Below(value) => {
            let Some(found) = level(&current.sample(metric), &rule) else {
                return finding(Outcome::Inconclusive, missing(metric, current, "the current run"));
            };
            let (outcome, why) = hold(metric, &found, value, matches!(condition.limit, Limit::Above(_)));
            Finding { level: Some(found), ..finding(outcome, why) }
        }
        Limit::Rise(share) | Limit::Fall(share) => {
            let Some(baseline) = baseline else {
                return finding(Outcome::Inconclusive, "there is no baseline to compare with".to_owned());
            };
            if !baseline.has(&metric.key) {
                return finding(Outcome::Inconclusive, missing(metric, baseline, "the baseline"));
            }
            if let Some(why) = incomparable(metric, baseline, current, options) {
                return finding(Outcome::Inconclusive, why);
            }
            let whole =
                |m: &Measurement| m.repeats.iter().all(|repeat| repeat.values.contains_key(&metric.key));
            let in_turns = options.in_turns && whole(baseline) && whole(current);
            let rule = Rule { margin: share, in_turns, ..rule };
            let found = compare(&baseline.sample(metric), &current.sample(metric), &rule);
            let rising = matches!(condition.limit, Limit::Rise(_));
            let mut outcome = beyond(&found, share, rising);
            let mut why = change_text(metric, &found, outcome);
            if outcome == Outcome::Fail
                && !in_turns
                && let Some(ratio) = found.ratio
                && let Some(machine) = blames_the_machine(metric, baseline, current, &rule, (ratio, rising))
            {
                outcome = Outcome::Inconclusive;
                why.push_str(&machine);
            }
            Finding { comparison: Some(found), ..finding(outcome, why) }
        }
    }
}

/// Why a change of this ratio may be the machine's: a fixed task next to every run changed as well, and explains it.
fn blames_the_machine(
    metric: &Metric,
    baseline: &Measurement,
    current: &Measurement,
    rule: &Rule,
    (raw, rising): (f64, bool),
) -> Option<String> {
    if metric.counted || metric.quantity != Quantity::Time {
        return None;
    }
    let beside = compare(&baseline.over_yardstick(metric)?, &current.over_yardstick(metric)?, rule);
    if beyond(&beside, rule.margin, rising) == Outcome::Fail {
        return None;
    }
    let task = compare(&baseline.yardsticks(), &current.yardsticks(), rule).ratio?;
    // The task has noise of its own. What it leaves of the change by the best estimates decides.
    let left = if rising {
        raw / task.max(1.0) >= 1.0 + rule.margin
    } else {
        raw / task.min(1.0) <= 1.0 - rule.margin
    };
    if left {
        return None;
    }
    Some(format!(
        "; a fixed task next to each run changed by {}, and beside it this is not clear: run both versions in turns \
         (--baseline-dir)",
        percent(task)
    ))
}

/// Why two measurements of a metric cannot be compared; `None` if they can.
fn incomparable(
    metric: &Metric,
    baseline: &Measurement,
    current: &Measurement,
    options: &Options,
) -> Option<String> {
    if metric.counted {
        return None;
    }
    if baseline.how != current.how {
        let (a, b) = (baseline.how.text(), current.how.text());
        return Some(format!("the baseline is from {a}, this is from {b}: their times cannot be compared"));
    }
    if matches!(metric.key.as_str(), "step_time" | "samples_per_s") && baseline.steps_from != current.steps_from
    {
        return Some("the step times of the baseline come from elsewhere; save it again".to_owned());
    }
    if options.any_machine
        || !matches!(metric.quantity, Quantity::Time | Quantity::Energy | Quantity::Share | Quantity::Rate)
    {
        return None;
    }
    let differs = current.machine.as_ref()?.differs_from(baseline.machine.as_ref()?)?;
    Some(format!(
        "the baseline is from another machine ({differs}); save one here, or compare with --any-machine"
    ))
}

fn missing(metric: &Metric, measurement: &Measurement, which: &str) -> String {
    let kind = metric.key.split_once(':').map(|(kind, _)| format!("{kind}:"));
    let known = measurement.keys();
    let like: Vec<&str> = match &kind {
        Some(kind) => known.into_iter().filter(|key| key.starts_with(kind)).take(5).collect(),
        None => known.into_iter().filter(|key| !key.contains(':')).collect(),
    };
    let has = if like.is_empty() { "nothing like it".to_owned() } else { like.join(", ") };
    format!("{which} has no {metric}; it has {has}")
}

/// Whether the change is not the one that a reader would work out from the two medians.
fn medians_mislead(found: &Comparison) -> bool {
    let medians = found.baseline.zip(found.current).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a);
    medians.zip(found.ratio).is_some_and(|(shown, ratio)| (shown / ratio - 1.0).abs() > MISLEADING_DIFFERENCE)
}

/// Whether a change goes beyond what is allowed.
fn beyond(found: &Comparison, share: f64, rising: bool) -> Outcome {
    match found.beyond(share, rising) {
        Some(true) => Outcome::Fail,
        Some(false) => Outcome::Pass,
        None => Outcome::Inconclusive,
    }
}

fn hold(metric: &Metric, found: &Level, limit: f64, above: bool) -> (Outcome, String) {
    let text = |value: f64| metric.quantity.text(value);
    let Some((low, high)) = found.interval else {
        let why =
            format!("{}, from one value: how much it differs from run to run is not known", text(found.value));
        return (Outcome::Inconclusive, why);
    };
    let range = if low == high { String::new() } else { format!(" ({} to {})", text(low), text(high)) };
    let why = format!("{}{range}", text(found.value));
    let (kept, broken) = if above { (high <= limit, low > limit) } else { (low >= limit, high < limit) };
    match (kept, broken) {
        (true, _) => (Outcome::Pass, why),
        (_, true) => (Outcome::Fail, why),
        _ => (Outcome::Inconclusive, format!("{why}: the limit lies within")),
    }
}

fn change_text(metric: &Metric, found: &Comparison, outcome: Outcome) -> String {
    let text = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| metric.quantity.text(value));
    let change = match (found.ratio, found.low, found.high) {
        (Some(ratio), Some(low), Some(high)) if low == high => percent(ratio),
        (Some(ratio), Some(low), Some(high)) => {
            format!("{} ({} to {})", percent(ratio), percent(low), percent(high))
        }
        (Some(ratio), ..) => percent(ratio),
        _ => "from 0".to_owned(),
    };
    let mut words = format!("{change}: {} before, {} now", text(found.baseline), text(found.current));
    if outcome == Outcome::Inconclusive {
        words.push_str(&match (found.method, found.repeats_to_decide) {
            (Method::Nothing, _) => {
                "; one run per side says nothing about the noise, repeat it (--repeats 10)".to_owned()
            }
            (_, Some(repeats)) => format!("; too noisy to decide, about {repeats} repeats per side would"),
            _ => "; too close to the limit to decide with a reasonable number of repeats".to_owned(),
        });
    }
    words
}

/// A ratio as a change: `+5.0%`.
pub fn percent(ratio: f64) -> String {
    stepscope_ask::print::units::delta_percent(ratio - 1.0)
}

/// Several conditions at once: a failure must be too unlikely to be one of several chances.
fn correct_for_several(findings: &mut [Finding], options: &Options) {
    let tested: Vec<usize> = (0..findings.len())
        .filter(|&at| {
            findings[at].comparison.as_ref().is_some_and(|c| c.p.is_some() && c.method != Method::Counted)
        })
        .collect();
    let p_values: Vec<f64> =
        tested.iter().filter_map(|&at| findings[at].comparison.as_ref().and_then(|c| c.p)).collect();
    for (&at, adjusted) in tested.iter().zip(holm(&p_values)) {
        let finding = &mut findings[at];
        if finding.outcome == Outcome::Fail && adjusted > 1.0 - options.confidence + ROUNDING_ERROR {
            finding.outcome = Outcome::Inconclusive;
            finding.why.push_str(
                "; of several conditions one may look like this by chance, more repeats would decide",
            );
        }
    }
}

#[cfg(test)]
mod tests;

//! Findings: what costs how much, why, and what to change.
//!
//! Each rule lives in a file of its own and looks for one thing. It says what it saw, what a fix would save (from a
//! replay of the run where it can), how sure it is, and how to check. Rules are heuristics with thresholds; every
//! threshold has a name, a default and can be overridden. A rule that has nothing to go on stays silent.

mod context;
mod coverage;
mod definitions;
mod edit;
mod recorder;
mod rules;
mod thresholds;
mod tried;
mod warm_up;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Order, SliceId, TriedFix};

pub(crate) use context::evidence;
pub use context::{Context, MIN_SHOWN_SHARE, is_users};
pub use coverage::{UncheckedRules, unchecked_rules, uncovered};
pub use definitions::DEFINITIONS;
pub(crate) use edit::Edit;
pub use recorder::{Recorder, how_to_mark_steps, program};
pub use rules::RULES;
pub(crate) use thresholds::thresholds;
use thresholds::{ASSUMPTIONS, LATE_RANK, LEAKS, SEVERITY};
pub use thresholds::{Threshold, Thresholds};

use crate::names::nearest::nearest;
use crate::run::Run;

/// How much a finding matters, by the part of a step it could save.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something to know about the profile itself, or without a known cost.
    Info,
    /// At least 1% of a step.
    Low,
    /// At least 5% of a step.
    Medium,
    /// At least 20% of a step.
    High,
}

impl Severity {
    pub fn label(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }
}

/// How sure a rule is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A guess worth a check.
    Low,
    /// Likely.
    Medium,
    /// The trace shows it.
    High,
}

/// Where the saving comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// The run was replayed with the change.
    Replay,
    /// The run was replayed with lengths from a model of the hardware.
    Model,
    /// At most this: the time spent on it.
    UpperBound,
    None,
}

/// A metric that a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    pub label: String,
    pub value: Amount,
    /// What it means, so that a reader can recompute it.
    pub definition: &'static str,
}

/// A value with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "unit", content = "value")]
pub enum Amount {
    Ns(i64),
    /// A part of a whole, 0 to 1.
    Share(f64),
    Count(u64),
    Bytes(i64),
    BytesPerSecond(f64),
    /// Any other number.
    Number(f64),
    Text(String),
}

/// A slice of the trace that shows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ShownSlice {
    pub name: String,
    pub start_ns: i64,
    pub dur_ns: i64,
    /// The slice; in machine output its number in this file.
    #[serde(serialize_with = "crate::scope::slice_number::serialize")]
    #[schemars(with = "u64")]
    pub slice: SliceId,
}

impl ShownSlice {
    /// From where to where in the trace.
    pub fn range_ns(&self) -> (i64, i64) {
        (self.start_ns, self.start_ns.saturating_add(self.dur_ns))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    pub rule: &'static str,
    /// One line: what, and how much.
    pub title: String,
    pub severity: Severity,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// What a fix would save of a mean step.
    pub saves_ns: Option<i64>,
    /// The same as a part of the mean step.
    pub saves_share: Option<f64>,
    /// What it would save of a mean step without the profiler.
    pub saves_unprofiled_ns: Option<i64>,
    /// The same as a part of that step.
    pub saves_unprofiled_share: Option<f64>,
    pub estimate: Estimate,
    /// The best of its changes that was measured.
    pub measured: Option<TriedFix>,
    pub measured_text: Option<String>,
    pub evidence: Vec<Evidence>,
    pub why: String,
    pub fix: String,
    /// The change as code.
    pub code: Option<String>,
    /// How to see whether it helped.
    pub verify: String,
    /// The line of the program, if stacks were recorded.
    pub source: Option<String>,
    /// Slices that show it.
    pub slices: Vec<ShownSlice>,
    /// From where to where in the trace, if it has a place.
    pub range_ns: Option<(i64, i64)>,
}

impl Finding {
    /// The changes for it that `stepscope try` can make by itself, by name.
    pub fn trials(&self) -> &'static [&'static str] {
        RULES.iter().find(|rule| rule.name == self.rule).map_or(&[], |rule| rule.trials)
    }
}

#[derive(Copy, Clone)]
pub struct Rule {
    /// Its name, as in machine output and configuration.
    pub name: &'static str,
    /// What it looks for, in one sentence.
    pub about: &'static str,
    pub thresholds: &'static [Threshold],
    /// The changes for it that `stepscope try` can make by itself, by name.
    pub trials: &'static [&'static str],
    /// What it says of programs of JAX and TensorFlow.
    pub other_frameworks: OtherFrameworks,
    /// What PyTorch must have recorded for it.
    pub needs: &'static [Needs],
    /// The verdicts that it says what to do about, as `bound_by` names them.
    pub answers: &'static [&'static str],
    pub check: fn(&Context<'_>) -> Vec<Finding>,
}

/// What most rules have in common: each sets the rest.
const USUAL: Rule = Rule {
    name: "",
    about: "",
    thresholds: &[],
    trials: &[],
    other_frameworks: OtherFrameworks::Silent,
    needs: &[],
    answers: &[],
    check: |_| Vec::new(),
};

/// What a rule looks at and PyTorch does not always record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The shapes of inputs.
    Shapes,
    /// The same, to see more.
    MoreShapes,
    /// What the allocator did.
    Memory,
    /// Marked steps.
    Steps,
}

/// What a rule says of programs of JAX and TensorFlow.
#[derive(Copy, Clone)]
pub enum OtherFrameworks {
    /// Nothing: it looks for what PyTorch does, and names its remedies.
    Silent,
    /// What its check says, which knows them where that makes a difference.
    Same,
    /// The same mistakes have other remedies: what its check says, reworded for the framework of this name.
    Words(fn(&mut Finding, &str)),
}

impl Rule {
    /// What it finds, in words for the program's framework.
    fn find(&self, context: &Context<'_>) -> Vec<Finding> {
        let Some(framework) = &context.trace().meta().framework else { return (self.check)(context) };
        match self.other_frameworks {
            OtherFrameworks::Silent => Vec::new(),
            OtherFrameworks::Same => (self.check)(context),
            OtherFrameworks::Words(reword) => {
                let mut found = (self.check)(context);
                found.iter_mut().for_each(|finding| reword(finding, &framework.name));
                found
            }
        }
    }
}

/// All limits there are: those of the rules, and those that they share.
impl Thresholds {
    /// Overrides a limit. An unknown name is refused with the nearest known one.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        if !value.is_finite() || value < 0.0 {
            return Err(format!("the threshold {name} must be a number of 0 or more"));
        }
        if Thresholds::all().any(|t| t.name == name) {
            self.values.insert(name.to_owned(), value);
            return Ok(());
        }
        Err(unknown("threshold", name, Thresholds::all().map(|t| t.name)))
    }

    pub fn switch_off(&mut self, rule: &str) -> Result<(), String> {
        if !RULES.iter().any(|r| r.name == rule) {
            return Err(unknown("rule", rule, RULES.iter().map(|r| r.name)));
        }
        self.off.push(rule.to_owned());
        Ok(())
    }

    pub fn is_on(&self, rule: &str) -> bool {
        !self.off.iter().any(|off| off == rule)
    }

    /// A limit; 0 for a name that no rule has.
    pub fn get(&self, name: &str) -> f64 {
        let default = || Thresholds::all().find(|t| t.name == name).map_or(0.0, |t| t.default);
        debug_assert!(Thresholds::all().any(|t| t.name == name), "{name}");
        self.values.get(name).copied().unwrap_or_else(default)
    }

    pub fn all() -> impl Iterator<Item = &'static Threshold> {
        SEVERITY
            .iter()
            .chain(LEAKS)
            .chain(LATE_RANK)
            .chain(ASSUMPTIONS)
            .chain(RULES.iter().flat_map(|rule| rule.thresholds))
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known, 1).first() {
        Some(near) => format!("there is no {what} '{name}'; did you mean '{near}'?"),
        None => format!("there is no {what} '{name}'"),
    }
}

/// Everything the rules have to say, most important first.
pub fn findings(run: &Run, thresholds: &Thresholds) -> Vec<Finding> {
    in_context(&Context::new(run, thresholds))
}

/// The same, with the analyses already at hand.
pub fn in_context(context: &Context<'_>) -> Vec<Finding> {
    let rules = RULES.iter().filter(|rule| context.thresholds().is_on(rule.name));
    let mut found: Vec<Finding> = rules.flat_map(|rule| rule.find(context)).collect();
    for finding in &mut found {
        finding.measured = tried::best(finding.rule, context.trace().tried());
        finding.measured_text = finding.measured.as_ref().map(tried::text);
    }
    found.order_by(|a, b| {
        let ns = |f: &Finding| {
            let measured = f.measured.as_ref().map(|tried| tried.without_ns - tried.with_ns);
            measured.or(f.saves_unprofiled_ns).or(f.saves_ns).unwrap_or(0)
        };
        // Samples have no times.
        let share = |f: &Finding| (f.saves_share.unwrap_or(0.0) * 1e6) as i64;
        let key = |f: &Finding| (f.severity, ns(f), share(f), f.confidence);
        key(b).cmp(&key(a)).then_with(|| (a.rule, &a.title).cmp(&(b.rule, &b.title)))
    });
    found
}

//! What costs how much, why, and what to change.

mod blocks;
mod list;
mod markdown;
mod sarif;
pub(super) mod words;

use std::sync::Arc;

use stepscope_analyse::findings::{self, Finding, Severity, UncheckedRules};
use stepscope_analyse::run::{Run, Unprofiled};
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;
use stepscope_model::DocumentKind;

use crate::answer::{Answer, Next, Part};
use crate::ask::{Ask, Findings, Group, Question, TRACES_AND_PROFILES, USUAL};
use crate::form::{Form, fact, rows};
use crate::options::RowOptions;
use crate::print::Table;
use crate::rows::{RowSelection, arrange};

pub use list::rules;

pub(super) const QUESTION: Question = Question {
    name: "findings",
    about: "What to change: what each fix would save, why, the code, and how to check it.",
    examples: &[
        "findings TRACE",
        "findings TRACE --format md > findings.md",
        "findings TRACE --fail-on high  exit code 1 if something big is wrong",
        "findings TRACE --format sarif > findings.sarif",
        "findings --list  all rules and their thresholds",
    ],
    group: Group::Change,
    options: &["top", "filter", "step"],
    report_by: Some(&[]),
    definitions: &[findings::DEFINITIONS, STEP, OWN_DEFINITIONS],
    forms: &[Form {
        name: "FindingsAnswer",
        about: TRACES_AND_PROFILES,
        members: &[&[
            rows::<Finding>("findings"),
            fact::<i64>("step_ns"),
            fact::<i64>("unprofiled_step_ns"),
            fact::<i64>("unprofiled_step_low_ns"),
            fact::<i64>("unprofiled_step_high_ns"),
            fact::<bool>("step_measured"),
            fact::<String>("step_text"),
            fact::<usize>("steps"),
            fact::<Vec<UncheckedRules>>("unchecked_rules"),
            fact::<Option<Severity>>("worst"),
        ]],
    }],
    answer,
    findings: Findings::Answer,
    ..USUAL
};

/// What the savings are measured against.
pub(super) const STEP: &[Definition] = definitions! {
    "step_ns", "Mean step" =>
        "The mean wall time of the steps that are not partial (of all, if all are), rounded down to the nanosecond. Of a \
         profile, which has no steps, its longest thread.";
    "unprofiled_step_ns", "Without the profiler" =>
        "The mean step without the profiler. Measured, where the recording timed steps before it (the mean of the later \
         two thirds, without pauses; the device's, if that is longer). Else a heuristic: what recording costs is estimated \
         from the trace (a cost per event, scaled by how long operators take that do nothing) and taken out of the host's \
         time; then the run is replayed.";
    "unprofiled_step_low_ns", "At least" =>
        "Measured: two standard errors less. Else the same if recording cost 30% more than estimated; 100% if the trace \
         does not say how fast its host is.";
    "unprofiled_step_high_ns", "At most" =>
        "Measured: two standard errors more. Else the same if recording cost 30% less than estimated; 100% if the trace \
         does not say how fast its host is.";
};

const OWN_DEFINITIONS: &[Definition] = definitions! {
    "step_measured", "Measured" =>
        "Whether the step without the profiler was timed before the recording; else it is an estimate.";
    "steps", "Steps" => "How many steps the mean step is the mean of.";
};

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    if runs[0].kind() == DocumentKind::Profile {
        ask.refuse(&["step"], "a profile", "leave it out: a profile has no steps")?;
    }
    let asked = ask.part_of(&runs[0])?;
    let found = Arc::new(FindingList::of_run(&asked.run, ask)?);
    let part = Part::new("findings", found.shown.rows.clone(), |_| Table::default()).shown(false);
    let mut answer = Answer::new(vec![part])
        .fact("step_ns", &found.step_ns)
        .fact("unprofiled_step_ns", &found.unprofiled.step_ns)
        .fact("unprofiled_step_low_ns", &found.unprofiled.low_ns)
        .fact("unprofiled_step_high_ns", &found.unprofiled.high_ns)
        .fact("step_measured", &found.unprofiled.measured)
        .fact("step_text", &found.step_text)
        .fact("steps", &found.steps)
        .fact("unchecked_rules", &found.blind)
        .fact("worst", &found.worst);
    if found.shown.all == 0 {
        answer.next = match () {
            () if found.snapshot => snapshot_next(),
            () if found.plain => plain_next(),
            () => nothing_next(found.on_device),
        };
    }
    let (screen, explained, document, sarif) = (found.clone(), found.clone(), found.clone(), found);
    let thresholds = ask.thresholds.clone();
    answer.above = Some(Box::new(move |out, on| blocks::write(out, on, &screen, false)));
    answer.above_explained = Some(Box::new(move |out, on| blocks::write(out, on, &explained, true)));
    answer.document = Some(Box::new(move || markdown::document(&document)));
    answer.sarif = Some(Box::new(move || sarif::document(&sarif, &thresholds)));
    Ok(answer)
}

/// Where to look if no rule found anything.
pub(super) fn nothing_next(on_device: bool) -> Vec<Next> {
    vec![
        Next { question: "account", about: "every nanosecond, by cause" },
        Next { question: "what-if", about: "what would help most, by replay" },
        match on_device {
            true => Next { question: "roofline", about: "how close to what the device can do" },
            false => Next { question: "ops", about: "operators by time" },
        },
    ]
}

/// The same of a program without operators.
fn plain_next() -> Vec<Next> {
    vec![Next { question: "functions --sort cumulative", about: "functions with all that they call" }]
}

fn snapshot_next() -> Vec<Next> {
    vec![
        Next { question: "memory --by stack", about: "who held the peak, by stack" },
        Next { question: "memory --at peak --by category", about: "what the peak was for, a guess" },
    ]
}

/// The findings of a run and what they are measured against.
struct FindingList {
    shown: RowSelection<Finding>,
    /// The worst that matches the filter, shown or not.
    worst: Option<Severity>,
    whole: words::Whole,
    /// Whether it is a snapshot of memory, which has no times to save.
    snapshot: bool,
    /// Whether the program used neither operators nor devices.
    plain: bool,
    /// The mean step.
    step_ns: i64,
    unprofiled: Unprofiled,
    step_text: String,
    /// How many steps that is the mean of.
    steps: usize,
    path: String,
    on_device: bool,
    /// Rules that could not look.
    blind: Vec<UncheckedRules>,
}

impl FindingList {
    fn of_run(run: &Run, ask: &Ask) -> Result<FindingList, Problem> {
        let all = findings::findings(run, &ask.thresholds);
        let named: Vec<FilterRow> = all.into_iter().map(FilterRow::new).collect();
        let rows = RowOptions { top: Some(0), ..ask.rows.clone() };
        let matching = arrange(named, &rows, None, 0, |f| &f.name)?;
        let worst = matching.rows.iter().map(|f| f.finding.severity).max();
        let mut rows: Vec<Finding> = matching.rows.into_iter().map(|f| f.finding).collect();
        if let Some(top) = ask.rows.top.filter(|top| *top > 0) {
            rows.truncate(top);
        }
        Ok(FindingList {
            shown: RowSelection { rows, matched: matching.matched, all: matching.all },
            worst,
            whole: words::Whole::new(run),
            snapshot: run.snapshot().is_some(),
            plain: run.hot().is_some(),
            step_ns: run.whole_ns(),
            unprofiled: *run.unprofiled(),
            step_text: words::step_text(run),
            steps: run.steps().counted().count(),
            path: run.trace().meta().source.path.clone(),
            on_device: run.account().devices.iter().any(|row| row.device.is_some()),
            blind: findings::unchecked_rules(run),
        })
    }
}

/// A finding with what `--filter` looks at: its rule and its title.
#[derive(serde::Serialize)]
struct FilterRow {
    name: String,
    #[serde(skip)]
    finding: Finding,
}

impl FilterRow {
    fn new(finding: Finding) -> FilterRow {
        FilterRow { name: format!("{}: {}", finding.rule, finding.title), finding }
    }
}

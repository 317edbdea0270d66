//! What a rule looks at: a run, and the thresholds in force.

use std::cell::OnceCell;
use std::ops::Deref;

use stepscope_model::{Program, SliceId};

use super::warm_up::{self, WarmUp};
use super::{Amount, Confidence, Estimate, Evidence, Finding, Recorder, Severity, ShownSlice, Thresholds};
use crate::names::library_file::is_library_file;
use crate::replay::what_if::MAX_REPLAY_ERROR;
use crate::run::{AmountUnit, PythonTime, Run, Saving};

/// A smaller share reads as 0.0%.
pub const MIN_SHOWN_SHARE: f64 = 0.0005;

/// Fewer samples than this say too little about a program.
const MIN_SAMPLES: i64 = 50;

/// A run and the thresholds that findings in it are held against.
pub struct Context<'a> {
    run: &'a Run,
    thresholds: &'a Thresholds,
    warm_up: OnceCell<WarmUp>,
    python: OnceCell<Option<PythonTime<'a>>>,
}

impl Deref for Context<'_> {
    type Target = Run;

    fn deref(&self) -> &Run {
        self.run
    }
}

impl<'a> Context<'a> {
    pub fn new(run: &'a Run, thresholds: &'a Thresholds) -> Self {
        Context { run, thresholds, warm_up: OnceCell::new(), python: OnceCell::new() }
    }

    /// The thresholds in force.
    pub fn thresholds(&self) -> &Thresholds {
        self.thresholds
    }

    pub fn threshold(&self, name: &str) -> f64 {
        self.thresholds.get(name)
    }

    /// What made the recording: hints speak of it.
    pub(super) fn recorder(&self) -> Recorder {
        Recorder::of(self.trace().meta())
    }

    /// Compiling and loading of code inside the steps.
    pub(super) fn warm_up(&self) -> &WarmUp {
        self.warm_up.get_or_init(|| warm_up::find(self.run))
    }

    /// The functions of a program without operators; none where operators or devices say more.
    pub(super) fn python(&self) -> Option<&PythonTime<'a>> {
        let enough = |time: &PythonTime<'_>| time.unit == AmountUnit::Nanoseconds || time.whole >= MIN_SAMPLES;
        self.python.get_or_init(|| self.run.python_time().filter(enough)).as_ref()
    }

    /// A finding about a program without operators that takes this share of it and may at most be saved; none if that is
    /// too little to mention.
    pub(super) fn taking(&self, rule: &'static str, share: f64) -> Option<Finding> {
        let share = share.clamp(0.0, 1.0);
        let whole = self.whole_ns();
        Some(Finding {
            saves_ns: (whole > 0).then_some((share * whole as f64) as i64),
            saves_share: Some(share),
            estimate: Estimate::UpperBound,
            confidence: Confidence::Medium,
            ..blank(rule, self.severity(share)?)
        })
    }

    /// How many steps the means are over.
    pub fn counted_steps(&self) -> usize {
        self.steps().counted().count()
    }

    /// The severity of what a fix saves, as a share of the step without the profiler; none if it is too small to mention,
    /// and whatever the thresholds say, if it reads as nothing.
    pub fn severity(&self, share: f64) -> Option<Severity> {
        if share < MIN_SHOWN_SHARE {
            None
        } else if share >= self.threshold("severity.high") {
            Some(Severity::High)
        } else if share >= self.threshold("severity.medium") {
            Some(Severity::Medium)
        } else if share >= self.threshold("severity.low") {
            Some(Severity::Low)
        } else {
            None
        }
    }

    /// A finding whose severity follows from what it saves; none if that is too little to mention.
    pub fn costing(&self, rule: &'static str, saving: Saving, estimate: Estimate) -> Option<Finding> {
        // A replay that does not reproduce the run itself promises no more than a bound.
        let estimate = match estimate {
            Estimate::Replay | Estimate::Model if self.replay_error() > MAX_REPLAY_ERROR => {
                Estimate::UpperBound
            }
            estimate => estimate,
        };
        // Nothing saves more than there is.
        let saving = Saving {
            recorded_ns: saving.recorded_ns.min(self.step_ns()),
            unprofiled_ns: saving.unprofiled_ns.min(self.unprofiled().step_ns),
        };
        let share = |ns: i64, of: i64| ns as f64 / of.max(1) as f64;
        let unprofiled_share = share(saving.unprofiled_ns, self.unprofiled().step_ns);
        let severity = self.severity(unprofiled_share)?;
        Some(Finding {
            saves_ns: Some(saving.recorded_ns),
            saves_share: Some(share(saving.recorded_ns, self.step_ns())),
            saves_unprofiled_ns: Some(saving.unprofiled_ns),
            saves_unprofiled_share: Some(unprofiled_share),
            estimate,
            ..blank(rule, severity)
        })
    }

    /// Time that recording does not lengthen, saved.
    pub fn measured(&self, ns: i64) -> Saving {
        Saving { recorded_ns: ns, unprofiled_ns: ns }
    }

    /// A finding without a known cost.
    pub fn remark(&self, rule: &'static str) -> Finding {
        blank(rule, Severity::Info)
    }

    /// Slices as evidence: the longest few.
    pub fn shown(&self, slices: impl IntoIterator<Item = SliceId>) -> Vec<ShownSlice> {
        let columns = self.trace().slices();
        let mut all: Vec<SliceId> = slices.into_iter().collect();
        all.sort_by_key(|&id| (std::cmp::Reverse(columns.dur(id)), id));
        all.truncate(5);
        let shown = |slice| ShownSlice {
            name: self.trace().name(slice).to_owned(),
            start_ns: columns.start(slice).0,
            dur_ns: columns.dur(slice).0,
            slice,
        };
        all.into_iter().map(shown).collect()
    }

    /// JAX's profiler writes files without their folders: only those that compiled programs name are surely the user's.
    fn may_be_users(&self, frame: &str) -> bool {
        let trace = self.trace();
        if trace.meta().framework.is_none() {
            return true;
        }
        let file = frame.split('(').next().unwrap_or_default();
        let sources = trace.programs().iter().flat_map(Program::instructions).filter_map(|i| i.source);
        sources.map(|source| source.file.rsplit(['/', '\\']).next()).any(|name| name == Some(file))
    }

    /// The line of the user's program around a host slice: the innermost Python frame that is not a library's.
    pub fn source(&self, id: SliceId) -> Option<String> {
        let frames = self.python_stack(id);
        frames.into_iter().find(|frame| is_users(frame) && self.may_be_users(frame))
    }
}

/// Whether a Python frame (`train.py(12): step`) is the user's: not of the framework, nor of the standard library.
pub fn is_users(frame: &str) -> bool {
    let place = frame.split_once("): ").and_then(|(place, _)| place.rsplit_once('('));
    place.is_some_and(|(file, _)| !is_library_file(file))
}

fn blank(rule: &'static str, severity: Severity) -> Finding {
    Finding {
        rule,
        title: String::new(),
        severity,
        confidence: Confidence::High,
        saves_ns: None,
        saves_share: None,
        saves_unprofiled_ns: None,
        saves_unprofiled_share: None,
        estimate: Estimate::None,
        measured: None,
        measured_text: None,
        evidence: Vec::new(),
        why: String::new(),
        fix: String::new(),
        code: None,
        verify: String::new(),
        source: None,
        slices: Vec::new(),
        range_ns: None,
    }
}

impl Evidence {
    /// A number with its meaning.
    pub fn new(label: impl Into<String>, value: Amount, definition: &'static str) -> Evidence {
        Evidence { label: label.into(), value, definition }
    }
}

/// What a finding rests on: `label => amount, "what it means";`.
macro_rules! evidence {
    ($($label:expr => $amount:expr, $definition:expr;)*) => {
        vec![$($crate::findings::Evidence::new($label, $amount, $definition)),*]
    };
}

pub(crate) use evidence;

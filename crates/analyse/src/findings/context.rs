//! What the rules look at: every analysis, made once and only if asked for.

use std::cell::OnceCell;

use stepscope_model::{CallTree, Kind, Ns, SliceId, Trace};

use super::warm_up::{self, WarmUp};
use super::{Confidence, Estimate, Evidence, Figure, Finding, Severity, Shown, Thresholds};
use crate::causes::account::{self, Account};
use crate::causes::data_loading::{self, DataLoading};
use crate::causes::gaps::{self, GapsReport};
use crate::causes::idle::{Idle, idle};
use crate::causes::launches::{self, LaunchRow};
use crate::causes::transfers::{self, TransfersReport};
use crate::causes::waits::{self, Wait, WaitsReport};
use crate::devices::streams::{Stream, streams};
use crate::devices::utilization::{GpuReport, gpu};
use crate::memory;
use crate::names::comm::CommRule;
use crate::replay::{self, Replay, Scenario};
use crate::roofline::{NoCost, OpCosts, op_costs};
use crate::scope::selection::Selection;
use crate::steps::Steps;
use crate::steps::breakdown::{Breakdown, breakdown};
use crate::threads::callers::Callers;
use crate::threads::host_time::HostTime;

/// The trace and everything known about it.
pub struct Context<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its steps.
    pub steps: &'a Steps,
    thresholds: &'a Thresholds,
    /// What the steps launched.
    selection: Selection,
    host: HostTime,
    streams: Vec<Stream>,
    waits: Vec<Wait>,
    idle: OnceCell<Idle>,
    account: OnceCell<Account>,
    replay: OnceCell<Replay>,
    callers: OnceCell<Callers>,
    breakdown: OnceCell<Breakdown>,
    gpu: OnceCell<GpuReport>,
    loading: OnceCell<DataLoading>,
    launches: OnceCell<Vec<LaunchRow>>,
    transfers: OnceCell<TransfersReport>,
    memory: OnceCell<memory::Report>,
    wait_rows: OnceCell<WaitsReport>,
    costs: OnceCell<OpCosts>,
    warm_up: OnceCell<WarmUp>,
}

impl<'a> Context<'a> {
    /// Looks at a trace.
    pub fn new(trace: &'a Trace, steps: &'a Steps, thresholds: &'a Thresholds) -> Self {
        let streams = streams(trace);
        Context {
            trace,
            steps,
            thresholds,
            selection: steps.selected(),
            host: HostTime::new(trace),
            waits: waits::find(trace, &streams),
            streams,
            idle: OnceCell::new(),
            account: OnceCell::new(),
            replay: OnceCell::new(),
            callers: OnceCell::new(),
            breakdown: OnceCell::new(),
            gpu: OnceCell::new(),
            loading: OnceCell::new(),
            launches: OnceCell::new(),
            transfers: OnceCell::new(),
            memory: OnceCell::new(),
            wait_rows: OnceCell::new(),
            costs: OnceCell::new(),
            warm_up: OnceCell::new(),
        }
    }

    /// The limits in force.
    pub fn thresholds(&self) -> &Thresholds {
        self.thresholds
    }

    /// A limit by name.
    pub fn limit(&self, name: &str) -> f64 {
        self.thresholds.get(name)
    }

    /// What the host did.
    pub fn host(&self) -> &HostTime {
        &self.host
    }

    pub(crate) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Calls that wait for a device.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// The gaps of the devices.
    pub fn idle(&self) -> &Idle {
        self.idle.get_or_init(|| idle(self.trace, &self.host, &self.streams, &self.steps.windows()))
    }

    /// The gaps by kind and culprit, and the longest of them.
    pub fn gaps(&self, top: usize) -> GapsReport {
        gaps::report(self.trace, self.steps, &self.streams, self.idle(), self.callers(), top)
    }

    /// Where each device's time went.
    pub fn account(&self) -> &Account {
        self.account.get_or_init(|| account::of(self.trace, self.steps, &self.host, &self.streams, self.idle()))
    }

    /// The dependency graph.
    pub fn replay(&self) -> &Replay {
        self.replay
            .get_or_init(|| replay::build(self.trace, self.steps, &self.host, &self.streams, &self.waits))
    }

    /// The call tree of host threads, Python calls included.
    pub fn tree(&self) -> &CallTree {
        self.callers().tree()
    }

    pub(crate) fn callers(&self) -> &Callers {
        self.callers.get_or_init(|| Callers::new(self.trace))
    }

    /// What the program asked for when it made a call: the outermost operator around it, or the nearest range.
    pub fn asked_for(&self, call: SliceId) -> Option<SliceId> {
        self.callers().asked_for(self.trace, call)
    }

    /// The parts of the steps.
    pub fn breakdown(&self) -> &Breakdown {
        self.breakdown.get_or_init(|| breakdown(self.trace, self.steps, CommRule::default()))
    }

    /// How well each device was used.
    pub fn gpu(&self) -> &GpuReport {
        self.gpu.get_or_init(|| gpu(self.trace, self.steps))
    }

    /// Data loading, step by step.
    pub fn loading(&self) -> &DataLoading {
        self.loading.get_or_init(|| data_loading::of(self.trace, self.steps, &self.host, &self.streams))
    }

    /// Launches, device by device.
    pub fn launches(&self) -> &[LaunchRow] {
        self.launches.get_or_init(|| launches::report(self.trace, self.steps, &self.streams, self.idle()))
    }

    /// Copies between host and devices in the steps.
    pub fn transfers(&self) -> &TransfersReport {
        self.transfers.get_or_init(|| transfers::of(self.trace, &self.selection, &self.streams))
    }

    /// Memory, with every mark in the curves.
    pub fn memory(&self) -> &memory::Report {
        let options = memory::Options { frames: 0, curve_points: 0, ..memory::Options::default() };
        self.memory.get_or_init(|| memory::analyse(self.trace, &options))
    }

    /// Who waits, by place.
    pub fn wait_rows(&self) -> &WaitsReport {
        self.wait_rows.get_or_init(|| waits::report_with(self.trace, self.steps, &self.waits, self.callers()))
    }

    /// Compiling and loading of code inside the steps.
    pub(super) fn warm_up(&self) -> &WarmUp {
        self.warm_up.get_or_init(|| warm_up::find(self))
    }

    /// What operators of the steps cost at the least.
    pub fn costs(&self) -> &OpCosts {
        self.costs.get_or_init(|| op_costs(self.trace, &self.selection))
    }

    /// Device time of work that an operator of this recording launched.
    pub fn attributed_ns(&self) -> i64 {
        let costs = self.costs();
        let with = costs.ops.iter().map(|op| Ns(op.device_ns));
        let without = costs.without.iter().filter(|w| w.2 != NoCost::NoOperator);
        with.chain(without.map(|w| self.trace.slices().dur(w.0))).sum::<Ns>().0
    }

    /// How many steps the means are over.
    pub fn counted_steps(&self) -> usize {
        let all_partial = self.steps.steps.iter().all(|s| s.partial);
        self.steps.steps.iter().filter(|s| all_partial || !s.partial).count()
    }

    /// The mean step.
    pub fn step_ns(&self) -> i64 {
        let all_partial = self.steps.steps.iter().all(|s| s.partial);
        let counted = self.steps.steps.iter().filter(|s| all_partial || !s.partial);
        let sum: Ns = counted.map(|s| s.window().1 - s.window().0).sum();
        sum.0 / (self.counted_steps() as i64).max(1)
    }

    /// A sum over all steps as a part of one step's time, on average.
    pub fn per_step(&self, ns: i64) -> i64 {
        ns / (self.steps.steps.len() as i64).max(1)
    }

    /// What a change would save of a mean step, by replay; never below zero.
    pub fn saves(&self, scenario: &impl Scenario) -> i64 {
        let run = self.replay().run(scenario);
        run.measured_ns.saturating_sub(run.replayed_ns).max(0)
    }

    /// The device work that the steps launched, stream by stream.
    pub fn device_work(&self) -> impl Iterator<Item = SliceId> + '_ {
        let work = self.streams.iter().flat_map(|s| s.work.iter().map(|w| w.slice));
        work.filter(|&work| self.selection.contains(self.trace, work))
    }

    /// The operator that device work belongs to: by its id, else the innermost around the launching call.
    pub fn op_of(&self, work: SliceId) -> Option<SliceId> {
        let is_op = |id: &SliceId| self.trace.slices().kind(*id) == Kind::HostOp;
        let links = self.trace.links();
        links.op(work).filter(is_op).or_else(|| self.callers().op(links.launch(work)?))
    }

    /// The severity of a saving; none if it is too small to mention.
    pub fn severity(&self, saves_ns: i64) -> Option<Severity> {
        let share = saves_ns as f64 / self.step_ns().max(1) as f64;
        if share >= self.limit("severity.high") {
            Some(Severity::High)
        } else if share >= self.limit("severity.medium") {
            Some(Severity::Medium)
        } else if share >= self.limit("severity.low") {
            Some(Severity::Low)
        } else {
            None
        }
    }

    /// A finding whose severity follows from what it saves; none if that is too little to mention.
    pub fn costing(&self, rule: &'static str, saves_ns: i64, estimate: Estimate) -> Option<Finding> {
        let severity = self.severity(saves_ns)?;
        let share = saves_ns as f64 / self.step_ns().max(1) as f64;
        Some(Finding { saves_ns: Some(saves_ns), saves_share: Some(share), estimate, ..blank(rule, severity) })
    }

    /// A finding without a known cost.
    pub fn remark(&self, rule: &'static str) -> Finding {
        blank(rule, Severity::Info)
    }

    /// Slices as evidence: the longest few.
    pub fn shown(&self, slices: impl IntoIterator<Item = SliceId>) -> Vec<Shown> {
        let columns = self.trace.slices();
        let mut all: Vec<SliceId> = slices.into_iter().collect();
        all.sort_by_key(|&id| (std::cmp::Reverse(columns.dur(id)), id));
        all.truncate(5);
        let shown = |slice| Shown {
            name: self.trace.name(slice).to_owned(),
            start_ns: columns.start(slice).0,
            dur_ns: columns.dur(slice).0,
            slice,
        };
        all.into_iter().map(shown).collect()
    }

    /// The line of the user's program around a host slice: the innermost Python frame that is not a library's.
    pub fn source(&self, id: SliceId) -> Option<String> {
        let frames = self.callers().python_stack(self.trace, id);
        frames.into_iter().find(|frame| is_users(frame))
    }
}

/// Whether a Python frame (`train.py(12): step`) is the user's: not of the framework, nor of the standard library.
pub fn is_users(frame: &str) -> bool {
    const LIBRARIES: [&str; 9] = [
        "torch/",
        "site-packages/",
        "dist-packages/",
        "<built-in",
        "<string>",
        "threading.py",
        "contextlib.py",
        "nn.Module:",
        "lib/python",
    ];
    frame.contains(".py(") && !LIBRARIES.iter().any(|library| frame.contains(library))
}

fn blank(rule: &'static str, severity: Severity) -> Finding {
    Finding {
        rule,
        title: String::new(),
        severity,
        confidence: Confidence::High,
        saves_ns: None,
        saves_share: None,
        estimate: Estimate::None,
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
    /// A figure with its meaning.
    pub fn new(label: impl Into<String>, value: Figure, definition: &'static str) -> Evidence {
        Evidence { label: label.into(), value, definition }
    }
}

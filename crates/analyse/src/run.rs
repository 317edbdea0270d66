//! A trace with everything derived from it, each analysis made once and only if someone asks.
//!
//! The terminal, the server, Python and the rules of `findings` all ask the same [`Run`], from any thread; two that ask at
//! once wait for one computation. A run about some of the steps ([`Run::of_steps`]) shares what does not depend on them.
//!
//! Do not ask a run from inside a rayon task: a worker that waits for an analysis could be the one that must finish it.

mod bare;
mod hot;
mod numbers;
mod program_phases;
mod sampled;
mod savings;
mod snapshot;
mod verdict;

use std::sync::{Arc, OnceLock};

use stepscope_model::{
    CallTree, Document, DocumentKind, Kind, Ns, Profile, SliceId, Snapshot, Trace, TraceBuilder,
};

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
use crate::memory::history::History;
use crate::memory::places::Places;
use crate::names::comm::CommRule;
use crate::programs::ProgramWork;
use crate::replay::Replay;
use crate::replay::critical_path::CriticalPath;
use crate::replay::recording::Recording;
use crate::roofline::{Clocks, NoCost, OpCosts, Roofline, RooflineBy, RooflineQuery, op_costs_of, roofline_of};
use crate::scope::selection::Selection;
use crate::steps::Steps;
use crate::steps::breakdown::{Breakdown, breakdown};
use crate::tables::code::{Code, CodeBy, CodeQuery, code};
use crate::tables::collectives::{CollectivesReport, collectives};
use crate::tables::compiled::{Compiled, compiled};
use crate::tables::ops::{OpsQuery, OpsReport, ops};
use crate::tables::phases::phase::Phases;
use crate::tables::python_calls::python_calls;
use crate::tables::run_info;
use crate::threads::callers::Callers;
use crate::threads::host_time::HostTime;
use crate::threads::python_places::PythonPlaces;
use crate::threads::sampled::SampleLanes;
use crate::views::memory::MemoryView;
use crate::views::timeline::Timeline;

pub use hot::{Hot, Waits, hot};
pub use program_phases::DEFINITIONS as PHASE_DEFINITIONS;
pub use savings::{Saving, Unprofiled};

pub(crate) use crate::tables::collectives::CollectiveRow;
pub(crate) use crate::tables::functions::AmountUnit;
pub(crate) use crate::tables::phases::Phase;
pub(crate) use crate::tables::python_time::{FunctionsTotal, PythonTime, SampleFilter};

/// A trace and everything known about it.
pub struct Run {
    whole: Arc<SharedAnalyses>,
    steps: Steps,
    selection: Selection,
    cached: OfSteps,
}

/// What depends on the steps asked about, worked out when it is first asked for.
#[derive(Default)]
struct OfSteps {
    idle: OnceLock<Idle>,
    account: OnceLock<Account>,
    replay: OnceLock<Replay>,
    unprofiled: OnceLock<Unprofiled>,
    clocks: OnceLock<Clocks>,
    sampled: OnceLock<SampleLanes>,
    places: OnceLock<PythonPlaces>,
    path: OnceLock<CriticalPath>,
    breakdown: OnceLock<Breakdown>,
    gpu: OnceLock<GpuReport>,
    loading: OnceLock<DataLoading>,
    launches: OnceLock<Vec<LaunchRow>>,
    transfers: OnceLock<TransfersReport>,
    wait_rows: OnceLock<WaitsReport>,
    costs: OnceLock<OpCosts>,
    ops: OnceLock<OpsReport>,
    memory: OnceLock<memory::MemoryReport>,
}

/// What does not depend on the steps asked about.
struct SharedAnalyses {
    kind: DocumentKind,
    trace: Arc<Trace>,
    /// That of the file, or the Python functions of its trace.
    profile: OnceLock<Option<Arc<Profile>>>,
    snapshot: Option<(Snapshot, Vec<History>)>,
    cached: OfTrace,
}

/// What depends on the whole trace alone, worked out when it is first asked for.
#[derive(Default)]
struct OfTrace {
    memory_view: OnceLock<MemoryView>,
    places: OnceLock<Places>,
    hot: OnceLock<Option<Hot>>,
    steps: OnceLock<Steps>,
    host: OnceLock<HostTime>,
    streams: OnceLock<Vec<Stream>>,
    waits: OnceLock<Vec<Wait>>,
    callers: OnceLock<Callers>,
    timeline: OnceLock<Timeline>,
    marks: OnceLock<memory::MemoryReport>,
    recording: OnceLock<Arc<Recording>>,
    info: OnceLock<run_info::RunInfo>,
    programs: OnceLock<ProgramWork>,
}

impl Run {
    pub fn new(trace: impl Into<Arc<Trace>>) -> Run {
        Run::from_parts(DocumentKind::Trace, trace.into(), OnceLock::new(), None)
    }

    /// Whatever a file holds. Of a file without a timeline the trace is empty but for where it came from and what was
    /// noted about it.
    pub fn from_document(document: Document) -> Run {
        let kind = document.kind();
        let (source, notes, profile) = match document {
            Document::Trace(trace) => return Run::new(trace),
            Document::Profile(profile) => {
                (profile.source.clone(), profile.notes.clone(), Some(Arc::new(profile)))
            }
            Document::Snapshot(snapshot) => return Run::from_snapshot(snapshot),
        };
        let mut empty = TraceBuilder::new();
        empty.meta().source = source;
        *empty.notes() = notes;
        Run::from_parts(kind, Arc::new(empty.finish()), OnceLock::from(profile), None)
    }

    fn from_parts(
        kind: DocumentKind,
        trace: Arc<Trace>,
        profile: OnceLock<Option<Arc<Profile>>>,
        snapshot: Option<(Snapshot, Vec<History>)>,
    ) -> Run {
        let whole = Arc::new(SharedAnalyses { kind, trace, profile, snapshot, cached: OfTrace::default() });
        let steps = whole.steps().clone();
        Run::about(whole, steps)
    }

    /// The same trace, with these steps instead of its own.
    pub fn of_steps(&self, steps: Steps) -> Run {
        Run::about(self.whole.clone(), steps)
    }

    fn about(whole: Arc<SharedAnalyses>, steps: Steps) -> Run {
        Run { whole, selection: steps.selected(), steps, cached: OfSteps::default() }
    }

    pub fn kind(&self) -> DocumentKind {
        self.whole.kind
    }

    /// The file's profile, or the Python functions of its trace as one; none where there are none.
    pub fn profile(&self) -> Option<&Profile> {
        let make = || python_calls(self.trace()).map(Arc::new);
        self.whole.profile.get_or_init(make).as_deref()
    }

    pub fn trace(&self) -> &Trace {
        &self.whole.trace
    }

    /// The trace alone, without what was derived from it; a copy only if someone else holds it too.
    pub fn into_trace(self) -> Trace {
        let whole =
            Arc::try_unwrap(self.whole).map(|whole| whole.trace).unwrap_or_else(|whole| whole.trace.clone());
        Arc::unwrap_or_clone(whole)
    }

    /// The trace, to keep.
    pub fn shared_trace(&self) -> Arc<Trace> {
        self.whole.trace.clone()
    }

    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// All steps of the trace.
    pub fn all_steps(&self) -> &Steps {
        self.whole.steps()
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// What the file says about itself.
    pub fn info(&self) -> &run_info::RunInfo {
        self.whole.cached.info.get_or_init(|| run_info::analyze(self.trace()))
    }

    /// Which instructions of compiled programs work runs.
    pub(crate) fn programs(&self) -> &ProgramWork {
        self.whole.cached.programs.get_or_init(|| ProgramWork::new(self.trace()))
    }

    pub fn host(&self) -> &HostTime {
        self.whole.cached.host.get_or_init(|| HostTime::new(self.trace()))
    }

    pub(crate) fn streams(&self) -> &[Stream] {
        self.whole.cached.streams.get_or_init(|| streams(self.trace()))
    }

    /// Calls that wait for a device.
    pub fn waits(&self) -> &[Wait] {
        self.whole.cached.waits.get_or_init(|| waits::find(self.trace(), self.streams()))
    }

    /// The timeline of the whole trace.
    pub fn timeline(&self) -> &Timeline {
        self.whole.cached.timeline.get_or_init(|| Timeline::new(self.trace(), self.all_steps()))
    }

    pub(crate) fn callers(&self) -> &Callers {
        self.whole.cached.callers.get_or_init(|| Callers::new(self.trace()))
    }

    /// The call tree of host threads, Python calls included.
    pub fn tree(&self) -> &CallTree {
        self.callers().tree()
    }

    /// The gaps of the devices.
    pub fn idle(&self) -> &Idle {
        self.cached.idle.get_or_init(|| idle(self.trace(), self.host(), self.streams(), &self.steps.windows()))
    }

    /// The gaps by kind and culprit, and the longest of them; of one device or of all.
    pub fn gaps(&self, device: Option<i64>, top: usize) -> GapsReport {
        if device.is_some() {
            return gaps::gaps(self.trace(), &self.steps, device, top);
        }
        gaps::report(self.trace(), &self.steps, self.streams(), self.idle(), self.callers(), top)
    }

    /// Where each device's time went.
    pub fn account(&self) -> &Account {
        let make = || account::compute(self.trace(), &self.steps, self.host(), self.streams(), self.idle());
        self.cached.account.get_or_init(make)
    }

    /// What a program that used neither devices nor operators spends its time on, where its functions are known.
    pub fn hot(&self) -> Option<&Hot> {
        let make = || {
            let slices = self.trace().slices();
            let is_plain = self.streams().is_empty()
                && slices.kinds().iter().all(|kind| *kind != Kind::HostOp)
                && self.launching_calls() == 0;
            if is_plain { self.profile().and_then(hot) } else { None }
        };
        self.whole.cached.hot.get_or_init(make).as_ref()
    }

    /// The time of a program without operators, ready to be asked about functions.
    pub(crate) fn python_time(&self) -> Option<PythonTime<'_>> {
        self.hot().and(self.profile()).and_then(PythonTime::new)
    }

    /// What the savings of a run's findings are parts of: the mean step, or all of a profile, which has none. Of a profile
    /// without times it is 0.
    pub fn whole_ns(&self) -> i64 {
        match self.kind() {
            DocumentKind::Profile => self.profile_ns(),
            _ => self.step_ns(),
        }
    }

    fn profile_ns(&self) -> i64 {
        let time = self.python_time().filter(|time| time.unit == AmountUnit::Nanoseconds);
        let lines = || self.profile().map_or(0, longest_function_ns);
        time.map_or_else(lines, |time| time.whole)
    }

    /// The parts of the steps.
    pub fn breakdown(&self) -> &Breakdown {
        self.cached.breakdown.get_or_init(|| breakdown(self.trace(), &self.steps, CommRule::default()))
    }

    /// How well each device was used.
    pub fn gpu(&self) -> &GpuReport {
        self.cached.gpu.get_or_init(|| gpu(self.trace(), &self.steps))
    }

    /// Data loading, step by step.
    pub fn loading(&self) -> &DataLoading {
        let make = || data_loading::compute(self.trace(), &self.steps, self.host(), self.streams());
        self.cached.loading.get_or_init(make)
    }

    /// Launches, device by device.
    pub fn launches(&self) -> &[LaunchRow] {
        let make = || launches::report(self.trace(), &self.steps, self.streams(), self.idle());
        self.cached.launches.get_or_init(make)
    }

    /// Copies between host and devices in the steps.
    pub fn transfers(&self) -> &TransfersReport {
        let make = || transfers::compute(self.trace(), &self.selection, self.streams());
        self.cached.transfers.get_or_init(make)
    }

    pub fn wait_rows(&self) -> &WaitsReport {
        let make = || waits::report_with(self.trace(), &self.steps, self.waits(), self.callers());
        self.cached.wait_rows.get_or_init(make)
    }

    /// Operators as PyTorch counts them, by name.
    pub fn ops(&self) -> &OpsReport {
        self.cached
            .ops
            .get_or_init(|| ops(self.trace(), &OpsQuery { selection: self.narrowed(), ..OpsQuery::default() }))
    }

    /// Which phase of a step the host was in.
    pub(crate) fn phases(&self) -> Phases {
        Phases::new(self.trace(), self.host(), self.tree())
    }

    /// Memory of the steps, with curves as a screen draws them.
    pub fn memory(&self) -> &memory::MemoryReport {
        self.cached.memory.get_or_init(|| {
            memory::analyze(
                self.trace(),
                &memory::Options { selection: self.narrowed(), ..memory::Options::default() },
            )
        })
    }

    /// Memory over the whole trace, with every mark in the curves.
    pub fn memory_marks(&self) -> &memory::MemoryReport {
        let options = memory::Options { frames: 0, curve_points: 0, ..memory::Options::default() };
        self.whole.cached.marks.get_or_init(|| memory::analyze(self.trace(), &options))
    }

    /// What operators of the steps cost at the least.
    pub fn costs(&self) -> &OpCosts {
        self.cached.costs.get_or_init(|| op_costs_of(self.trace(), &self.selection, self.programs()))
    }

    /// How close operators come to what their devices can do.
    pub fn roofline(&self, by: RooflineBy) -> Roofline {
        let query = RooflineQuery { selection: self.selection.clone(), by };
        roofline_of(self.trace(), &query, self.costs())
    }

    /// The part of the trace that tables count: all of it, unless only some of the steps are meant. (Steps launch less
    /// than all where there is work before, between or after them.)
    pub fn narrowed(&self) -> Selection {
        match self.steps == *self.all_steps() {
            true => Selection::all(),
            false => self.selection.clone(),
        }
    }

    /// What the program asked for when it made a call: the outermost operator around it, or the nearest range.
    pub fn asked_for(&self, call: SliceId) -> Option<SliceId> {
        self.callers().asked_for(self.trace(), call)
    }

    /// Device time of work that an operator of this recording launched.
    pub fn attributed_ns(&self) -> i64 {
        let costs = self.costs();
        let with = costs.ops.iter().map(|op| Ns(op.device_ns));
        let without = costs.without.iter().filter(|w| w.2 != NoCost::NoOperator);
        with.chain(without.map(|w| self.trace().slices().dur(w.0))).sum::<Ns>().0
    }

    /// The mean step: of those that are not partial, or of all if all are.
    pub fn step_ns(&self) -> i64 {
        let sum: Ns = self.steps.counted().map(|s| s.window().1 - s.window().0).sum();
        sum.0 / (self.steps.counted().count() as i64).max(1)
    }

    /// A sum over all steps as a share of one step's time, on average.
    pub fn per_step(&self, ns: i64) -> i64 {
        ns / (self.steps.steps.len() as i64).max(1)
    }

    /// The device work that the steps launched, stream by stream.
    pub fn device_work(&self) -> impl Iterator<Item = SliceId> + '_ {
        let work = self.streams().iter().flat_map(|s| s.work.iter().map(|w| w.slice));
        work.filter(|&work| self.selection.contains(self.trace(), work))
    }

    /// Host time, waiting and device time by the program's functions, of a part of the trace.
    pub fn code(&self, by: CodeBy, selection: &Selection) -> Code {
        let slices = self.trace().slices();
        let in_steps = self.waits().iter().filter(|wait| self.steps.at(slices.start(wait.call)).is_some());
        let waits: Vec<(SliceId, i64)> = in_steps.map(|wait| (wait.call, wait.wait_ns)).collect();
        let windows = if self.steps.synthetic { Vec::new() } else { self.steps.windows() };
        let query = CodeQuery {
            by,
            selection,
            waits: &waits,
            main: self.host().main(),
            windows: &windows,
            wall_ns: self.steps.wall_ns(),
        };
        code(self.trace(), self.callers(), &query)
    }

    /// What ranks send each other.
    pub fn collectives(&self) -> CollectivesReport {
        collectives(self.trace(), &self.selection)
    }

    pub fn compiled(&self) -> Compiled {
        compiled(self.trace(), &self.steps, &self.selection)
    }

    /// The operator that device work belongs to: by its id, else the innermost around the launching call.
    pub fn op_of(&self, work: SliceId) -> Option<SliceId> {
        let is_op = |id: &SliceId| self.trace().slices().kind(*id) == Kind::HostOp;
        let links = self.trace().links();
        links.op(work).filter(is_op).or_else(|| self.callers().op(links.launch(work)?))
    }

    /// Python frames around a slice, innermost first; the first few.
    pub fn python_stack(&self, id: SliceId) -> Vec<String> {
        self.callers().python_stack(self.trace(), id)
    }
}

/// The longest of the functions whose lines were timed: others may be inside of it.
pub(crate) fn longest_function_ns(profile: &Profile) -> i64 {
    let sums = profile.lines.chunk_by(|a, b| a.function == b.function);
    sums.map(|of_function| of_function.iter().map(|line| line.ns.0).fold(0, i64::saturating_add))
        .max()
        .unwrap_or(0)
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("trace", &self.trace().meta().source.path).finish_non_exhaustive()
    }
}

impl SharedAnalyses {
    fn steps(&self) -> &Steps {
        self.cached.steps.get_or_init(|| Steps::find(&self.trace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_can_be_asked_from_any_thread() {
        fn shared<T: Send + Sync>() {}
        shared::<Run>();
    }
}

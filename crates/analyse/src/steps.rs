//! The steps of a run: where each begins and ends, on the host and with its device work.
//!
//! A step is what `torch.profiler`'s `step()` leaves behind, a host range named `ProfilerStep#N`. Devices
//! run behind the host, so on traces with device work a step lasts until the work it launched is done, and the
//! next one begins there. Programs of JAX and TensorFlow mark steps by `StepTraceAnnotation`, `Trace(step_num=…)` or
//! Keras's callback. Where none are marked, what the trace repeats is used instead (`found`). Any other trace without
//! steps is one step.

mod async_step_end;
pub mod breakdown;
mod found;
mod ranges;
pub mod samples;
pub mod serving;
mod step;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Domain, LaneId, Ns, Trace};

use crate::scope::definition::Definition;
use crate::scope::intervals::Intervals;
use crate::scope::selection::Selection;
use crate::statistics::pause_above;
use ranges::{host_steps, whole};

pub use found::{APART, FoundBy, FoundSteps};
pub use step::{Partial, Step, StepRule};

pub const STEP: Definition = Definition {
    field: "step",
    label: "Step",
    text: "The N of the host range ProfilerStep#N, or the step_num of a StepTraceAnnotation, a TensorFlow Trace or a \
           batch that Keras profiled. Where none are marked, iterations are found by what the trace repeats and counted \
           from 0. A heuristic: the first that fits of an optimizer's steps (each until its end), batches, runs of a \
           compiled function, a serving engine's ranges, a named range, calls of the outermost module, runs of a compiled \
           program on its device, launches of a captured graph, and a kernel of a model's beginning or end; each until \
           the next begins. Any other trace counts as one step, number -1, from the start of its first host or device \
           slice to the end of its last.",
};

/// When a step begins.
pub const START: Definition = Definition {
    field: "start_ns",
    label: "Start",
    text: "When the step begins, counted from the trace's first event: where its host range begins, or where \
           the step before it ended if that is later. For the first step, device work that no step launched \
           and that ended before the step's own device work began counts as the step before.",
};

/// How long a step takes.
pub const WALL: Definition = Definition {
    field: "wall_ns",
    label: "Wall",
    text: "End minus start. A step ends with its host range or with the last kernel, copy or memset launched \
           from inside that range (the launching call starts in it), whichever is later. In a total, the sum \
           over the steps that it counts. Where JAX computes on the host, with the last instruction of the compiled \
           functions that were called in it, by the order of calls and runs.",
};

/// Whether a step is whole.
pub const PARTIAL: Definition = Definition {
    field: "partial",
    label: "Partial",
    text: "Whether the recording probably lacks device work of this step: it and all steps after it launched \
           none while earlier ones did, or it is the last that did and launched under 80% as many device \
           slices as the step before, or its host range goes on after the recording had ended (the step is \
           cut there), or it is the last and the recorder says that the program ended in it; or whether it is a \
           pause, such as a validation: among iterations that stepscope run chose, a few that take more than \
           three times as long as the usual one. Partial steps are shown but not averaged; the TensorBoard plugin \
           drops those that are cut.",
};

/// What `stepscope run` says about the iterations that it recorded.
pub const ITERATIONS: &str = "stepscope_iterations";

/// What the numbers of a step mean.
pub const DEFINITIONS: &[Definition] = &[STEP, START, WALL, PARTIAL];

/// The steps of a trace, in order of time. Their windows do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Steps {
    pub steps: Vec<Step>,
    /// Whether the trace has none and the one here is all of it.
    pub synthetic: bool,
    /// How they were found, where the trace marks none.
    pub found: Option<FoundSteps>,
    /// The rule they were found by.
    pub rule: StepRule,
    /// Steps at the end that the rule dropped.
    pub dropped: u64,
    /// Step ranges on host threads other than the one followed (the one with the most).
    pub on_other_threads: u64,
    /// Kernels, copies and memsets that no step launched.
    pub device_slices_outside: u64,
    /// Where runs that steps handed to other threads of the host end: the step's position, the thread and the moment.
    #[serde(skip)]
    pub(crate) runs_end: Vec<(usize, LaneId, Ns)>,
    /// Whether they are bounded by a device's work alone: which calls launched it is not recorded.
    #[serde(skip)]
    pub(crate) on_device: bool,
}

impl Steps {
    pub fn find(trace: &Trace) -> Steps {
        Steps::find_by(trace, StepRule::All)
    }

    pub fn find_by(trace: &Trace, rule: StepRule) -> Steps {
        let (steps, on_other_threads) = host_steps(trace);
        let mut found = Steps { steps, on_other_threads, ..Steps::default() };
        if found.steps.is_empty() && rule == StepRule::All {
            found = found::find(trace).unwrap_or_default();
        }
        found.rule = rule;
        found.synthetic = found.steps.is_empty();
        if found.synthetic {
            found.steps.extend(whole(trace, rule));
        }
        let device_ns = found.extend_to_device(trace);
        found::settle(&mut found, &device_ns, trace);
        found.flag_partial(trace);
        if rule == StepRule::TensorBoard {
            let complete = found.steps.iter().filter(|s| !s.partial).count();
            found.dropped = (found.steps.len() - complete) as u64;
            found.steps.truncate(complete);
        }
        found
    }

    /// The windows of the steps, sorted and without overlap.
    pub fn windows(&self) -> Vec<(Ns, Ns)> {
        self.steps.iter().map(Step::window).collect()
    }

    /// The steps that means are over: those that are not partial, or all if all are.
    pub fn counted(&self) -> impl Iterator<Item = &Step> {
        let all_partial = self.steps.iter().all(|s| s.partial);
        self.steps.iter().filter(move |s| all_partial || !s.partial)
    }

    pub fn wall_ns(&self) -> i64 {
        self.windows().iter().map(|w| w.1 - w.0).sum::<Ns>().0
    }

    /// The position of the step whose window holds a moment.
    pub fn at(&self, at: Ns) -> Option<usize> {
        let step = self.steps.partition_point(|s| Ns(s.start_ns) <= at).checked_sub(1)?;
        (at < Ns(self.steps[step].end_ns)).then_some(step)
    }

    /// From the start of the first step to the end of the last.
    pub fn window(&self) -> Option<(Ns, Ns)> {
        Some((self.steps.first()?.window().0, self.steps.last()?.window().1))
    }

    /// What the steps of these numbers launched. Numbers that are not a step's select nothing; see
    /// [`Steps::unknown`]. The one step of a trace without steps is everything.
    pub fn selection(&self, numbers: &[i64]) -> Selection {
        let numbers: HashSet<i64, RandomState> = numbers.iter().copied().collect();
        let chosen = self.steps.iter().filter(|s| numbers.contains(&s.step));
        let ranges: Vec<_> = chosen.map(|s| (Ns(s.host_start_ns), Ns(s.host_end_ns))).collect();
        if self.synthetic && !ranges.is_empty() {
            return Selection::all();
        }
        // Ranges that overlap would hide each other from the selection's search.
        Selection { ranges: Some(Intervals::union(ranges).as_slice().to_vec()), device: None }
    }

    /// What these steps launched; everything if they stand for a whole trace.
    pub fn selected(&self) -> Selection {
        self.selection(&self.steps.iter().map(|s| s.step).collect::<Vec<_>>())
    }

    /// Those of the numbers that no step has.
    pub fn unknown(&self, numbers: &[i64]) -> Vec<i64> {
        let known: HashSet<i64, RandomState> = self.steps.iter().map(|s| s.step).collect();
        numbers.iter().copied().filter(|n| !known.contains(n)).collect()
    }

    /// Moves each step's end behind the device work it launched, and each start behind the step before. Returns how long
    /// devices worked for each.
    fn extend_to_device(&mut self, trace: &Trace) -> Vec<Ns> {
        let launched = self.launched(trace);
        for run in async_step_end::runs(trace) {
            if let Some(step) = self.launched_in(run.call.0, run.call.1).filter(|_| !self.synthetic) {
                self.runs_end.push((step, run.end.0, run.end.1));
            }
        }
        let mut runs = vec![Ns::MIN; self.steps.len()];
        for &(step, _, end) in &self.runs_end {
            runs[step] = runs[step].max(end);
        }
        let mut previous_end = launched.before_first;
        for ((step, device), runs) in self.steps.iter_mut().zip(&launched.per_step).zip(runs) {
            let start = previous_end.max(Ns(step.host_start_ns));
            let end = Ns(step.host_end_ns).max(device.last_end).max(runs).max(start);
            (step.start_ns, step.end_ns) = (start.0, end.0);
            step.device_slices = device.slices;
            previous_end = end;
        }
        self.device_slices_outside = launched.outside;
        launched.per_step.iter().map(|step| step.busy).collect()
    }

    fn launched(&self, trace: &Trace) -> LaunchedWork {
        let slices = trace.slices();
        let mut per_step = vec![StepDeviceWork::default(); self.steps.len()];
        let mut outside = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain != Domain::Device {
                continue;
            }
            for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
                let launch = if self.on_device { Some(id) } else { trace.links().launch(id) };
                let step = launch.and_then(|l| self.launched_in(slices.start(l), slices.end(l)));
                let (start, end) = (slices.start(id), slices.end(id));
                match step.and_then(|s| per_step.get_mut(s)) {
                    None => outside.push(end),
                    Some(of) => {
                        of.slices += 1;
                        of.busy += end - start;
                        of.first_start = of.first_start.min(start);
                        of.last_end = of.last_end.max(end);
                    }
                }
            }
        }
        let first_start = per_step.first().filter(|s| s.slices > 0).map_or(Ns::MIN, |s| s.first_start);
        let before_first = outside.iter().copied().filter(|&end| end < first_start).max().unwrap_or(Ns::MIN);
        LaunchedWork { per_step, before_first, outside: outside.len() as u64 }
    }

    fn launched_in(&self, start: Ns, end: Ns) -> Option<usize> {
        match self.rule {
            StepRule::All => {
                let after = self.steps.partition_point(|s| Ns(s.host_start_ns) <= start);
                let step = after.checked_sub(1)?;
                // The range of a whole trace is closed: a call without length may stand at its very end.
                (start < Ns(self.steps[step].host_end_ns) || self.synthetic).then_some(step)
            }
            StepRule::TensorBoard => {
                let step = self.steps.partition_point(|s| Ns(s.host_end_ns) < end);
                (step < self.steps.len() && Ns(self.steps[step].host_start_ns) <= start).then_some(step)
            }
        }
    }

    /// Flags the steps that averages leave out: those at the end that the recording seems to have cut, and pauses.
    fn flag_partial(&mut self, trace: &Trace) {
        self.flag_little_work();
        if self.rule == StepRule::All && trace.meta().extra(ITERATIONS).is_some() {
            self.flag_pauses();
        }
        for step in &mut self.steps {
            step.partial = step.partial_reason.is_some();
        }
    }

    fn flag_pauses(&mut self) {
        let length = |step: &Step| step.end_ns.saturating_sub(step.start_ns) as f64;
        let whole = self.steps.iter().filter(|step| step.partial_reason.is_none());
        let longest = pause_above(&whole.map(length).collect::<Vec<f64>>());
        for step in self.steps.iter_mut().filter(|step| step.partial_reason.is_none() && length(step) > longest)
        {
            step.partial_reason = Some(Partial::Pause);
        }
    }

    fn flag_little_work(&mut self) {
        let Some(last_with) = self.steps.iter().rposition(|s| s.device_slices > 0) else { return };
        for step in &mut self.steps[last_with + 1..] {
            step.partial_reason = Some(Partial::NoDeviceWork);
        }
        if let Some(before) = last_with.checked_sub(1).map(|b| self.steps[b].device_slices)
            && before as f64 * 0.8 > self.steps[last_with].device_slices as f64
        {
            self.steps[last_with].partial_reason = Some(Partial::LittleDeviceWork);
        }
    }
}

/// Device work launched by one step.
#[derive(Clone)]
struct StepDeviceWork {
    slices: u64,
    busy: Ns,
    first_start: Ns,
    last_end: Ns,
}

impl Default for StepDeviceWork {
    fn default() -> Self {
        StepDeviceWork { slices: 0, busy: Ns::ZERO, first_start: Ns::MAX, last_end: Ns::MIN }
    }
}

struct LaunchedWork {
    per_step: Vec<StepDeviceWork>,
    /// The last end of device work that no step launched and that was over before the first step's began.
    before_first: Ns,
    outside: u64,
}

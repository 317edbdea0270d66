//! XProf's step time: every moment of a step belongs to the most important thing that happened in it.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Ns, SliceId, Trace};

use super::groups::{Groups, device_slices, groups};
use super::op_name::{self, Sort};
use super::recorded_name::recorded_name;
use super::saturating::{add, sum};
use crate::scope::share::share;

/// With more steps than that, XProf leaves out the first and the last.
const MAX_WITH_ENDS: usize = 5;
/// From these shares of the time of all steps on, input is said to be the problem.
const HIGHLY_BOUND_SHARE: f64 = 0.20;
const MODERATELY_BOUND_SHARE: f64 = 0.05;
/// From this share of other time on it may be.
const POTENTIALLY_BOUND_SHARE: f64 = 0.03;

/// What a moment is spent on. The later ones win.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MomentClass {
    Nothing,
    HostCompute,
    HostToHost,
    HostToDevice,
    KernelLaunch,
    Collective,
    WaitForInput,
    DeviceToDevice,
    DeviceToHost,
    Compute32,
    Compute16,
}

const SPENT_KINDS: usize = MomentClass::Compute16 as usize + 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct XprofStepRow {
    pub step: String,
    pub time_ns: i64,
    /// None of the others.
    pub all_others_ns: i64,
    /// Compiling on the host.
    pub compilation_ns: i64,
    /// Copies from the device.
    pub output_ns: i64,
    /// Waiting for input, and copies to the device.
    pub input_ns: i64,
    pub kernel_launch_ns: i64,
    /// Other work of the host.
    pub host_compute_ns: i64,
    pub device_collectives_ns: i64,
    /// Copies between devices and within one.
    pub device_to_device_ns: i64,
    /// Kernels whose names do not say that they use 16 bits.
    pub device_compute_32_ns: i64,
    /// Kernels whose names say so.
    pub device_compute_16_ns: i64,
}

/// How far input is the problem.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputBound {
    /// At least 20% of the time.
    Highly,
    /// At least 5%.
    Moderately,
    /// Less, but at least 3% is other time.
    Potentially,
    Not,
    /// There are no steps.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct XprofSummary {
    pub steps: u64,
    /// How many were left out at the ends.
    pub left_out: u64,
    /// The mean of their lengths.
    pub mean_ns: f64,
    /// The standard deviation of their lengths.
    pub sd_ns: f64,
    pub min_ns: i64,
    pub max_ns: i64,
    /// The share of input.
    pub input_share: f64,
    /// The share of other time.
    pub all_others_share: f64,
    /// The share of compute that is 16-bit.
    pub compute_16_share: f64,
    pub input_bound: InputBound,
}

#[derive(Clone, Debug)]
pub struct XprofSteps {
    /// The steps that count.
    pub rows: Vec<XprofStepRow>,
    /// From where to where each lasts.
    pub spans: Vec<(Ns, Ns)>,
    pub summary: XprofSummary,
}

/// What is known of a group's time.
#[derive(Clone, Default)]
struct Step {
    name: Option<String>,
    /// The longest event that marks the step.
    span: Option<(Ns, Ns)>,
    events: Vec<(Ns, Ns, MomentClass)>,
}

impl Step {
    fn mark(&mut self, start: Ns, end: Ns) {
        if self.span.is_none_or(|(from, to)| end - start > to - from) {
            self.span = Some((start, end));
        }
    }
}

/// Divides the steps of a trace as XProf does.
pub fn steps(trace: &Trace) -> XprofSteps {
    let groups = groups(trace);
    let mut steps = vec![Step::default(); groups.groups.len()];
    let devices = device_slices(trace);
    let has_device = !devices.is_empty();
    if has_device {
        for work in devices {
            of_device(trace, &groups, &work, &mut steps);
        }
    } else {
        of_host(trace, &groups, &mut steps);
    }
    let mut rows: Vec<(XprofStepRow, (Ns, Ns))> = Vec::new();
    let (mut compute_32, mut compute_16) = (0, 0);
    for (number, step) in steps.iter_mut().enumerate() {
        let Some(span) = step.span.filter(|(start, end)| end > start) else { continue };
        let (times, seen) = divided(&mut step.events, span);
        add(&mut compute_32, times[MomentClass::Compute32 as usize]);
        add(&mut compute_16, times[MomentClass::Compute16 as usize]);
        let counts = match has_device {
            true => seen[MomentClass::Compute32 as usize] || seen[MomentClass::Compute16 as usize],
            false => seen[MomentClass::HostCompute as usize],
        };
        if counts {
            rows.push((row(step.name.take().unwrap_or_else(|| number.to_string()), span, &times), span));
        }
    }
    let mut left_out = 0;
    if rows.len() > MAX_WITH_ENDS {
        rows.pop();
        rows.remove(0);
        left_out = 2;
    }
    let compute_16_share = share(compute_16, compute_32.saturating_add(compute_16));
    let (rows, spans): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let summary = XprofSummary { left_out, compute_16_share, ..summary(&rows) };
    XprofSteps { rows, spans, summary }
}

fn summary(rows: &[XprofStepRow]) -> XprofSummary {
    let total = sum(rows.iter().map(|row| row.time_ns));
    let input_share = share(sum(rows.iter().map(|row| row.input_ns)), total);
    let all_others_share = share(sum(rows.iter().map(|row| row.all_others_ns)), total);
    let mean_ns = if rows.is_empty() { 0.0 } else { total as f64 / rows.len() as f64 };
    let squares: f64 = rows.iter().map(|row| (row.time_ns as f64 - mean_ns).powi(2)).sum();
    XprofSummary {
        steps: rows.len() as u64,
        left_out: 0,
        mean_ns,
        sd_ns: if rows.len() > 1 { (squares / (rows.len() - 1) as f64).sqrt() } else { 0.0 },
        min_ns: rows.iter().map(|row| row.time_ns).min().unwrap_or(0),
        max_ns: rows.iter().map(|row| row.time_ns).max().unwrap_or(0),
        input_share,
        all_others_share,
        compute_16_share: 0.0,
        input_bound: match (input_share, all_others_share) {
            _ if total == 0 => InputBound::Unknown,
            (input, _) if input >= HIGHLY_BOUND_SHARE => InputBound::Highly,
            (input, _) if input >= MODERATELY_BOUND_SHARE => InputBound::Moderately,
            (_, other) if other >= POTENTIALLY_BOUND_SHARE => InputBound::Potentially,
            _ => InputBound::Not,
        },
    }
}

fn row(step: String, (start, end): (Ns, Ns), times: &[i64; SPENT_KINDS]) -> XprofStepRow {
    let of = |spent: MomentClass| times[spent as usize];
    XprofStepRow {
        step,
        time_ns: (end - start).0,
        all_others_ns: of(MomentClass::Nothing),
        // No event of a profile's is compilation to XProf, whatever it is called.
        compilation_ns: 0,
        output_ns: of(MomentClass::DeviceToHost),
        input_ns: of(MomentClass::WaitForInput).saturating_add(of(MomentClass::HostToDevice)),
        kernel_launch_ns: of(MomentClass::KernelLaunch),
        host_compute_ns: of(MomentClass::HostCompute),
        device_collectives_ns: of(MomentClass::Collective),
        device_to_device_ns: of(MomentClass::DeviceToDevice),
        device_compute_32_ns: of(MomentClass::Compute32),
        device_compute_16_ns: of(MomentClass::Compute16),
    }
}

/// With a device, its events alone make up the steps.
fn of_device(trace: &Trace, groups: &Groups, work: &[SliceId], steps: &mut [Step]) {
    let slices = trace.slices();
    // What follows on another of its group without one of another group between is one mark.
    let mut last: Option<(usize, Ns, Ns)> = None;
    for &id in work {
        let Some(group) = groups.group_of(id) else { continue };
        let (start, end) = (slices.start(id), slices.end(id));
        let run = match last {
            Some((before, from, to)) if before == group => (group, from, to.max(end)),
            _ => (group, start, end),
        };
        steps[group].mark(run.1, run.2);
        last = Some(run);
        if trace.args(id).int(Attr::Correlation).is_some_and(|correlation| correlation >= 0) {
            steps[group].events.push((start, end, on_device(&recorded_name(trace, id))));
        }
    }
}

fn on_device(name: &str) -> MomentClass {
    let copy = op_name::parse(name).filter(|op| op.sort == Sort::Copy).map(|op| op.kind);
    match copy {
        Some("MemcpyHToD") => MomentClass::HostToDevice,
        Some("MemcpyDToH") => MomentClass::DeviceToHost,
        Some("MemcpyDToD") => MomentClass::DeviceToDevice,
        _ if name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("nccl")) => MomentClass::Collective,
        _ if name.contains("half") || name.contains("fp16") => MomentClass::Compute16,
        _ => MomentClass::Compute32,
    }
}

fn of_host(trace: &Trace, groups: &Groups, steps: &mut [Step]) {
    let slices = trace.slices();
    for &(group, at) in &groups.marks {
        steps[group].events.push((at, at, MomentClass::HostCompute));
    }
    for (lane, _) in trace.lanes().iter() {
        // Ends of the stages of an input pipeline that are open.
        let mut stages: Vec<Ns> = Vec::new();
        for id in slices.of_lane(lane) {
            let (start, end) = (slices.start(id), slices.end(id));
            while stages.last().is_some_and(|&stage| stage < end) {
                stages.pop();
            }
            let is_stage = trace.args(id).text(Attr::InputStage).is_some_and(|stage| !stage.is_empty());
            let is_first_stage = is_stage && stages.is_empty();
            if is_stage {
                stages.push(end);
            }
            let Some(group) = groups.group_of(id) else { continue };
            let name = recorded_name(trace, id);
            let known = &groups.groups[group];
            let is_root = known.is_marked && known.root == id;
            if is_root {
                steps[group].name = Some(known.name.clone());
            }
            if is_marker(&name) || is_root {
                steps[group].mark(start, end);
            } else if is_compute(&name) {
                steps[group].events.push((start, end, on_host(&name, is_first_stage)));
            }
        }
    }
}

/// What XProf takes for a step by its name.
fn is_marker(name: &str) -> bool {
    ["train", "test", "TraceContext"].iter().any(|start| name.starts_with(start)) && !name.contains('/')
}

fn is_compute(name: &str) -> bool {
    let runtime = ["EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun"];
    !runtime.iter().any(|start| name.starts_with(start))
}

fn on_host(name: &str, is_first_stage: bool) -> MomentClass {
    const NEXT: &str = "IteratorGetNext";
    let op = op_name::parse(name);
    match op.map(|op| op.kind) {
        Some("MemcpyHToD") => MomentClass::HostToDevice,
        Some(kind) if kind.starts_with("InfeedEnqueue") => MomentClass::HostToDevice,
        Some("MemcpyHToH") => MomentClass::HostToHost,
        _ if name.get(..NEXT.len()).is_some_and(|start| start.eq_ignore_ascii_case(NEXT)) || is_first_stage => {
            MomentClass::WaitForInput
        }
        _ => MomentClass::HostCompute,
    }
}

/// The time of a step by what it is spent on, and what is seen at all, however short.
///
/// XProf lets events end before others start at the same moment, so that an event without length ends before it starts: from
/// there on, until another event of its sort ends, time counts as spent on it. On CPUs that hides waiting.
fn divided(
    events: &mut Vec<(Ns, Ns, MomentClass)>,
    (from, to): (Ns, Ns),
) -> ([i64; SPENT_KINDS], [bool; SPENT_KINDS]) {
    let mut edges: Vec<(Ns, bool, MomentClass)> = Vec::with_capacity(events.len() * 2);
    for (start, end, spent) in events.drain(..) {
        edges.push((start, true, spent));
        edges.push((end, false, spent));
    }
    // Of what happens at one moment, the more important comes first.
    edges.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.cmp(&a.2)));
    let (mut times, mut seen, mut open) = ([0i64; SPENT_KINDS], [false; SPENT_KINDS], [0i64; SPENT_KINDS]);
    let mut most = 0;
    for (at, &(moment, starts, spent)) in edges.iter().enumerate() {
        let spent = spent as usize;
        if starts {
            open[spent] += 1;
            most = most.max(spent);
        } else {
            open[spent] -= 1;
            if spent == most && open[spent] == 0 {
                most = (0..spent).rev().find(|&less| open[less] > 0).unwrap_or(0);
            }
        }
        let Some(next) = edges.get(at + 1) else { break };
        seen[most] = true;
        add(&mut times[most], (next.0.min(to) - moment.max(from)).0.max(0));
    }
    let known = sum(times[1..].iter().copied());
    times[0] = (to - from).0.saturating_sub(known).max(0);
    (times, seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_important_wins_and_what_is_left_is_other_time() {
        let mut events = vec![
            (Ns(0), Ns(50), MomentClass::HostCompute),
            (Ns(20), Ns(30), MomentClass::WaitForInput),
            (Ns(25), Ns(60), MomentClass::Compute32),
            (Ns(90), Ns(200), MomentClass::HostCompute),
        ];
        let (times, seen) = divided(&mut events, (Ns(10), Ns(100)));
        // 10 to 20 and 90 to 100; 20 to 25; 25 to 60; 60 to 90.
        assert_eq!(times[MomentClass::HostCompute as usize], 20);
        assert_eq!(times[MomentClass::WaitForInput as usize], 5);
        assert_eq!(times[MomentClass::Compute32 as usize], 35);
        assert_eq!(times[MomentClass::Nothing as usize], 30);
        assert!(seen[MomentClass::Compute32 as usize] && !seen[MomentClass::Compute16 as usize]);
    }

    #[test]
    fn an_event_without_length_lasts_until_another_one_ends() {
        let work = |start, end| (Ns(start), Ns(end), MomentClass::HostCompute);
        let host = |mut events| divided(&mut events, (Ns(0), Ns(100))).0[MomentClass::HostCompute as usize];
        assert_eq!(host(vec![work(10, 20), work(60, 70)]), 20);
        // From 30 on, to 70.
        assert_eq!(host(vec![work(10, 20), work(30, 30), work(60, 70)]), 50);
        // Inside of another one it changes nothing.
        assert_eq!(host(vec![work(10, 20), work(15, 15), work(60, 70)]), 20);
    }

    #[test]
    fn kernels_are_told_by_their_names() {
        assert_eq!(on_device("MemcpyDtoH"), MomentClass::DeviceToHost);
        assert_eq!(on_device("MemcpyD2H"), MomentClass::Compute32);
        assert_eq!(on_device("ncclDevKernel_AllReduce"), MomentClass::Collective);
        assert_eq!(on_device("gemm_fp16_nn"), MomentClass::Compute16);
        assert_eq!(on_device("gemm_bf16_nn"), MomentClass::Compute32);
        assert_eq!(on_host("IteratorGetNext:IteratorGetNext", false), MomentClass::WaitForInput);
        assert_eq!(on_host("mlp/matmul:MatMul", false), MomentClass::HostCompute);
    }

    #[test]
    fn verdicts_follow_the_thresholds() {
        let of = |input_ns, all_others_ns| {
            let row = XprofStepRow { time_ns: 1000, input_ns, all_others_ns, ..XprofStepRow::default() };
            summary(&[row]).input_bound
        };
        assert_eq!(of(200, 0), InputBound::Highly);
        assert_eq!(of(199, 500), InputBound::Moderately);
        assert_eq!(of(49, 30), InputBound::Potentially);
        assert_eq!(of(49, 29), InputBound::Not);
        assert_eq!(summary(&[]).input_bound, InputBound::Unknown);
    }
}

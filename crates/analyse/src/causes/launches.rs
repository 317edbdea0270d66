//! Launches: how long work takes to get to the device, how full its queue is, and whether the host keeps up.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, SliceId, Tag, Trace};

use crate::causes::cause::Cause;
use crate::causes::idle::Idle;
use crate::devices::streams::{Stream, launch_latency, streams};
use crate::scope::definition::{Definition, definitions};
use crate::scope::quantile::quantile;
use crate::steps::Steps;

/// What the numbers of a device's launches mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "launches", "Launches" =>
        "Kernels, copies and memsets whose launching call was recorded. This number and all below except launch-bound \
         count the whole trace.";
    "delay_p50_ns", "Delay, median" =>
        "The median time from the start of the launching call to the start of the work. Long delays are not a problem: they \
         mean that the queue is full and the device has enough to do.";
    "delay_p95_ns", "Delay, 95th percentile" =>
        "The time from the start of the launching call to the start of the work that 95% of the launches do not exceed.";
    "delay_max_ns", "Delay, longest" => "The longest time from the start of a launching call to the start of its work.";
    "latency_ns", "Latency" =>
        "The lower quartile of the delay of work whose stream was empty when it was launched: what a launch takes to \
         arrive if nothing holds it up.";
    "call_p50_ns", "Launching call, median" =>
        "The median duration of the launching calls on the host. A call that launches several pieces of work, such as a \
         CUDA graph, counts once.";
    "calls_ns", "Launching calls in total" =>
        "The summed duration of the launching calls on the host. A call that launches several pieces of work, such as a \
         CUDA graph, counts once.";
    "kernels", "Kernels" => "How many kernels ran on the device, whether or not their launch was recorded.";
    "kernel_p50_ns", "Kernel, median" => "The median duration of these kernels on the device.";
    "short_kernels", "Short kernels" =>
        "Kernels that ran for less time than their launching call took on the host; the call of a CUDA graph is shared \
         among its kernels. Many of them in a row cannot keep a device busy, however fast it is.";
    "short_kernels_ns", "Short kernels in total" => "The summed duration of the short kernels on the device.";
    "queue_mean", "Queue" =>
        "Work launched but not started, on all streams of the device, averaged over time from the first launch to the last \
         start. Near zero, the device waits for the host.";
    "queue_max", "Longest queue" =>
        "The most work that was launched but not started at any moment, on all streams of the device.";
    "dry_share", "Dry" =>
        "The share of launches that found their stream empty: all earlier work on it had ended when the launching call \
         began.";
    "launch_bound_share", "Launch-bound" =>
        "The share of the steps' time in which the device was idle because the host was in operators, Python, launch calls \
         or other runtime calls, or the launch was on its way. CUDA graphs, compilation or larger batches remove it.";
};

/// What the numbers of a queue over time mean.
pub const QUEUE_DEFINITIONS: &[Definition] = definitions! {
    "at_ns", "At" => "When the queue changed, counted from the trace's first event.";
    "queued", "Queued" =>
        "Kernels, copies and memsets launched but not started on the device, from this moment to the next one listed. Work \
         without a recorded launch is not counted.";
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LaunchRow {
    pub device: Option<i64>,
    /// Work with a known launch.
    pub launches: u64,
    /// Median delay from launch to start.
    pub delay_p50_ns: i64,
    /// Delay that 95% stay under.
    pub delay_p95_ns: i64,
    pub delay_max_ns: i64,
    /// What a launch costs at least.
    pub latency_ns: i64,
    /// Median time of the launching calls.
    pub call_p50_ns: i64,
    /// Time of all launching calls on the host.
    pub calls_ns: i64,
    pub kernels: u64,
    pub short_kernels: u64,
    pub short_kernels_ns: i64,
    /// Median time of a kernel.
    pub kernel_p50_ns: i64,
    pub queue_mean: f64,
    pub queue_max: i64,
    /// Part of the work that found its stream empty.
    pub dry_share: f64,
    /// Part of the steps' time lost to launching.
    pub launch_bound_share: f64,
}

/// A moment at which the length of a queue changed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueuePoint {
    pub at_ns: i64,
    /// How much is launched but not started from then on.
    pub queued: i64,
}

/// The launches of each device.
pub fn launches(trace: &Trace, steps: &Steps) -> Vec<LaunchRow> {
    let streams = streams(trace);
    let host = crate::threads::host_time::HostTime::new(trace);
    let gaps = crate::causes::idle::idle(trace, &host, &streams, &steps.windows());
    report(trace, steps, &streams, &gaps)
}

pub(crate) fn report(trace: &Trace, steps: &Steps, streams: &[Stream], gaps: &Idle) -> Vec<LaunchRow> {
    let wall = steps.wall_ns();
    streams.chunk_by(|a, b| a.device == b.device).map(|of_device| row(trace, of_device, gaps, wall)).collect()
}

fn row(trace: &Trace, streams: &[Stream], gaps: &Idle, wall: i64) -> LaunchRow {
    let slices = trace.slices();
    let device = streams[0].device;
    let (mut delays, mut kernels) = (Vec::new(), Vec::new());
    let launched = streams.iter().flat_map(|s| s.work.iter().filter_map(|w| w.launch));
    let mut work_of: HashMap<SliceId, i64, RandomState> = HashMap::default();
    launched.for_each(|call| *work_of.entry(call).or_default() += 1);
    let mut calls: Vec<i64> = work_of.keys().map(|&call| slices.dur(call).0).collect();
    let (mut short, mut short_ns, mut dry) = (0, Ns::ZERO, 0u64);
    for stream in streams {
        let mut done = Ns::MIN;
        for work in &stream.work {
            let is_kernel = slices.kind(work.slice) == Kind::Kernel;
            let ns = (work.end - work.start).0;
            if is_kernel {
                kernels.push(ns);
            }
            if let Some(launch) = work.launch {
                let call = slices.dur(launch).0 / work_of.get(&launch).copied().unwrap_or(1);
                delays.push((work.start - work.launched).0.max(0));
                if is_kernel && ns < call {
                    short += 1;
                    short_ns += Ns(ns);
                }
                dry += u64::from(done < work.launched);
            }
            done = done.max(work.end);
        }
    }
    let queue = queue_of(streams);
    let (queue_mean, queue_max) = queue_summary(&queue);
    let idle = gaps.by_cause(device);
    let bound: Ns = Cause::all().filter(|&cause| is_launching(cause)).map(|cause| Ns(idle.get(cause))).sum();
    LaunchRow {
        device: device.as_int(),
        launches: delays.len() as u64,
        delay_max_ns: delays.iter().copied().max().unwrap_or(0),
        latency_ns: launch_latency(streams).0,
        calls_ns: calls.iter().map(|&ns| Ns(ns)).sum::<Ns>().0,
        dry_share: dry as f64 / delays.len().max(1) as f64,
        kernels: kernels.len() as u64,
        short_kernels: short,
        short_kernels_ns: short_ns.0,
        delay_p50_ns: quantile(&mut delays, 0.5),
        delay_p95_ns: quantile(&mut delays, 0.95),
        call_p50_ns: quantile(&mut calls, 0.5),
        kernel_p50_ns: quantile(&mut kernels, 0.5),
        queue_mean,
        queue_max,
        launch_bound_share: bound.0 as f64 / wall.max(1) as f64,
    }
}

/// Whether idle time of this cause goes away if launching costs nothing.
pub(crate) fn is_launching(cause: Cause) -> bool {
    use crate::threads::activity::Activity::{Launch, Operator, Python, Runtime};
    matches!(cause, Cause::Host(Operator | Python | Launch | Runtime) | Cause::LaunchLatency)
}

/// How much was launched but not started on a device, over time; on all devices, if none is given.
pub fn queue(trace: &Trace, device: Option<i64>) -> Vec<QueuePoint> {
    Queues::new(trace).on_device(device)
}

/// The queues of all devices, looked for once.
pub struct Queues(Vec<Stream>);

impl Queues {
    /// Looks for them.
    pub fn new(trace: &Trace) -> Queues {
        Queues(streams(trace))
    }

    /// The queue of a device, or of all together.
    pub fn on_device(&self, device: Option<i64>) -> Vec<QueuePoint> {
        let Some(device) = device.map(Tag::Int) else { return queue_of(&self.0) };
        let from = self.0.partition_point(|s| s.device < device);
        let count = self.0[from..].partition_point(|s| s.device == device);
        queue_of(&self.0[from..from + count])
    }
}

pub(crate) fn queue_of(streams: &[Stream]) -> Vec<QueuePoint> {
    let linked = || streams.iter().flat_map(|s| &s.work).filter(|w| w.launch.is_some());
    let mut changes: Vec<(Ns, i64)> = Vec::with_capacity(linked().count() * 2);
    changes.extend(linked().map(|w| (w.launched.min(w.start), 1)));
    changes.extend(linked().map(|w| (w.start, -1)));
    // Of equal moments the launch comes first, so that the queue is never negative.
    changes.sort_by_key(|c| (c.0, -c.1));
    let mut points: Vec<QueuePoint> = Vec::new();
    let mut queued = 0;
    for (at, change) in changes {
        queued += change;
        match points.last_mut().filter(|p| p.at_ns == at.0) {
            Some(point) => point.queued = queued,
            None => points.push(QueuePoint { at_ns: at.0, queued }),
        }
    }
    points
}

fn queue_summary(points: &[QueuePoint]) -> (f64, i64) {
    let between = |from: &QueuePoint, to: &QueuePoint| i128::from(to.at_ns) - i128::from(from.at_ns);
    let area: i128 = points.windows(2).map(|w| between(&w[0], &w[1]) * i128::from(w[0].queued)).sum();
    let time = match (points.first(), points.last()) {
        (Some(first), Some(last)) => between(first, last).max(1),
        _ => 1,
    };
    (area as f64 / time as f64, points.iter().map(|p| p.queued).max().unwrap_or(0))
}

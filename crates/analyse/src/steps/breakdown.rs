//! Where the time of each step went, to the nanosecond.
//!
//! Every moment of a step is given to exactly one cause, the first of this list that was going on: kernel,
//! memcpy, memset, communication, runtime call, data loading, host operator or range; what is left is other.
//! So the parts of a step add up to its wall time.
//!
//! The order and the parts are those of the TensorBoard plugin's overview. With [`StepRule::TensorBoard`] and
//! [`CommRule::TensorBoard`] the numbers are the plugin's too, but for one slip of it that is not repeated: where
//! kernels leave no moment of any step free, it shares the same time out a second time and no longer closes.
//!
//! [`StepRule::TensorBoard`]: crate::steps::StepRule::TensorBoard

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Domain, Kind, SliceId, Trace};

use crate::names::by_name::ByName;
use crate::names::comm::{Comm, CommRule};
use crate::names::ranges::{is_data_loading, step_number};
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::{Collector, Intervals, exclusive};
use crate::steps::{Partial, Steps};

/// What the numbers of a breakdown mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "kernel_ns", "Kernel" =>
        "Time in the step during which at least one kernel other than communication ran on any device. Overlapping kernels \
         count once.";
    "memcpy_ns", "Memcpy" => "Time in the step during which a device copied memory and no kernel ran.";
    "memset_ns", "Memset" => "Time in the step during which a device ran a memset and neither a kernel nor a copy ran.";
    "communication_ns", "Communication" =>
        "Time in the step during which communication ran that no computing kernel, copy or memset hides: kernels of NCCL \
         or RCCL, kernels of a collective's operator, and host ranges of a communication library (nccl:…, gloo:…). The \
         TensorBoard plugin knows five collectives and no kernel names; its rule is comm = tensor_board.";
    "runtime_ns", "Runtime" =>
        "Time in calls of the device's runtime or driver library during which none of the above ran: the host launches or \
         waits and the devices do nothing.";
    "data_loading_ns", "Data loading" =>
        "Time in which the data loader fetched the next batch (enumerate(DataLoader)#….__next__, enumerate(DataPipe)#…, \
         Lightning's [pl]…_next) and none of the above ran.";
    "host_ns", "Host" =>
        "Time in operators and named ranges on any host thread, except the step's own range, during which none of the \
         above ran. Python calls do not count: with stacks recorded, they cover everything.";
    "other_ns", "Other" =>
        "The rest of the step, with nothing recorded except perhaps Python calls, the profiler's own overhead, waits on \
         the device and slices of unknown categories.";
    "gpu_busy_ns", "GPU busy" =>
        "Time in the step during which at least one kernel, copy or memset ran on any device, communication included. It \
         is not one of the parts that add up.";
};

/// The mean of the steps.
pub const AVERAGE: Definition = Definition {
    field: "average",
    label: "Average",
    text: "The mean over the steps that are not partial (over all, if all are), rounded down to the \
           nanosecond. Other absorbs the rounding, so the parts still add up.",
};

/// The parts of some time. All but `wall_ns` and `gpu_busy_ns` exclude each other and add up to `wall_ns`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parts {
    /// The time that is shared out.
    pub wall_ns: i64,
    pub kernel_ns: i64,
    pub memcpy_ns: i64,
    pub memset_ns: i64,
    pub communication_ns: i64,
    /// The host was in a runtime or driver call.
    pub runtime_ns: i64,
    /// The host waited for its next batch.
    pub data_loading_ns: i64,
    /// The host was in an operator or a named range.
    pub host_ns: i64,
    /// None of it: nothing recorded, Python calls, profiler overhead, categories unknown here.
    pub other_ns: i64,
    /// Any device work ran.
    pub gpu_busy_ns: i64,
}

impl Parts {
    /// The parts that exclude each other, in order of priority.
    pub fn exclusive(&self) -> [i64; 8] {
        [
            self.kernel_ns,
            self.memcpy_ns,
            self.memset_ns,
            self.communication_ns,
            self.runtime_ns,
            self.data_loading_ns,
            self.host_ns,
            self.other_ns,
        ]
    }

    fn mean<'a>(rows: impl Iterator<Item = &'a Parts> + Clone) -> Option<Parts> {
        let count = rows.clone().count() as i128;
        // Rounding down keeps the rest, `other`, from going under zero.
        let mean = |field: fn(&Parts) -> i64| {
            let sum: i128 = rows.clone().map(|p| i128::from(field(p))).sum();
            sum.checked_div_euclid(count).map(|mean| mean as i64)
        };
        let mut parts = Parts {
            wall_ns: mean(|p| p.wall_ns)?,
            kernel_ns: mean(|p| p.kernel_ns)?,
            memcpy_ns: mean(|p| p.memcpy_ns)?,
            memset_ns: mean(|p| p.memset_ns)?,
            communication_ns: mean(|p| p.communication_ns)?,
            runtime_ns: mean(|p| p.runtime_ns)?,
            data_loading_ns: mean(|p| p.data_loading_ns)?,
            host_ns: mean(|p| p.host_ns)?,
            other_ns: 0,
            gpu_busy_ns: mean(|p| p.gpu_busy_ns)?,
        };
        parts.other_ns =
            parts.wall_ns.saturating_sub(parts.exclusive().iter().fold(0, |a, &b| a.saturating_add(b)));
        Some(parts)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BreakdownRow {
    /// The step's number; -1 for a whole trace.
    pub step: i64,
    pub name: String,
    pub start_ns: i64,
    #[serde(flatten)]
    pub parts: Parts,
    /// Whether it is left out of averages: the recording probably lacks work of it, or it is a pause.
    pub partial: bool,
    pub partial_reason: Option<Partial>,
}

/// Where the time of the steps went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Breakdown {
    /// One row per step.
    pub rows: Vec<BreakdownRow>,
    /// The mean; `None` without steps.
    pub average: Option<Parts>,
    /// How many steps it is the mean of.
    pub averaged_steps: usize,
    /// Whether the trace has no steps and the one row is all of it.
    pub synthetic: bool,
    pub comm: CommRule,
}

/// Shares the time of each step out among its causes.
pub fn breakdown(trace: &Trace, steps: &Steps, comm: CommRule) -> Breakdown {
    let (layers, busy) = layers(trace, comm);
    let windows = steps.windows();
    let busy = busy.lengths_in(&windows);
    let shares = exclusive(&windows, layers.each_ref());
    let parts = steps.steps.iter().zip(shares).zip(busy).map(|((step, (share, other)), busy)| Parts {
        wall_ns: step.end_ns.saturating_sub(step.start_ns),
        kernel_ns: share[KERNEL].0,
        memcpy_ns: share[MEMCPY].0,
        memset_ns: share[MEMSET].0,
        communication_ns: share[COMMUNICATION].0,
        runtime_ns: share[RUNTIME].0,
        data_loading_ns: share[DATA].0,
        host_ns: share[HOST].0,
        other_ns: other.0,
        gpu_busy_ns: busy.0,
    });
    let rows: Vec<BreakdownRow> = steps
        .steps
        .iter()
        .zip(parts)
        .map(|(step, parts)| BreakdownRow {
            step: step.step,
            name: step.name.clone(),
            start_ns: step.start_ns,
            parts,
            partial: step.partial,
            partial_reason: step.partial_reason,
        })
        .collect();
    let all_partial = rows.iter().all(|r| r.partial);
    let averaged = rows.iter().filter(|r| all_partial || !r.partial).map(|r| &r.parts);
    Breakdown {
        average: Parts::mean(averaged.clone()),
        averaged_steps: averaged.count(),
        synthetic: steps.synthetic,
        comm,
        rows,
    }
}

const KERNEL: usize = 0;
const MEMCPY: usize = 1;
const MEMSET: usize = 2;
const COMMUNICATION: usize = 3;
const RUNTIME: usize = 4;
const DATA: usize = 5;
const HOST: usize = 6;
const LAYER_COUNT: usize = 7;

/// The causes in order of priority, and all device work.
fn layers(trace: &Trace, rule: CommRule) -> ([Intervals; LAYER_COUNT], Intervals) {
    let slices = trace.slices();
    let mut comm = Comm::new(trace, rule);
    // A host range's layer; none for the steps themselves.
    let mut host_layers = ByName::new(trace, |name| match name {
        _ if step_number(name).is_some() => None,
        _ if rule.is_range(name) => Some(COMMUNICATION),
        _ if is_data_loading(name) => Some(DATA),
        _ => Some(HOST),
    });
    let mut layer_of = |id: SliceId| match slices.kind(id) {
        Kind::Kernel if comm.kernel(id) => Some(COMMUNICATION),
        Kind::Kernel => Some(KERNEL),
        Kind::Memcpy => Some(MEMCPY),
        Kind::Memset => Some(MEMSET),
        Kind::Collective if rule == CommRule::ByName => Some(COMMUNICATION),
        Kind::Runtime | Kind::Driver => Some(RUNTIME),
        Kind::HostOp | Kind::HostAnnotation => host_layers.get(slices.name(id)),
        _ => None,
    };
    let mut layers: [Collector; LAYER_COUNT] = Default::default();
    let mut busy = Collector::default();
    for (lane, info) in trace.lanes().iter() {
        for id in slices.of_lane(lane) {
            let (start, end) = (slices.start(id), slices.end(id));
            if info.key.domain == Domain::Device && slices.kind(id).is_device_work() {
                busy.add(start, end);
            }
            if let Some(layer) = layer_of(id) {
                layers[layer].add(start, end);
            }
        }
    }
    (layers.map(Collector::finish), busy.finish())
}

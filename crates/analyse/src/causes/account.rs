//! The account of time: every nanosecond of every step on every device has exactly one cause.
//!
//! While a device works, the cause is the work: a moment goes to computing kernels first, then communication,
//! copies and fills. While it is idle, the cause is the reason why the next work had not begun (see
//! [`crate::causes::idle`]). So the causes of a step add up to its wall time exactly, on each device.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Trace};

use crate::causes::cause::{ByCause, Cause};
use crate::causes::idle::{Idle, idle};
use crate::devices::streams::{Stream, streams};
use crate::names::comm::{Comm, CommRule};
use crate::scope::definition::Definition;
use crate::scope::intervals::{Collector, exclusive};
use crate::steps::Steps;
use crate::threads::activity::Activity;
use crate::threads::host_time::HostTime;

/// What the causes mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "kernel_ns",
        label: "Kernels",
        text: "Time in the step during which a kernel other than communication ran on the device.",
    },
    Definition {
        field: "communication_ns",
        label: "Communication",
        text: "Time during which a communication kernel ran and nothing computed.",
    },
    Definition { field: "copy_ns", label: "Copies", text: "Time during which a copy ran and no kernel." },
    Definition { field: "fill_ns", label: "Fills", text: "Time during which only a fill ran." },
    Definition {
        field: "host_…_ns",
        label: "Idle: host",
        text: "The device was idle and its next work was not launched yet. The time goes to what the host did at that \
               moment on the thread that launched it: data loading, an operator, Python between operators, a launch \
               call, and so on. The main thread and the thread of the backward pass hand over to each other. Idle \
               time after the last work of a step goes to what the host did before the next launch.",
    },
    Definition {
        field: "launch_latency_ns",
        label: "Idle: launch latency",
        text: "The next work was launched, by a call that began after the device ran dry or shortly before, and had \
               not reached the device.",
    },
    Definition {
        field: "queued_gap_ns",
        label: "Idle: between queued kernels",
        text: "The next work was queued long before on the stream whose work had just ended, at most 30 µs ago: what \
               a device needs from one kernel to the next. HTA calls it kernel wait.",
    },
    Definition {
        field: "dependency_ns",
        label: "Idle: waiting for another stream",
        text: "The next work was launched long before but its stream stood still: it waited for work of another stream \
               or for an event.",
    },
    Definition {
        field: "unlinked_ns",
        label: "Idle: launch not recorded",
        text: "The file does not tell which call launched the next work.",
    },
];

/// One step on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccountRow {
    /// The step's number; -1 for a whole trace.
    pub step: i64,
    /// The device; none in a trace without device work, where the main thread's time is accounted for.
    pub device: Option<i64>,
    /// The time that is shared out.
    pub wall_ns: i64,
    /// Whether the recording probably lacks device work of the step.
    pub partial: bool,
    /// The causes; they add up to `wall_ns`.
    #[serde(flatten)]
    pub causes: ByCause,
}

/// The account of all steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Account {
    /// A row a device and step.
    pub rows: Vec<AccountRow>,
    /// Sums over the steps that are not partial (over all, if all are), a row a device.
    pub devices: Vec<AccountRow>,
}

/// Accounts for the time of some steps.
pub fn account(trace: &Trace, steps: &Steps) -> Account {
    let host = HostTime::new(trace);
    let streams = streams(trace);
    let gaps = idle(trace, &host, &streams, &steps.windows());
    of(trace, steps, &host, &streams, &gaps)
}

pub(crate) fn of(trace: &Trace, steps: &Steps, host: &HostTime, streams: &[Stream], gaps: &Idle) -> Account {
    let windows = steps.windows();
    let mut account = Account::default();
    let mut comm = Comm::new(trace, CommRule::ByName);
    for of_device in streams.chunk_by(|a, b| a.device == b.device) {
        let device = of_device[0].device;
        let mut layers: [Collector; 4] = Default::default();
        for work in of_device.iter().flat_map(|s| &s.work) {
            let layer = match trace.slices().kind(work.slice) {
                Kind::Memcpy => Cause::Copy,
                Kind::Memset => Cause::Fill,
                _ if comm.kernel(work.slice) => Cause::Communication,
                _ => Cause::Kernel,
            };
            layers[layer.index()].add(work.start, work.end);
        }
        let layers = layers.map(Collector::finish);
        let mut causes: Vec<ByCause> = Vec::with_capacity(windows.len());
        for (share, _) in exclusive(&windows, layers.each_ref()) {
            let mut by = ByCause::default();
            for (at, ns) in share.iter().enumerate() {
                by.0[at] = ns.0;
            }
            causes.push(by);
        }
        for gap in gaps.of_device(device) {
            for part in gaps.parts(gap) {
                causes[gap.window].add(part.cause, (part.end - part.start).0);
            }
        }
        account.push(steps, device.as_int(), causes);
    }
    if streams.is_empty() {
        let causes = windows.iter().map(|&window| {
            let mut by = ByCause::default();
            match host.main() {
                Some(lane) => {
                    host.doing(lane, window, |s| by.add(Cause::Host(s.activity), (s.end - s.start).0));
                }
                None => by.add(Cause::Host(Activity::Unrecorded), (window.1 - window.0).0),
            }
            by
        });
        account.push(steps, None, causes.collect());
    }
    account
}

impl Account {
    fn push(&mut self, steps: &Steps, device: Option<i64>, causes: Vec<ByCause>) {
        let all_partial = steps.steps.iter().all(|s| s.partial);
        let mut sum = AccountRow { step: -1, device, wall_ns: 0, partial: false, causes: ByCause::default() };
        for (step, causes) in steps.steps.iter().zip(causes) {
            let wall_ns = (step.window().1 - step.window().0).0;
            if all_partial || !step.partial {
                sum.wall_ns = sum.wall_ns.saturating_add(wall_ns);
                Cause::all().for_each(|cause| sum.causes.add(cause, causes.get(cause)));
            }
            self.rows.push(AccountRow { step: step.step, device, wall_ns, partial: step.partial, causes });
        }
        self.devices.push(sum);
    }
}

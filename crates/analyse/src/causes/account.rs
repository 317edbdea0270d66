//! The account of time: every nanosecond of every step on every device has exactly one cause.
//!
//! While a device works, the cause is the work: a moment goes to computing kernels first, then communication,
//! copies and memsets. While it is idle, the cause is the reason why the next work had not begun (see
//! [`crate::causes::idle`]). So the causes of a step add up to its wall time exactly, on each device.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, LaneId, Ns, Trace};

use crate::causes::cause::{ByCause, Cause};
use crate::causes::host_sums::HostSums;
use crate::causes::idle::{Idle, add_host, idle};
use crate::devices::streams::{Stream, streams};
use crate::names::comm::{Comm, CommRule};
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::{Collector, CumulativeSpans, Intervals};
use crate::scope::windows::{Windows, signed};
use crate::steps::Steps;
use crate::threads::activity::Activity;
use crate::threads::host_time::HostTime;

/// What the time of a busy device means.
pub const DEFINITIONS: &[Definition] = definitions! {
    "kernel_ns", "Kernels" => "Time in the step during which a kernel other than communication ran on the device.";
    "communication_ns", "Communication" =>
        "Time in the step during which a communication kernel ran on the device and nothing computed.";
    "copy_ns", "Copies" => "Time in the step during which a copy ran on the device and no kernel did.";
    "fill_ns", "Memsets" => "Time in the step during which only a memset ran on the device.";
    "device_unrecorded_ns", "Unknown" =>
        "Nothing recorded ran on the device, yet for at least 0.2 ms the host stood in a call that waits for it, or its \
         next work had been launched and did not start. The device was probably busy with work that the trace does not \
         show, such as work launched before recording began. Counted neither as busy nor as idle.";
};

/// What the causes of idle time mean.
pub const IDLE_DEFINITIONS: &[Definition] = definitions! {
    "host_…_ns", "Idle: host" =>
        "The device was idle and its next work was not launched yet. The time goes to what the host was doing at that \
         moment on the thread that launched it: data loading, an operator, Python between operators, a launch call, and so \
         on. The main thread and the thread of the backward pass hand over to each other. Idle time after the last work of \
         a step goes to what the host did before the next launch.";
    "launch_latency_ns", "Idle: launch latency" =>
        "The device was idle and its next work had been launched, by a call that began after the device ran dry or shortly \
         before, but had not reached the device.";
    "queued_gap_ns", "Idle: between queued kernels" =>
        "The device was idle and its next work had long been queued on the stream whose work had just ended, at most 30 µs \
         ago: what a device needs from one kernel to the next. HTA calls it kernel wait.";
    "dependency_ns", "Idle: waiting for another stream" =>
        "The device was idle and its next work had been launched long before, but its stream was blocked: it waited for \
         work of another stream or for an event.";
    "unlinked_ns", "Idle: launch not recorded" =>
        "The device was idle and the file does not say which call launched its next work.";
};

/// What the time of a cause means. What the host did has one definition for all of its activities.
pub fn definition(cause: Cause) -> Option<&'static Definition> {
    let field = match cause.key() {
        key if key.starts_with("host_") => "host_…_ns".to_owned(),
        key => format!("{key}_ns"),
    };
    DEFINITIONS.iter().chain(IDLE_DEFINITIONS).find(|known| known.field == field)
}

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

/// The account of all steps. A copy shares it.
///
/// There is a row for each step on each device, also for those without any work of the device. They are made when they
/// are looked at, so that many devices and many steps cost their sum and not their product.
#[derive(Clone, Default)]
pub struct Account {
    /// Sums over the steps that are not partial (over all, if all are), one row per device.
    pub devices: Vec<AccountRow>,
    /// Which of the devices that rows are made from each of them is.
    places: Vec<usize>,
    rows: Option<Arc<Rows>>,
}

struct Rows {
    /// Number, window, and whether it is partial.
    steps: Vec<(i64, (Ns, Ns), bool)>,
    devices: Vec<AccountedTime>,
    idle: Idle,
    /// The host's time, wherever steps begin and end.
    sums: OnceLock<HostSums>,
}

/// One device's work and the stretches without, or the main thread's time where there is no device.
enum AccountedTime {
    Device { busy: [CumulativeSpans; 4], dry: Range<usize> },
    Host(Option<LaneId>),
}

pub fn account(trace: &Trace, steps: &Steps) -> Account {
    let host = HostTime::new(trace);
    let streams = streams(trace);
    let gaps = idle(trace, &host, &streams, &steps.windows());
    compute(trace, steps, &host, &streams, &gaps)
}

pub(crate) fn compute(
    trace: &Trace,
    steps: &Steps,
    host: &HostTime,
    streams: &[Stream],
    gaps: &Idle,
) -> Account {
    let all_partial = steps.steps.iter().all(|s| s.partial);
    let counted = Windows::new(&steps.windows(), |step| all_partial || !steps.steps[step].partial);
    let sums = HostSums::new(host, Some(counted.clone()));
    let wall_ns = steps.steps.iter().filter(|s| all_partial || !s.partial).map(|s| s.window().1 - s.window().0);
    let wall_ns = wall_ns.sum::<Ns>().0;
    let row = |device, causes| AccountRow { step: -1, device, wall_ns, partial: false, causes };
    let mut rows = Rows {
        steps: steps.steps.iter().map(|s| (s.step, s.window(), s.partial)).collect(),
        devices: Vec::new(),
        idle: gaps.clone(),
        sums: OnceLock::new(),
    };
    let mut devices = Vec::new();
    let mut comm = Comm::new(trace, CommRule::ByName);
    let of_devices = streams.chunk_by(|a, b| a.device == b.device);
    for (of_device, (device, dry)) in of_devices.zip(gaps.devices()) {
        let busy = busy(trace, of_device, &mut comm);
        let mut by = ByCause::default();
        for (at, set) in busy.iter().enumerate() {
            let in_steps = set.as_slice().iter().map(|&stretch| signed(counted.length(stretch)));
            by.0[at] = in_steps.fold(0, i64::saturating_add);
        }
        gaps.add_in(dry, &counted, &sums, &mut by);
        devices.push(row(device.as_int(), by));
        rows.devices.push(AccountedTime::Device { busy: busy.map(Intervals::measured), dry: dry.clone() });
    }
    if streams.is_empty() {
        let mut by = ByCause::default();
        match host.main() {
            Some(lane) => add_host(&mut by, &sums.doing(lane, (Ns::MIN, Ns::MAX))),
            None => by.add(Cause::Host(Activity::Unrecorded), signed(sums.length((Ns::MIN, Ns::MAX)))),
        }
        devices.push(row(None, by));
        rows.devices.push(AccountedTime::Host(host.main()));
    }
    Account { places: (0..devices.len()).collect(), devices, rows: Some(Arc::new(rows)) }
}

/// What a device did, as sets of time that exclude each other: in each, what the sets before it leave.
fn busy(trace: &Trace, streams: &[Stream], comm: &mut Comm<'_>) -> [Intervals; 4] {
    let mut layers: [Collector; 4] = Default::default();
    for work in streams.iter().flat_map(|s| &s.work) {
        let layer = match trace.slices().kind(work.slice) {
            Kind::Memcpy => Cause::Copy,
            Kind::Memset => Cause::Fill,
            _ if comm.kernel(work.slice) => Cause::Communication,
            _ => Cause::Kernel,
        };
        layers[layer.index()].add(work.start, work.end);
    }
    let mut taken = Intervals::default();
    layers.map(|layer| {
        let own = layer.finish();
        let left = if taken.is_empty() { own.clone() } else { own.subtract(&taken) };
        taken = match (taken.is_empty(), own.is_empty()) {
            (_, true) => std::mem::take(&mut taken),
            (true, _) => own,
            _ => Intervals::union([taken.as_slice(), own.as_slice()].concat()),
        };
        left
    })
}

impl Rows {
    fn make(&self, place: usize, device: Option<i64>, step: usize) -> AccountRow {
        let (number, window, partial) = self.steps[step];
        let mut causes = ByCause::default();
        let sums = self.sums.get_or_init(|| HostSums::new(self.idle.host(), None));
        match &self.devices[place] {
            AccountedTime::Device { busy, dry } => {
                for (at, set) in busy.iter().enumerate() {
                    causes.0[at] = set.length_in(window).0;
                }
                self.idle.add_window(dry, window, sums, &mut causes);
            }
            AccountedTime::Host(Some(lane)) => add_host(&mut causes, &sums.doing(*lane, window)),
            AccountedTime::Host(None) => causes.add(Cause::Host(Activity::Unrecorded), (window.1 - window.0).0),
        }
        AccountRow { step: number, device, wall_ns: (window.1 - window.0).0, partial, causes }
    }

    /// The steps in which a device ran anything; all of them for the main thread.
    fn with_work(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let of_device = &self.devices[place];
        let mut at = 0;
        std::iter::from_fn(move || {
            let AccountedTime::Device { busy, .. } = of_device else {
                at += 1;
                return (at <= self.steps.len()).then(|| at - 1);
            };
            while let Some(&(_, window, _)) = self.steps.get(at) {
                // The next of any kind that is not over yet.
                let next = busy.iter().filter_map(|set| {
                    let set = set.set().as_slice();
                    set.get(set.partition_point(|p| p.1 <= window.0)).map(|p| p.0)
                });
                let next = next.min()?;
                if next < window.1 {
                    at += 1;
                    return Some(at - 1);
                }
                at += self.steps[at..].partition_point(|s| s.1.1 <= next).max(1);
            }
            None
        })
    }
}

impl Account {
    /// How many rows there are: one per device and step.
    pub fn row_count(&self) -> usize {
        self.devices.len().saturating_mul(self.step_count())
    }

    pub fn step_count(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.steps.len())
    }

    /// How many steps the sums of a device are over: those that are not partial, or all, if all are.
    pub fn counted_steps(&self) -> usize {
        let steps = self.rows.as_ref().map_or(&[][..], |rows| &rows.steps);
        let complete = steps.iter().filter(|s| !s.2).count();
        if complete == 0 { steps.len() } else { complete }
    }

    /// All rows, one per device and step, devices by number and steps in order.
    pub fn rows(&self) -> impl Iterator<Item = AccountRow> + '_ {
        self.made(|_| true, |rows, _| 0..rows.steps.len())
    }

    pub fn rows_of(&self, device: Option<i64>) -> impl Iterator<Item = AccountRow> + '_ {
        self.made(move |own| own == device, |rows, _| 0..rows.steps.len())
    }

    /// The rows in which the device ran anything, in the same order as all.
    pub fn rows_with_work(&self) -> impl Iterator<Item = AccountRow> + '_ {
        self.made(|_| true, |rows, place| rows.with_work(place))
    }

    fn made<'a, I: Iterator<Item = usize> + 'a>(
        &'a self,
        wanted: impl Fn(Option<i64>) -> bool + 'a,
        steps: impl Fn(&'a Rows, usize) -> I + 'a,
    ) -> impl Iterator<Item = AccountRow> + 'a {
        let places = self.devices.iter().map(|row| row.device).zip(self.places.iter().copied());
        let places = places.filter(move |(device, _)| wanted(*device));
        let with_rows = places.filter_map(|(device, place)| Some((self.rows.as_deref()?, device, place)));
        with_rows.flat_map(move |(rows, device, place)| {
            steps(rows, place).map(move |step| rows.make(place, device, step))
        })
    }

    pub fn keep_device(&mut self, device: Option<i64>) {
        let mut kept = self.devices.iter().map(|row| row.device == device).collect::<Vec<_>>().into_iter();
        self.places.retain(|_| kept.next().unwrap_or(false));
        self.devices.retain(|row| row.device == device);
    }

    /// Only the sums, for tests of what is made of them.
    #[cfg(test)]
    pub(crate) fn of_sums(devices: Vec<AccountRow>) -> Account {
        Account { devices, ..Account::default() }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<AccountRow> = self.rows().collect();
        f.debug_struct("Account").field("devices", &self.devices).field("rows", &rows).finish()
    }
}

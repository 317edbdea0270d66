//! Runs of a compiled program: of one function of JAX or TensorFlow on the host, or of a program on its device.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Domain, Kind, LaneId, Ns, StrId, Trace};

use super::sequence::{self, Mark};
use super::{FoundBy, MIN_REPEATS, Repeats, cover_most};
use crate::names::by_name::ByName;
use crate::names::framework::compiled_function;
use crate::scope::extent::extent;

/// One thread's runs of one function, outermost calls only, in order.
#[derive(Default)]
struct Runs {
    total: Ns,
    windows: Vec<(Ns, Ns)>,
}

/// From one run of the function that takes most of the host's time to the next. None where a trace does not tell compiled
/// functions apart, or none of them runs over and over.
pub(super) fn functions(trace: &Trace) -> Option<Repeats> {
    trace.meta().framework.as_ref()?;
    let slices = trace.slices();
    let mut is_run = ByName::new(trace, |name| compiled_function(name).is_some());
    let mut runs: HashMap<(LaneId, StrId), Runs, RandomState> = HashMap::default();
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::FrameworkCall) {
        if !is_run.get(slices.name(id)) {
            continue;
        }
        let of = runs.entry((slices.lane(id), slices.name(id))).or_default();
        let (start, end) = (slices.start(id), slices.end(id));
        // A call is written down by each of two layers.
        if of.windows.last().is_none_or(|last| last.1 <= start) {
            of.windows.push((start, end));
            of.total += end - start;
        }
    }
    let repeated = runs.into_iter().filter(|(_, runs)| runs.windows.len() >= MIN_REPEATS);
    let ((_, name), runs) = repeated.max_by_key(|((lane, name), runs)| (runs.total, *lane, *name))?;
    let name = compiled_function(trace.text(name)).unwrap_or_default().to_owned();
    let starts: Vec<Ns> = runs.windows.iter().map(|window| window.0).collect();
    let mut periods: Vec<Ns> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    periods.sort_unstable();
    // The last run goes on for as long as they usually do, or until the recording ends.
    let usual = periods[periods.len() / 2];
    let last_end = runs.windows.last().map_or(Ns::ZERO, |last| last.1);
    let recorded = extent(trace, |kind| kind.is_host() && kind != Kind::Overhead).map_or(last_end, |e| e.1);
    let ends = starts.iter().skip(1).copied();
    let last = starts.last().map(|&start| (start + usual).max(last_end).min(recorded));
    let windows = starts.iter().copied().zip(ends.chain(last)).collect();
    Some(Repeats { by: FoundBy::CompiledFunction, name, windows, on_device: false, apart: 0 })
}

/// From one run of a program on its device to the next, where the trace has a lane of them.
pub(super) fn programs(trace: &Trace) -> Option<Repeats> {
    let slices = trace.slices();
    let is_lane = |thread: StrId| trace.text(thread).starts_with("XLA Modules");
    let lanes =
        trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device && is_lane(lane.thread_name));
    // Devices of a job run the same programs: the one with most runs represents all.
    let lane = lanes
        .map(|(lane, _)| lane)
        .max_by_key(|&lane| (slices.lane_range(lane).len(), std::cmp::Reverse(lane)))?;
    let mark = |id| Mark {
        what: slices.name(id).index() as u64,
        start: slices.start(id),
        end: slices.end(id),
        place: id.index(),
    };
    let marks: Vec<Mark> = slices.of_lane(lane).map(mark).collect();
    let units = sequence::units(&marks)?;
    let recorded = marks.iter().map(|mark| mark.end).max()?;
    let windows = units.windows((recorded, slices.lane_range(lane).end), |_| None);
    let name = trace.text(StrId::from_index(units.what as usize));
    // `jit_step(1234567)`: the number tells programs of one name apart.
    let name = name.split('(').next().unwrap_or(name).to_owned();
    let enough = windows.len() >= MIN_REPEATS && cover_most(trace, &windows);
    enough.then_some(Repeats { by: FoundBy::DeviceProgram, name, windows, on_device: true, apart: 0 })
}

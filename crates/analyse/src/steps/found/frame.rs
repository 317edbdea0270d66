//! Named ranges and module calls that lie in no other one and repeat.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Domain, Kind, LaneId, Ns, StrId, Trace};

use super::sequence::{self, Mark};
use super::{FoundBy, MIN_REPEATS, Repeats, cover_most};
use crate::names::by_name::ByName;
use crate::names::comm::CommRule;
use crate::names::ranges::{MODULE_CALL, is_around_steps, is_data_loading, is_part_of_step, optimizer_step};

/// What a range of this name may be to the steps.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Role {
    /// It may begin a step.
    Begins,
    /// It holds steps, if it holds anything that repeats.
    Around,
    /// It is a part of a step whatever its place, and so is what it holds.
    Inside,
    /// It says nothing.
    Other,
}

/// Ranges that the program, or the framework for it, put around what it does once in an iteration.
pub(super) fn ranges(trace: &Trace) -> Option<Repeats> {
    let role = |name: &str| {
        let comm = CommRule::ByName.is_range(name);
        if comm || is_part_of_step(name) || is_data_loading(name) || optimizer_step(name).is_some() {
            Role::Inside
        } else if is_around_steps(name) {
            Role::Around
        } else {
            Role::Begins
        }
    };
    outermost(trace, Kind::HostAnnotation, role, FoundBy::Range)
}

pub(super) fn modules(trace: &Trace) -> Option<Repeats> {
    let role = |name: &str| if name.starts_with(MODULE_CALL) { Role::Begins } else { Role::Other };
    outermost(trace, Kind::PythonFunction, role, FoundBy::Module)
}

fn outermost(trace: &Trace, kind: Kind, role: impl Fn(&str) -> Role, by: FoundBy) -> Option<Repeats> {
    let mut roles = ByName::new(trace, role);
    let launched = launched(trace);
    let mut best: Option<((Ns, Ns), Repeats)> = None;
    for (lane, _) in trace.lanes().iter().filter(|(_, info)| info.key.domain == Domain::Host) {
        let Some(found) = of_lane(trace, lane, kind, |name| roles.get(name), by) else { continue };
        let total: Ns = found.windows.iter().map(|window| window.1 - window.0).sum();
        // Threads that prepare something repeat too: the one that keeps the devices busy counts.
        let weight = (launched.get(&lane).copied().unwrap_or(Ns::ZERO), total);
        if best.as_ref().is_none_or(|(most, _)| *most < weight) {
            best = Some((weight, found));
        }
    }
    best.map(|(_, found)| found).filter(|found| cover_most(trace, &found.windows))
}

/// The device work that each thread launched.
fn launched(trace: &Trace) -> HashMap<LaneId, Ns, RandomState> {
    let slices = trace.slices();
    let mut launched: HashMap<LaneId, Ns, RandomState> = HashMap::default();
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        if let Some(call) = trace.links().launch(id) {
            *launched.entry(slices.lane(call)).or_default() += slices.dur(id);
        }
    }
    launched
}

fn of_lane(
    trace: &Trace,
    lane: LaneId,
    kind: Kind,
    mut role: impl FnMut(StrId) -> Role,
    by: FoundBy,
) -> Option<Repeats> {
    let slices = trace.slices();
    let mut counts: HashMap<StrId, u32, RandomState> = HashMap::default();
    for id in slices.of_lane(lane).filter(|&id| slices.kind(id) == kind) {
        if matches!(role(slices.name(id)), Role::Begins | Role::Around) {
            *counts.entry(slices.name(id)).or_default() += 1;
        }
    }
    let repeats = |name: StrId| counts.get(&name).is_some_and(|count| *count as usize >= MIN_REPEATS);
    let marks_with = |around: bool, role: &mut dyn FnMut(StrId) -> Role| {
        let mut marks: Vec<Mark> = Vec::new();
        let mut covered = Ns::MIN;
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id) == kind) {
            let (name, start, end) = (slices.name(id), slices.start(id), slices.end(id));
            if start < covered {
                continue;
            }
            let role = role(name);
            let is_mark = role == Role::Begins || (around && role == Role::Around && repeats(name));
            // What a range holds is a part of the step that it is, or a part of.
            if is_mark || role == Role::Inside {
                covered = end;
            }
            if is_mark {
                marks.push(Mark { what: name.index() as u64, start, end, place: id.index() });
            }
        }
        marks
    };
    let inside = sequence::units(&marks_with(false, &mut role));
    let units = match inside {
        Some(units) => units,
        None => sequence::units(&marks_with(true, &mut role))?,
    };
    let all = slices.lane_range(lane);
    let recorded = all.clone().map(|at| slices.starts()[at] + slices.durs()[at]).max()?;
    let at = |place: usize| all.contains(&place).then(|| slices.starts()[place]);
    let windows = units.windows((recorded, all.end), at);
    let name = trace.text(StrId::from_index(units.what as usize));
    let name = name.strip_prefix(MODULE_CALL).unwrap_or(name).to_owned();
    (windows.len() >= MIN_REPEATS).then_some(Repeats { by, name, windows, on_device: false, apart: 0 })
}

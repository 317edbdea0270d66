//! The host ranges that are steps, or what replaces them.

use stepscope_model::{Domain, Kind, LaneId, Ns, StrId, Trace};

use super::step::{Partial, Step, StepRule};
use crate::names::by_name::ByName;
use crate::names::ranges::step_number;
use crate::scope::extent::extent;

/// The step ranges of the host thread that has most of them, and how many others have.
pub(crate) fn host_steps(trace: &Trace) -> (Vec<Step>, u64) {
    let slices = trace.slices();
    let mut numbers = ByName::new(trace, step_number);
    let mut ranges: Vec<(LaneId, Ns, Ns, StrId, i64)> = Vec::new();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain == Domain::Device {
            continue;
        }
        for id in slices.of_lane(lane) {
            // Files of 2021 call every host range an operator.
            if matches!(slices.kind(id), Kind::HostAnnotation | Kind::HostOp)
                && let Some(number) = numbers.get(slices.name(id))
            {
                ranges.push((lane, slices.start(id), slices.end(id), slices.name(id), number));
            }
        }
    }
    // Lanes come in order, so each lane's ranges are neighbors; of equals the first seen wins.
    let mut followed: &[_] = &[];
    for of_lane in ranges.chunk_by(|a, b| a.0 == b.0) {
        if of_lane.len() > followed.len() {
            followed = of_lane;
        }
    }
    let recorded_until = recorded_until(trace, |name| numbers.get(name).is_some());
    let steps = followed.iter().map(|&(_, start, end, name, step)| {
        let cut = recorded_until.filter(|&until| start < until && until < end);
        let mut step = new_step(step, trace.text(name), start, cut.unwrap_or(end));
        step.partial_reason = cut.map(|_| Partial::Cut);
        step
    });
    let mut steps: Vec<Step> = steps.collect();
    let is_cut = trace.meta().phases.as_ref().is_some_and(|phases| phases.last_step_is_cut);
    if let Some(last) = steps.last_mut().filter(|_| is_cut) {
        last.partial_reason = Some(Partial::Cut);
    }
    (steps, (ranges.len() - followed.len()) as u64)
}

/// Where the recording ended: with its window, or with the last slice that is not a step if that is later. A profiler
/// that is stopped inside of a step may write down a step that ends seconds later.
fn recorded_until(trace: &Trace, mut is_step: impl FnMut(StrId) -> bool) -> Option<Ns> {
    let slices = trace.slices();
    let ends = |kind: fn(Kind) -> bool| slices.ids().filter(move |&id| kind(slices.kind(id)));
    let window = ends(|kind| kind == Kind::Span).map(|id| slices.end(id)).max()?;
    let others = ends(|kind| kind != Kind::Span && kind != Kind::Overhead);
    let last = others.filter(|&id| !is_step(slices.name(id))).map(|id| slices.end(id)).max()?;
    Some(window.max(last))
}

pub(super) fn new_step(step: i64, name: &str, start: Ns, end: Ns) -> Step {
    Step {
        step,
        name: name.to_owned(),
        start_ns: start.0,
        end_ns: end.0,
        host_start_ns: start.0,
        host_end_ns: end.0,
        device_slices: 0,
        partial: false,
        partial_reason: None,
    }
}

/// A trace without steps as one.
pub(crate) fn whole(trace: &Trace, rule: StepRule) -> Option<Step> {
    let counts = |kind: Kind| match rule {
        // The profiler's own overhead is not part of the run and may lie far from it.
        StepRule::All => kind != Kind::Overhead && (kind.is_host() || kind.is_device_work()),
        StepRule::TensorBoard => kind == Kind::HostOp,
    };
    let (start, end) = extent(trace, counts)?;
    Some(new_step(-1, "whole trace", start, end))
}

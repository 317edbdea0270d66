//! Iterations of a training loop: from one step of its first optimizer to the next, or from one batch to the next.

use stepscope_model::{Domain, Kind, LaneId, Ns, SliceId, Trace};

use super::{FoundBy, Repeats, alike, median};
use crate::names::by_name::ByName;
use crate::names::ranges::{is_data_loading, optimizer_step};

/// Two updates, or two batches, are a loop: no one writes them without one.
const MIN_ITERATIONS: usize = 2;
/// Optimizers that step in turns are looked for up to this many.
const MAX_OPTIMIZERS: usize = 4;
/// What comes before the first update is an iteration if it holds as much as one, within these factors.
const WHOLE: (f64, f64) = (0.7, 1.5);
/// How much more or less iterations may hold to be alike.
const ALIKE_FACTOR: f64 = 1.25;
const MIN_ALIKE: f64 = 0.9;

/// From the end of one update of the first optimizer to the end of the next.
pub(super) fn updates(trace: &Trace) -> Option<Repeats> {
    let (lane, ranges) = outermost(trace, |name| optimizer_step(name).is_some())?;
    let slices = trace.slices();
    let first = ranges.first().map(|&id| slices.name(id))?;
    let ranges: Vec<SliceId> = ranges.into_iter().filter(|&id| slices.name(id) == first).collect();
    let all = slices.lane_range(lane);
    // Where each update ends, and how many slices of the thread lie before that.
    let ends: Vec<(Ns, usize)> = ranges
        .iter()
        .map(|&id| {
            let end = slices.end(id);
            (end, all.start + slices.starts()[all.clone()].partition_point(|start| *start < end))
        })
        .collect();
    let mut contents: Vec<i64> = ends.windows(2).map(|pair| (pair[1].1 - pair[0].1) as i64).collect();
    let turns = in_turns(&contents);
    // An update after which little comes before the next is not the last of its iteration.
    let offset =
        (0..turns).max_by_key(|&at| (contents.get(at).copied().unwrap_or(0), std::cmp::Reverse(at)))?;
    let ends: Vec<(Ns, usize)> = ends.into_iter().skip(offset).step_by(turns).collect();
    contents = ends.windows(2).map(|pair| (pair[1].1 - pair[0].1) as i64).collect();
    let mut windows: Vec<(Ns, Ns)> = ends.windows(2).map(|pair| (pair[0].0, pair[1].0)).collect();
    let begin =
        slices.of_lane(lane).find(|&id| slices.kind(id) != Kind::Overhead && slices.kind(id).is_host())?;
    let (usual, before) = (median(&contents) as f64, (ends.first()?.1 - begin.index()) as f64);
    if usual > 0.0 && before >= WHOLE.0 * usual && before <= WHOLE.1 * usual {
        let first = (slices.start(begin), ends.first()?.0);
        let period = median(&windows.iter().map(|window| (window.1 - window.0).0).collect::<Vec<_>>()) as f64;
        // What the host does before its first slice is not recorded.
        if windows.len() < MIN_ITERATIONS || (first.1 - first.0).0 as f64 >= WHOLE.0 * period {
            windows.insert(0, first);
        }
    }
    windows.retain(|window| window.0 < window.1);
    let name = optimizer_step(trace.text(first)).unwrap_or_default().to_owned();
    (windows.len() >= MIN_ITERATIONS).then_some(Repeats {
        by: FoundBy::Optimizer,
        name,
        windows,
        on_device: false,
        apart: 0,
    })
}

/// From where one batch is asked for to where the next one is.
pub(super) fn batches(trace: &Trace) -> Option<Repeats> {
    let (lane, ranges) = outermost(trace, is_data_loading)?;
    let slices = trace.slices();
    let recorded =
        slices.of_lane(lane).filter(|&id| slices.kind(id).is_host()).map(|id| slices.end(id)).max()?;
    let contents: Vec<i64> = ranges.windows(2).map(|pair| (pair[1].index() - pair[0].index()) as i64).collect();
    let starts: Vec<Ns> = ranges.iter().map(|&id| slices.start(id)).collect();
    let mut windows: Vec<(Ns, Ns)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    // The last request may get no batch, or the recording may end before its work does.
    let last = *ranges.last()?;
    let left = (slices.lane_range(lane).end - last.index()) as f64;
    if left >= WHOLE.0 * median(&contents) as f64 && left <= WHOLE.1 * median(&contents) as f64 {
        windows.push((slices.start(last), recorded));
    }
    windows.retain(|window| window.0 < window.1);
    (windows.len() >= MIN_ITERATIONS).then_some(Repeats {
        by: FoundBy::DataLoader,
        name: trace.name(last).to_owned(),
        windows,
        on_device: false,
        apart: 0,
    })
}

/// The ranges of such names that lie in no other such range, on the thread that has most of them.
fn outermost(trace: &Trace, counts: impl Fn(&str) -> bool) -> Option<(LaneId, Vec<SliceId>)> {
    let slices = trace.slices();
    let mut counts = ByName::new(trace, counts);
    let mut most: Option<(LaneId, Vec<SliceId>)> = None;
    for (lane, _) in trace.lanes().iter().filter(|(_, info)| info.key.domain == Domain::Host) {
        let mut found: Vec<SliceId> = Vec::new();
        for id in slices.of_lane(lane) {
            let is_range = matches!(slices.kind(id), Kind::HostAnnotation | Kind::HostOp);
            let outer = found.last().is_none_or(|&last| slices.end(last) <= slices.start(id));
            if is_range && outer && counts.get(slices.name(id)) {
                found.push(id);
            }
        }
        if !found.is_empty() && most.as_ref().is_none_or(|(_, most)| most.len() < found.len()) {
            most = Some((lane, found));
        }
    }
    most
}

/// How many updates an iteration has, where several optimizers of one class step in turns: 1, unless what lies between
/// them repeats only after that many.
fn in_turns(contents: &[i64]) -> usize {
    let alike_after = |turns: usize| {
        let pairs: Vec<(i64, i64)> =
            contents.iter().copied().zip(contents.iter().skip(turns).copied()).collect();
        let near = |&&(a, b): &&(i64, i64)| {
            let (less, more) = (a.min(b) as f64, a.max(b) as f64);
            more <= less * ALIKE_FACTOR || more - less <= 4.0
        };
        pairs.len() >= 2 && pairs.iter().filter(near).count() as f64 >= MIN_ALIKE * pairs.len() as f64
    };
    if alike(contents, ALIKE_FACTOR, MIN_ALIKE) {
        return 1;
    }
    (2..=MAX_OPTIMIZERS).find(|&turns| alike_after(turns)).unwrap_or(1)
}

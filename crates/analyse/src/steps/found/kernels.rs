//! The repeating kernels of the busiest stream.
//!
//! Layers repeat as iterations do, and one forward pass recorded alone is nothing but layers. So an iteration is known by
//! work that no layer has: its embedding, its loss, its optimizer; or by two of the weaker signs at once, such as inputs
//! that are copied to the device and values that are sampled.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Domain, Kind, Ns, SliceId, StrId, Trace};

use super::{FoundBy, MIN_REPEATS, Repeats, alike, median};
use crate::names::by_name::ByName;
use crate::names::kernel_name::short;
use crate::names::model_ends::{End, end_of_kernel, end_of_operator};

/// An iteration of a model has at least so many kernels.
const MIN_WORK: i64 = 8;
/// The share of iterations with about as many kernels as the usual one, and the factor that is about.
const MIN_ALIKE: f64 = 0.8;
const ALIKE_FACTOR: f64 = 1.1;
/// The share of their kernels that two neighbors have in common, and the share of neighbors that do.
const MIN_COMMON: f64 = 0.9;
const MIN_NEIGHBORS: f64 = 0.75;
/// The share of the stream's busy time that the iterations hold.
const MIN_BUSY: f64 = 0.6;
/// Names of each kind whose iterations are compared, which takes a pass over the stream.
const MAX_EXAMINED: usize = 4;

/// Where iterations begin, by one name: positions in the work of a stream.
struct Candidate {
    end: End,
    name: StrId,
    begins: Vec<usize>,
}

/// From one such kernel to the next.
pub(super) fn of_busiest_stream(trace: &Trace) -> Option<Repeats> {
    let work = busiest_stream(trace)?;
    if work.len() < MIN_REPEATS * MIN_WORK as usize {
        return None;
    }
    let candidates = candidates(trace, &work);
    let best = choose(&candidates)?;
    let (windows, on_device) = windows(trace, &work, &best.begins)?;
    let name = short(trace.text(best.name));
    Some(Repeats { by: FoundBy::Kernel, name, windows, on_device, apart: 0 })
}

fn busiest_stream(trace: &Trace) -> Option<Vec<SliceId>> {
    let slices = trace.slices();
    let lanes = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let work = |lane| slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work());
    let busy = |lane| work(lane).map(|id| slices.dur(id)).sum::<Ns>();
    let (_, lane) = lanes
        .map(|(lane, _)| (busy(lane), lane))
        .max_by_key(|(busy, lane)| (*busy, std::cmp::Reverse(*lane)))?;
    Some(work(lane).collect())
}

/// Every name that belongs to an end of a model and comes back regularly.
fn candidates(trace: &Trace, work: &[SliceId]) -> Vec<Candidate> {
    let slices = trace.slices();
    let mut of_kernel = ByName::new(trace, end_of_kernel);
    let operators = operators(trace);
    let of_operator = |id: SliceId| {
        let call = trace.links().launch(id)?;
        let at = (slices.lane(call), slices.start(call));
        let last =
            operators.partition_point(|op| (slices.lane(op.0), slices.start(op.0)) <= at).checked_sub(1)?;
        let (op, end) = operators[last];
        (slices.lane(op) == at.0 && at.1 < slices.end(op)).then_some(end)
    };
    let mut places: HashMap<(StrId, End), Vec<usize>, RandomState> = HashMap::default();
    for (at, &id) in work.iter().enumerate() {
        if let Some(end) = of_operator(id).or_else(|| of_kernel.get(slices.name(id))) {
            places.entry((slices.name(id), end)).or_default().push(at);
        }
    }
    let found = places.into_iter().map(|((name, end), places)| Candidate {
        end,
        name,
        begins: first_of_each(&places, end),
    });
    let mut found: Vec<Candidate> = found.filter(|of| is_regular(&of.begins, work.len())).collect();
    found.sort_unstable_by_key(|of| (of.end, of.begins[0], of.name));
    let mut examined = 0;
    let mut last = None;
    found.retain(|of| {
        examined = if last == Some(of.end) { examined + 1 } else { 1 };
        last = Some(of.end);
        examined <= MAX_EXAMINED && are_alike(trace, work, &of.begins) && are_busy(trace, work, &of.begins)
    });
    found
}

/// Operators of a model's ends, by thread and start; kernels name only the innermost one around their launch.
fn operators(trace: &Trace) -> Vec<(SliceId, End)> {
    let slices = trace.slices();
    let mut of_operator = ByName::new(trace, end_of_operator);
    let ops = slices.ids().filter(|&id| slices.kind(id) == Kind::HostOp);
    ops.filter_map(|id| Some((id, of_operator.get(slices.name(id))?))).collect()
}

/// One place for each group: those of an iteration lie closer together than those of two.
fn first_of_each(places: &[usize], end: End) -> Vec<usize> {
    let longest = places.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let groups = places.chunk_by(|a, b| (b - a) * 2 <= longest);
    match end {
        // An iteration ends with its update.
        End::Optimizer => groups.map(|group| group[group.len() - 1] + 1).collect(),
        _ => groups.map(|group| group[0]).collect(),
    }
}

fn lengths(begins: &[usize]) -> Vec<i64> {
    begins.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect()
}

/// How many of the begins have a whole iteration after them: the last may be cut.
fn whole(begins: &[usize], all: usize) -> usize {
    let usual = median(&lengths(begins));
    let last = begins.last().map_or(0, |&last| all.saturating_sub(last) as i64);
    begins.len() - usize::from(last * 10 < usual * 9)
}

fn is_regular(begins: &[usize], all: usize) -> bool {
    let lengths = lengths(begins);
    begins.len() > 1
        && whole(begins, all) >= MIN_REPEATS
        && median(&lengths) >= MIN_WORK
        && alike(&lengths, ALIKE_FACTOR, MIN_ALIKE)
}

/// Whether neighbors run the same kernels, with few exceptions.
fn are_alike(trace: &Trace, work: &[SliceId], begins: &[usize]) -> bool {
    let count = |from: usize, to: usize| {
        let mut counts: HashMap<StrId, u32, RandomState> = HashMap::default();
        work[from..to].iter().for_each(|&id| *counts.entry(trace.slices().name(id)).or_default() += 1);
        counts
    };
    let (mut alike, mut pairs) = (0usize, 0usize);
    let mut before: Option<(HashMap<StrId, u32, RandomState>, usize)> = None;
    for pair in begins.windows(2) {
        let (counts, length) = (count(pair[0], pair[1]), pair[1] - pair[0]);
        if let Some((others, other_length)) = &before {
            let common: u32 = counts.iter().map(|(name, n)| *n.min(others.get(name).unwrap_or(&0))).sum();
            pairs += 1;
            alike += usize::from(f64::from(common) >= MIN_COMMON * length.max(*other_length) as f64);
        }
        before = Some((counts, length));
    }
    pairs > 0 && alike as f64 >= MIN_NEIGHBORS * pairs as f64
}

fn are_busy(trace: &Trace, work: &[SliceId], begins: &[usize]) -> bool {
    let busy = |work: &[SliceId]| work.iter().map(|&id| trace.slices().dur(id)).sum::<Ns>().0 as f64;
    busy(&work[begins[0].min(work.len())..]) >= MIN_BUSY * busy(work)
}

/// Which to go by: one that is sure by itself, or one of two weak ones that agree.
fn choose(candidates: &[Candidate]) -> Option<&Candidate> {
    if let Some(sure) = candidates.iter().find(|of| of.end.is_sure()) {
        return Some(sure);
    }
    let agree = |a: &Candidate, b: &Candidate| a.end != b.end && a.begins.len().abs_diff(b.begins.len()) <= 1;
    let agreeing = candidates.iter().filter(|a| candidates.iter().any(|b| agree(a, b)));
    agreeing.min_by_key(|of| (of.begins[0], of.name))
}

/// The iterations as the host launched them, or as the device ran them where the calls are not recorded.
fn windows(trace: &Trace, work: &[SliceId], begins: &[usize]) -> Option<(Vec<(Ns, Ns)>, bool)> {
    let slices = trace.slices();
    let launched = |at: usize| trace.links().launch(*work.get(at)?).map(|call| slices.start(call));
    let kept = &begins[..whole(begins, work.len())];
    let after = kept.last()? + median(&lengths(begins)) as usize;
    let edges: Vec<usize> =
        kept.iter().copied().chain([begins.get(kept.len()).copied().unwrap_or(after)]).collect();
    let host: Option<Vec<Ns>> = kept.iter().map(|&at| launched(at)).collect();
    let on_device = host.is_none();
    let time = |at: usize| if on_device { work.get(at).map(|&id| slices.start(id)) } else { launched(at) };
    // Behind the last work is the end of all of it.
    let end = work.iter().map(|&id| {
        if on_device { slices.end(id) } else { slices.start(trace.links().launch(id).unwrap_or(id)) + Ns(1) }
    });
    let end = end.max()?;
    let times: Vec<Ns> = edges.iter().map(|&at| time(at).unwrap_or(end)).collect();
    let windows: Vec<(Ns, Ns)> = times.windows(2).map(|pair| (pair[0], pair[1])).collect();
    (windows.len() >= MIN_REPEATS && windows.iter().all(|window| window.0 < window.1))
        .then_some((windows, on_device))
}

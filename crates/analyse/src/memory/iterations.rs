//! The iterations of a program, as far as a history of allocations shows them: moments at which levels can be compared.
//!
//! Ranges that the program named (`record_function`, optimizers do it by themselves) are the best. Otherwise allocations
//! of one size at one line come back once per iteration. Where neither repeats, only time is left.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, Snapshot, StackId};

use super::history::History;
use super::places::Places;

/// Fewer repetitions say nothing.
const MIN_ITERATIONS: usize = 4;
/// More are thinned evenly.
const MAX_ITERATIONS: usize = 2_000;
/// Moments to compare where nothing repeats.
const MOMENTS_BY_TIME: usize = 40;
/// Kinds of allocations that come back a number of times, as a share of those that come back at all, for it to be the
/// number of iterations.
const MIN_ALIKE_SHARE: f64 = 0.9;
/// Kinds that are freed again, as a share of those that come back: where most stay, it is not an iteration that ends.
const MIN_FREED_SHARE: f64 = 0.7;

/// What shows where an iteration begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IterationMark {
    /// A named range; of several that differ in their numbers alone, `#` represents the number.
    Range(String),
    /// Allocations of one size at one line.
    Allocations,
    /// Nothing: moments at equal distances of time.
    Time,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Iterations {
    pub mark: IterationMark,
    /// Entries of the history after which levels are compared, rising.
    pub moments: Vec<u32>,
    /// Where they are: iterations since the first, or seconds.
    pub at: Vec<f64>,
    /// How long an iteration takes, in seconds; the middle one of all.
    pub seconds: Option<f64>,
}

/// Finds them; none where the history repeats nothing and has no times.
pub fn iterations(snapshot: &Snapshot, history: &History, places: &Places) -> Option<Iterations> {
    let (mark, moments, step) = ranges(snapshot, history)
        .or_else(|| repeats(history, places).map(|moments| (IterationMark::Allocations, moments)))
        .map(|(mark, moments)| (mark, moments, true))
        .or_else(|| by_time(history).map(|moments| (IterationMark::Time, moments, false)))?;
    let seconds_at = |moment: u32| history.times.get(moment as usize).map(seconds);
    let mut lengths: Vec<f64> = moments
        .windows(2)
        .filter_map(|pair| Some(seconds_at(pair[1])? - seconds_at(pair[0])?))
        .filter(|length| *length >= 0.0)
        .collect();
    lengths.sort_by(f64::total_cmp);
    let seconds = lengths.get(lengths.len() / 2).copied().filter(|_| step);
    let every = moments.len().div_ceil(MAX_ITERATIONS).max(1);
    let first = moments.first().copied().and_then(seconds_at).unwrap_or(0.0);
    let kept: Vec<(usize, u32)> = moments.iter().copied().enumerate().step_by(every).collect();
    let at = |&(number, moment): &(usize, u32)| match step {
        true => number as f64,
        false => seconds_at(moment).unwrap_or(first) - first,
    };
    Some(Iterations {
        at: kept.iter().map(at).collect(),
        moments: kept.iter().map(|k| k.1).collect(),
        mark,
        seconds,
    })
}

fn seconds(at: Ns) -> f64 {
    at.0 as f64 / 1e9
}

/// A range's name with its numbers taken out.
fn without_numbers(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if !letter.is_ascii_digit() {
            out.push(letter);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

/// What is known of ranges of one name.
#[derive(Default)]
struct Range {
    begins: Vec<Ns>,
    last_end: Option<Ns>,
    /// How many ranges were open around them, in total.
    depth: u64,
}

fn ranges(snapshot: &Snapshot, history: &History) -> Option<(IterationMark, Vec<u32>)> {
    let of_device = |device: i64| snapshot.marks.iter().filter(move |mark| mark.device == device);
    let mut found: HashMap<String, Range, RandomState> = HashMap::default();
    let mut depth = 0u64;
    for mark in of_device(history.device) {
        let name = without_numbers(snapshot.stacks.text(mark.name));
        let range = found.entry(name).or_default();
        if mark.begins {
            range.begins.push(mark.at);
            range.depth += depth;
            depth += 1;
        } else {
            depth = depth.saturating_sub(1);
            range.last_end = Some(mark.at);
        }
    }
    let rank = |name: &str, range: &Range| match name {
        _ if name.starts_with("ProfilerStep") => 0,
        _ if name.starts_with("Optimizer.step") => 2,
        _ if name.starts_with("Optimizer.") => 4,
        // What is inside something else may come several times per iteration, or not always.
        _ if range.depth == 0 => 1,
        _ => 3,
    };
    let mut all: Vec<(String, Range)> =
        found.into_iter().filter(|(_, range)| range.begins.len() >= MIN_ITERATIONS).collect();
    all.sort_by(|(a, x), (b, y)| {
        (rank(a, x), std::cmp::Reverse(x.begins.len()), a).cmp(&(
            rank(b, y),
            std::cmp::Reverse(y.begins.len()),
            b,
        ))
    });
    let (name, mut range) = all.into_iter().next()?;
    if rank(&name, &range) < 2 {
        // The end of the last one is as good a moment as the beginning of the one after it would be.
        range.begins.extend(range.last_end);
    }
    let known: Vec<i64> = history.times.numbers().collect();
    let mut moments: Vec<u32> = range
        .begins
        .iter()
        .filter_map(|at| known.partition_point(|known| *known <= at.0).checked_sub(1))
        .map(|moment| moment as u32)
        .collect();
    moments.sort_unstable();
    moments.dedup();
    (moments.len() >= MIN_ITERATIONS).then_some((IterationMark::Range(name), moments))
}

/// Moments at which the same comes back once per iteration.
fn repeats(history: &History, places: &Places) -> Option<Vec<u32>> {
    struct Kind {
        count: u64,
        first: u32,
        last: u32,
        /// How many were never freed.
        kept: u64,
    }
    type Key = (StackId, u64);
    let key = |allocation: &super::history::Allocation| -> Key {
        (places.python(allocation.stack), allocation.requested)
    };
    let mut kinds: HashMap<Key, Kind, RandomState> = HashMap::default();
    for allocation in history.allocations.iter().filter(|allocation| !allocation.before) {
        let (first, last) = (allocation.from, allocation.from);
        let kind = kinds.entry(key(allocation)).or_insert(Kind { count: 0, first, last, kept: 0 });
        kind.count += 1;
        kind.last = last;
        kind.kept += u64::from(allocation.to == u32::MAX);
    }
    // What comes back within a short stretch alone, as the layers of a model do that is made, is not an iteration.
    let half = (history.levels.len() / 2) as u32;
    kinds.retain(|_, kind| kind.count >= MIN_ITERATIONS as u64 && kind.last - kind.first >= half);
    let back: Vec<u64> = kinds.values().map(|kind| kind.count).collect();
    let mut candidates: HashMap<u64, u64, RandomState> = HashMap::default();
    for &count in &back {
        *candidates.entry(count).or_default() += 1;
    }
    // The number of iterations is one that at least two kinds share, and of which nearly all others are multiples. A
    // history begins and ends in the middle of one, so the number may be off by one.
    let fits = |number: u64| {
        let is_multiple = |count: &&u64| {
            let rest = **count % number;
            rest == 0 || rest == number - 1 || (rest == 1 && **count > number)
        };
        back.iter().filter(is_multiple).count() as f64 / back.len() as f64
    };
    let mut numbers: Vec<u64> =
        candidates.into_iter().filter(|(_, kinds)| *kinds >= 2).map(|(number, _)| number).collect();
    numbers.sort_unstable();
    // Hostile files may have any number of them; the largest few hundred that are shared decide as well.
    let number = numbers.into_iter().rev().take(300).find(|number| fits(*number) >= MIN_ALIKE_SHARE)?;
    let of_iterations = kinds.values().filter(|kind| kind.count + 1 >= number);
    let freed = of_iterations.clone().filter(|kind| kind.kept * 4 <= kind.count).count();
    if (freed as f64) < MIN_FREED_SHARE * of_iterations.count() as f64 {
        return None;
    }
    let (&anchor, _) =
        kinds.iter().filter(|(_, kind)| kind.count == number).min_by_key(|(key, kind)| (kind.first, key.1))?;
    let comes_back = history.allocations.iter().filter(|a| !a.before && key(a) == anchor);
    // Before it comes back: the state between two iterations.
    Some(comes_back.filter_map(|allocation| allocation.from.checked_sub(1)).collect())
}

fn by_time(history: &History) -> Option<Vec<u32>> {
    let known: Vec<i64> = history.times.iter().map(|at| at.map(|at| at.0)).collect::<Option<_>>()?;
    let (first, last) = (*known.first()?, *known.last()?);
    if last <= first {
        return None;
    }
    let mut moments: Vec<u32> = (0..=MOMENTS_BY_TIME as i128)
        .map(|at| first as i128 + (last as i128 - first as i128) * at / MOMENTS_BY_TIME as i128)
        .map(|at| known.partition_point(|known| i128::from(*known) <= at).saturating_sub(1) as u32)
        .collect();
    moments.dedup();
    (moments.len() >= MIN_ITERATIONS).then_some(moments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_differ_in_numbers_are_one() {
        assert_eq!(without_numbers("step 12"), "step #");
        assert_eq!(without_numbers("ProfilerStep#103"), "ProfilerStep#");
        assert_eq!(without_numbers("Optimizer.step#AdamW.step"), "Optimizer.step#AdamW.step");
    }
}

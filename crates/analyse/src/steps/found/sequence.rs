//! What begins the repeating unit of a sequence of names: in `d f f b d f f b`, `d` does.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::Ns;

use super::{MIN_REPEATS, alike, median};

/// The share of repeats with the same things between them and the next.
const MIN_ALIKE: f64 = 0.75;
/// Of fewer things between two repeats, their number says nothing.
const MIN_CONTENT: i64 = 8;
/// How much more or less there may be between two repeats.
const CONTENT_FACTOR: f64 = 1.25;
const TIME_FACTOR: f64 = 2.0;

#[derive(Copy, Clone, Debug)]
pub(super) struct Mark {
    pub(super) what: u64,
    pub(super) start: Ns,
    pub(super) end: Ns,
    /// How many slices its thread has before it.
    pub(super) place: usize,
}

/// Where the units begin that a sequence repeats.
pub(super) struct Units {
    pub(super) what: u64,
    pub(super) begins: Vec<Mark>,
    /// Where something begins that is not part of the usual unit, for each.
    pub(super) foreign: Vec<Option<Ns>>,
    /// Whether the last has all its parts.
    last_is_whole: bool,
}

/// The marks that begin a unit. Whatever has the same between it and its next one, most of the time, may begin one; of
/// those what comes most often does, and of equals the first. None if nothing repeats, or only in groups, as layers do.
pub(super) fn units(marks: &[Mark]) -> Option<Units> {
    if marks.len() < MIN_REPEATS {
        return None;
    }
    let hasher = RandomState::default();
    // The sum of what comes before each: what lies between two is the difference, in whatever order.
    let mut before: Vec<u64> = Vec::with_capacity(marks.len() + 1);
    before.push(0);
    for mark in marks {
        let sum = before[before.len() - 1].wrapping_add(hasher.hash_one(mark.what));
        before.push(sum);
    }
    let mut places: HashMap<u64, Vec<usize>, RandomState> = HashMap::default();
    for (at, mark) in marks.iter().enumerate() {
        places.entry(mark.what).or_default().push(at);
    }
    let mut all: Vec<Vec<usize>> = places.into_values().filter(|of| of.len() >= MIN_REPEATS).collect();
    all.sort_unstable_by_key(|of| (std::cmp::Reverse(of.len()), of[0]));
    for of in all {
        let between: Vec<u64> =
            of.windows(2).map(|pair| before[pair[1]].wrapping_sub(before[pair[0] + 1])).collect();
        let (usual, count) = most_common(&between)?;
        if (count as f64) < MIN_ALIKE * between.len() as f64 {
            continue;
        }
        let begins: Vec<Mark> = of.iter().map(|&at| marks[at]).collect();
        if !is_regular(&begins) {
            continue;
        }
        if comes_in_groups(&begins) {
            return None;
        }
        let length =
            between.iter().zip(of.windows(2)).find(|(b, _)| **b == usual).map_or(1, |(_, p)| p[1] - p[0]);
        let foreign = (0..of.len()).map(|i| {
            let next = of.get(i + 1).copied().unwrap_or(marks.len());
            let is_usual = between.get(i).map_or(next - of[i] <= length, |b| *b == usual);
            // A unit with more in it ends where the first thing begins that it has too much.
            let first = marks.get(of[i] + length).filter(|_| of[i] + length < next);
            first.filter(|_| !is_usual).map(|mark| mark.start)
        });
        let last_is_whole = marks.len() - of[of.len() - 1] >= length;
        return Some(Units { what: begins[0].what, foreign: foreign.collect(), last_is_whole, begins });
    }
    None
}

fn most_common(values: &[u64]) -> Option<(u64, usize)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).max_by_key(|of| of.1)
}

fn contents(begins: &[Mark]) -> Vec<i64> {
    begins.windows(2).map(|pair| (pair[1].place - pair[0].place) as i64).collect()
}

fn periods(begins: &[Mark]) -> Vec<i64> {
    begins.windows(2).map(|pair| (pair[1].start - pair[0].start).0).collect()
}

/// Whether as much happens between one and the next, or as much time passes: a host that runs ahead of its device takes a
/// different time for each.
fn is_regular(begins: &[Mark]) -> bool {
    let contents = contents(begins);
    (median(&contents) >= MIN_CONTENT && alike(&contents, CONTENT_FACTOR, MIN_ALIKE))
        || alike(&periods(begins), TIME_FACTOR, MIN_ALIKE)
}

/// Whether something else comes after every so many of them: they are parts of a step, such as layers.
fn comes_in_groups(begins: &[Mark]) -> bool {
    let contents = contents(begins);
    let usual = median(&contents);
    if usual < MIN_CONTENT {
        return false;
    }
    let more = |content: i64| content as f64 > CONTENT_FACTOR * usual as f64;
    let breaks: Vec<usize> = (0..contents.len()).filter(|&at| more(contents[at])).collect();
    let mut spaces = breaks.windows(2).map(|pair| pair[1] - pair[0]);
    let first = spaces.next();
    first.is_some_and(|first| first > 1 && spaces.all(|space| space == first))
}

impl Units {
    /// From each begin to the next, or to what is not part of it. The last goes on for as long as they usually do, and is
    /// left out if the recording ends in it; `recorded` is where that is, with the slices of the thread until then.
    pub(super) fn windows(&self, recorded: (Ns, usize), at: impl Fn(usize) -> Option<Ns>) -> Vec<(Ns, Ns)> {
        let (content, period) = (median(&contents(&self.begins)), median(&periods(&self.begins)));
        let mut windows = Vec::with_capacity(self.begins.len());
        for (i, mark) in self.begins.iter().enumerate() {
            let end = match (self.foreign[i], self.begins.get(i + 1)) {
                (Some(foreign), _) => foreign,
                (None, Some(next)) => next.start,
                (None, None) => {
                    let left = recorded.1.saturating_sub(mark.place) as i64;
                    let is_cut = if content >= MIN_CONTENT { left * 2 < content } else { !self.last_is_whole };
                    if is_cut {
                        break;
                    }
                    let usual = match content >= MIN_CONTENT {
                        true => at(mark.place + content as usize).unwrap_or(recorded.0),
                        false => mark.start + Ns(period),
                    };
                    usual.max(mark.end).min(recorded.0.max(mark.end))
                }
            };
            if end > mark.start {
                windows.push((mark.start, end));
            }
        }
        windows
    }
}

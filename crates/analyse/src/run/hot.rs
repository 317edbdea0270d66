//! What a program without device work spends its time on, by its functions.

use std::collections::BTreeMap;

use stepscope_model::{FrameId, Order, Profile, Sample};

use crate::causes::verdict::{Grade, Verdict};
use crate::names::python_frame::WAITING;
use crate::scope::share::percent;
use crate::tables::functions::{AmountUnit, FunctionRow, Functions, functions, value_of};
use crate::tables::stacks::frame_text;

/// A thread that waits for less than this is not said to wait.
const MIN_WAIT_SHARE: f64 = 0.02;
/// A function with less than this is not named beside the first.
const MIN_NAMED_SHARE: f64 = 0.10;
/// A main thread that waits for more than this does nothing of the work itself.
const ONLY_WAITS_SHARE: f64 = 0.95;
/// What Python calls the thread that a program begins with.
const MAIN_THREAD: &str = "MainThread";

/// Where the time of a profile goes.
#[derive(Clone, Debug)]
pub struct Hot {
    /// Its functions, the largest own amount first.
    pub functions: Functions,
    /// How the main thread waits, where the profile says.
    pub main_waits: Option<Waits>,
    /// Threads and other parts.
    pub parts: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// The share of its time.
    pub share: f64,
    /// The function in which it waits most, with its place.
    pub most_in: Option<String>,
}

/// Looks for it; none in a profile without functions.
pub fn hot(profile: &Profile) -> Option<Hot> {
    let value = value_of(profile, None)?;
    let functions = functions(profile, value);
    if functions.rows.is_empty() {
        return None;
    }
    let main_waits = functions.waiting_ns.and_then(|_| main_waits(profile, value));
    Some(Hot { functions, main_waits, parts: profile.parts.len() })
}

/// Of the thread that is called the main one, else of the one with the most time.
fn main_waits(profile: &Profile, value: usize) -> Option<Waits> {
    let amount = |sample: &Sample<'_>| sample.amounts.get(value).copied().unwrap_or(0);
    let mut sums = vec![0i64; profile.parts.len().max(1)];
    for sample in profile.samples().iter() {
        if let Some(sum) = sums.get_mut(sample.part) {
            *sum = sum.saturating_add(amount(&sample));
        }
    }
    let named = profile.parts.iter().position(|part| part.contains(MAIN_THREAD));
    let most = || (0..sums.len()).max_by_key(|&at| (sums[at], std::cmp::Reverse(at)));
    let main = named.or_else(most)?;
    // By the frame that waits.
    let mut waiting: BTreeMap<FrameId, i64> = BTreeMap::new();
    for sample in profile.samples().iter().filter(|sample| sample.part == main) {
        if let Some((below, frame)) = profile.stacks.pop(sample.stack)
            && profile.stacks.name(frame) == WAITING
        {
            let around = profile.stacks.pop(below).map_or(frame, |(_, around)| around);
            let sum = waiting.entry(around).or_default();
            *sum = sum.saturating_add(amount(&sample));
        }
    }
    let all = waiting.values().copied().fold(0, i64::saturating_add);
    let most = waiting.into_iter().max_by_key(|(frame, sum)| (*sum, std::cmp::Reverse(*frame)));
    let most_in = most.map(|(frame, _)| frame_text(profile, frame));
    (sums[main] > 0).then(|| Waits { share: all as f64 / sums[main] as f64, most_in })
}

impl Hot {
    /// What the program is bound by, in a sentence or two.
    pub fn verdict(&self) -> Verdict {
        let mut text = String::new();
        let waits = self.main_waits.as_ref().filter(|waits| waits.share >= MIN_WAIT_SHARE);
        if let Some(waits) = waits {
            let place = waits.most_in.as_ref().map(|place| format!(", most of it in {place}"));
            let share = percent(waits.share);
            text = format!("The main thread waits for {share} of its time{}", place.unwrap_or_default());
        }
        let busy = self.busy();
        if !busy.is_empty() {
            text = match text.is_empty() {
                true => busy,
                false if self.parts <= 1 => format!("{text}. While it works, {busy}"),
                false if waits.is_some_and(|waits| waits.share > ONLY_WAITS_SHARE) => {
                    format!("{text}. In other threads meanwhile, {busy}")
                }
                false => format!("{text}. Over all threads, {busy}"),
            };
        }
        let waiting = waits.is_some_and(|waits| waits.share > 0.5);
        Verdict {
            text,
            grade: Grade::Fair,
            bound_by: if waiting { "waiting" } else { "python" },
            unknown_share: 0.0,
            in_python: None,
        }
    }

    /// The functions with the most of their own.
    fn busy(&self) -> String {
        let by_self = self.functions.rows.first().is_some_and(|row| row.own() > 0);
        let mut rows: Vec<&FunctionRow> = self.functions.rows.iter().collect();
        if !by_self {
            rows.order_by_key(|row| std::cmp::Reverse(row.total()));
        }
        let share = |row: &FunctionRow| if by_self { row.self_share } else { row.total_share };
        let Some(first) = rows.first().filter(|row| share(row) > 0.0) else { return String::new() };
        let what = match self.functions.unit {
            AmountUnit::Nanoseconds => "time",
            AmountUnit::Samples => "samples",
            AmountUnit::Bytes => "memory",
        };
        let own = if by_self { " in its own code" } else { "" };
        let mut text = format!("{} takes {} of the {what}{own}", named(first), percent(share(first)));
        if let Some(second) = rows.get(1).filter(|row| share(row) >= MIN_NAMED_SHARE) {
            text.push_str(&format!(", {} {}", named(second), percent(share(second))));
        }
        text
    }
}

/// A function and its place, as a sentence names it.
fn named(row: &FunctionRow) -> String {
    match row.place().as_str() {
        "" => row.name.clone(),
        place => format!("{} ({place})", row.name),
    }
}

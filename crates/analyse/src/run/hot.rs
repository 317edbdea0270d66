//! What a program without device work spends its time on, by its functions.

use stepscope_model::Profile;

use crate::causes::verdict::{Grade, Verdict};
use crate::names::python_frame::WAITING;
use crate::tables::functions::{AmountUnit, FunctionRow, Functions, functions, value_of};

/// A thread that waits for less than this is not said to wait.
const LITTLE: f64 = 0.02;
/// A function with less than this is not named beside the first.
const SMALL: f64 = 0.10;
/// What Python calls the thread that a program begins with.
const MAIN: &str = "MainThread";

/// Where the time of a profile goes.
#[derive(Clone, Debug)]
pub struct Hot {
    /// Its functions, the largest own amount first.
    pub functions: Functions,
    /// The share of the main thread's time in which it waited, where the profile says.
    pub main_waits: Option<f64>,
    /// Threads and other parts.
    pub parts: usize,
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

/// The share of waiting of the main thread: the one that is called so, else the one with the most time.
fn main_waits(profile: &Profile, value: usize) -> Option<f64> {
    let mut sums = vec![(0i64, 0i64); profile.parts.len().max(1)];
    for sample in profile.samples().iter() {
        let waits =
            profile.stacks.pop(sample.stack).is_some_and(|(_, frame)| profile.stacks.name(frame) == WAITING);
        let amount = sample.amounts.get(value).copied().unwrap_or(0);
        if let Some((all, waiting)) = sums.get_mut(sample.part) {
            *all = all.saturating_add(amount);
            *waiting = waiting.saturating_add(if waits { amount } else { 0 });
        }
    }
    let named = profile.parts.iter().position(|part| part.contains(MAIN));
    let most = || (0..sums.len()).max_by_key(|&at| (sums[at].0, std::cmp::Reverse(at)));
    let (all, waiting) = sums[named.or_else(most)?];
    (all > 0).then(|| waiting as f64 / all as f64)
}

impl Hot {
    /// The function with the most waiting of its own.
    pub fn waits_most(&self) -> Option<&FunctionRow> {
        let rows = self.functions.rows.iter().filter(|row| row.waiting_ns.is_some_and(|ns| ns > 0));
        rows.max_by_key(|row| (row.waiting_ns, std::cmp::Reverse(&row.name)))
    }

    /// What the program is bound by, in a sentence or two.
    pub fn verdict(&self) -> Verdict {
        let mut text = String::new();
        let waits = self.main_waits.filter(|&share| share >= LITTLE);
        if let Some(share) = waits {
            let place =
                self.waits_most().map(|row| format!(", most of it in {}", named(row))).unwrap_or_default();
            text = format!("The main thread waits for {} of its time{place}", percent(share));
        }
        let busy = self.busy();
        if !busy.is_empty() {
            text = match text.is_empty() {
                true => busy,
                false => format!("{text}. While it works, {busy}"),
            };
        }
        let waiting = waits.is_some_and(|share| share > 0.5);
        Verdict {
            text,
            grade: Grade::Fair,
            bound_by: if waiting { "waiting" } else { "python" },
            unknown_share: 0.0,
        }
    }

    /// The functions with the most of their own.
    fn busy(&self) -> String {
        let by_self = self.functions.rows.first().is_some_and(|row| row.own() > 0);
        let mut rows: Vec<&FunctionRow> = self.functions.rows.iter().collect();
        if !by_self {
            rows.sort_by_key(|row| std::cmp::Reverse(row.total()));
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
        if let Some(second) = rows.get(1).filter(|row| share(row) >= SMALL) {
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

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

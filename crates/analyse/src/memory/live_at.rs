//! What was in use at one moment: by line, stack, module, size or category.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{FrameId, Ns, Snapshot, StackId};

use super::categories::{Categories, Category};
use super::history::{Allocation, History};
use super::places::{Places, in_words};
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "live_bytes_then", "Live" => "Bytes in use at this moment, rounded up as the allocator does.";
    "requested_bytes", "Asked for" => "Bytes of these that the program asked for; the rest is rounding.";
    "live_count_then", "Pieces" => "In how many allocations.";
    "live_share", "% of live" => "Divided by all bytes in use at this moment.";
    "moment_ns", "Moment" => "The selected moment, counted from the first entry of the history.";
};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// When most was in use.
    Peak,
    /// When the snapshot was taken.
    End,
    /// So long after the first entry.
    After(Ns),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum By {
    Line,
    /// The stack of Python, of so many frames.
    Stack(usize),
    /// The innermost `forward`.
    Module,
    Size,
    /// What it was for; a guess.
    Category,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LiveRow {
    pub device: i64,
    /// The line, stack, module, size or category.
    pub name: String,
    pub live_bytes_then: u64,
    pub requested_bytes: u64,
    pub live_count_then: u64,
    /// Of all in use.
    pub live_share: f64,
}

impl Moment {
    /// The entry after which to look; none for before the first.
    pub fn entry(self, history: &History) -> Option<u32> {
        let last = history.levels.len().checked_sub(1).map(|last| last as u32);
        match self {
            Moment::Peak => history.peak_moment,
            Moment::End => last,
            Moment::After(after) => {
                let first = history.times.first()?;
                let known: Vec<i64> = history.times.numbers().collect();
                let at = first.0.saturating_add(after.0);
                known.partition_point(|known| *known <= at).checked_sub(1).map(|entry| entry as u32)
            }
        }
    }

    /// When that is, since the first entry.
    pub fn at(self, history: &History) -> Option<Ns> {
        if let Moment::After(after) = self {
            return Some(after);
        }
        let first = history.times.first()?;
        let at = self.entry(history).and_then(|entry| history.times.get(entry as usize));
        Some(at.map_or(Ns(0), |at| at - first))
    }
}

/// What was in use on a device at a moment, the most first.
pub fn live_at(
    snapshot: &Snapshot,
    history: &History,
    places: &Places,
    moment: Moment,
    by: By,
) -> Vec<LiveRow> {
    #[derive(Copy, Clone, PartialEq, Eq, Hash)]
    enum Key {
        Frame(Option<FrameId>),
        Stack(StackId),
        Size(u64),
        Category(Category),
    }
    let categories = (by == By::Category).then(|| Categories::new(snapshot, history));
    let modules = if by == By::Module { places.modules() } else { Vec::new() };
    let key = |allocation: &Allocation| match by {
        By::Line => Key::Frame(places.frame(allocation.stack)),
        By::Stack(_) => Key::Stack(places.python(allocation.stack)),
        By::Module => Key::Frame(modules.get(places.python(allocation.stack).index()).copied().flatten()),
        By::Size => Key::Size(allocation.requested),
        By::Category => {
            Key::Category(categories.as_ref().map_or(Category::Unknown, |all| all.category(allocation)))
        }
    };
    let entry = moment.entry(history);
    let lives = |allocation: &&Allocation| match entry {
        Some(entry) => allocation.lives_at(entry),
        None => allocation.before,
    };
    let mut sums: HashMap<Key, (StackId, [u64; 3]), RandomState> = HashMap::default();
    let mut all = 0u64;
    for allocation in history.allocations.iter().filter(lives) {
        let (_, sum) = sums.entry(key(allocation)).or_insert((allocation.stack, [0; 3]));
        for (sum, more) in sum.iter_mut().zip([allocation.bytes, allocation.requested, 1]) {
            *sum = sum.saturating_add(more);
        }
        all = all.saturating_add(allocation.bytes);
    }
    let name = |key: Key, stack: StackId| match (key, by) {
        (Key::Size(bytes), _) => format!("{bytes} bytes"),
        (Key::Category(category), _) => category.label().to_owned(),
        (Key::Frame(Some(frame)), _) => in_words(&places.line_of(frame)),
        (Key::Frame(None), By::Module) => "(outside modules)".to_owned(),
        (Key::Stack(_), By::Stack(frames)) => places.frames(stack, frames.max(1)).join(" < "),
        _ => super::places::NO_PYTHON.to_owned(),
    };
    // Stacks that are the same in as many frames as are shown are one row.
    let mut named: HashMap<String, [u64; 3], RandomState> = HashMap::default();
    for (key, (stack, sum)) in sums {
        let row = named.entry(name(key, stack)).or_insert([0; 3]);
        for (sum, more) in row.iter_mut().zip(sum) {
            *sum = sum.saturating_add(more);
        }
    }
    let mut rows: Vec<LiveRow> = named
        .into_iter()
        .map(|(name, [bytes, requested, count])| LiveRow {
            device: history.device,
            name,
            live_bytes_then: bytes,
            requested_bytes: requested,
            live_count_then: count,
            live_share: bytes as f64 / all.max(1) as f64,
        })
        .collect();
    rows.sort_by(|a, b| b.live_bytes_then.cmp(&a.live_bytes_then).then_with(|| a.name.cmp(&b.name)));
    rows
}

impl Places {
    /// By stack of Python, the innermost frame of a module's `forward`.
    fn modules(&self) -> Vec<Option<FrameId>> {
        let mut modules = vec![None; self.python.len()];
        for (stack, below, frame) in self.python.nodes() {
            let own = self.python.name(frame) == "forward";
            modules[stack.index()] = if own { Some(frame) } else { modules[below.index()] };
        }
        modules
    }
}

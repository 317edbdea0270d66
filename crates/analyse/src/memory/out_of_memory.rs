//! Why a request was refused, and what could have been dropped for it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{FrameId, Ns, Order, Snapshot, StackId};

use super::categories::{Categories, Category};
use super::history::{FailedAllocation, History, Obstacle};
use super::places::{Line, Places};

/// A line that held memory when a request was refused.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HolderRow {
    pub device: i64,
    /// The request, counted from 1.
    pub refusal: u64,
    pub function: String,
    pub file: String,
    pub line: u32,
    pub held_bytes: u64,
    pub held_count: u64,
    /// Of all in use.
    pub held_share: f64,
    /// What most of it was for; a guess.
    pub category: &'static str,
}

/// A refused request, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfMemory {
    pub device: i64,
    pub refusal: FailedAllocation,
    /// When, since the first entry.
    pub at: Option<Ns>,
    pub line: Line,
    pub free: u64,
    /// Why it was refused.
    pub obstacle: Obstacle,
    /// How much was missing; 0 unless it was a shortage.
    pub missing: u64,
    /// Whether the device had room, so that a limit on the process refused.
    pub limited: bool,
    /// Whether segments could grow already.
    pub expandable: bool,
    /// Lines that held most, the largest first.
    pub holders: Vec<HolderRow>,
}

impl OutOfMemory {
    /// Whether segments that grow would have served it.
    pub fn expandable_helps(&self) -> bool {
        self.obstacle == Obstacle::Fragmentation && !self.expandable
    }
}

/// Explains the requests that a device refused.
pub fn out_of_memory(snapshot: &Snapshot, history: &History, places: &Places, most: usize) -> Vec<OutOfMemory> {
    if history.refusals.is_empty() {
        return Vec::new();
    }
    let categories = Categories::new(snapshot, history);
    let first = history.times.first();
    let expandable = is_expandable(snapshot);
    let explain = |(number, refusal): (usize, &FailedAllocation)| {
        let at = history.times.get(refusal.moment as usize);
        OutOfMemory {
            device: history.device,
            refusal: *refusal,
            at: at.zip(first).map(|(at, first)| at - first),
            line: places.line(refusal.stack),
            free: refusal.free(),
            obstacle: refusal.obstacle(),
            missing: refusal.missing(),
            limited: refusal.is_limited(),
            expandable,
            holders: holders(history, places, &categories, refusal, number as u64 + 1, most),
        }
    };
    history.refusals.iter().enumerate().map(explain).collect()
}

/// Whether the allocator was set to let segments grow.
pub fn is_expandable(snapshot: &Snapshot) -> bool {
    snapshot.segments.iter().any(|segment| segment.expandable)
        || snapshot.settings.iter().any(|(name, value)| {
            name.ends_with("ALLOC_CONF")
                && value.to_lowercase().replace(' ', "").contains("expandable_segments:true")
        })
}

/// What a line held at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct LineHolding {
    pub line: Line,
    pub bytes: u64,
    pub count: u64,
    /// What most of it was for; a guess.
    pub category: Category,
}

/// The lines that held most at a moment, the largest first.
pub fn held_at(
    history: &History,
    places: &Places,
    categories: &Categories<'_>,
    moment: u32,
    most: usize,
) -> Vec<LineHolding> {
    #[derive(Default)]
    struct Sum {
        bytes: u64,
        count: u64,
        by_category: HashMap<Category, u64, RandomState>,
    }
    let mut sums: HashMap<Option<FrameId>, (StackId, Sum), RandomState> = HashMap::default();
    for allocation in history.allocations.iter().filter(|allocation| allocation.lives_at(moment)) {
        let (_, sum) =
            sums.entry(places.frame(allocation.stack)).or_insert_with(|| (allocation.stack, Sum::default()));
        sum.bytes = sum.bytes.saturating_add(allocation.bytes);
        sum.count += 1;
        let of_category = sum.by_category.entry(categories.category(allocation)).or_default();
        *of_category = of_category.saturating_add(allocation.bytes);
    }
    let mut all: Vec<(StackId, Sum)> = sums.into_values().collect();
    all.order_by_key(|(stack, sum)| (std::cmp::Reverse(sum.bytes), stack.index()));
    all.truncate(most);
    let held = |(stack, sum): (StackId, Sum)| {
        let main = sum.by_category.iter().max_by_key(|(category, bytes)| (**bytes, **category));
        LineHolding {
            line: places.line(stack),
            bytes: sum.bytes,
            count: sum.count,
            category: main.map_or(Category::Unknown, |(category, _)| *category),
        }
    };
    all.into_iter().map(held).collect()
}

fn holders(
    history: &History,
    places: &Places,
    categories: &Categories<'_>,
    refusal: &FailedAllocation,
    number: u64,
    most: usize,
) -> Vec<HolderRow> {
    let row = |held: LineHolding| HolderRow {
        device: history.device,
        refusal: number,
        function: held.line.function,
        file: held.line.file,
        line: held.line.line,
        held_bytes: held.bytes,
        held_count: held.count,
        held_share: held.bytes as f64 / refusal.level.allocated.max(1) as f64,
        category: held.category.label(),
    };
    held_at(history, places, categories, refusal.moment, most).into_iter().map(row).collect()
}

//! What a peak would be with less memory of one kind: the history replayed with bytes of that kind taken out.
//!
//! Kinds are guesses from stacks, so these are estimates. But they are about the peak and not about a sum: what is saved
//! while something else makes the peak saves nothing.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::StackId;

use super::categories::{Categories, Category};
use super::history::{Allocation, History};

/// Something that takes less memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MemorySaving {
    /// Blocks keep their input alone, and the backward pass computes the rest again, one block at a time.
    Recompute,
    /// Activations of half the size: 16 bits instead of 32.
    HalfActivations,
    /// An optimizer whose state has 8 bits per value instead of 32.
    SmallStates,
}

/// The peak with a change.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PeakWithout {
    /// The most in use then.
    pub peak: u64,
    /// The most that the kind takes now.
    pub kind_bytes: u64,
    /// Blocks that are alike, where they count.
    pub blocks: u64,
    /// What one of them keeps, where that counts.
    pub block_input_bytes: u64,
}

/// Of what repeated stacks hold, the least share that makes a stack count for the number of blocks.
const MIN_STACK_SHARE: f64 = 0.05;
/// Pieces below this (sums of a normalization, seeds) are not an input of a block.
const MIN_INPUT_BYTES: u64 = 1 << 20;

/// Replays a history with a change; none where it has nothing to work on.
pub fn peak_without(
    history: &History,
    categories: &Categories<'_>,
    change: MemorySaving,
) -> Option<PeakWithout> {
    match change {
        MemorySaving::Recompute => recomputed(history, categories),
        MemorySaving::HalfActivations => scaled(history, categories, Category::Activation, |bytes| bytes / 2),
        MemorySaving::SmallStates => scaled(history, categories, Category::OptimizerState, |bytes| bytes / 4),
    }
}

fn scaled(
    history: &History,
    categories: &Categories<'_>,
    kind: Category,
    left: impl Fn(u64) -> u64,
) -> Option<PeakWithout> {
    let of_kind = sums(history, |allocation| categories.category(allocation) == kind);
    let kind_bytes = of_kind.iter().copied().max().filter(|&most| most > 0)?;
    Some(PeakWithout { peak: peak(history, &of_kind, left), kind_bytes, blocks: 0, block_input_bytes: 0 })
}

fn recomputed(history: &History, categories: &Categories<'_>) -> Option<PeakWithout> {
    let is_activation =
        |allocation: &Allocation| !allocation.before && categories.category(allocation) == Category::Activation;
    let activations: Vec<bool> = history.allocations.iter().map(is_activation).collect();
    let numbered = || history.allocations.iter().zip(&activations).filter(|(_, is)| **is).map(|(a, _)| a);
    let all = sums_of(history, numbered());
    let (state, _) =
        all.iter().enumerate().rev().max_by_key(|(_, bytes)| **bytes).filter(|most| *most.1 > 0)?;
    let lives = |allocation: &Allocation| state > 0 && allocation.lives_at(state as u32 - 1);
    // What one line holds several times belongs to blocks that are alike; logits and embeddings are there once.
    let mut stacks: HashMap<StackId, (u64, u64), RandomState> = HashMap::default();
    for allocation in numbered().filter(|allocation| lives(allocation)) {
        let sum = stacks.entry(allocation.stack).or_default();
        (sum.0, sum.1) = (sum.0 + 1, sum.1.saturating_add(allocation.bytes));
    }
    stacks.retain(|_, (pieces, _)| *pieces > 1);
    let repeated: u64 = stacks.values().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let counts = |(_, bytes): &&(u64, u64)| *bytes as f64 >= MIN_STACK_SHARE * repeated as f64;
    let pieces = || stacks.values().filter(counts).map(|(pieces, _)| *pieces);
    // The backward pass may have freed a piece of the last block already.
    let least = pieces().min()?;
    let blocks = pieces().filter(|pieces| *pieces <= least + 1).max()?;
    let of_blocks = || numbered().filter(|allocation| stacks.contains_key(&allocation.stack));
    let mut inputs: Vec<u64> =
        of_blocks().filter(|allocation| lives(allocation)).map(|allocation| allocation.bytes).collect();
    inputs.sort_unstable();
    let large = inputs.partition_point(|bytes| *bytes < MIN_INPUT_BYTES);
    let inputs = if large < inputs.len() { &inputs[large..] } else { &inputs[..] };
    let input = inputs.get(inputs.len() / 2).copied()?;
    let (block, held) = (repeated / blocks, sums_of(history, of_blocks()));
    // The input of each block that has run, and all of the one that is being computed again.
    let left = |bytes: u64| {
        let inputs = (bytes as f64 / block.max(1) as f64 * input as f64) as u64;
        bytes.min(block.saturating_add(inputs))
    };
    let peak = peak(history, &held, left);
    Some(PeakWithout { peak, kind_bytes: repeated, blocks, block_input_bytes: input })
}

/// By state, the bytes in use of some allocations: the first state is the one before the history.
fn sums(history: &History, counts: impl Fn(&Allocation) -> bool) -> Vec<u64> {
    sums_of(history, history.allocations.iter().filter(|allocation| counts(allocation)))
}

fn sums_of<'a>(history: &History, allocations: impl Iterator<Item = &'a Allocation>) -> Vec<u64> {
    let states = history.levels.len() + 1;
    let mut changes = vec![0i128; states + 1];
    for allocation in allocations {
        let from = if allocation.before { 0 } else { allocation.from as usize + 1 };
        let to = (allocation.to as usize).saturating_add(1).min(states);
        if from < to {
            changes[from] += i128::from(allocation.bytes);
            changes[to] -= i128::from(allocation.bytes);
        }
    }
    let mut level = 0;
    let level_after = |change: &i128| {
        level += change;
        u64::try_from(level).unwrap_or(u64::MAX)
    };
    changes[..states].iter().map(level_after).collect()
}

/// The most in use, with less of what these sums are about.
fn peak(history: &History, sums: &[u64], left: impl Fn(u64) -> u64) -> u64 {
    let levels = std::iter::once(history.at_start).chain(history.levels.iter());
    let with = levels.zip(sums).map(|(level, &of_kind)| {
        level.allocated.saturating_sub(of_kind).saturating_add(left(of_kind).min(of_kind))
    });
    with.max().unwrap_or(0)
}

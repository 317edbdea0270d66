//! The stacks of a profile as text.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{FrameId, Order, Profile, StackId};

use super::folded_text;
use crate::scope::definition::{Definition, definitions};

/// Frames of a stack that are written; what is deeper counts in the last.
const MAX_DEPTH: usize = 1_024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoldedRow {
    /// Frames from the outermost to the leaf, joined by `;`.
    pub stack: String,
    /// Its amount, in the profile's unit.
    pub amount: i64,
}

/// Every stack with an amount, equal ones together, in the order of their text.
pub fn profile_stacks(profile: &Profile, value: usize) -> Vec<FoldedRow> {
    let cut = profile.stacks.cut(MAX_DEPTH);
    let mut sums: HashMap<StackId, i64, RandomState> = HashMap::default();
    for sample in profile.samples().iter() {
        let sum = sums.entry(cut[sample.stack.index()]).or_default();
        *sum = sum.saturating_add(sample.amounts.get(value).copied().unwrap_or(0));
    }
    let mut rows: Vec<FoldedRow> = Vec::new();
    for (stack, amount) in sums.into_iter().filter(|(stack, amount)| *amount != 0 && *stack != StackId::EMPTY) {
        let frames = profile.stacks.unwind(stack);
        let texts: Vec<String> =
            frames.into_iter().map(|frame| folded_text(&frame_text(profile, frame)).into_owned()).collect();
        rows.push(FoldedRow { stack: texts.join(";"), amount });
    }
    rows.order_by(|a, b| a.stack.cmp(&b.stack));
    rows.dedup_by(|later, first| {
        let same = later.stack == first.stack;
        if same {
            first.amount = first.amount.saturating_add(later.amount);
        }
        same
    });
    rows
}

/// A frame as py-spy writes it: `function (file:line)`.
pub fn frame_text(profile: &Profile, id: FrameId) -> String {
    let frame = profile.stacks.get(id);
    let (name, file) = (profile.stacks.text(frame.name), profile.stacks.text(frame.file));
    match (file, frame.line) {
        ("", _) => name.to_owned(),
        (file, 0) => format!("{name} ({file})"),
        (file, line) => format!("{name} ({file}:{line})"),
    }
}

/// The number of a profile's stack.
pub const FOLDED_DEFINITIONS: &[Definition] = definitions! {
    "amount", "Self" =>
        "The weight of the samples with this stack: nanoseconds, bytes or whatever the profile counts, as the answer's \
         `unit` says.";
    "total", "Sum" => "Of a profile: the sum over all stacks, in the same unit.";
};

//! What the memory of a program suggests to change.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Order, Snapshot};

use super::{HeapLineRow, HeapReport};
use crate::memory::categories::{Categories, Category};
use crate::memory::history::History;
use crate::memory::leaks::{Grouping, MIN_GROWTH_BYTES, leaks};
use crate::memory::out_of_memory::{LineHolding, held_at};
use crate::memory::places::Places;
use crate::statistics::GrowthRule;

/// A line that holds this share of the peak is worth a check.
const LARGE_SHARE: f64 = 0.10;
/// Of a program whose levels are not known from iteration to iteration, so that no one can tell a leak: what a line held more
/// later on is worth a check if it is this share of the peak.
const GROWTH_SHARE: f64 = 0.05;
/// A line churns if it allocates so many times what the program ever held, …
const MIN_CHURN_RATIO: i64 = 20;
/// … at least this much.
const MIN_CHURN_BYTES: i64 = 256 << 20;
/// Pieces of one kind.
const MAX_PER_KIND: usize = 3;

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// What kind of thing: `holds`, `grows` or `churns`.
    pub kind: &'static str,
    pub place: String,
    pub function: String,
    pub bytes: i64,
    pub change: &'static str,
}

/// What to change: what grows first, then what holds most, then what is allocated over and over.
pub fn advice(report: &HeapReport) -> Vec<Advice> {
    let peak = i64::try_from(report.facts.peak_bytes).unwrap_or(i64::MAX);
    let mut grows: Vec<&HeapLineRow> = known(report)
        .filter(|row| {
            let growth = row.growth_bytes.unwrap_or(0);
            growth >= MIN_GROWTH_BYTES as i64 && growth as f64 >= GROWTH_SHARE * peak as f64
        })
        .collect();
    grows.order_by_key(|row| std::cmp::Reverse(row.growth_bytes));
    let change = "bound what is collected there (a cache, a list, a tensor with its graph), or delete it when it was used";
    let mut found: Vec<Advice> = (grows.iter().take(MAX_PER_KIND))
        .map(|row| advice_on("grows", row, row.growth_bytes.unwrap_or(0), change))
        .collect();
    let holds = known(report).filter(|row| row.peak_share >= LARGE_SHARE).take(MAX_PER_KIND);
    found.extend(holds.filter(|row| !grows.contains(row)).map(|row| {
        let change = match row.live_bytes >= row.peak_bytes / 2 {
            true => "it is kept to the end: load less of it at once, use a smaller type (float32, int32), or map the file",
            false => "it is freed later: free it earlier (del), work in pieces, or write into an array that exists (out=)",
        };
        advice_on("holds", row, row.peak_bytes, change)
    }));
    found.extend(churns(report, peak));
    found
}

/// The same of a device: what grows from iteration to iteration, then what holds most, by what it is for.
pub fn snapshot_advice(
    snapshot: &Snapshot,
    history: &History,
    places: &Places,
    report: &HeapReport,
    rule: &GrowthRule,
) -> Vec<Advice> {
    let mut found = growth(snapshot, history, places, rule);
    let categories = Categories::new(snapshot, history);
    let held = (history.peak_moment)
        .map(|moment| held_at(history, places, &categories, moment, usize::MAX))
        .unwrap_or_default();
    let category = |row: &HeapLineRow| {
        let same = |held: &&LineHolding| held.line.line == row.line && held.line.file == row.file;
        held.iter().find(same).map_or(Category::Unknown, |held| held.category)
    };
    let holds: Vec<Advice> = known(report)
        .filter(|row| row.peak_share >= LARGE_SHARE)
        .take(MAX_PER_KIND)
        .map(|row| advice_on("holds", row, row.peak_bytes, smaller(category(row))))
        .filter(|held| !found.iter().any(|grows| grows.place == held.place))
        .collect();
    found.extend(holds);
    found.extend(churns(report, i64::try_from(report.facts.peak_bytes).unwrap_or(i64::MAX)));
    found
}

/// What grows on a device from iteration to iteration.
pub fn growth(snapshot: &Snapshot, history: &History, places: &Places, rule: &GrowthRule) -> Vec<Advice> {
    let growing = leaks(snapshot, history, places, Grouping::Line, MIN_GROWTH_BYTES, rule).rows;
    (growing.iter().filter(|row| row.line > 0).take(MAX_PER_KIND))
        .map(|row| Advice {
            kind: "grows",
            place: format!("{}:{}", row.file, row.line),
            function: row.function.clone(),
            bytes: row.grown_bytes,
            change: "it keeps growing; collect .item() or .detach().cpu(), since a tensor that is kept keeps its graph",
        })
        .collect()
}

/// What makes memory of a kind smaller.
fn smaller(category: Category) -> &'static str {
    match category {
        Category::Parameter => "parameters, by its stack: load the model in bfloat16, or shard it over ranks",
        Category::Gradient => {
            "gradients, by its stack: free them before the next forward pass (zero_grad(set_to_none=True)), or shard them over ranks"
        }
        Category::OptimizerState => {
            "optimizer state, by its stack: use an 8-bit optimizer, or shard it over ranks"
        }
        Category::Activation => {
            "activations, by its stack: activation checkpointing, bfloat16 autocast or a smaller batch make it smaller"
        }
        Category::Temporary => {
            "temporary, by its stack: work in smaller pieces, or write into a tensor that exists (out=)"
        }
        Category::Input => {
            "made by the program itself: drop it when it is no longer needed, or use a smaller batch"
        }
        Category::Unknown => "what it is for is unknown: drop it when it is no longer needed",
    }
}

fn known(report: &HeapReport) -> impl Iterator<Item = &HeapLineRow> {
    report.lines.iter().filter(|row| row.line > 0)
}

fn advice_on(kind: &'static str, row: &HeapLineRow, bytes: i64, change: &'static str) -> Advice {
    Advice { kind, place: row.place(), function: row.function.clone(), bytes, change }
}

fn churns(report: &HeapReport, peak: i64) -> Vec<Advice> {
    let mut churns: Vec<&HeapLineRow> = known(report)
        .filter(|row| row.allocated_bytes >= MIN_CHURN_BYTES && row.allocated_bytes / MIN_CHURN_RATIO >= peak)
        .collect();
    churns.order_by_key(|row| std::cmp::Reverse(row.allocated_bytes));
    let change =
        "it allocates and frees over and over: allocate once and write into it (out=, in-place operators)";
    churns.iter().take(MAX_PER_KIND).map(|row| advice_on("churns", row, row.allocated_bytes, change)).collect()
}

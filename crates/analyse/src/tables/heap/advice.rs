//! What the memory of a program suggests to change.

use schemars::JsonSchema;
use serde::Serialize;

use super::{HeapLineRow, HeapReport};

/// A line that holds this share of the peak is worth a look.
const LARGE_SHARE: f64 = 0.10;
/// A line keeps growing if this share of the peak was added to it in the later part, and this many bytes.
const GROWTH_SHARE: f64 = 0.05;
const GROWTH_BYTES: i64 = 1 << 20;
/// A line churns if it allocates so many times what the program ever held, …
const CHURN: i64 = 20;
/// … at least this much.
const CHURN_BYTES: i64 = 256 << 20;
/// Pieces of one kind.
const MOST: usize = 3;

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// What kind of thing: `holds`, `grows` or `churns`.
    pub kind: &'static str,
    /// The line.
    pub place: String,
    /// The function.
    pub function: String,
    /// The bytes that it is about.
    pub bytes: i64,
    /// What to do.
    pub change: &'static str,
}

/// What to change: what grows first, then what holds most, then what is allocated over and over.
pub fn advice(report: &HeapReport) -> Vec<Advice> {
    let peak = i64::try_from(report.facts.peak_bytes).unwrap_or(i64::MAX);
    let of = |kind, row: &HeapLineRow, bytes, change| Advice {
        kind,
        place: row.place(),
        function: row.function.clone(),
        bytes,
        change,
    };
    let known = || report.lines.iter().filter(|row| row.line > 0);
    let mut grows: Vec<&HeapLineRow> = known()
        .filter(|row| {
            let growth = row.growth_bytes.unwrap_or(0);
            growth >= GROWTH_BYTES && growth as f64 >= GROWTH_SHARE * peak as f64
        })
        .collect();
    grows.sort_by_key(|row| std::cmp::Reverse(row.growth_bytes));
    let mut found: Vec<Advice> = grows
        .iter()
        .take(MOST)
        .map(|row| {
            let change = match report.facts.on_device {
                true => {
                    "it keeps growing: collect .item() or .detach().cpu(), since a tensor that is kept keeps its graph"
                }
                false => {
                    "it keeps growing: bound what is collected there (a cache, a list, a tensor with its graph), or \
                     delete it when it was used"
                }
            };
            of("grows", row, row.growth_bytes.unwrap_or(0), change)
        })
        .collect();
    let holds = known().filter(|row| row.peak_share >= LARGE_SHARE).take(MOST);
    found.extend(holds.filter(|row| !grows.contains(row)).map(|row| {
        let change = match row.live_bytes >= row.peak_bytes / 2 {
            true if report.facts.on_device => {
                "it is kept to the end: bfloat16 weights or an 8-bit optimizer make it smaller, if it is one of them"
            }
            false if report.facts.on_device => {
                "it is freed later: activation checkpointing, bfloat16 autocast or a smaller batch make it smaller"
            }
            true => "it is kept to the end: load less of it at once, use a smaller type (float32, int32), or map the file",
            false => "it is freed later: free it earlier (del), work in pieces, or write into an array that exists (out=)",
        };
        of("holds", row, row.peak_bytes, change)
    }));
    let mut churns: Vec<&HeapLineRow> = known()
        .filter(|row| row.allocated_bytes >= CHURN_BYTES && row.allocated_bytes / CHURN >= peak)
        .collect();
    churns.sort_by_key(|row| std::cmp::Reverse(row.allocated_bytes));
    found.extend(churns.iter().take(MOST).map(|row| {
        let change =
            "it allocates and frees over and over: allocate once and write into it (out=, in-place operators)";
        of("churns", row, row.allocated_bytes, change)
    }));
    found
}

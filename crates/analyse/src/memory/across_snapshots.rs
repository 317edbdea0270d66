//! What grows from one snapshot of a program to the next: lines that hold more at the end of each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Order, Snapshot};

use super::history::History;
use super::live_at::{By, Moment, live_at};
use super::places::Places;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "levels", "Held" => "What the line holds at the end of each snapshot, in the order they were given.";
    "grown_bytes_across", "Grown" =>
        "What the line holds at the end of the last snapshot, less what it holds at the end of the first.";
    "growth_bytes_per_snapshot", "Per snapshot" => "The same divided by the number of snapshots after the first.";
};

/// A line that holds more in each snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AcrossRow {
    pub device: i64,
    /// The line, as `file(line): function`.
    pub name: String,
    /// What it holds in each.
    pub levels: Vec<u64>,
    /// From the first to the last.
    pub grown_bytes_across: u64,
    pub growth_bytes_per_snapshot: u64,
}

/// A snapshot with what was worked out of it.
pub type AnalyzedSnapshot<'a> = (&'a Snapshot, &'a [History], &'a Places);

/// Lines that hold more at the end of each snapshot than of the one before, and this much more at least in total; the most first.
pub fn across(snapshots: &[AnalyzedSnapshot<'_>], min_bytes: u64) -> Vec<AcrossRow> {
    let mut levels: BTreeMap<(i64, String), Vec<u64>> = BTreeMap::new();
    for (at, (snapshot, histories, places)) in snapshots.iter().enumerate() {
        for history in *histories {
            for row in live_at(snapshot, history, places, Moment::End, By::Line) {
                let line = levels.entry((row.device, row.name)).or_insert_with(|| vec![0; snapshots.len()]);
                line[at] = line[at].saturating_add(row.live_bytes_then);
            }
        }
    }
    let rises = |levels: &[u64]| levels.len() > 1 && levels.windows(2).all(|pair| pair[1] > pair[0]);
    let mut rows: Vec<AcrossRow> = levels
        .into_iter()
        .filter(|(_, levels)| rises(levels))
        .map(|((device, name), levels)| {
            let grown = levels[levels.len() - 1] - levels[0];
            let growth_bytes_per_snapshot = grown / (levels.len() as u64 - 1);
            AcrossRow { device, name, grown_bytes_across: grown, growth_bytes_per_snapshot, levels }
        })
        .filter(|row| row.grown_bytes_across >= min_bytes)
        .collect();
    rows.order_by_key(|row| std::cmp::Reverse(row.grown_bytes_across));
    rows
}

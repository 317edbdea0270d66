//! What lived at the peak, and who had asked for it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{StrId, Trace};

use super::innermost::EnclosingSlices;
use super::level::Peak;
use super::lifetime::Lifetime;
use super::record::Records;
use super::{DeviceMemory, NO_OPERATOR, UNKNOWN_ORIGIN};

/// Bytes alive at the peak that one kind of operator had allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LiveOperator {
    pub operator: String,
    pub bytes: i64,
    /// In how many allocations; `None` for the part of unknown origin.
    pub count: Option<u64>,
}

/// Bytes alive at the peak that one operator had allocated from one place in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LiveStack {
    pub operator: String,
    /// Python calls around it on its thread, innermost first.
    pub frames: Vec<String>,
    pub bytes: i64,
    /// In how many allocations; `None` for the part of unknown origin.
    pub count: Option<u64>,
}

type LiveSums<K> = HashMap<K, (i64, u64), RandomState>;

/// Fills in the peak's tables; what the file's allocations do not explain becomes the last row of each.
pub(super) fn fill<'a>(
    part: &mut DeviceMemory,
    trace: &Trace,
    records: &Records,
    lifetimes: impl Iterator<Item = &'a Lifetime>,
    peak: &Peak,
    around: (&EnclosingSlices, &EnclosingSlices),
    frames: usize,
) {
    let (operators, python) = around;
    let mut by_operator: LiveSums<Option<StrId>> = HashMap::default();
    let mut by_stack: LiveSums<(Option<StrId>, Vec<StrId>)> = HashMap::default();
    let mut known = 0i64;
    for i in lifetimes.filter(|l| l.alive_before(peak.before)).filter_map(|l| l.allocated) {
        let record = &records.all[i as usize];
        // Without an address its end cannot be known, so it may be gone.
        if record.address.is_none() {
            continue;
        }
        let operator = operators.at(i).map(|op| trace.slices().name(op));
        let stack = python
            .at(i)
            .into_iter()
            .flat_map(|call| std::iter::once(call).chain(python.tree.ancestors(call)))
            .take(frames)
            .map(|call| trace.slices().name(call))
            .collect();
        known = known.saturating_add(record.bytes);
        add(&mut by_operator, operator, record.bytes);
        add(&mut by_stack, (operator, stack), record.bytes);
    }
    let text = |op: Option<StrId>| op.map_or(NO_OPERATOR, |op| trace.text(op)).to_owned();
    part.peak_by_operator = by_operator
        .into_iter()
        .map(|(op, (bytes, count))| LiveOperator { operator: text(op), bytes, count: Some(count) })
        .collect();
    part.peak_by_operator.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.operator.cmp(&b.operator)));
    part.peak_by_stack = by_stack
        .into_iter()
        .map(|((op, stack), (bytes, count))| LiveStack {
            operator: text(op),
            frames: stack.into_iter().map(|f| trace.text(f).to_owned()).collect(),
            bytes,
            count: Some(count),
        })
        .collect();
    part.peak_by_stack.sort_by(|a, b| {
        b.bytes.cmp(&a.bytes).then_with(|| (&a.operator, &a.frames).cmp(&(&b.operator, &b.frames)))
    });

    part.peak_known_bytes = known;
    part.peak_unknown_bytes = peak.bytes.saturating_sub(known);
    if part.peak_unknown_bytes != 0 {
        let (operator, bytes) = (UNKNOWN_ORIGIN.to_owned(), part.peak_unknown_bytes);
        part.peak_by_operator.push(LiveOperator { operator: operator.clone(), bytes, count: None });
        part.peak_by_stack.push(LiveStack { operator, frames: Vec::new(), bytes, count: None });
    }
}

fn add<K: Eq + std::hash::Hash>(sums: &mut LiveSums<K>, key: K, bytes: i64) {
    let sum = sums.entry(key).or_default();
    sum.0 = sum.0.saturating_add(bytes);
    sum.1 += 1;
}

//! Rows as counting profilers write them, made of weighted stacks where calls were not counted.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{CallRow, Caller, Ns, Profile};

use super::tree::{Step, Tree};
use super::{AmountUnit, FunctionId, Names};

/// Why there are none.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NoCalls {
    /// The amounts are not times.
    NoTimes,
    /// The profile has neither stacks nor calls.
    NoStacks,
}

/// A row per function with its callers. Of stacks, calls are the different stacks a function was seen in, since no one
/// knows how often it was called.
pub fn calls(profile: &Profile, value: usize) -> Result<Vec<CallRow>, NoCalls> {
    if !profile.calls.is_empty() {
        return Ok(profile.calls.clone());
    }
    if profile.samples().is_empty() {
        return Err(NoCalls::NoStacks);
    }
    let unit = profile.values().get(value).map(|kind| AmountUnit::from_unit(kind.unit));
    if unit != Some(AmountUnit::Nanoseconds) {
        return Err(NoCalls::NoTimes);
    }
    let names = Names::new(profile);
    let tree = Tree::with_waiting(profile, &names, value);
    let (own, total) = tree.sums();
    let mut seen = vec![0u64; names.len()];
    let mut seen_by: HashMap<(FunctionId, FunctionId), u64, RandomState> = HashMap::default();
    tree.walk(|step| {
        if let Step::Enter(node) = step {
            let function = tree.function(node);
            seen[function as usize] += 1;
            if let Some(parent) = tree.parent(node) {
                *seen_by.entry((tree.function(parent), function)).or_default() += 1;
            }
        }
    });
    let mut rows: Vec<CallRow> = Vec::new();
    let mut places: HashMap<FunctionId, usize, RandomState> = HashMap::default();
    for function in 0..names.len() as FunctionId {
        let at = function as usize;
        if seen[at] == 0 || names.is_waiting(function) {
            continue;
        }
        places.insert(function, rows.len());
        rows.push(CallRow {
            frame: names.frame_id(function),
            calls: seen[at],
            primitive_calls: seen[at],
            self_ns: Ns(own[at]),
            total_ns: Ns(total[at]),
            callers: Vec::new(),
        });
    }
    let mut edges: Vec<_> = tree.edges().into_iter().collect();
    edges.sort_unstable_by_key(|(edge, _)| *edge);
    for ((caller, callee), (own, total)) in edges {
        let calls = seen_by.get(&(caller, callee)).copied().unwrap_or(0);
        if let Some(&row) = places.get(&callee) {
            rows[row].callers.push(Caller {
                frame: names.frame_id(caller),
                calls,
                primitive_calls: calls,
                self_ns: Ns(own),
                total_ns: Ns(total),
            });
        }
    }
    Ok(rows)
}

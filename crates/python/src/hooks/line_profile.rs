//! Lines of all threads together, as a profile.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use pyo3::prelude::*;
use stepscope_model::{Frame, FrameId, LineRow, Profile};
use stepscope_record::calls::FunctionId;
use stepscope_record::line_times::LineSum;

use super::functions::Functions;
use super::ticks;

/// Hits and ticks by function and line.
pub(super) type LineSums = HashMap<(FunctionId, u32), (u64, u64), RandomState>;

pub(super) fn add(sums: &mut LineSums, more: impl Iterator<Item = LineSum>) {
    for line in more {
        let known = sums.entry((line.function, line.line)).or_default();
        known.0 += line.hits;
        known.1 += line.ticks;
    }
}

pub(super) fn profile(py: Python<'_>, functions: &Functions, sums: LineSums) -> Profile {
    let scale = ticks::scale();
    let mut profile = Profile::default();
    let mut frames: HashMap<FunctionId, FrameId, RandomState> = HashMap::default();
    let mut lines: BTreeMap<(FrameId, u32), (u64, u64)> = BTreeMap::new();
    for ((function, line), (hits, ticks)) in sums {
        let frame = *frames.entry(function).or_insert_with(|| {
            let (file, line, name) = functions.describe(py, function);
            let name = functions.qualified_name(py, function).unwrap_or(name);
            let frame = Frame { name: profile.stacks.intern(&name), file: profile.stacks.intern(&file), line };
            profile.stacks.frame(frame)
        });
        // Functions of the same name and place are one.
        let known = lines.entry((frame, line)).or_default();
        known.0 += hits;
        known.1 += ticks;
    }
    let row = |((function, line), (hits, ticks))| LineRow { function, line, hits, ns: scale(ticks) };
    profile.lines = lines.into_iter().map(row).collect();
    profile
}

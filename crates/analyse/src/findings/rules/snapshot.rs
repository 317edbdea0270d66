//! Rules about memory snapshots of GPU allocators.

pub(super) mod churn;
pub(super) mod fragmentation;
pub(super) mod leak;
pub(super) mod near_limit;
pub(super) mod out_of_memory;
pub(super) mod peak;
pub(super) mod spike;

use stepscope_model::Snapshot;

use crate::findings::Context;
use crate::memory::history::History;
use crate::memory::places::Line;

/// The snapshot and its devices' histories; nothing for any other file.
fn histories<'a>(context: &'a Context<'_>) -> impl Iterator<Item = (&'a Snapshot, &'a History)> {
    let whole = context.snapshot();
    whole.into_iter().flat_map(|(snapshot, histories)| histories.iter().map(move |history| (snapshot, history)))
}

fn device(number: i64) -> String {
    if number == Snapshot::HOST { "Pinned host memory".to_owned() } else { format!("GPU {number}") }
}

fn bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A line as findings name sources.
fn source(line: &Line) -> Option<String> {
    (line.line > 0).then(|| format!("{}({}): {}", line.file, line.line, line.function))
}

/// The same in a sentence: the file's name is enough.
fn short(line: &Line) -> String {
    match line.line {
        0 => line.function.clone(),
        number => format!("{}:{number}", line.file.rsplit(['/', '\\']).next().unwrap_or(&line.file)),
    }
}

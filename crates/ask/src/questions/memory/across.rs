//! What grows from one snapshot of a program to the next.

use std::sync::Arc;

use stepscope_analyse::memory::across_snapshots::{AcrossRow, AnalyzedSnapshot, across};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::super::DEFAULT_TOP;
use super::QUESTION;
use super::of_snapshot::name;
use crate::answer::Answer;
use crate::ask::Ask;
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

/// Growth below this is not listed.
const MIN_GROWTH_BYTES: u64 = 1 << 20;
const NONE: &str = "no line holds 1 MiB more from snapshot to snapshot";

pub(super) fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    if !ask.leaks {
        return Err(Problem::new(
            "several files can only be asked about leaks, or about what fits",
            "add --leaks or --fit, or name one file",
        ));
    }
    ask.refuse(
        &["at", "oom", "lines", "step", "from", "to", "by"],
        "several snapshots",
        "leave the option out",
    )?;
    let seen: Option<Vec<AnalyzedSnapshot<'_>>> = runs
        .iter()
        .map(|run| run.snapshot().map(|(snapshot, histories)| (snapshot, &histories[..], run.places())))
        .collect();
    let Some(seen) = seen else {
        let hint = "name files that torch.cuda.memory._dump_snapshot() wrote, oldest first";
        return Err(Problem::new("only memory snapshots can be compared for leaks", hint));
    };
    let rows: Vec<AcrossRow> = across(&seen, MIN_GROWTH_BYTES)
        .into_iter()
        .filter(|row| ask.device.is_none_or(|device| device == row.device))
        .collect();
    let words = format!("what is held at the end of {} snapshots, more in each", runs.len());
    let rows = arrange(rows, &ask.rows, Some("grown_bytes_across"), DEFAULT_TOP, |row: &AcrossRow| &row.name)?;
    let part = rows.into_part("across", NONE, move |rows| table(rows).title("What grows", &words));
    Ok(Answer::new(vec![part]))
}

fn table(rows: &[AcrossRow]) -> Table {
    let size = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("grown_bytes_across", KEEP, |r| {
            Cell::text(units::delta_bytes(size(r.grown_bytes_across))).role(Role::Warn)
        })
        .metric("growth_bytes_per_snapshot", 130, |r| Cell::bytes(size(r.growth_bytes_per_snapshot)))
        .add(Column::number("First").priority(110), |r| Cell::bytes(size(r.levels[0])))
        .add(Column::number("Last").priority(120), |r| Cell::bytes(size(r.levels[r.levels.len() - 1])))
        .add(Column::text("Allocator").priority(90), |r| Cell::text(name(r.device)))
        .add(Column::name("Line").flexible(24, print::middle_ellipsis), |r| Cell::text(&r.name))
        .table()
}

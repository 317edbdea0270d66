//! Tables as Arrow and Parquet files.

use std::io::{self, Write};
use std::slice;
use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_ask::answer;
use stepscope_columnar::{ColumnarError, Columns, events, part_table, write_arrow, write_parquet};

use crate::args::{EVENTS, Export, Target};
use crate::failure::Failure;

use super::{asked, only_trace, refuse};

/// Writes the table that was asked for: every event unless another is named.
pub(super) fn write(export: &Export, run: &Arc<Run>, out: &mut dyn Write) -> Result<(), Failure> {
    let table = columns(export, run)?;
    let written =
        if export.to == Target::Arrow { write_arrow(&table, out) } else { write_parquet(&table, out) };
    written.map_err(unwritten)
}

fn columns(export: &Export, run: &Arc<Run>) -> Result<Columns, Failure> {
    let name = export.table.as_deref().unwrap_or(EVENTS);
    if name == EVENTS {
        only_trace(run, "--table events")?;
        refuse(export, &["by", "sort", "top", "filter", "step", "device"], "--table events")?;
        return events(run).map_err(unwritten);
    }
    let answer = answer(&asked(name, export)?, slice::from_ref(run))?;
    match answer.part(answer.main) {
        Some(part) => part_table(&answer, part).map_err(unwritten),
        None => Err(Failure::wrong_use(
            format!("{name} has no table here"),
            format!("`stepscope {name} --format json` writes the whole answer"),
        )),
    }
}

fn unwritten(error: ColumnarError) -> Failure {
    Failure::Output(match error {
        ColumnarError::Output(error) => error,
        other => io::Error::other(other),
    })
}

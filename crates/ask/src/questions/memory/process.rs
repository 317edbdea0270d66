//! The memory of the process beside that of its devices.

use stepscope_analyse::memory::process::ProcessMemory;

use super::QUESTION;
use crate::answer::{Draw, Part};
use crate::print::{self, Cell, Column, Columns, KEEP, Plot, Role, Table, units};

pub(super) fn part(rows: Vec<ProcessMemory>) -> Part {
    let there = !rows.is_empty();
    let picture = curve(&rows);
    let mut part = Part::new("process", rows, table).shown(there);
    part.picture = there.then_some(picture);
    part
}

fn curve(rows: &[ProcessMemory]) -> Draw {
    let first = rows.iter().find(|row| row.measure == "RSS");
    let points: Vec<(i64, i64)> =
        first.iter().flat_map(|row| &row.points).map(|look| (look.at_ns, look.process_bytes)).collect();
    let peak = first.map_or(0, |row| row.process_peak_bytes);
    Box::new(move |out, screen| {
        if points.len() < 2 || peak <= 0 {
            return Ok(());
        }
        let words = format!("resident memory over time, peak {}", units::bytes(peak));
        print::heading(out, screen, "Memory of the process", &words)?;
        let plot = Plot { role: Role::Host, ..Plot::new(screen.width.min(110), 8) };
        print::area_plot(out, screen, &points, &plot)?;
        writeln!(out)
    })
}

fn table(rows: &[ProcessMemory]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Process").keep(), |r| {
            Cell::maybe(r.process, |number| Cell::text(number.to_string()))
        })
        .add(Column::text("Measure").keep(), |r| Cell::text(r.measure))
        .metric("process_first_bytes", 110, |r| Cell::bytes(r.process_first_bytes))
        .metric("process_peak_bytes", KEEP, |r| Cell::bytes(r.process_peak_bytes))
        .metric("process_peak_at_ns", 90, |r| Cell::time(r.process_peak_at_ns))
        .metric("process_last_bytes", 120, |r| Cell::bytes(r.process_last_bytes))
        .table()
        .title(
            "Memory of the process",
            "as the operating system counts it; PSS shares out what processes share",
        )
}

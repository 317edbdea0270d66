//! The memory of the process beside that of its devices.

use stepscope_analyse::memory::process::ProcessMemory;

use crate::answer::{Draw, Part};
use crate::print::{self, Cell, Column, Plot, Role, Table, units};

pub(super) fn part(rows: Vec<ProcessMemory>) -> Part {
    let there = !rows.is_empty();
    let picture = curve(&rows);
    let mut part = Part::new("process", rows, table).shown(there);
    part.picture = there.then_some(picture);
    part
}

/// What the first process took.
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
    let mut table = Table::new(vec![
        Column::text("Process").keep(),
        Column::text("Measure").keep(),
        Column::number("First").priority(110),
        Column::number("Peak").keep(),
        Column::number("Peak at").priority(90),
        Column::number("Last").priority(120),
    ])
    .title("Memory of the process", "as the operating system counts it; PSS shares out what processes share");
    for row in rows {
        table.row(vec![
            Cell::maybe(row.process, |number| Cell::text(number.to_string())),
            Cell::text(row.measure),
            Cell::bytes(row.process_first_bytes),
            Cell::bytes(row.process_peak_bytes),
            Cell::time(row.process_peak_at_ns),
            Cell::bytes(row.process_last_bytes),
        ]);
    }
    table
}

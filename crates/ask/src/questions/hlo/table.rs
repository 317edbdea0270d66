//! The table of instructions.

use stepscope_analyse::roofline::instructions::{InstructionRow, InstructionsBy};

use crate::print::{Cell, Column, Role, Table, end_ellipsis, middle_ellipsis, units};

/// What a table of these rows is called.
pub(super) fn title(by: InstructionsBy) -> &'static str {
    match by {
        InstructionsBy::Instruction => "HLO instructions",
        InstructionsBy::Category => "HLO instructions by category",
        InstructionsBy::Line => "HLO instructions by source line",
        InstructionsBy::Path => "HLO instructions by framework path",
        InstructionsBy::Program => "HLO instructions by program",
    }
}

pub(super) fn table(rows: &[InstructionRow], by: InstructionsBy) -> Table {
    let own = by == InstructionsBy::Instruction;
    let header = match by {
        InstructionsBy::Instruction => "Instruction",
        InstructionsBy::Category => "Category",
        InstructionsBy::Line => "Line",
        InstructionsBy::Path => "Path",
        InstructionsBy::Program => "Program",
    };
    let nested = rows.iter().any(|row| row.self_ns != row.total_ns);
    let peaks = rows.iter().any(|row| row.of_peak_flops.is_some() || row.of_peak_bandwidth.is_some());
    let fused = rows.iter().any(|row| row.fused.is_some());
    let mut columns = vec![Column::name(header).flexible(20, middle_ellipsis)];
    if own {
        columns.push(Column::text("Category").priority(140));
        columns.push(Column::text("Program").flexible(10, end_ellipsis).priority(50));
    } else {
        columns.push(Column::number("Instructions").priority(100));
    }
    columns.push(Column::number("Calls").priority(130));
    columns.push(Column::number("Self").keep());
    columns.push(Column::number("% of time").priority(150));
    if nested {
        columns.push(Column::number("Total").priority(90));
    }
    columns.push(Column::number("FLOP/s").priority(110));
    columns.push(Column::number("Bandwidth").priority(110));
    if peaks {
        columns.push(Column::number("% peak FLOP/s").priority(120));
        columns.push(Column::number("% peak memory").priority(120));
    }
    columns.push(Column::number("FLOPs").priority(60));
    columns.push(Column::number("Bytes").priority(60));
    if own {
        columns.push(Column::text("Line").priority(145));
        columns.push(Column::text("Path").flexible(16, middle_ellipsis).priority(80));
        columns.push(Column::text("Shape").flexible(12, end_ellipsis).priority(70));
        if fused {
            columns.push(Column::text("Fused").flexible(16, end_ellipsis).priority(65));
        }
    }
    let mut table = Table::new(columns);
    let largest = rows.iter().map(|row| row.share).fold(f64::MIN_POSITIVE, f64::max);
    let flop_rate = |v: f64| Cell::text(units::rate_flops(v * 1e12));
    let byte_rate = |v: f64| Cell::rate_bytes(v * 1e9);
    for row in rows {
        let name = match (by, &row.file) {
            (InstructionsBy::Line, Some(file)) => format!("{}:{}", short_file(file), row.line.unwrap_or(0)),
            _ => row.name.clone(),
        };
        let mut cells = vec![Cell::text(name)];
        if own {
            cells.push(Cell::maybe(row.category, Cell::text));
            cells.push(Cell::maybe(row.program.as_deref(), Cell::text));
        } else {
            cells.push(Cell::count(row.instructions));
        }
        cells.push(Cell::count(row.calls));
        cells.push(Cell::time(row.self_ns));
        let role = if row.on_device { Role::Device } else { Role::Host };
        cells.push(Cell::percent(row.share).bar(row.share / largest).role(role));
        if nested {
            cells.push(Cell::time(row.total_ns));
        }
        cells.push(Cell::maybe(row.tflops.filter(|v| *v > 0.0), flop_rate));
        cells.push(Cell::maybe(row.gbs.filter(|v| *v > 0.0), byte_rate));
        if peaks {
            cells.push(Cell::maybe(row.of_peak_flops.filter(|v| *v > 0.0), Cell::percent));
            cells.push(Cell::maybe(row.of_peak_bandwidth.filter(|v| *v > 0.0), Cell::percent));
        }
        cells.push(Cell::maybe(row.flops.filter(|&f| f > 0), |flops| Cell::flops(flops as f64)));
        cells.push(Cell::maybe(row.bytes, |bytes| Cell::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))));
        if own {
            cells.push(Cell::maybe(row.source.as_deref(), Cell::text));
            cells.push(Cell::maybe(row.op_path.as_deref(), Cell::text));
            cells.push(Cell::maybe(row.shape.as_deref(), Cell::text));
            if fused {
                cells.push(Cell::maybe(row.fused.as_deref(), Cell::text));
            }
        }
        table.row(cells);
    }
    let mut over: Vec<&str> = rows.iter().filter_map(|row| row.note).map(|note| note.sentence()).collect();
    over.sort_unstable();
    over.dedup();
    for sentence in over {
        table.note(format!("above 100%: {sentence}"));
    }
    table
}

/// The last two parts of a path.
fn short_file(file: &str) -> &str {
    let mut cuts = file.rmatch_indices(['/', '\\']);
    match (cuts.next(), cuts.next()) {
        (Some(_), Some((at, _))) => &file[at + 1..],
        _ => file,
    }
}

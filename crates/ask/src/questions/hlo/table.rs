//! The table of instructions.

use stepscope_analyse::roofline::instructions::{InstructionRow, InstructionsBy};

use super::QUESTION;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};

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
    let nested = rows.iter().any(|r| r.self_ns != r.total_ns);
    let peaks = rows.iter().any(|r| r.of_peak_flops.is_some() || r.of_peak_bandwidth.is_some());
    let fused = rows.iter().any(|r| r.fused.is_some());
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    let flop_rate = |v: f64| Cell::text(units::rate_flops(v * 1e12));
    let byte_rate = |v: f64| Cell::rate_bytes(v * 1e9);
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name(header).flexible(20, middle_ellipsis), |r| {
            Cell::text(match (by, &r.file) {
                (InstructionsBy::Line, Some(file)) => format!("{}:{}", short_file(file), r.line.unwrap_or(0)),
                _ => r.name.clone(),
            })
        })
        .add_if(own, Column::text("Category").priority(140), |r| Cell::maybe(r.category, Cell::text))
        .add_if(own, Column::text("Program").flexible(10, end_ellipsis).priority(50), |r| {
            Cell::maybe(r.program.as_deref(), Cell::text)
        })
        .metric_if(!own, "instructions", 100, |r| Cell::count(r.instructions))
        .metric("calls", 130, |r| Cell::count(r.calls))
        .metric("self_ns", KEEP, |r| Cell::time(r.self_ns))
        .metric("share", 150, |r| {
            let role = if r.on_device { Role::Device } else { Role::Host };
            Cell::percent(r.share).bar(r.share / largest).role(role)
        })
        .metric_if(nested, "total_ns", 90, |r| Cell::time(r.total_ns))
        .metric("tflops", 110, |r| Cell::maybe(r.tflops.filter(|v| *v > 0.0), flop_rate))
        .metric("gbs", 110, |r| Cell::maybe(r.gbs.filter(|v| *v > 0.0), byte_rate))
        .metric_if(peaks, "of_peak_flops", 120, |r| {
            Cell::maybe(r.of_peak_flops.filter(|v| *v > 0.0), Cell::percent)
        })
        .metric_if(peaks, "of_peak_bandwidth", 120, |r| {
            Cell::maybe(r.of_peak_bandwidth.filter(|v| *v > 0.0), Cell::percent)
        })
        .metric("flops", 60, |r| Cell::maybe(r.flops.filter(|&f| f > 0), |flops| Cell::flops(flops as f64)))
        .metric("bytes", 60, |r| {
            Cell::maybe(r.bytes, |bytes| Cell::bytes(i64::try_from(bytes).unwrap_or(i64::MAX)))
        })
        .add_if(own, Column::text("Line").priority(145), |r| Cell::maybe(r.source.as_deref(), Cell::text))
        .add_if(own, Column::text("Path").flexible(16, middle_ellipsis).priority(80), |r| {
            Cell::maybe(r.op_path.as_deref(), Cell::text)
        })
        .add_if(own, Column::text("Shape").flexible(12, end_ellipsis).priority(70), |r| {
            Cell::maybe(r.shape.as_deref(), Cell::text)
        })
        .add_if(own && fused, Column::text("Fused").flexible(16, end_ellipsis).priority(65), |r| {
            Cell::maybe(r.fused.as_deref(), Cell::text)
        })
        .table();
    let mut over: Vec<&str> = rows.iter().filter_map(|r| r.note).map(|note| note.sentence()).collect();
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

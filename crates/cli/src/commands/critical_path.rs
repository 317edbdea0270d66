//! `stepscope critical-path`: the chain of work and waiting that decided how long the run took.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::replay::Replay;
use stepscope_analyse::replay::critical_path::{self, PathClass, PathReport, PathRow, PieceRow, critical_path};

use super::kernels::shown_name;
use super::{TOP, by, host_name, refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{self, Cell, Column, Format, Role, Table, units};
use crate::rows::arrange;
use crate::words::{self, Part, answer, only_definitions};

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[critical_path::DEFINITIONS]);
    }
    let by = by(common, &["name", "piece"])?;
    let hint = "the path goes through the host and all devices; leave it out";
    refuse(common, &["--device"], "the critical path", hint)?;
    let input = Input::load(common)?;
    let replay = Replay::new(&input.trace, &input.steps);
    let path = critical_path(&input.trace, &input.steps, &replay);
    let report = path.report(&input.trace);
    let words = format!("{} from first step to last; the parts add up exactly", units::time(report.wall_ns));
    let mut classes = Part::new("classes", classes_table(&report), json!(report.classes));
    if common.format == Format::Table {
        classes.picture = picture(&report, &words, common)?;
    } else {
        classes.table = classes.table.title("Critical path", words);
    }
    let gap = input.steps.steps.windows(2).any(|pair| pair[0].step.saturating_add(1) != pair[1].step);
    if common.step.is_some() && gap {
        classes.table.note("steps between the first and the last asked for count too");
    }
    let rows = match by {
        "piece" => {
            let start = input.trace.extent().map_or(0, |(start, _)| start.0);
            pieces_part(path.rows(&input.trace), common, start)?
        }
        _ => names_part(report.rows, common)?,
    };
    let parts = if common.format == Format::Csv { vec![rows] } else { vec![classes, rows] };
    answer(out, common, parts, vec![("wall_ns", json!(report.wall_ns))], &[critical_path::DEFINITIONS])
}

fn names_part(rows: Vec<PathRow>, common: &Common) -> Result<Part, Failure> {
    let rows = arrange(rows, common, None, TOP, |r| &r.name)?;
    let mut table = rows_table(&rows.rows, common.full)
        .title(
            "On the critical path",
            "shorten these to shorten the run; what is not here is hidden behind them",
        )
        .when_empty(rows.when_empty("nothing recorded"));
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("path", table, json!(rows.rows)))
}

/// Times are shown since the trace's first slice; the data keeps them since its base.
fn pieces_part(rows: Vec<PieceRow>, common: &Common, start: i64) -> Result<Part, Failure> {
    let rows = arrange(rows, common, None, TOP, |r| &r.name)?;
    let mut table = Table::new(vec![
        Column::number("At").priority(140),
        Column::name("Name"),
        Column::text("Class").priority(150),
        Column::text("Where").flexible(12, print::end_ellipsis).priority(90),
        Column::number("Length").keep(),
    ])
    .title("The critical path, piece by piece", "in order of time, since the start of the trace")
    .when_empty(rows.when_empty("nothing recorded"));
    for r in &rows.rows {
        table.row(vec![
            Cell::text(units::time(r.start_ns.saturating_sub(start))),
            Cell::text(shown(&r.name, r.class, common.full)),
            Cell::text(r.class.label()).role(role(r.class)),
            Cell::maybe(r.lane.as_deref(), Cell::text),
            Cell::time(r.dur_ns),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("pieces", table, json!(rows.rows)))
}

/// A name as tables show it.
fn shown(name: &str, class: PathClass, full: bool) -> String {
    match class {
        // Work on its way, or behind a gap, has the name of its kernel.
        PathClass::Kernel | PathClass::Communication | PathClass::Launch | PathClass::Idle
            if !name.starts_with('(') =>
        {
            shown_name(name, full)
        }
        _ => host_name(name, full),
    }
}

fn role(class: PathClass) -> Role {
    match class {
        PathClass::Host => Role::Host,
        PathClass::Launch => Role::Runtime,
        PathClass::Kernel => Role::Device,
        PathClass::Copy => Role::Copy,
        PathClass::Communication => Role::Comm,
        PathClass::DataLoading => Role::DataLoad,
        PathClass::Synchronization | PathClass::Allocation => Role::Bad,
        PathClass::Idle => Role::Idle,
    }
}

fn picture(report: &PathReport, words: &str, common: &Common) -> Result<Vec<u8>, Failure> {
    let screen = words::screen(common);
    let mut out = Vec::new();
    print::heading(&mut out, &screen, "Critical path", words)?;
    if report.wall_ns > 0 {
        let parts: Vec<(&str, i64, Role)> =
            report.classes.iter().map(|c| (c.class.label(), c.on_path_ns, role(c.class))).collect();
        writeln!(out)?;
        print::stacked_bar(&mut out, &screen, &parts, screen.width.min(110))?;
        writeln!(out)?;
    }
    Ok(out)
}

fn classes_table(report: &PathReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("Class").keep(),
        Column::number("On the path").keep(),
        Column::number("Share").priority(200),
    ])
    .when_empty("nothing recorded");
    for c in &report.classes {
        table.row(vec![
            Cell::text(c.class.label()),
            Cell::time(c.on_path_ns),
            Cell::share(c.share).role(role(c.class)),
        ]);
    }
    table
}

fn rows_table(rows: &[PathRow], full: bool) -> Table {
    let mut table = Table::new(vec![
        Column::name("Name"),
        Column::text("Class").priority(150),
        Column::number("Pieces").priority(90),
        Column::number("On the path").keep(),
        Column::number("Share").priority(140),
    ]);
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    for r in rows {
        table.row(vec![
            Cell::text(shown(&r.name, r.class, full)),
            Cell::text(r.class.label()),
            Cell::count(r.pieces),
            Cell::time(r.on_path_ns),
            Cell::percent(r.share).bar(r.share / largest).role(role(r.class)),
        ]);
    }
    table
}

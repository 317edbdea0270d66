//! The chain of work and waiting that determined how long the run took.

use std::sync::Arc;

use stepscope_analyse::replay::critical_path::{self, PathClass, PathClassRow, PathRow, PieceRow};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::kernels::shown_name;
use super::{DEFAULT_TOP, host_name};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, Member, fact, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "critical-path",
    about: "The chain of work and waiting that determined how long the run took.",
    examples: &[
        "critical-path TRACE",
        "critical-path TRACE --step 3 --filter aten --top 0",
        "critical-path TRACE --by piece --top 0 --format csv",
    ],
    group: Group::Time,
    by: &["name", "piece"],
    options: &["sort", "top", "filter", "step", "full"],
    report_by: Some(&[]),
    definitions: &[critical_path::DEFINITIONS],
    forms: &[
        Form { name: "CriticalPathAnswer", about: TRACES, members: &[CLASSES, &[rows::<PathRow>("path")]] },
        Form { name: "CriticalPathByPiece", about: TRACES, members: &[CLASSES, &[rows::<PieceRow>("pieces")]] },
    ],
    answer,
    ..USUAL
};

const CLASSES: &[Member] = &[rows::<PathClassRow>("classes"), fact::<i64>("wall_ns")];

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let path = asked.run.critical_path();
    let report = path.report(asked.trace());
    let wall_ns = report.wall_ns;
    let words = format!("{} from first step to last; the parts add up exactly", units::time(wall_ns));
    let gap = asked.steps().steps.windows(2).any(|pair| pair[0].step.saturating_add(1) != pair[1].step);
    let note = ask.steps.is_some() && gap;
    let drawn: Vec<(&'static str, i64, Role)> =
        report.classes.iter().map(|c| (c.class.label(), c.on_path_ns, role(c.class))).collect();
    let mut classes = Part::new("classes", report.classes, move |rows| {
        let mut table = classes_table(rows).title("Critical path", &words);
        if note {
            table.note("steps between the first and the last selected are included");
        }
        table
    });
    classes.bar = Some(Box::new(move |out, screen| {
        if wall_ns > 0 {
            writeln!(out)?;
            print::stacked_bar(out, screen, &drawn, screen.width.min(110))?;
            writeln!(out)?;
        }
        Ok(())
    }));
    let full = ask.full;
    let rows = match ask.grouped() {
        "piece" => {
            let rows = arrange(path.rows(asked.trace()), &ask.rows, None, DEFAULT_TOP, |r| &r.name)?;
            rows.into_part("pieces", "nothing recorded", move |rows| pieces_table(rows, full))
        }
        _ => {
            let rows = arrange(report.rows, &ask.rows, None, DEFAULT_TOP, |r| &r.name)?;
            rows.into_part("path", "nothing recorded", move |rows| {
                rows_table(rows, full).title(
                    "On the critical path",
                    "shorten these to shorten the run; everything else is hidden behind them",
                )
            })
        }
    };
    let main = rows.key;
    Ok(Answer::new(vec![classes, rows]).fact("wall_ns", &wall_ns).main(main))
}

fn pieces_table(rows: &[PieceRow], full: bool) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("start_ns", 140, |r| Cell::text(units::time(r.start_ns)))
        .add(Column::name("Name"), |r| Cell::text(shown(&r.name, r.class, full)))
        .add(Column::text("Class").priority(150), |r| Cell::text(r.class.label()).role(role(r.class)))
        .add(Column::text("Where").flexible(12, print::end_ellipsis).priority(90), |r| {
            Cell::maybe(r.lane.as_deref(), Cell::text)
        })
        .metric("dur_ns", KEEP, |r| Cell::time(r.dur_ns))
        .table()
        .title("The critical path, piece by piece", "in order of time, since the start of the trace")
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

fn classes_table(classes: &[PathClassRow]) -> Table {
    Columns::of(classes)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Class").keep(), |c| Cell::text(c.class.label()))
        .metric("on_path_ns", KEEP, |c| Cell::time(c.on_path_ns))
        .metric("share", 200, |c| Cell::share(c.share).role(role(c.class)))
        .table()
        .when_empty("nothing recorded")
}

fn rows_table(rows: &[PathRow], full: bool) -> Table {
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Name"), |r| Cell::text(shown(&r.name, r.class, full)))
        .add(Column::text("Class").priority(150), |r| Cell::text(r.class.label()))
        .metric("pieces", 90, |r| Cell::count(r.pieces))
        .metric("on_path_ns", KEEP, |r| Cell::time(r.on_path_ns))
        .metric("share", 140, |r| Cell::percent(r.share).bar(r.share / largest).role(role(r.class)))
        .table()
}

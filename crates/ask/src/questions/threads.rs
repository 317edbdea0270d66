//! What threads did with the interpreter's lock, and which tasks their event loops ran.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::threads::lock::{self, LockRow, Locks, TaskRow, ThreadRow};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::unless_empty;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "threads",
    alias: Some("gil"),
    about: "Which threads held the GIL, ran without it, waited for it or were idle; also asyncio tasks.",
    examples: &["threads TRACE", "threads TRACE --sort waits", "threads TRACE --filter Worker --format csv"],
    group: Group::Time,
    options: &["sort", "top", "filter"],
    report_by: Some(&[]),
    definitions: &[lock::DEFINITIONS],
    forms: &[Form {
        name: "ThreadsAnswer",
        about: TRACES,
        members: &[&[rows::<ThreadRow>("threads"), rows::<LockRow>("processes"), rows::<TaskRow>("tasks")]],
    }],
    answer,
    page_parts: &["threads", "tasks"],
    ..USUAL
};

const NONE: &str =
    "no samples of Python threads in this trace; record with `stepscope run SCRIPT` or `stepscope record`";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let Locks { threads, processes, tasks } = lock::locks(runs[0].trace());
    let words = words(&processes);
    let several = processes.len() > 1;
    let rows = arrange(threads, &ask.rows, None, DEFAULT_TOP, |row| &row.thread)?;
    let (empty, left_out) = (rows.when_empty(NONE), rows.left_out());
    let threads = Part::new("threads", rows.rows, move |rows| {
        let mut table = thread_table(rows, several).title("Threads and the GIL", &words).when_empty(empty);
        table.notes(&left_out);
        table
    });
    let processes =
        Part::new("processes", processes, |rows| process_table(rows).title("The GIL of each process", ""));
    let count = tasks.len();
    let most = ask.rows.top.map_or(DEFAULT_TOP, |top| if top == 0 { usize::MAX } else { top });
    let tasks = Part::new("tasks", tasks.into_iter().take(most).collect(), move |rows: &[TaskRow]| {
        let mut table = task_table(rows).title("asyncio tasks", "time the event loop spent in each");
        if rows.len() < count {
            table.note(format!("{} more tasks", units::count((count - rows.len()) as u64)));
        }
        table
    });
    // Of one process the title says it.
    Ok(Answer::new(vec![threads, processes.shown(several), unless_empty(tasks)]).main("threads"))
}

fn words(processes: &[LockRow]) -> String {
    match processes {
        [] => String::new(),
        [one] => {
            format!("held {} of {}", units::percent(one.held_share), units::time(one.span_ns))
        }
        several => format!("{} processes, each with its own GIL", several.len()),
    }
}

fn thread_table(rows: &[ThreadRow], several: bool) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Thread"), |r| Cell::text(&r.thread))
        .add_if(several, Column::text("Process").flexible(16, end_ellipsis).priority(140), |r| {
            Cell::text(&r.process)
        })
        .metric("seen_ns", 120, |r| Cell::time(r.seen_ns))
        .metric("holds_share", KEEP, |r| Cell::share(r.holds_share))
        .metric("without_share", KEEP, |r| Cell::percent(r.without_share))
        .metric("waits_share", KEEP, |r| Cell::percent(r.waits_share).role(Role::Bad))
        .metric("idle_share", KEEP, |r| Cell::percent(r.idle_share).role(Role::Dim))
        .metric("waits_ns", 130, |r| Cell::time(r.waits_ns))
        .table()
}

fn process_table(rows: &[LockRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Process"), |r| Cell::text(&r.process))
        .metric("threads", 110, |r| Cell::count(r.threads))
        .metric("span_ns", 120, |r| Cell::time(r.span_ns))
        .metric("held_share", KEEP, |r| Cell::share(r.held_share))
        .metric("waiting_ns", KEEP, |r| Cell::time(r.waiting_ns))
        .table()
}

fn task_table(rows: &[TaskRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Task"), |r| Cell::text(&r.task))
        .add(Column::text("Thread").flexible(16, end_ellipsis).priority(100), |r| Cell::text(&r.thread))
        .metric("running_ns", KEEP, |r| Cell::time(r.running_ns))
        .metric("share", KEEP, |r| Cell::share(r.share))
        .table()
}

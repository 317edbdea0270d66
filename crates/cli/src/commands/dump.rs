//! `stepscope dump`: where every thread of a Python process is.

mod job;
mod process;

use std::io::{self, Write};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::names::waiting::WaitKind;
use stepscope_ask::print::{self, Cell, Column, Columns, Role, Screen, Table};
use stepscope_ask::{Answer, Part};
use stepscope_record::spy::{SpyError, TaskState, python_processes};

use self::job::{Job, Standing};
use self::process::{FrameDump, ProcessDump, ThreadDump, ThreadGroup, dump};
use super::source_paths::Shortener;
use crate::args::Dump;
use crate::failure::Failure;
use crate::format::{Format, write_answer};
use crate::input::remark;
use crate::terminal;

pub(super) fn run(args: &Dump, out: &mut dyn Write) -> Result<(), Failure> {
    let screen = terminal::detect_with(&io::stdout(), args.color);
    let mut dumped = Vec::new();
    if args.all {
        for process in python_processes() {
            match dump(process.pid, args.locals, args.stops.mode()) {
                Ok(one) => dumped.push(one),
                Err(error) if error.gone => {}
                Err(error) => remark(&format!("left out: {}; {}", error.what, error.hint)),
            }
        }
    } else {
        dumped.push(dump(args.pid()?, args.locals, args.stops.mode())?);
    }
    let format = if args.json { Format::Json } else { args.format };
    Ok(write_answer(out, &screen, format, false, &answer(dumped, args.all))?)
}

/// `job`: where the processes are together, too.
fn answer(dumped: Vec<ProcessDump>, job: bool) -> Answer {
    let job = job.then(|| Job::new(&dumped).standing());
    let threads = dumped.iter().flat_map(thread_rows).collect();
    let mut parts = vec![
        // On a screen whole stacks are above.
        Part::new("threads", threads, threads_table).held_elsewhere().off_screen(),
        Part::data("processes", dumped.clone()),
    ];
    let odd = job.as_ref().map(|job| job.odd_one_out.clone());
    if let Some(Standing { groups, .. }) = &job {
        parts.push(Part::new("standing", groups.clone(), job::table).off_screen());
    }
    let mut answer = Answer::new(parts);
    if let Some(odd) = odd {
        answer = answer.fact("odd_one_out", &odd);
        answer.headline = odd;
    }
    let shown = Arc::new((dumped, job));
    answer.above = Some(Box::new(move |out, screen| {
        let (dumped, job) = &*shown;
        match job {
            Some(_) if dumped.is_empty() => writeln!(out, "no Python process of this machine can be read")?,
            Some(job) => job.write(dumped.len(), screen, out)?,
            None => {}
        }
        dumped.iter().try_for_each(|one| write_process(one, screen, out))
    }));
    answer
}

/// A thread in a line.
#[derive(Debug, Serialize, JsonSchema)]
struct ThreadRow {
    pid: u32,
    rank: Option<u32>,
    thread: String,
    native_id: Option<u32>,
    state: String,
    holds_gil: bool,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

fn thread_rows(dumped: &ProcessDump) -> impl Iterator<Item = ThreadRow> {
    let holder = dumped.gil_holder();
    dumped.threads.iter().map(move |thread| {
        let at = thread.frames.iter().find_map(|frame| Some((frame, frame.python.as_ref()?)));
        ThreadRow {
            pid: dumped.pid,
            rank: dumped.rank,
            thread: thread.name.clone(),
            native_id: thread.native_id,
            state: state_words(thread, holder.as_deref()).0,
            holds_gil: thread.holds_gil,
            function: at.map(|(frame, _)| frame.function.clone()),
            file: at.map(|(frame, _)| dumped.paths.short(&frame.file).to_owned()),
            line: at.map(|(_, place)| place.line),
        }
    })
}

fn threads_table(rows: &[ThreadRow]) -> Table {
    let place =
        |row: &ThreadRow| Some(format!("{} ({}:{})", row.function.as_ref()?, row.file.as_ref()?, row.line?));
    Columns::of(rows)
        .add(Column::number("Process"), |row| Cell::text(row.pid.to_string()))
        .add(Column::number("Rank"), |row| Cell::maybe(row.rank, |rank| Cell::text(rank.to_string())))
        .add(Column::name("Thread"), |row| Cell::text(&row.thread))
        .add(Column::text("State"), |row| Cell::text(&row.state))
        .add(Column::name("Where"), |row| Cell::maybe(place(row), Cell::text))
        .table()
}

fn write_process(dumped: &ProcessDump, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    let ProcessDump { pid, command, rank, .. } = dumped;
    let rank = rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
    let title = format!("Process {pid}: {command}");
    let room = screen.width.max(40);
    writeln!(out, "{}", screen.paint(Role::Heading, &screen.text(&print::end_ellipsis(&title, room))))?;
    writeln!(out, "{}", screen.paint(Role::Dim, &format!("Python {}{rank}", dumped.version)))?;
    let holder = dumped.gil_holder();
    for thread in &dumped.threads {
        writeln!(out)?;
        write_thread(thread, holder.as_deref(), &dumped.paths, screen, out)?;
    }
    for others in &dumped.others {
        writeln!(out)?;
        write_others(others, &dumped.paths, screen, out)?;
    }
    writeln!(out)
}

/// What a thread does. `holder` is who holds the interpreter's lock.
fn state_words(thread: &ThreadDump, holder: Option<&str>) -> (String, Role) {
    let gil = if thread.holds_gil { ", holds the GIL" } else { "" };
    match (&thread.doing, &thread.waits_for, &thread.waits_in) {
        (None, ..) => (format!("state unknown{gil}"), Role::Warn),
        (_, Some(waits), _) if waits.kind == WaitKind::Gil => {
            let holder = holder.map(|holder| format!(", which {holder} holds")).unwrap_or_default();
            (format!("waits {}{holder}", waits.words), Role::Warn)
        }
        (Some(doing), Some(waits), _) => {
            let role = match waits.kind {
                WaitKind::Collective | WaitKind::Gpu => Role::Warn,
                _ => Role::Dim,
            };
            let busy = if *doing == TaskState::Running { ", asking again and again" } else { "" };
            (format!("waits {}{busy}{gil}", waits.words), role)
        }
        (Some(TaskState::Running), ..) => (format!("running{gil}"), Role::Good),
        (Some(TaskState::Waiting), None, Some(call)) => (format!("waits in {call}{gil}"), Role::Dim),
        (Some(TaskState::Waiting), None, None) => {
            let kernel = thread.kernel_function.as_ref().map(|f| format!(" in {f}")).unwrap_or_default();
            (format!("waits{kernel}{gil}"), Role::Dim)
        }
    }
}

impl ProcessDump {
    /// Who holds the interpreter's lock.
    fn gil_holder(&self) -> Option<String> {
        self.threads.iter().find(|thread| thread.holds_gil).map(who)
    }
}

/// A thread in a sentence.
fn who(thread: &ThreadDump) -> String {
    let number = thread.native_id.map_or_else(|| format!("{:#x}", thread.ident), |number| number.to_string());
    if thread.name.is_empty() {
        format!("thread {number}")
    } else {
        format!("thread {number} \"{}\"", thread.name)
    }
}

fn write_thread(
    thread: &ThreadDump,
    holder: Option<&str>,
    paths: &Shortener,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (state, role) = state_words(thread, holder);
    let head = who(thread).replacen('t', "T", 1);
    writeln!(
        out,
        "{}  {}",
        screen.paint(Role::Accent, &screen.text(&head)),
        screen.paint(role, &screen.text(&state))
    )?;
    if thread.frames.is_empty() {
        writeln!(out, "    {}", screen.paint(Role::Dim, "no Python frame"))?;
    }
    write_frames(&thread.frames, paths, screen, out)?;
    if thread.cut {
        writeln!(out, "    {}", screen.paint(Role::Dim, "outer frames are left out: the stack is too deep"))?;
    }
    Ok(())
}

fn write_frames(
    frames: &[FrameDump],
    paths: &Shortener,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    // In a terminal no line is longer than that; what is written to a file stays whole.
    let room = if screen.terminal { screen.width.saturating_sub(4).max(20) } else { usize::MAX };
    let places: Vec<String> = frames
        .iter()
        .map(|frame| match &frame.python {
            None => format!("{} ({})", frame.function, file_name(&frame.file)),
            Some(at) => format!("{} ({}:{})", frame.function, paths.short(&frame.file), at.line),
        })
        .map(|place| if print::width(&place) > room { print::middle_ellipsis(&place, room) } else { place })
        .collect();
    let of_python = frames.iter().zip(&places).filter(|(frame, _)| frame.python.is_some());
    let widest = of_python.map(|(_, place)| print::width(place)).max().unwrap_or(0).min(screen.width / 2);
    for (frame, place) in frames.iter().zip(&places) {
        let Some(at) = &frame.python else {
            writeln!(out, "    {}", screen.paint(Role::Dim, &screen.text(place)))?;
            continue;
        };
        let gap = " ".repeat(widest.saturating_sub(print::width(place)) + 3);
        let room = screen.width.saturating_sub(4 + print::width(place) + gap.len());
        let shown = match at.source.as_deref().unwrap_or_default().trim() {
            text if room >= 12 && !text.is_empty() => {
                format!("{gap}{}", screen.paint(Role::Dim, &screen.text(&print::end_ellipsis(text, room))))
            }
            _ => String::new(),
        };
        writeln!(out, "    {}{shown}", screen.text(place))?;
        for (name, value) in &at.locals {
            let text =
                print::end_ellipsis(&format!("{name} = {value}"), screen.width.saturating_sub(8).max(20));
            writeln!(out, "        {}", screen.paint(Role::Dim, &screen.text(&text)))?;
        }
    }
    Ok(())
}

/// Threads of libraries, those in the same functions together.
fn write_others(
    others: &ThreadGroup,
    paths: &Shortener,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let numbers = &others.native_ids;
    let head = match numbers.as_slice() {
        [one] => format!("Thread {one} \"{}\"", others.names.join("\", \"")),
        [first, ..] => {
            let names = others.names.iter().take(3).map(|name| format!("\"{name}\"")).collect::<Vec<_>>();
            let more = if others.names.len() > 3 { ", …" } else { "" };
            format!("{} threads from {first} on: {}{more}", numbers.len(), names.join(", "))
        }
        [] => return Ok(()),
    };
    writeln!(
        out,
        "{}  {}",
        screen.paint(Role::Accent, &screen.text(&head)),
        screen.paint(Role::Dim, "without Python")
    )?;
    write_frames(&others.frames, paths, screen, out)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl From<SpyError> for Failure {
    fn from(error: SpyError) -> Failure {
        Failure::Use(error.problem)
    }
}

//! `stepscope dump`: where every thread of a Python process stands.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_ask::print::{self, Role, Screen};
use stepscope_record::spy::{Doing, Process, SpyError, python_processes};

use super::dumped::{Dumped, DumpedThread, dump};
use super::place::{Shortener, source_line};
use super::standing::{Standing, standings};
use crate::args::Dump;
use crate::failure::Failure;
use crate::input::remark;
use crate::terminal;

pub(super) fn run(args: &Dump, out: &mut dyn Write) -> Result<(), Failure> {
    let screen = terminal::detect_with(&io::stdout(), args.color);
    let mut dumped = Vec::new();
    if args.all {
        for process in python_processes() {
            match dump(process.pid, args.locals) {
                Ok(one) => dumped.push(one),
                Err(error) if error.gone => {}
                Err(error) => remark(&format!("left out: {}; {}", error.what, error.hint)),
            }
        }
    } else {
        dumped.push(dump(args.pid()?, args.locals)?);
    }
    let groups = if args.all { standings(&dumped) } else { Vec::new() };
    if args.json {
        let mut all = json!({ "processes": dumped.iter().map(process_json).collect::<Vec<Value>>() });
        if args.all {
            all["standing"] = groups.iter().map(Standing::json).collect();
        }
        return Ok(out.write_all(print::json(&all)?.as_bytes())?);
    }
    if args.all {
        match dumped.is_empty() {
            true => writeln!(out, "no Python process of this machine can be read")?,
            false => Standing::write(&groups, &dumped, &screen, out)?,
        }
    }
    for one in &dumped {
        write_process(one, &screen, out)?;
    }
    Ok(())
}

fn process_json(dumped: &Dumped) -> Value {
    let Process { pid, parent, command, rank, local_rank, .. } = &dumped.process;
    let threads: Vec<Value> = dumped.threads.iter().map(|thread| thread_json(thread, &dumped.paths)).collect();
    json!({
        "pid": pid,
        "parent": parent,
        "command": command,
        "python": dumped.version,
        "rank": rank,
        "local_rank": local_rank,
        "threads": threads,
    })
}

fn thread_json(thread: &DumpedThread, paths: &Shortener) -> Value {
    let frames: Vec<Value> = thread
        .frames
        .iter()
        .map(|frame| {
            let locals: serde_json::Map<String, Value> =
                frame.locals.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let mut object = json!({
                "function": frame.function,
                "file": frame.file,
                "line": frame.line,
                "source": source_line(&paths.on_disk(&frame.file), frame.line),
            });
            if !locals.is_empty() {
                object["locals"] = Value::Object(locals);
            }
            object
        })
        .collect();
    json!({
        "name": thread.name,
        "ident": thread.ident,
        "native_id": thread.native_id,
        "state": thread.doing.map(|doing| match doing { Doing::Running => "running", Doing::Waiting => "waiting" }),
        "holds_gil": thread.holds_gil,
        "waits_in": thread.waits_in,
        "kernel_function": thread.kernel_function,
        "frames": frames,
        "cut": thread.cut,
    })
}

fn write_process(dumped: &Dumped, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    let Process { pid, command, rank, .. } = &dumped.process;
    let rank = rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
    let title = format!("Process {pid}: {command}");
    let room = screen.width.max(40);
    writeln!(out, "{}", screen.paint(Role::Heading, &screen.text(&print::end_ellipsis(&title, room))))?;
    writeln!(out, "{}", screen.paint(Role::Dim, &format!("Python {}{rank}", dumped.version)))?;
    for thread in &dumped.threads {
        writeln!(out)?;
        write_thread(thread, &dumped.paths, screen, out)?;
    }
    writeln!(out)
}

fn state_words(thread: &DumpedThread) -> (String, Role) {
    let gil = if thread.holds_gil { ", holds the GIL" } else { "" };
    match (&thread.doing, &thread.waits_in) {
        (Some(Doing::Running), _) => (format!("running{gil}"), Role::Good),
        (Some(Doing::Waiting), Some(call)) => (format!("waits in {call}{gil}"), Role::Dim),
        (Some(Doing::Waiting), None) => {
            let kernel = thread.kernel_function.as_ref().map(|f| format!(" in {f}")).unwrap_or_default();
            (format!("waits{kernel}{gil}"), Role::Dim)
        }
        (None, _) => (format!("state unknown{gil}"), Role::Warn),
    }
}

fn write_thread(
    thread: &DumpedThread,
    paths: &Shortener,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let number = thread.native_id.map_or_else(|| format!("{:#x}", thread.ident), |number| number.to_string());
    let (state, role) = state_words(thread);
    let name = if thread.name.is_empty() { String::new() } else { format!(" \"{}\"", thread.name) };
    let head = format!("Thread {number}{name}");
    writeln!(
        out,
        "{}  {}",
        screen.paint(Role::Accent, &screen.text(&head)),
        screen.paint(role, &screen.text(&state))
    )?;
    if thread.frames.is_empty() {
        writeln!(out, "    {}", screen.paint(Role::Dim, "no Python frame"))?;
    }
    let places: Vec<String> = thread
        .frames
        .iter()
        .map(|frame| format!("{} ({}:{})", frame.function, paths.short(&frame.file), frame.line))
        .collect();
    let widest = places.iter().map(|place| print::width(place)).max().unwrap_or(0).min(screen.width / 2);
    for (frame, place) in thread.frames.iter().zip(&places) {
        let source = source_line(&paths.on_disk(&frame.file), frame.line).unwrap_or_default();
        let gap = " ".repeat(widest.saturating_sub(print::width(place)) + 3);
        let room = screen.width.saturating_sub(4 + print::width(place) + gap.len());
        let shown = match source.trim() {
            text if room >= 12 && !text.is_empty() => {
                format!("{gap}{}", screen.paint(Role::Dim, &screen.text(&print::end_ellipsis(text, room))))
            }
            _ => String::new(),
        };
        writeln!(out, "    {}{shown}", screen.text(place))?;
        for (name, value) in &frame.locals {
            let text =
                print::end_ellipsis(&format!("{name} = {value}"), screen.width.saturating_sub(8).max(20));
            writeln!(out, "        {}", screen.paint(Role::Dim, &screen.text(&text)))?;
        }
    }
    if thread.cut {
        writeln!(out, "    {}", screen.paint(Role::Dim, "outer frames are left out: the stack is too deep"))?;
    }
    Ok(())
}

impl From<SpyError> for Failure {
    fn from(error: SpyError) -> Failure {
        Failure::wrong_use(error.what, error.hint)
    }
}

//! `stepscope dump`: where every thread of a Python process stands.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_analyse::names::waiting::WaitKind;
use stepscope_ask::print::{self, Role, Screen};
use stepscope_record::spy::{Doing, Process, SpyError, python_processes};

use super::dumped::{Dumped, DumpedThread, Others, dump};
use super::dumped_frame::DumpedFrame;
use super::place::{Shortener, source_line};
use super::standing::Standings;
use crate::args::Dump;
use crate::failure::Failure;
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
    if args.json {
        let mut all = json!({ "processes": dumped.iter().map(process_json).collect::<Vec<Value>>() });
        if args.all {
            (all["standing"], all["odd_one_out"]) = Standings::of(&dumped).json();
        }
        return Ok(out.write_all(print::json(&all)?.as_bytes())?);
    }
    if args.all {
        match dumped.is_empty() {
            true => writeln!(out, "no Python process of this machine can be read")?,
            false => Standings::of(&dumped).write(&screen, out)?,
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
    let mut object = json!({
        "pid": pid,
        "parent": parent,
        "command": command,
        "python": dumped.version,
        "rank": rank,
        "local_rank": local_rank,
        "threads": threads,
    });
    if !dumped.others.is_empty() {
        let others = dumped.others.iter().map(|group| {
            json!({
                "names": group.names,
                "native_ids": group.native_ids,
                "frames": frames_json(&group.frames, &dumped.paths),
            })
        });
        object["other_threads"] = others.collect();
    }
    object
}

fn frames_json(frames: &[DumpedFrame], paths: &Shortener) -> Vec<Value> {
    let one = |frame: &DumpedFrame| {
        if frame.native {
            return json!({ "function": frame.function, "file": frame.file, "native": true });
        }
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
    };
    frames.iter().map(one).collect()
}

fn thread_json(thread: &DumpedThread, paths: &Shortener) -> Value {
    json!({
        "name": thread.name,
        "ident": thread.ident,
        "native_id": thread.native_id,
        "state": thread.doing.map(|doing| match doing { Doing::Running => "running", Doing::Waiting => "waiting" }),
        "holds_gil": thread.holds_gil,
        "waits_for": thread.waits_for,
        "waits_in": thread.waits_in,
        "kernel_function": thread.kernel_function,
        "frames": frames_json(&thread.frames, paths),
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
    let holder = dumped.threads.iter().find(|thread| thread.holds_gil).map(who);
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
fn state_words(thread: &DumpedThread, holder: Option<&str>) -> (String, Role) {
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
            let busy = if *doing == Doing::Running { ", asking again and again" } else { "" };
            (format!("waits {}{busy}{gil}", waits.words), role)
        }
        (Some(Doing::Running), ..) => (format!("running{gil}"), Role::Good),
        (Some(Doing::Waiting), None, Some(call)) => (format!("waits in {call}{gil}"), Role::Dim),
        (Some(Doing::Waiting), None, None) => {
            let kernel = thread.kernel_function.as_ref().map(|f| format!(" in {f}")).unwrap_or_default();
            (format!("waits{kernel}{gil}"), Role::Dim)
        }
    }
}

/// A thread in a sentence.
fn who(thread: &DumpedThread) -> String {
    let number = thread.native_id.map_or_else(|| format!("{:#x}", thread.ident), |number| number.to_string());
    if thread.name.is_empty() {
        format!("thread {number}")
    } else {
        format!("thread {number} \"{}\"", thread.name)
    }
}

fn write_thread(
    thread: &DumpedThread,
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
    frames: &[DumpedFrame],
    paths: &Shortener,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    // In a terminal no line is longer than that; what is written to a file stays whole.
    let room = if screen.terminal { screen.width.saturating_sub(4).max(20) } else { usize::MAX };
    let places: Vec<String> = frames
        .iter()
        .map(|frame| match frame.native {
            true => format!("{} ({})", frame.function, file_name(&frame.file)),
            false => format!("{} ({}:{})", frame.function, paths.short(&frame.file), frame.line),
        })
        .map(|place| if print::width(&place) > room { print::middle_ellipsis(&place, room) } else { place })
        .collect();
    let of_python = frames.iter().zip(&places).filter(|(frame, _)| !frame.native);
    let widest = of_python.map(|(_, place)| print::width(place)).max().unwrap_or(0).min(screen.width / 2);
    for (frame, place) in frames.iter().zip(&places) {
        if frame.native {
            writeln!(out, "    {}", screen.paint(Role::Dim, &screen.text(place)))?;
            continue;
        }
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
    Ok(())
}

/// Threads of libraries, those in the same functions together.
fn write_others(others: &Others, paths: &Shortener, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
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

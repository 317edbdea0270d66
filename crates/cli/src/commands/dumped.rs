//! One look at a process, as data.

use std::collections::HashMap;

use stepscope_analyse::names::waiting::Waits;
use stepscope_analyse::threads::waiting::{StackFrame, Waiting, waits_for};
use stepscope_record::spy::{Doing, Frame, Mode, Process, Spy, SpyError};

use super::dumped_frame::DumpedFrame;
use super::place::{Shortener, source_line};

/// A thread and its stack.
#[derive(Debug)]
pub(super) struct DumpedThread {
    pub(super) name: String,
    pub(super) ident: u64,
    pub(super) native_id: Option<u32>,
    pub(super) doing: Option<Doing>,
    pub(super) holds_gil: bool,
    pub(super) waits_in: Option<String>,
    pub(super) waits_for: Option<Waits>,
    pub(super) kernel_function: Option<String>,
    pub(super) frames: Vec<DumpedFrame>,
    pub(super) cut: bool,
}

impl DumpedThread {
    /// Its frames, as far as their names go.
    pub(super) fn stack(&self) -> Vec<StackFrame<'_>> {
        self.frames
            .iter()
            .map(|frame| StackFrame {
                function: &frame.function,
                file: &frame.file,
                line: frame.line,
                native: frame.native,
            })
            .collect()
    }
}

/// A process and its threads.
#[derive(Debug)]
pub(super) struct Dumped {
    pub(super) process: Process,
    pub(super) version: String,
    pub(super) threads: Vec<DumpedThread>,
    /// Threads that Python does not know, those in the same functions together: numbers, and names without a trailing number.
    pub(super) others: Vec<Others>,
    pub(super) paths: Shortener,
}

/// Threads of libraries in the same functions.
#[derive(Debug)]
pub(super) struct Others {
    pub(super) names: Vec<String>,
    pub(super) native_ids: Vec<u32>,
    pub(super) frames: Vec<DumpedFrame>,
}

fn others(spy: &mut Spy) -> Vec<Others> {
    let mut groups: Vec<(Vec<Frame>, Others)> = Vec::new();
    for thread in spy.other_threads() {
        let at = groups.iter().position(|(frames, _)| *frames == thread.frames).unwrap_or_else(|| {
            let frames = thread.frames.iter().filter_map(|frame| named(spy, frame, Vec::new())).collect();
            let group = Others { names: Vec::new(), native_ids: Vec::new(), frames };
            groups.push((thread.frames.clone(), group));
            groups.len() - 1
        });
        let group = &mut groups[at].1;
        if !group.names.contains(&thread.name) {
            group.names.push(thread.name);
        }
        group.native_ids.push(thread.native_id);
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn named(spy: &Spy, frame: &Frame, locals: Vec<(String, String)>) -> Option<DumpedFrame> {
    let code = spy.code(frame.code)?;
    Some(DumpedFrame {
        function: code.qualified_name.clone(),
        file: code.file.clone(),
        line: frame.line,
        native: code.native,
        locals,
    })
}

/// What the system says about a thread.
#[derive(Debug, Default)]
struct Call {
    doing: Option<Doing>,
    waits_in: Option<String>,
    kernel_function: Option<String>,
    waits_for_gil: bool,
}

impl Call {
    fn of(spy: &mut Spy, number: u32) -> Call {
        let doing = spy.doing(number);
        if doing != Some(Doing::Waiting) {
            return Call { doing, ..Call::default() };
        }
        Call {
            doing,
            waits_in: spy.waits_in(number),
            kernel_function: spy.kernel_function(number),
            waits_for_gil: spy.waits_for_gil(number),
        }
    }
}

/// Looks once.
pub(super) fn dump(pid: u32, locals: bool, mode: Mode) -> Result<Dumped, SpyError> {
    let mut spy = Spy::attach(pid)?;
    // What threads wait in is asked before they are stopped: to go on waiting is another call.
    let mut calls: HashMap<u32, Call> = HashMap::new();
    for number in spy.look()?.iter().filter_map(|thread| thread.native_id) {
        calls.insert(number, Call::of(&mut spy, number));
    }
    spy.set_mode(mode);
    let seen = spy.look()?;
    let paths = Shortener::new(pid);
    let mut threads = Vec::new();
    // One that is about to start has no number yet, and no frames.
    for thread in seen.into_iter().filter(|thread| thread.ident != 0 || !thread.frames.is_empty()) {
        let values: Vec<Vec<(String, String)>> =
            thread.frames.iter().map(|frame| if locals { spy.locals(frame) } else { Vec::new() }).collect();
        let frames = thread.frames.iter().zip(values);
        let frames = frames.filter_map(|(frame, locals)| named(&spy, frame, locals)).collect();
        let call = thread.native_id.map(|number| match calls.remove(&number) {
            Some(call) if mode != Mode::Running => call,
            _ => Call::of(&mut spy, number),
        });
        let Call { doing, waits_in, kernel_function, waits_for_gil } = call.unwrap_or_default();
        let mut dumped = DumpedThread {
            name: spy.name_of(&thread),
            ident: thread.ident,
            native_id: thread.native_id,
            doing,
            // The two are asked one after the other: a thread that waits for the lock has lost it since.
            holds_gil: thread.holds_gil && !waits_for_gil,
            waits_in,
            waits_for: None,
            kernel_function,
            frames,
            cut: thread.cut,
        };
        let innermost = dumped.frames.iter().find(|frame| !frame.native);
        let source = innermost.and_then(|frame| source_line(&paths.on_disk(&frame.file), frame.line));
        let waiting = Waiting {
            waiting: dumped.doing == Some(Doing::Waiting),
            call: dumped.waits_in.as_deref(),
            for_gil: waits_for_gil,
            frames: &dumped.stack(),
            source: source.as_deref(),
        };
        dumped.waits_for = waits_for(&waiting);
        threads.push(dumped);
    }
    // The main thread first, then as they were started.
    threads.sort_by_key(|thread| (thread.native_id != Some(pid), thread.native_id));
    let process = Process::of(pid).unwrap_or_else(|| Process::unknown(pid));
    let others = if mode == Mode::Native { others(&mut spy) } else { Vec::new() };
    Ok(Dumped { process, version: spy.version().to_owned(), threads, others, paths })
}

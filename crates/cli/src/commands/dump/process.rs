//! One sample of a process, as data.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use stepscope_analyse::names::waiting::Waits;
use stepscope_analyse::threads::waiting::{StackFrame, Waiting, waits_for};
use stepscope_record::spy::{Frame, Mode, Process, Spy, SpyError, TaskState};

use super::super::source_paths::{Shortener, source_line};

/// A place in a function.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct FrameDump {
    pub(super) function: String,
    pub(super) file: String,
    /// Where it is in Python code. Native code has none: its file is a library.
    #[serde(flatten)]
    pub(super) python: Option<PythonPlace>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    native: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct PythonPlace {
    pub(super) line: u32,
    pub(super) source: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    #[schemars(with = "HashMap<String, String>")]
    pub(super) locals: Vec<(String, String)>,
}

fn as_map<S: Serializer>(locals: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(locals.iter().map(|(name, value)| (name, value)))
}

/// A thread and its stack.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ThreadDump {
    pub(super) name: String,
    pub(super) ident: u64,
    pub(super) native_id: Option<u32>,
    #[serde(rename = "state", serialize_with = "as_word")]
    #[schemars(with = "Option<String>")]
    pub(super) doing: Option<TaskState>,
    pub(super) holds_gil: bool,
    pub(super) waits_for: Option<Waits>,
    pub(super) waits_in: Option<String>,
    pub(super) kernel_function: Option<String>,
    pub(super) frames: Vec<FrameDump>,
    pub(super) cut: bool,
}

fn as_word<S: Serializer>(doing: &Option<TaskState>, to: S) -> Result<S::Ok, S::Error> {
    let word = |doing| if doing == TaskState::Running { "running" } else { "waiting" };
    doing.map(word).serialize(to)
}

impl ThreadDump {
    /// Its frames, as far as their names go.
    pub(super) fn stack(&self) -> Vec<StackFrame<'_>> {
        let frames = self.frames.iter().map(|frame| StackFrame {
            function: &frame.function,
            file: &frame.file,
            line: frame.python.as_ref().map_or(0, |place| place.line),
            native: frame.native,
        });
        frames.collect()
    }
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ProcessDump {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) command: String,
    #[serde(rename = "python")]
    pub(super) version: String,
    pub(super) rank: Option<u32>,
    local_rank: Option<u32>,
    pub(super) threads: Vec<ThreadDump>,
    #[serde(rename = "other_threads", skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<ThreadGroup>,
    #[serde(skip)]
    pub(super) paths: Shortener,
}

/// Threads that Python does not know, in the same functions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ThreadGroup {
    /// Without a trailing number.
    pub(super) names: Vec<String>,
    pub(super) native_ids: Vec<u32>,
    pub(super) frames: Vec<FrameDump>,
}

fn others(spy: &mut Spy, paths: &Shortener) -> Vec<ThreadGroup> {
    let mut groups: Vec<(Vec<Frame>, ThreadGroup)> = Vec::new();
    for thread in spy.other_threads() {
        let at = groups.iter().position(|(frames, _)| *frames == thread.frames).unwrap_or_else(|| {
            let frames =
                thread.frames.iter().filter_map(|frame| named(spy, paths, frame, Vec::new())).collect();
            let group = ThreadGroup { names: Vec::new(), native_ids: Vec::new(), frames };
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

fn named(spy: &Spy, paths: &Shortener, frame: &Frame, locals: Vec<(String, String)>) -> Option<FrameDump> {
    let code = spy.code(frame.code)?;
    let source = || source_line(&paths.on_disk(&code.file), frame.line);
    let python = (!code.native).then(|| PythonPlace { line: frame.line, source: source(), locals });
    Some(FrameDump {
        function: code.qualified_name.clone(),
        file: code.file.clone(),
        python,
        native: code.native,
    })
}

/// What the system says about a thread.
#[derive(Debug, Default)]
struct SystemCall {
    doing: Option<TaskState>,
    waits_in: Option<String>,
    kernel_function: Option<String>,
    waits_for_gil: bool,
}

impl SystemCall {
    fn read(spy: &mut Spy, number: u32) -> SystemCall {
        let doing = spy.doing(number);
        if doing != Some(TaskState::Waiting) {
            return SystemCall { doing, ..SystemCall::default() };
        }
        SystemCall {
            doing,
            waits_in: spy.waits_in(number),
            kernel_function: spy.kernel_function(number),
            waits_for_gil: spy.waits_for_gil(number),
        }
    }
}
pub(super) fn dump(pid: u32, locals: bool, mode: Mode) -> Result<ProcessDump, SpyError> {
    let mut spy = Spy::attach(pid)?;
    // What threads wait in is asked before they are stopped: to go on waiting is another call.
    let mut calls: HashMap<u32, SystemCall> = HashMap::new();
    for number in spy.sample()?.iter().filter_map(|thread| thread.native_id) {
        calls.insert(number, SystemCall::read(&mut spy, number));
    }
    spy.set_mode(mode);
    let seen = spy.sample()?;
    let paths = Shortener::new(pid);
    let mut threads = Vec::new();
    // One that is about to start has no number yet, and no frames.
    for thread in seen.into_iter().filter(|thread| thread.ident != 0 || !thread.frames.is_empty()) {
        let values: Vec<Vec<(String, String)>> =
            thread.frames.iter().map(|frame| if locals { spy.locals(frame) } else { Vec::new() }).collect();
        let frames = thread.frames.iter().zip(values);
        let frames = frames.filter_map(|(frame, locals)| named(&spy, &paths, frame, locals)).collect();
        let call = thread.native_id.map(|number| match calls.remove(&number) {
            Some(call) if mode != Mode::Running => call,
            _ => SystemCall::read(&mut spy, number),
        });
        let SystemCall { doing, waits_in, kernel_function, waits_for_gil } = call.unwrap_or_default();
        let mut dumped = ThreadDump {
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
        let innermost = dumped.frames.iter().find_map(|frame| frame.python.as_ref());
        let waiting = Waiting {
            waiting: dumped.doing == Some(TaskState::Waiting),
            call: dumped.waits_in.as_deref(),
            for_gil: waits_for_gil,
            frames: &dumped.stack(),
            source: innermost.and_then(|place| place.source.as_deref()),
        };
        dumped.waits_for = waits_for(&waiting);
        threads.push(dumped);
    }
    // The main thread first, then as they were started.
    threads.sort_by_key(|thread| (thread.native_id != Some(pid), thread.native_id));
    let process = Process::with_pid(pid).unwrap_or_else(|| Process::unknown(pid));
    let others = if mode == Mode::Native { others(&mut spy, &paths) } else { Vec::new() };
    let Process { parent, command, rank, local_rank, .. } = process;
    let version = spy.version().to_owned();
    Ok(ProcessDump { pid, parent, command, version, rank, local_rank, threads, others, paths })
}

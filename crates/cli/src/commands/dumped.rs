//! One look at a process, as data.

use stepscope_record::spy::{Doing, Process, Spy, SpyError};

use super::place::Shortener;

/// A thread and its stack.
#[derive(Debug)]
pub(super) struct DumpedThread {
    pub(super) name: String,
    pub(super) ident: u64,
    pub(super) native_id: Option<u32>,
    pub(super) doing: Option<Doing>,
    pub(super) holds_gil: bool,
    pub(super) waits_in: Option<String>,
    pub(super) kernel_function: Option<String>,
    pub(super) frames: Vec<DumpedFrame>,
    pub(super) cut: bool,
}

/// A place in a function.
#[derive(Debug)]
pub(super) struct DumpedFrame {
    pub(super) function: String,
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) locals: Vec<(String, String)>,
}

/// A process and its threads.
#[derive(Debug)]
pub(super) struct Dumped {
    pub(super) process: Process,
    pub(super) version: String,
    pub(super) threads: Vec<DumpedThread>,
    pub(super) paths: Shortener,
}

/// Looks once.
pub(super) fn dump(pid: u32, locals: bool) -> Result<Dumped, SpyError> {
    let mut spy = Spy::attach(pid)?;
    let seen = spy.look()?;
    let mut threads = Vec::new();
    for thread in seen {
        let values: Vec<Vec<(String, String)>> =
            thread.frames.iter().map(|frame| if locals { spy.locals(frame) } else { Vec::new() }).collect();
        let frames = thread.frames.iter().zip(values).filter_map(|(frame, locals)| {
            let code = spy.code(frame.code)?;
            let (function, file) = (code.qualified_name.clone(), code.file.clone());
            Some(DumpedFrame { function, file, line: frame.line, locals })
        });
        let frames = frames.collect();
        let doing = thread.native_id.and_then(|number| spy.doing(number));
        let waits = doing == Some(Doing::Waiting);
        let of_kernel = |ask: &dyn Fn(u32) -> Option<String>| thread.native_id.filter(|_| waits).and_then(ask);
        let waits_in = of_kernel(&|number| spy.waits_in(number));
        let kernel_function = of_kernel(&|number| spy.kernel_function(number));
        threads.push(DumpedThread {
            name: spy.name_of(&thread),
            ident: thread.ident,
            native_id: thread.native_id,
            doing,
            holds_gil: thread.holds_gil,
            waits_in,
            kernel_function,
            frames,
            cut: thread.cut,
        });
    }
    // The main thread first, then as they were started.
    threads.sort_by_key(|thread| (thread.native_id != Some(pid), thread.native_id));
    let process = Process::of(pid).unwrap_or_else(|| Process::unknown(pid));
    Ok(Dumped { process, version: spy.version().to_owned(), threads, paths: Shortener::new(pid) })
}

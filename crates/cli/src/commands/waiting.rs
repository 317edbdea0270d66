//! What a thread waits for, in words: from what it calls, its Python functions, its native ones, and the system.

use serde_json::{Value, json};
use stepscope_analyse::names::library_file::is_library_file;
use stepscope_record::spy::Doing;

use super::dumped_frame::DumpedFrame;

/// What is waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gil,
    Collective,
    Gpu,
    Lock,
    Data,
    Events,
    Child,
    Sleep,
    File,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Gil => "gil",
            Kind::Collective => "collective",
            Kind::Gpu => "gpu",
            Kind::Lock => "lock",
            Kind::Data => "data",
            Kind::Events => "events",
            Kind::Child => "child",
            Kind::Sleep => "sleep",
            Kind::File => "file",
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) kind: Kind,
    /// After "waits".
    pub(super) words: String,
}

impl Waits {
    pub(super) fn json(&self) -> Value {
        json!({ "kind": self.kind.name(), "words": self.words })
    }
}

/// Functions of Python's library and of frameworks that wait, by the end of their file.
const PYTHON: &[(&str, &[&str], Kind, &str)] = &[
    (
        "torch/utils/data/dataloader.py",
        &["_try_get_data", "_get_data", "_next_data"],
        Kind::Data,
        "for a batch from a DataLoader worker",
    ),
    (
        "torch/utils/data/_utils/pin_memory.py",
        &["do_one_step", "_pin_memory_loop"],
        Kind::Data,
        "for a batch to pin",
    ),
    ("torch/utils/data/_utils/worker.py", &["_worker_loop"], Kind::Data, "for the next batch to load"),
    ("torch/cuda/__init__.py", &["synchronize"], Kind::Gpu, "for the GPU (torch.cuda.synchronize)"),
    ("torch/cuda/streams.py", &["synchronize", "wait"], Kind::Gpu, "for the GPU (a stream or an event)"),
    ("queue.py", &["get"], Kind::Lock, "for something in a queue.Queue"),
    ("queue.py", &["put", "join"], Kind::Lock, "for room in a queue.Queue"),
    ("multiprocessing/queues.py", &["get"], Kind::Lock, "for something in a multiprocessing.Queue"),
    (
        "multiprocessing/connection.py",
        &["_recv", "recv", "recv_bytes", "wait", "accept"],
        Kind::Lock,
        "for another process (multiprocessing)",
    ),
    ("multiprocessing/popen_fork.py", &["wait", "poll"], Kind::Child, "for a child process to end"),
    ("concurrent/futures/_base.py", &["result", "wait", "as_completed"], Kind::Lock, "for a future's result"),
    ("concurrent/futures/thread.py", &["_worker"], Kind::Lock, "for work (an idle pool worker)"),
    ("multiprocessing/pool.py", &["worker"], Kind::Lock, "for work (an idle pool worker)"),
    ("threading.py", &["join", "_wait_for_tstate_lock"], Kind::Lock, "for a thread to end (Thread.join)"),
    (
        "threading.py",
        &["wait", "wait_for", "acquire"],
        Kind::Lock,
        "for a condition, event or semaphore of threading",
    ),
    ("selectors.py", &["select"], Kind::Events, "for events (an event loop or a server)"),
    (
        "subprocess.py",
        &["wait", "_wait", "communicate", "_communicate", "_try_wait"],
        Kind::Child,
        "for a child process to end",
    ),
    ("socket.py", &["readinto", "accept"], Kind::File, "for data from a socket"),
    ("ssl.py", &["read", "recv", "recv_into"], Kind::File, "for data from a socket"),
];
/// Frames below this one are not asked: they wait for the whole program.
const MAX_DEPTH: usize = 12;

/// Native functions that wait for a GPU.
const GPU: &[&str] =
    &["Synchronize", "cuMemcpy", "cudaMemcpy", "hipMemcpy", "cuCtxSync", "cuEventQuery", "cuStreamQuery"];
/// Where a native function may be for that.
const GPU_FILES: &[&str] = &["libcuda", "libcudart", "libamdhip64", "libhsa-runtime64"];

/// What is known about a thread that may wait.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    pub(super) doing: Option<Doing>,
    /// The system call that it waits in, in words.
    pub(super) call: Option<&'a str>,
    /// Whether what it waits for is the interpreter's lock.
    pub(super) for_gil: bool,
    /// Its frames, the innermost first.
    pub(super) frames: &'a [DumpedFrame],
    /// The line that its innermost Python function is at.
    pub(super) source: Option<&'a str>,
}

/// What a thread waits for. A thread that runs may wait too: a GPU is often waited for by asking again and again.
pub(super) fn waits_for(thread: &Waiting<'_>) -> Option<Waits> {
    let source = thread.source;
    let waits = |kind: Kind, words: String| Some(Waits { kind, words });
    let waiting = thread.doing == Some(Doing::Waiting);
    if thread.for_gil && waiting {
        return waits(Kind::Gil, "for the GIL".to_owned());
    }
    // Between its innermost Python function and the system.
    let native: Vec<&DumpedFrame> = thread.frames.iter().take_while(|frame| frame.native).collect();
    let python: Vec<&DumpedFrame> = thread.frames.iter().filter(|frame| !frame.native).collect();
    if let Some(name) = collective(&python, &native, waiting) {
        return waits(Kind::Collective, format!("in a collective ({name})"));
    }
    if let Some(name) = native.iter().rev().find_map(|frame| gpu(frame)) {
        return waits(Kind::Gpu, format!("for the GPU ({name})"));
    }
    if !waiting {
        let spins = python.first().and_then(|frame| by_python(frame)).filter(|found| found.kind == Kind::Gpu);
        return spins;
    }
    // What was called says more than what that calls: a queue, not its condition.
    let of_libraries = python.iter().take(MAX_DEPTH).take_while(|frame| is_library_file(&frame.file));
    if let Some(found) = of_libraries.filter_map(|frame| by_python(frame)).last() {
        return Some(found);
    }
    let call = thread.call?;
    let (name, of) = call.split_once(' ').unwrap_or((call, ""));
    let of = of.trim_start_matches("of ");
    match name {
        "nanosleep" | "clock_nanosleep" | "pause" => {
            waits(Kind::Sleep, "until it has slept (time.sleep)".to_owned())
        }
        "select" | "pselect6" if sleeps(source) => {
            waits(Kind::Sleep, "until it has slept (time.sleep)".to_owned())
        }
        "wait4" | "waitid" => waits(Kind::Child, "for a child process to end".to_owned()),
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" => {
            waits(Kind::Events, "for a socket, pipe or file to be ready".to_owned())
        }
        "futex" => waits(Kind::Lock, lock_words(source)),
        "read" | "readv" | "pread64" | "recvfrom" | "recvmsg" => {
            waits(Kind::File, format!("to read {}", file(of)))
        }
        "write" | "writev" | "pwrite64" | "sendto" | "sendmsg" => {
            waits(Kind::File, format!("to write to {}", file(of)))
        }
        "accept" | "accept4" => waits(Kind::File, "for somebody to connect".to_owned()),
        "connect" => waits(Kind::File, format!("for an answer of {}", file(of))),
        "flock" | "fcntl" => waits(Kind::File, format!("for a lock of {}", file(of))),
        "fsync" | "fdatasync" => waits(Kind::File, format!("until {} is on the disk", file(of))),
        _ => None,
    }
}

fn file(of: &str) -> String {
    match of {
        "" => "a file".to_owned(),
        of if of.starts_with("pipe:") => "a pipe".to_owned(),
        of if of.starts_with("socket:") => "a socket".to_owned(),
        of => of.to_owned(),
    }
}

fn sleeps(source: Option<&str>) -> bool {
    source.is_some_and(|line| line.contains("sleep("))
}

/// A line that takes a lock names it.
fn lock_words(source: Option<&str>) -> String {
    let line = source.unwrap_or_default().trim();
    let name = line.strip_prefix("with ").and_then(|rest| rest.split(':').next()).or_else(|| {
        line.split_once(".acquire(").map(|(name, _)| name.rsplit([' ', '=', '(']).next().unwrap_or(name))
    });
    match name.map(str::trim).filter(|name| !name.is_empty() && !name.contains(['(', ','])) {
        Some(name) => format!("for a lock ({name})"),
        None => "for a lock".to_owned(),
    }
}

fn short_name(frame: &DumpedFrame) -> &str {
    frame.function.rsplit('.').next().unwrap_or(&frame.function)
}

fn by_python(frame: &DumpedFrame) -> Option<Waits> {
    let found = PYTHON.iter().find(|(file, functions, ..)| {
        let inside = frame.file.strip_suffix(file).is_some_and(|rest| rest.ends_with('/'));
        inside && functions.contains(&short_name(frame))
    });
    found.map(|(_, _, kind, words)| Waits { kind: *kind, words: (*words).to_owned() })
}

/// The collective that a thread is in.
fn collective(python: &[&DumpedFrame], native: &[&DumpedFrame], waiting: bool) -> Option<String> {
    let mut of_torch = python
        .iter()
        .take(MAX_DEPTH)
        .filter(|frame| frame.file.ends_with("torch/distributed/distributed_c10d.py"));
    // Its outermost function there is the one that was called.
    let called = of_torch.next_back().map(|frame| short_name(frame).to_owned());
    let named = native.iter().rev().find_map(|frame| {
        let name = frame.function.as_str();
        let fits = name.starts_with("nccl")
            || name.starts_with("rccl")
            || name.starts_with("MPI_")
            || name.starts_with("gloo::")
            || (name.starts_with("c10d::") && name.contains("ait"));
        fits.then(|| name.to_owned())
    });
    match (called, named) {
        (Some(called), _) if waiting || called.contains("barrier") => Some(called),
        (Some(called), Some(_)) => Some(called),
        (None, named) => named,
        _ => None,
    }
}

fn gpu(frame: &DumpedFrame) -> Option<&str> {
    let file = frame.file.rsplit('/').next().unwrap_or(&frame.file);
    let of_driver = GPU_FILES.iter().any(|start| file.starts_with(start));
    let name = frame.function.as_str();
    let waits = GPU.iter().any(|part| name.contains(part));
    let is_call = name.starts_with("cu") || name.starts_with("hip");
    (waits && (of_driver || is_call)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, native: bool) -> DumpedFrame {
        DumpedFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line: 1,
            native,
            locals: Vec::new(),
        }
    }

    fn words(doing: Doing, call: &str, frames: Vec<DumpedFrame>, source: &str) -> Option<(Kind, String)> {
        let thread = Waiting {
            doing: Some(doing),
            call: Some(call),
            for_gil: false,
            frames: &frames,
            source: Some(source),
        };
        waits_for(&thread).map(|waits| (waits.kind, waits.words))
    }

    #[test]
    fn a_collective_is_named_by_the_function_that_was_called() {
        let frames = || {
            vec![
                frame("all_reduce", "/v/site-packages/torch/distributed/distributed_c10d.py", false),
                frame("wrapper", "/v/site-packages/torch/distributed/c10d_logger.py", false),
                frame("train", "/home/me/train.py", false),
            ]
        };
        let found = words(Doing::Waiting, "futex (a lock or condition)", frames(), "").unwrap();
        assert_eq!(found, (Kind::Collective, "in a collective (all_reduce)".to_owned()));
        // A backward pass waits without a Python function of its own.
        let native = vec![
            frame("pthread_cond_wait", "/lib/libc.so.6", true),
            frame("c10d::ProcessGroupNCCL::WorkNCCL::wait", "/v/torch/lib/libtorch_cuda.so", true),
            frame("backward", "/v/site-packages/torch/_tensor.py", false),
        ];
        let found = words(Doing::Waiting, "futex", native, "").unwrap();
        assert_eq!(found.1, "in a collective (c10d::ProcessGroupNCCL::WorkNCCL::wait)");
    }

    #[test]
    fn a_gpu_is_waited_for_even_by_a_thread_that_runs() {
        let frames = vec![
            frame("clock_gettime", "[vdso]", true),
            frame("[libcuda.so.550.1]", "/usr/lib/libcuda.so.550.1", true),
            frame("cuStreamSynchronize", "/usr/lib/libcuda.so.550.1", true),
            frame("cudaStreamSynchronize", "/v/lib/libcudart.so.12", true),
            frame("step", "/home/me/train.py", false),
        ];
        let found = words(Doing::Running, "", frames, "loss.item()").unwrap();
        assert_eq!(found, (Kind::Gpu, "for the GPU (cudaStreamSynchronize)".to_owned()));
        let python = vec![frame("synchronize", "/v/site-packages/torch/cuda/__init__.py", false)];
        assert_eq!(words(Doing::Running, "", python, "").unwrap().0, Kind::Gpu);
        assert_eq!(words(Doing::Running, "", vec![frame("f", "/a.py", false)], ""), None);
    }

    #[test]
    fn python_functions_that_wait_are_known() {
        let of = |function: &str, file: &str, call: &str| {
            words(Doing::Waiting, call, vec![frame(function, file, false)], "").unwrap()
        };
        assert_eq!(
            of("Queue.get", "/usr/lib/python3.11/queue.py", "futex").1,
            "for something in a queue.Queue"
        );
        assert_eq!(
            of("EpollSelector.select", "/usr/lib/python3.11/selectors.py", "epoll_wait").0,
            Kind::Events
        );
        assert_eq!(of("Popen._wait", "/usr/lib/python3.11/subprocess.py", "wait4").0, Kind::Child);
        let nested = vec![
            frame("Condition.wait", "/usr/lib/python3.11/threading.py", false),
            frame("Queue.get", "/usr/lib/python3.11/queue.py", false),
            frame(
                "_BaseDataLoaderIter._try_get_data",
                "/v/lib/python3.11/site-packages/torch/utils/data/dataloader.py",
                false,
            ),
            frame("train", "/home/me/train.py", false),
            frame("Thread.join", "/usr/lib/python3.11/threading.py", false),
        ];
        let found = words(Doing::Waiting, "futex", nested, "").unwrap();
        assert_eq!(found, (Kind::Data, "for a batch from a DataLoader worker".to_owned()));
        // A file of one's own that ends the same is another.
        assert_eq!(of("get", "/home/me/myqueue.py", "futex").1, "for a lock");
    }

    #[test]
    fn what_the_system_says_comes_last() {
        let of = |call: &str, source: &str| {
            words(Doing::Waiting, call, vec![frame("f", "/a.py", false)], source).map(|found| found.1)
        };
        assert_eq!(
            of("futex (a lock or condition)", "    with self.lock:").as_deref(),
            Some("for a lock (self.lock)")
        );
        assert_eq!(of("futex", "ok = lock.acquire(timeout=3)").as_deref(), Some("for a lock (lock)"));
        assert_eq!(of("futex", "with lock: pass").as_deref(), Some("for a lock (lock)"));
        assert_eq!(of("futex", "with a, b(c):").as_deref(), Some("for a lock"));
        assert_eq!(
            of("recvfrom of a socket to 10.0.2.2:80", "").as_deref(),
            Some("to read a socket to 10.0.2.2:80")
        );
        assert_eq!(of("read of pipe:[123]", "").as_deref(), Some("to read a pipe"));
        assert_eq!(of("select", "time.sleep(3)").as_deref(), Some("until it has slept (time.sleep)"));
        assert_eq!(of("system call 999", ""), None);
        let waiting =
            |doing| Waiting { doing: Some(doing), call: None, for_gil: true, frames: &[], source: None };
        assert_eq!(waits_for(&waiting(Doing::Waiting)).unwrap().kind, Kind::Gil);
        assert_eq!(waits_for(&waiting(Doing::Running)), None);
    }
}

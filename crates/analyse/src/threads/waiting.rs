//! What a thread waits for, in words: from what it calls, its Python functions, its native ones, and the system.

use crate::names::function::Function;
use crate::names::library_file::is_library_file;
use crate::names::waiting::{WaitKind, Waiter, Waits, waiter};

/// Frames below this one are not asked: they wait for the whole program.
const MAX_DEPTH: usize = 12;

/// Native functions that wait for a GPU.
const GPU_FUNCTIONS: &[&str] =
    &["Synchronize", "cuMemcpy", "cudaMemcpy", "hipMemcpy", "cuCtxSync", "cuEventQuery", "cuStreamQuery"];
/// Where a native function may be for that.
const GPU_FILES: &[&str] = &["libcuda", "libcudart", "libamdhip64", "libhsa-runtime64"];

/// A frame of a stack, as far as its names go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StackFrame<'a> {
    /// The function, with the classes around it.
    pub function: &'a str,
    /// Its file; of native code, its library.
    pub file: &'a str,
    /// The line that it is at, where that is known.
    pub line: u32,
    /// Whether it is native code.
    pub native: bool,
}

impl StackFrame<'_> {
    /// The function's name alone.
    pub fn name(&self) -> &str {
        self.function.rsplit('.').next().unwrap_or(self.function)
    }
}

/// What is known about a thread that may wait.
#[derive(Copy, Clone, Debug)]
pub struct Waiting<'a> {
    /// Whether the system says that it waits.
    pub waiting: bool,
    /// The system call that it waits in, in words.
    pub call: Option<&'a str>,
    /// Whether what it waits for is the interpreter's lock.
    pub for_gil: bool,
    /// Its frames, the innermost first.
    pub frames: &'a [StackFrame<'a>],
    /// The line that its innermost Python function is at.
    pub source: Option<&'a str>,
}

/// What a thread waits for. A thread that runs may wait too: a GPU is often waited for by asking again and again.
pub fn waits_for(thread: &Waiting<'_>) -> Option<Waits> {
    let source = thread.source;
    let waits = |kind: WaitKind, words: String| Some(Waits { kind, words });
    if thread.for_gil && thread.waiting {
        return waits(WaitKind::Gil, "for the GIL".to_owned());
    }
    // Between its innermost Python function and the system.
    let native: Vec<&StackFrame<'_>> = thread.frames.iter().take_while(|frame| frame.native).collect();
    let python: Vec<&StackFrame<'_>> = thread.frames.iter().filter(|frame| !frame.native).collect();
    if let Some(name) = collective(&python, &native, thread.waiting) {
        return waits(WaitKind::Collective, format!("in a collective ({name})"));
    }
    if let Some(name) = native.iter().rev().find_map(|frame| gpu(frame)) {
        return waits(WaitKind::Gpu, format!("for the GPU ({name})"));
    }
    if !thread.waiting {
        let spins = python.first().and_then(|frame| by_python(frame)).map(Waiter::waits);
        return spins.filter(|waits| waits.kind == WaitKind::Gpu);
    }
    // What was called says more than what that calls: a queue, not its condition.
    let of_libraries = python.iter().take(MAX_DEPTH).take_while(|frame| is_library_file(frame.file));
    if let Some(waiter) = of_libraries.filter_map(|frame| by_python(frame)).last() {
        return Some(waiter.waits());
    }
    let call = thread.call?;
    let (name, of) = call.split_once(' ').unwrap_or((call, ""));
    let of = of.trim_start_matches("of ");
    match name {
        "nanosleep" | "clock_nanosleep" | "pause" => {
            waits(WaitKind::Sleep, "until it has slept (time.sleep)".to_owned())
        }
        "select" | "pselect6" if sleeps(source) => {
            waits(WaitKind::Sleep, "until it has slept (time.sleep)".to_owned())
        }
        "wait4" | "waitid" => waits(WaitKind::Child, "for a child process to end".to_owned()),
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" => {
            waits(WaitKind::Events, "for a socket, pipe or file to be ready".to_owned())
        }
        "futex" => waits(WaitKind::Lock, lock_words(source)),
        "read" | "readv" | "pread64" | "recvfrom" | "recvmsg" => {
            waits(file_or_socket(name, of), format!("to read {}", file(of)))
        }
        "write" | "writev" | "pwrite64" | "sendto" | "sendmsg" => {
            waits(file_or_socket(name, of), format!("to write to {}", file(of)))
        }
        "accept" | "accept4" => waits(WaitKind::Network, "for a connection".to_owned()),
        "connect" => waits(WaitKind::Network, format!("for an answer of {}", file(of))),
        "flock" | "fcntl" => waits(WaitKind::File, format!("for a lock of {}", file(of))),
        "fsync" | "fdatasync" => waits(WaitKind::File, format!("until {} is on the disk", file(of))),
        _ => None,
    }
}

fn file_or_socket(call: &str, of: &str) -> WaitKind {
    let socket = call.starts_with("recv")
        || call.starts_with("send")
        || of.starts_with("socket:")
        || of.starts_with("a socket");
    if socket { WaitKind::Network } else { WaitKind::File }
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

fn by_python(frame: &StackFrame<'_>) -> Option<&'static Waiter> {
    waiter(Function { name: frame.function, file: frame.file })
}

/// The collective that a thread is in.
fn collective(python: &[&StackFrame<'_>], native: &[&StackFrame<'_>], waiting: bool) -> Option<String> {
    let mut of_torch = python
        .iter()
        .take(MAX_DEPTH)
        .filter(|frame| frame.file.ends_with("torch/distributed/distributed_c10d.py"));
    // Its outermost function there is the one that was called.
    let called = of_torch.next_back().map(|frame| frame.name().to_owned());
    let named = native.iter().rev().find_map(|frame| {
        let name = frame.function;
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

fn gpu<'a>(frame: &StackFrame<'a>) -> Option<&'a str> {
    let file = frame.file.rsplit('/').next().unwrap_or(frame.file);
    let of_driver = GPU_FILES.iter().any(|start| file.starts_with(start));
    let name = frame.function;
    let waits = GPU_FUNCTIONS.iter().any(|part| name.contains(part));
    let is_call = name.starts_with("cu") || name.starts_with("hip");
    (waits && (of_driver || is_call)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: bool = true;
    const RUNS: bool = false;

    fn frame<'a>(function: &'a str, file: &'a str, native: bool) -> StackFrame<'a> {
        StackFrame { function, file, line: 1, native }
    }

    fn wait_of(
        waiting: bool,
        call: &str,
        frames: Vec<StackFrame<'_>>,
        source: &str,
    ) -> Option<(WaitKind, String)> {
        let thread =
            Waiting { waiting, call: Some(call), for_gil: false, frames: &frames, source: Some(source) };
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
        let found = wait_of(WAITS, "futex (a lock or condition)", frames(), "").unwrap();
        assert_eq!(found, (WaitKind::Collective, "in a collective (all_reduce)".to_owned()));
        // A backward pass waits without a Python function of its own.
        let native = vec![
            frame("pthread_cond_wait", "/lib/libc.so.6", true),
            frame("c10d::ProcessGroupNCCL::WorkNCCL::wait", "/v/torch/lib/libtorch_cuda.so", true),
            frame("backward", "/v/site-packages/torch/_tensor.py", false),
        ];
        let found = wait_of(WAITS, "futex", native, "").unwrap();
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
        let found = wait_of(RUNS, "", frames, "loss.item()").unwrap();
        assert_eq!(found, (WaitKind::Gpu, "for the GPU (cudaStreamSynchronize)".to_owned()));
        let python = vec![frame("synchronize", "/v/site-packages/torch/cuda/__init__.py", false)];
        assert_eq!(wait_of(RUNS, "", python, "").unwrap().0, WaitKind::Gpu);
        assert_eq!(wait_of(RUNS, "", vec![frame("f", "/a.py", false)], ""), None);
    }

    #[test]
    fn python_functions_that_wait_are_known() {
        let of = |function: &str, file: &str, call: &str| {
            wait_of(WAITS, call, vec![frame(function, file, false)], "").unwrap()
        };
        assert_eq!(
            of("Queue.get", "/usr/lib/python3.11/queue.py", "futex").1,
            "for something in a queue.Queue"
        );
        assert_eq!(
            of("EpollSelector.select", "/usr/lib/python3.11/selectors.py", "epoll_wait").0,
            WaitKind::Events
        );
        assert_eq!(of("Popen._wait", "/usr/lib/python3.11/subprocess.py", "wait4").0, WaitKind::Child);
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
        let found = wait_of(WAITS, "futex", nested, "").unwrap();
        assert_eq!(found, (WaitKind::Data, "for a batch from a DataLoader worker".to_owned()));
        // A file of one's own that ends the same is another.
        assert_eq!(of("get", "/home/me/myqueue.py", "futex").1, "for a lock");
    }

    #[test]
    fn what_the_system_says_comes_last() {
        let of = |call: &str, source: &str| {
            wait_of(WAITS, call, vec![frame("f", "/a.py", false)], source).map(|found| found.1)
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
        let of_gil = |waiting| Waiting { waiting, call: None, for_gil: true, frames: &[], source: None };
        assert_eq!(waits_for(&of_gil(WAITS)).map(|waits| waits.kind), Some(WaitKind::Gil));
        assert_eq!(waits_for(&of_gil(RUNS)), None);
    }
}

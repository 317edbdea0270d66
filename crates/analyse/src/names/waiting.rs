//! Functions that wait, and for what: the one list, for dumps of threads and for findings.

use schemars::JsonSchema;
use serde::Serialize;

use super::function::Function;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    Gil,
    /// Other ranks, in a collective.
    Collective,
    Gpu,
    /// A lock, a queue or another thread.
    Lock,
    /// A batch of data.
    Data,
    /// Whatever comes next, in an event loop or a server.
    Events,
    /// Another process that goes on afterwards.
    Process,
    /// A child process, to end.
    Child,
    Sleep,
    Network,
    /// A file or a pipe.
    File,
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waits {
    pub kind: WaitKind,
    /// After "waits".
    pub words: String,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    /// Their file, or their folder with a slash at its end.
    place: &'static str,
    /// Their names; every function of the place if there are none.
    functions: &'static [&'static str],
    kind: WaitKind,
    words: &'static str,
    /// Whether work is done inside of them, too: then they wait only in a thread that is nowhere else.
    works: bool,
}

const fn waits(
    place: &'static str,
    functions: &'static [&'static str],
    kind: WaitKind,
    words: &'static str,
) -> Waiter {
    Waiter { place, functions, kind, words, works: false }
}

const FOR_HTTP: &str = "for an answer over HTTP";
const FOR_MULTIPROCESSING: &str = "for another process (multiprocessing)";
const FOR_WORK: &str = "for work (an idle pool worker)";

/// Functions of Python's library and of frameworks that wait. Of several that fit, the first counts.
const PYTHON_WAITERS: &[Waiter] = &[
    waits(
        "torch/utils/data/dataloader.py",
        &["_try_get_data", "_get_data"],
        WaitKind::Data,
        "for a batch from a DataLoader worker",
    ),
    // Without workers it loads the batch itself.
    waits(
        "torch/utils/data/dataloader.py",
        &["_next_data"],
        WaitKind::Data,
        "for a batch from a DataLoader worker",
    )
    .or_works(),
    waits(
        "torch/utils/data/_utils/pin_memory.py",
        &["do_one_step", "_pin_memory_loop"],
        WaitKind::Data,
        "for a batch to pin",
    )
    .or_works(),
    waits("torch/utils/data/_utils/worker.py", &["_worker_loop"], WaitKind::Data, "for the next batch to load")
        .or_works(),
    waits("torch/cuda/__init__.py", &["synchronize"], WaitKind::Gpu, "for the GPU (torch.cuda.synchronize)"),
    waits(
        "torch/cuda/streams.py",
        &["synchronize", "wait"],
        WaitKind::Gpu,
        "for the GPU (a stream or an event)",
    ),
    waits("queue.py", &["get"], WaitKind::Lock, "for something in a queue.Queue"),
    waits("queue.py", &["put", "join"], WaitKind::Lock, "for room in a queue.Queue"),
    waits("multiprocessing/queues.py", &["get"], WaitKind::Lock, "for something in a multiprocessing.Queue"),
    waits("multiprocessing/connection.py", &[], WaitKind::Process, FOR_MULTIPROCESSING),
    waits("multiprocessing/pool.py", &["get", "wait", "join", "next"], WaitKind::Process, FOR_MULTIPROCESSING),
    waits("multiprocessing/pool.py", &["worker"], WaitKind::Lock, FOR_WORK).or_works(),
    waits("multiprocessing/popen_fork.py", &["wait", "poll"], WaitKind::Child, "for a child process to end"),
    waits(
        "concurrent/futures/_base.py",
        &["result", "wait", "as_completed"],
        WaitKind::Lock,
        "for a future's result",
    ),
    waits("concurrent/futures/thread.py", &["_worker"], WaitKind::Lock, FOR_WORK).or_works(),
    waits(
        "threading.py",
        &["join", "_wait_for_tstate_lock"],
        WaitKind::Lock,
        "for a thread to end (Thread.join)",
    ),
    waits(
        "threading.py",
        &["wait", "wait_for", "acquire", "__enter__"],
        WaitKind::Lock,
        "for a condition, event or semaphore of threading",
    ),
    waits("selectors.py", &["select"], WaitKind::Events, "for events (an event loop or a server)"),
    waits(
        "subprocess.py",
        &["wait", "_wait", "communicate", "_communicate", "_try_wait"],
        WaitKind::Child,
        "for a child process to end",
    ),
    waits("subprocess.py", &[], WaitKind::Child, "for a child process"),
    waits("socket.py", &[], WaitKind::Network, "for data from a socket"),
    waits("ssl.py", &[], WaitKind::Network, "for data from a socket"),
    waits("http/client.py", &[], WaitKind::Network, FOR_HTTP),
    waits("urllib/request.py", &[], WaitKind::Network, FOR_HTTP),
    waits("urllib3/", &[], WaitKind::Network, FOR_HTTP),
    waits("requests/", &[], WaitKind::Network, FOR_HTTP),
    waits("httpx/", &[], WaitKind::Network, FOR_HTTP),
    waits("botocore/", &[], WaitKind::Network, FOR_HTTP),
];

/// Words in the names of functions that are not Python's and that wait, as profiles write them.
const BUILT_IN_WAITERS: &[(WaitKind, &[&str])] = &[
    (WaitKind::Network, &["_socket.", "'recv", "'connect' of", "_ssl.", "of '_ssl", "getaddrinfo"]),
    (WaitKind::Process, &["posix.waitpid", "'poll' of 'select.poll'"]),
    (WaitKind::Lock, &["'acquire' of '_thread", "'__enter__' of '_thread", "'join' of '_thread"]),
    (WaitKind::Sleep, &["time.sleep"]),
];

impl Waiter {
    const fn or_works(self) -> Waiter {
        Waiter { works: true, ..self }
    }

    fn is(&self, function: Function<'_>) -> bool {
        let name = function.name.rsplit('.').next().unwrap_or(function.name);
        (self.functions.is_empty() || self.functions.contains(&name)) && function.is_in(self.place)
    }

    pub(crate) fn waits(&self) -> Waits {
        Waits { kind: self.kind, words: self.words.to_owned() }
    }
}

/// What a function of Python waits for; none if it does not.
pub(crate) fn waiter(function: Function<'_>) -> Option<&'static Waiter> {
    PYTHON_WAITERS.iter().find(|waiter| waiter.is(function))
}

/// What a thread waits for that waits anywhere inside of this function; none if it may do anything else there.
pub fn waits_inside(function: Function<'_>) -> Option<WaitKind> {
    let built_in =
        || BUILT_IN_WAITERS.iter().find(|(_, words)| function.is_native(words)).map(|(kind, _)| *kind);
    waiter(function).filter(|waiter| !waiter.works).map(|waiter| waiter.kind).or_else(built_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_only_wait_are_told_from_those_that_also_work() {
        let of = |name, file| waits_inside(Function { name, file });
        assert_eq!(of("Thread.join", "threading.py"), Some(WaitKind::Lock));
        assert_eq!(of("get", "/v/site-packages/requests/api.py"), Some(WaitKind::Network));
        assert_eq!(of("<built-in method time.sleep>", ""), Some(WaitKind::Sleep));
        assert_eq!(of("select", "selectors.py"), Some(WaitKind::Events));
        // A pool's worker, a forked child and a server's handler run the program's own code.
        assert_eq!(of("worker", "multiprocessing/pool.py"), None);
        assert_eq!(of("_launch", "multiprocessing/popen_fork.py"), None);
        assert_eq!(of("handle_one_request", "http/server.py"), None);
        assert_eq!(of("urlparse", "urllib/parse.py"), None);
        assert_eq!(of("get", "/home/me/queue.py"), None);
    }
}

//! What the system says about the threads of a process: whether they run, and what they wait in.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::sockets;

/// Files kept open of each kind; more threads than that are asked by opening each time.
const MAX_OPEN: usize = 200;
/// No line of the files read here is longer.
const MAX_LINE_BYTES: usize = 1024;
/// Three numbers of at most 20 digits.
const SCHEDSTAT_BYTES: usize = 64;

/// What a thread does, as the system sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It runs, or would if a processor were free.
    Running,
    Waiting,
}

/// The threads of one process.
#[derive(Debug)]
pub(super) struct Tasks {
    pid: u32,
    open: HashMap<u32, File, RandomState>,
    max_open: usize,
    rests: HashMap<u32, ThreadRest, RandomState>,
}

/// What a thread had run when it was last asked for.
#[derive(Debug)]
struct ThreadRest {
    file: File,
    /// How long and how often it ran so far, in the system's words.
    scheduled: [u8; SCHEDSTAT_BYTES],
    is_asleep: bool,
}

impl Tasks {
    pub(super) fn new(pid: u32) -> Tasks {
        Tasks { pid, open: HashMap::default(), max_open: MAX_OPEN, rests: HashMap::default() }
    }

    /// From now on no more files than these stay open.
    pub(super) fn keep_open(&mut self, most: usize) {
        self.open.clear();
        self.rests.clear();
        self.max_open = most;
    }

    /// Whether a thread has slept ever since this was last asked. The system counts how often a thread gets a processor, and
    /// how long it ran once it gives that back: one that is asleep, with the same numbers as before, has not run meanwhile.
    pub(super) fn slept(&mut self, thread: u32) -> bool {
        let mut now = [0; SCHEDSTAT_BYTES];
        let Some(rest) = self.rests.get_mut(&thread) else {
            if self.rests.len() < self.max_open
                && let Ok(file) = File::open(format!("/proc/{}/task/{thread}/schedstat", self.pid))
                && file.read_at(&mut now, 0).is_ok_and(|length| length > 0)
            {
                self.rests.insert(thread, ThreadRest { file, scheduled: now, is_asleep: false });
            }
            return false;
        };
        if !rest.file.read_at(&mut now, 0).is_ok_and(|length| length > 0) {
            self.rests.remove(&thread);
            return false;
        }
        if now != rest.scheduled {
            (rest.scheduled, rest.is_asleep) = (now, false);
            return false;
        }
        if !rest.is_asleep {
            let waits = self.doing(thread) == Some(TaskState::Waiting);
            if let Some(rest) = self.rests.get_mut(&thread) {
                rest.is_asleep = waits;
            }
            return waits;
        }
        true
    }

    /// Whether a thread had slept when it was last asked for.
    pub(super) fn is_asleep(&self, thread: u32) -> bool {
        self.rests.get(&thread).is_some_and(|rest| rest.is_asleep)
    }

    /// Whether a thread runs; none where the system does not say, or it has ended.
    pub(super) fn doing(&mut self, thread: u32) -> Option<TaskState> {
        let mut line = [0; MAX_LINE_BYTES];
        let path = || format!("/proc/{}/task/{thread}/stat", self.pid);
        let read = match self.open.get(&thread) {
            Some(file) => file.read_at(&mut line, 0),
            None => {
                let file = File::open(path()).ok()?;
                let read = file.read_at(&mut line, 0);
                if self.open.len() < self.max_open {
                    self.open.insert(thread, file);
                }
                read
            }
        };
        match read {
            Ok(length) => state(&line[..length]),
            Err(_) => {
                self.open.remove(&thread);
                None
            }
        }
    }

    /// Lets go of threads that are gone.
    pub(super) fn keep(&mut self, threads: &[u32]) {
        if self.open.len() > threads.len() || self.rests.len() > threads.len() {
            self.open.retain(|thread, _| threads.contains(thread));
            self.rests.retain(|thread, _| threads.contains(thread));
        }
    }
}

/// The state after the name, which may hold anything.
fn state(line: &[u8]) -> Option<TaskState> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    match line.get(end + 2)? {
        b'R' => Some(TaskState::Running),
        _ => Some(TaskState::Waiting),
    }
}

/// The system call a thread is in: its number and its first argument.
fn call_of(pid: u32, thread: u32) -> Option<(i64, Option<u64>)> {
    call(&fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?)
}

/// The same, from what the system says: `202 0x7f12 0x189 …`.
fn call(text: &str) -> Option<(i64, Option<u64>)> {
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse::<i64>().ok().filter(|number| *number >= 0)?;
    let first = words.next().and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    Some((number, first))
}

/// The system call a thread sleeps in with all that the system says about it: its arguments, the end of the stack, the place.
pub(super) fn whole_call(pid: u32, thread: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
    stack_in(&text).is_some().then_some(text)
}

/// The end of the stack in that: the last word but one; none if the thread runs.
pub(super) fn stack_in(call: &str) -> Option<u64> {
    let words: Vec<&str> = call.split_ascii_whitespace().collect();
    let [number, .., stack, _place] = words.as_slice() else { return None };
    number.parse::<i64>().ok().filter(|number| *number >= 0)?;
    u64::from_str_radix(stack.trim_start_matches("0x"), 16).ok()
}

/// The address of the lock or condition that a thread waits for.
pub(super) fn waits_at(pid: u32, thread: u32) -> Option<u64> {
    let (number, first) = call_of(pid, thread)?;
    first.filter(|_| system_call(number) == Some("futex"))
}

/// The system call a thread waits in, in words: `futex (a lock)`, `poll`, `read`; none while it runs or where that is not said.
pub(super) fn waits_in(pid: u32, thread: u32) -> Option<String> {
    let (number, first) = call_of(pid, thread)?;
    let name = system_call(number);
    let name = name.map_or_else(|| format!("system call {number}"), str::to_owned);
    Some(match (name.as_str(), first) {
        ("futex", _) => "futex (a lock or condition)".to_owned(),
        (
            "read" | "write" | "readv" | "writev" | "recvfrom" | "sendto" | "recvmsg" | "sendmsg" | "accept"
            | "accept4" | "connect" | "ioctl" | "flock" | "fsync" | "fdatasync",
            Some(file),
        ) => match fs::read_link(format!("/proc/{pid}/fd/{file}")) {
            Ok(to) => {
                let to = to.to_string_lossy();
                let peer = sockets::peer(pid, &to);
                format!("{name} of {}", peer.as_deref().unwrap_or(&to))
            }
            Err(_) => name,
        },
        _ => name,
    })
}

/// What of the interpreter's lock threads wait at: CPython's structure has two conditions and two mutexes after 32 bytes.
const LOCK_BYTES: u64 = 224;

/// Whether a thread waits for the lock that is at this address: it then sleeps in a call whose argument points into the lock.
pub(super) fn awaits(pid: u32, thread: u32, lock_at: u64) -> bool {
    lock_at != 0 && waits_at(pid, thread).is_some_and(|at| (lock_at..lock_at + LOCK_BYTES).contains(&at))
}

/// Where in the kernel a thread waits.
pub(super) fn kernel_function(pid: u32, thread: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/wchan")).ok()?;
    let text = text.trim();
    (!text.is_empty() && text != "0").then(|| text.to_owned())
}

/// What a program calls a thread, in the system's 15 letters.
pub(super) fn name(pid: u32, thread: u32) -> Option<String> {
    let text = fs::read(format!("/proc/{pid}/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Whether a thread belongs to a process.
pub(super) fn belongs(pid: u32, thread: u32) -> bool {
    fs::exists(format!("/proc/{pid}/task/{thread}")).unwrap_or(false)
}

/// In a container threads have numbers of their own, and those are the ones that Python knows.
#[derive(Debug)]
pub(super) struct ThreadNumbers {
    pid: u32,
    contained: bool,
    ours: HashMap<u32, u32, RandomState>,
    asked: Option<Instant>,
}

/// How often all threads are asked for their numbers.
const NUMBERS_INTERVAL: Duration = Duration::from_millis(200);

impl ThreadNumbers {
    pub(super) fn new(pid: u32) -> ThreadNumbers {
        let contained = numbers_of(pid, pid).is_some_and(|numbers| numbers.len() > 1);
        ThreadNumbers { pid, contained, ours: HashMap::default(), asked: None }
    }

    pub(super) fn ours(&mut self, theirs: u32) -> Option<u32> {
        if !self.contained {
            return Some(theirs);
        }
        if !self.ours.contains_key(&theirs) && self.asked.is_none_or(|at| at.elapsed() >= NUMBERS_INTERVAL) {
            self.asked = Some(Instant::now());
            let pairs = threads(self.pid).into_iter().filter_map(|thread| {
                let numbers = numbers_of(self.pid, thread)?;
                Some((*numbers.last()?, thread))
            });
            self.ours = pairs.collect();
        }
        self.ours.get(&theirs).copied()
    }
}

/// The numbers of a thread, ours first, then those of the namespaces it is in.
fn numbers_of(pid: u32, thread: u32) -> Option<Vec<u32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
}

/// Whether a process is on its way out, waits for its parent to notice its end, or is gone. Its memory cannot be read any
/// more, nor while it becomes another program: then its command line is empty too, but it will have one.
pub(super) fn is_ending(pid: u32) -> bool {
    stat(pid).is_none_or(|stat| stat.flags & EXITING != 0)
}

/// What the system calls `PF_EXITING`.
const EXITING: u32 = 4;

/// What the system says about a process in one line.
pub(super) struct Stat {
    pub(super) parent: u32,
    flags: u32,
    /// When it was started.
    pub(super) started: u64,
}

pub(super) fn stat(pid: u32) -> Option<Stat> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let mut words = std::str::from_utf8(line.get(end + 2..)?).ok()?.split(' ');
    // The state, the parent, five fields later the flags, and 13 later the start.
    let parent = words.nth(1)?.parse().ok()?;
    let flags = words.nth(4)?.parse().ok()?;
    Some(Stat { parent, flags, started: words.nth(12)?.parse().ok()? })
}

/// Threads of a process.
pub(super) fn threads(pid: u32) -> Vec<u32> {
    let Ok(folder) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found: Vec<u32> =
        folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    found.sort_unstable();
    found
}

/// Calls that threads wait in, by their numbers on this machine.
#[cfg(target_arch = "x86_64")]
fn system_call(number: i64) -> Option<&'static str> {
    Some(match number {
        0 => "read",
        1 => "write",
        7 => "poll",
        16 => "ioctl",
        17 => "pread64",
        18 => "pwrite64",
        19 => "readv",
        20 => "writev",
        23 => "select",
        34 => "pause",
        35 => "nanosleep",
        42 => "connect",
        43 => "accept",
        44 => "sendto",
        45 => "recvfrom",
        46 => "sendmsg",
        47 => "recvmsg",
        61 => "wait4",
        72 => "fcntl",
        73 => "flock",
        74 => "fsync",
        75 => "fdatasync",
        128 => "rt_sigtimedwait",
        202 => "futex",
        219 => "restart_syscall",
        230 => "clock_nanosleep",
        232 => "epoll_wait",
        247 => "waitid",
        257 => "openat",
        270 => "pselect6",
        271 => "ppoll",
        281 => "epoll_pwait",
        288 => "accept4",
        _ => return None,
    })
}

/// The numbers that every newer processor uses.
#[cfg(target_arch = "aarch64")]
fn system_call(number: i64) -> Option<&'static str> {
    Some(match number {
        22 => "epoll_pwait",
        25 => "fcntl",
        29 => "ioctl",
        32 => "flock",
        56 => "openat",
        63 => "read",
        64 => "write",
        65 => "readv",
        66 => "writev",
        67 => "pread64",
        68 => "pwrite64",
        72 => "pselect6",
        73 => "ppoll",
        82 => "fsync",
        83 => "fdatasync",
        95 => "waitid",
        98 => "futex",
        101 => "nanosleep",
        115 => "clock_nanosleep",
        128 => "restart_syscall",
        137 => "rt_sigtimedwait",
        202 => "accept",
        203 => "connect",
        206 => "sendto",
        207 => "recvfrom",
        211 => "sendmsg",
        212 => "recvmsg",
        242 => "accept4",
        260 => "wait4",
        _ => return None,
    })
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn system_call(_: i64) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_after_the_name() {
        assert_eq!(state(b"12 (python) R 1 2"), Some(TaskState::Running));
        assert_eq!(state(b"12 (a) R (b) S 1"), Some(TaskState::Waiting));
        assert_eq!(state(b"12 (a"), None);
        assert_eq!(state(b""), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_futex_says_where_it_waits() {
        assert_eq!(call("202 0x7f1200 0x189 0x0 0x7ffd 0x7f\n"), Some((202, Some(0x7f_1200))));
        assert_eq!(system_call(202), Some("futex"));
        assert_eq!(call("0 0x3 0x7f 0x20000\n"), Some((0, Some(3))));
        assert_eq!(call("-1 0x7ffd 0x7f\n"), None);
        assert_eq!(call("running\n"), None);
        assert_eq!(call(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_thread_runs_and_a_sleeping_one_waits() {
        let pid = std::process::id();
        let (number, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            number.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            while ended.recv().is_ok() {}
        });
        let sleeper_id = told.recv().unwrap();
        let mut tasks = Tasks::new(pid);
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert_eq!(tasks.doing(own), Some(TaskState::Running));
        // The first question only learns its state.
        assert!(!tasks.slept(sleeper_id));
        until("it sleeps", || tasks.slept(sleeper_id));
        assert_eq!(tasks.doing(sleeper_id), Some(TaskState::Waiting));
        assert!(tasks.slept(sleeper_id) && tasks.is_asleep(sleeper_id));
        assert!(!tasks.slept(own) && !tasks.slept(own), "this thread runs");
        end.send(()).unwrap();
        until("it is seen that it ran for a moment", || !tasks.slept(sleeper_id));
        until("it sleeps again", || tasks.slept(sleeper_id));
        assert!(threads(pid).contains(&sleeper_id));
        drop(end);
        sleeper.join().unwrap();
        until("the system has forgotten it", || tasks.doing(sleeper_id).is_none());
    }

    /// A thread gets where it is going when the machine has a processor for it.
    #[cfg(target_os = "linux")]
    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "waited 60 s for this: {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

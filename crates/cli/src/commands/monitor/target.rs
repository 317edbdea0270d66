//! What is watched: the machine alone, a process that runs, or a program that is started.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stepscope_production::{Tree, TreeUse};
use stepscope_record::spy::{children, interrupted};

use crate::failure::Failure;

/// How long at most until Ctrl-C is noticed.
const NOTICE: Duration = Duration::from_millis(200);

/// What is watched.
pub(super) struct Target {
    pid: Option<u32>,
    /// None where there is no process, or it has ended already.
    tree: Option<Tree>,
    /// How the program that was started ended, once it has.
    status: Option<Receiver<io::Result<ExitStatus>>>,
    told_to_end: bool,
}

/// Why watching is over.
#[derive(Debug)]
pub(super) enum Ended {
    /// Ctrl-C.
    Interrupted,
    /// As long as was asked for.
    TimeIsOver,
    /// The process has ended.
    ProcessIsGone,
    /// The program that was started has ended.
    Program(Option<ExitStatus>),
}

impl Target {
    /// A process that runs.
    pub(super) fn of(pid: u32) -> Result<Target, Failure> {
        let tree = Tree::new(pid).ok_or_else(|| {
            Failure::wrong_use(
                format!("there is no process with this number, or you may not see it: {pid}"),
                "`ps -e` lists the processes that you may see; with sudo in front it lists all",
            )
        })?;
        Ok(Target { pid: Some(pid), tree: Some(tree), status: None, told_to_end: false })
    }

    /// A program that is started; without words it is the machine alone.
    pub(super) fn start(words: &[OsString]) -> Result<Target, Failure> {
        let Some((program, rest)) = words.split_first() else {
            return Ok(Target { pid: None, tree: None, status: None, told_to_end: false });
        };
        let child = Command::new(program).args(rest).stdin(Stdio::inherit()).spawn().map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "check the spelling; the program is looked for in $PATH",
                _ => "check that it can be run",
            };
            Failure::wrong_use(format!("cannot start {}: {error}", program.display()), hint)
        })?;
        let pid = child.id();
        // Before anybody waits for it: its number is its own until then.
        let tree = Tree::new(pid);
        let (send, status) = channel();
        let waiting = std::thread::Builder::new().name("stepscope-wait".to_owned());
        let mut child = child;
        waiting.spawn(move || drop(send.send(child.wait())))?;
        Ok(Target { pid: Some(pid), tree, status: Some(status), told_to_end: false })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.pid
    }

    pub(super) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    pub(super) fn is_program(&self) -> bool {
        self.status.is_some()
    }

    /// Looks for children.
    pub(super) fn find_children(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.set_children(&children(tree.root()));
        }
    }

    /// What its processes use.
    pub(super) fn sample(&mut self, steady_ns: u64) -> Option<TreeUse> {
        self.tree.as_mut().and_then(|tree| tree.sample(steady_ns))
    }

    /// Whether a process that was not started here has ended, by its last sample.
    pub(super) fn has_ended(&self, used: Option<TreeUse>) -> Option<Ended> {
        (self.tree.is_some() && !self.is_program() && used.is_none()).then_some(Ended::ProcessIsGone)
    }

    /// Waits, unless it is over before.
    pub(super) fn wait_until(&mut self, until: Instant) -> Option<Ended> {
        loop {
            let left = until.saturating_duration_since(Instant::now()).min(NOTICE);
            match &self.status {
                None => std::thread::sleep(left),
                Some(status) => match status.recv_timeout(left) {
                    Ok(ended) => return Some(Ended::Program(ended.ok())),
                    Err(RecvTimeoutError::Disconnected) => return Some(Ended::Program(None)),
                    Err(RecvTimeoutError::Timeout) => {}
                },
            }
            if interrupted() {
                if !self.is_program() {
                    return Some(Ended::Interrupted);
                }
                self.pass_on();
            }
            if Instant::now() >= until {
                return None;
            }
        }
    }

    /// Whoever presses Ctrl-C in a terminal tells the program too. Elsewhere (an init of a container, a supervisor) only this
    /// process is told to end.
    fn pass_on(&mut self) {
        if self.told_to_end || io::stdin().is_terminal() || io::stderr().is_terminal() {
            return;
        }
        self.told_to_end = true;
        let pid = self.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Ended {
    /// The exit code of the program; as a shell says it, 128 and the signal that ended it.
    pub(super) fn exit_code(&self) -> Option<u8> {
        let Ended::Program(Some(status)) = self else { return None };
        let signal = std::os::unix::process::ExitStatusExt::signal(status);
        u8::try_from(status.code().or(signal.map(|signal| 128 + signal))?).ok()
    }

    /// What the user has to know.
    pub(super) fn words(&self, target: &Target) -> Option<String> {
        match self {
            Ended::ProcessIsGone => {
                Some(format!("process {} has ended, and the monitor with it", target.pid.unwrap_or_default()))
            }
            Ended::Program(Some(status)) if !status.success() => Some(match status.code() {
                Some(code) => format!("the program ended (exit code {code})"),
                None => "the program ended (killed by a signal)".to_owned(),
            }),
            Ended::Program(None) => Some("how the program ended is unknown".to_owned()),
            Ended::TimeIsOver if target.is_program() => Some("the program still runs".to_owned()),
            _ => None,
        }
    }
}

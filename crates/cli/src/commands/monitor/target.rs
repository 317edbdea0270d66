//! What is watched: the machine alone, a process that runs, or a program that is started.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stepscope_record::spy::{children, interrupted};
use stepscope_service::{Tree, TreeUse};

use crate::commands::program;
use crate::failure::Failure;

/// How long at most until Ctrl-C is noticed.
const POLL_PERIOD: Duration = Duration::from_millis(200);
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
pub(super) enum EndReason {
    /// Ctrl-C.
    Interrupted,
    /// As long as was asked for.
    TimeIsOver,
    ProcessIsGone,
    /// The program that was started has ended.
    Program(Option<ExitStatus>),
}

impl Target {
    /// A process that runs.
    pub(super) fn watch(pid: u32) -> Result<Target, Failure> {
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
        let mut child = program::start(program, rest)?;
        let pid = child.id();
        // Before anyone waits for it: its number is its own until then.
        let tree = Tree::new(pid);
        let (send, status) = channel();
        let waiting = std::thread::Builder::new().name("stepscope-wait".to_owned());
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
    pub(super) fn find_children(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.set_children(&children(tree.root()));
        }
    }

    pub(super) fn sample(&mut self, steady_ns: u64) -> Option<TreeUse> {
        self.tree.as_mut().and_then(|tree| tree.sample(steady_ns))
    }

    /// Whether a process that was not started here has ended, by its last sample.
    pub(super) fn has_ended(&self, used: Option<TreeUse>) -> Option<EndReason> {
        (self.tree.is_some() && !self.is_program() && used.is_none()).then_some(EndReason::ProcessIsGone)
    }

    /// Waits, unless it is over before.
    pub(super) fn wait_until(&mut self, until: Instant) -> Option<EndReason> {
        loop {
            let left = until.saturating_duration_since(Instant::now()).min(POLL_PERIOD);
            match &self.status {
                None => std::thread::sleep(left),
                Some(status) => match status.recv_timeout(left) {
                    Ok(ended) => return Some(EndReason::Program(ended.ok())),
                    Err(RecvTimeoutError::Disconnected) => return Some(EndReason::Program(None)),
                    Err(RecvTimeoutError::Timeout) => {}
                },
            }
            if interrupted() {
                if !self.is_program() {
                    return Some(EndReason::Interrupted);
                }
                self.pass_on();
            }
            if Instant::now() >= until {
                return None;
            }
        }
    }

    /// Whoever presses Ctrl-C in a terminal tells the program too. Elsewhere (an init of a container, a supervisor) only this
    /// process is asked to end.
    fn pass_on(&mut self) {
        if self.told_to_end || io::stdin().is_terminal() || io::stderr().is_terminal() {
            return;
        }
        self.told_to_end = true;
        if let Some(pid) = self.pid {
            program::pass_on(pid, Signal::TERM);
        }
    }
}

impl EndReason {
    /// The exit code of the program; as a shell says it, 128 and the signal that ended it.
    pub(super) fn exit_code(&self) -> Option<u8> {
        let EndReason::Program(Some(status)) = self else { return None };
        program::exit_code(*status)
    }

    /// What the user has to know.
    pub(super) fn words(&self, target: &Target) -> Option<String> {
        match self {
            EndReason::ProcessIsGone => {
                Some(format!("process {} has ended, and the monitor with it", target.pid.unwrap_or_default()))
            }
            EndReason::Program(Some(status)) if !status.success() => {
                Some(format!("the program ended ({})", program::exit_text(*status)))
            }
            EndReason::Program(None) => Some("how the program ended is unknown".to_owned()),
            EndReason::TimeIsOver if target.is_program() => Some("the program still runs".to_owned()),
            _ => None,
        }
    }
}

//! The command that is run when a rule fires or stops: in a thread of its own, one at a time, for a bounded time. Whatever it
//! does, the monitor goes on.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use stepscope_ground::utc::moment_text;

use super::log::AlertEvent;

/// A command that takes longer is ended.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// Events that wait for a command; more are not run for.
const MAX_WAITING: usize = 32;
/// How often a command is asked whether it has ended.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Runs a command for events.
#[derive(Debug)]
pub struct AlertCommand {
    events: Option<SyncSender<AlertEvent>>,
    said: Receiver<String>,
    /// What was said before is not said again.
    known: HashSet<String>,
    hurry: Arc<AtomicBool>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

struct Runner {
    command: String,
    folder: PathBuf,
    limit: Duration,
    hurry: Arc<AtomicBool>,
}

impl AlertCommand {
    /// A command for the shell, which may take so long. `None` where no thread can be started.
    pub fn new(command: &str, folder: &Path, limit: Duration) -> Option<Self> {
        let (events, waiting) = sync_channel::<AlertEvent>(MAX_WAITING);
        let (say, said) = channel();
        let (end, done) = channel::<()>();
        let hurry = Arc::new(AtomicBool::new(false));
        let runner =
            Runner { command: command.to_owned(), folder: folder.to_owned(), limit, hurry: hurry.clone() };
        let thread = std::thread::Builder::new().name("stepscope-alert".to_owned()).spawn(move || {
            for event in waiting {
                if let Err(exit_text) = runner.run(&event) {
                    let _ = say.send(exit_text);
                }
            }
            drop(end);
        });
        let thread = Some(thread.ok()?);
        Some(Self { events: Some(events), said, known: HashSet::new(), hurry, done, thread })
    }

    /// Runs the command for an event, soon. What is wrong with the command comes back, each thing once.
    pub fn run(&mut self, event: &AlertEvent) -> Option<String> {
        let sent = self.events.as_ref().map(|events| events.try_send(event.clone()));
        match sent {
            Some(Err(mpsc::TrySendError::Full(_))) => self
                .once("the command of --on-alert takes so long that it is not run for every alert".to_owned()),
            _ => None,
        }
    }

    /// What went wrong with commands since this was last asked, each thing once.
    pub fn troubles(&mut self) -> Vec<String> {
        let said: Vec<String> = self.said.try_iter().collect();
        said.into_iter().filter_map(|exit_text| self.once(exit_text)).collect()
    }

    fn once(&mut self, exit_text: String) -> Option<String> {
        self.known.insert(exit_text.clone()).then_some(exit_text)
    }

    /// Waits so long for commands that still run; then they are ended. What went wrong comes back.
    pub fn finish(mut self, patience: Duration) -> Vec<String> {
        drop(self.events.take());
        if self.done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            self.hurry.store(true, Ordering::Relaxed);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.troubles()
    }
}

impl Runner {
    fn run(&self, event: &AlertEvent) -> Result<(), String> {
        let failed = |why: &str| format!("the command of --on-alert {why}: {}", self.command);
        if self.hurry.load(Ordering::Relaxed) {
            return Err(failed("was not run for the last alerts"));
        }
        let mut child = self.start(event).map_err(|error| failed(&format!("cannot be started ({error})")))?;
        let began = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(failed(&exit_text(status))),
                Ok(None) if began.elapsed() > self.limit => {
                    end(&mut child);
                    return Err(failed(&format!(
                        "took longer than {} s and was ended",
                        self.limit.as_secs_f64()
                    )));
                }
                Ok(None) if self.hurry.load(Ordering::Relaxed) => {
                    end(&mut child);
                    return Err(failed("was ended with the monitor"));
                }
                Ok(None) => std::thread::sleep(ASK_EVERY),
                Err(error) => return Err(failed(&format!("cannot be waited for ({error})"))),
            }
        }
    }

    fn start(&self, event: &AlertEvent) -> std::io::Result<Child> {
        // Its words go where ours go: stdout may be a program's data.
        let stderr = std::io::stderr();
        let out = stderr.as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from);
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        Command::new("sh")
            .arg("-c")
            .arg(&self.command)
            .env("STEPSCOPE_ALERT_RULE", &event.rule)
            .env("STEPSCOPE_ALERT_STATE", event.state.word())
            .env("STEPSCOPE_ALERT_MESSAGE", &event.message)
            .env("STEPSCOPE_ALERT_VALUE", number(event.value))
            .env("STEPSCOPE_ALERT_DEVICE", event.device.map(|device| device.to_string()).unwrap_or_default())
            .env("STEPSCOPE_ALERT_HOST", &event.host)
            .env("STEPSCOPE_ALERT_AT", moment_text(event.at_ns))
            .env("STEPSCOPE_ALERT_AT_NS", event.at_ns.to_string())
            .env("STEPSCOPE_ALERT_DIRECTORY", &self.folder)
            .stdin(Stdio::null())
            .stdout(out)
            // A group of its own: Ctrl-C is not for it, and all of it can be ended.
            .process_group(0)
            .spawn()
    }
}

/// Ends a command and what it started.
fn end(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn exit_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

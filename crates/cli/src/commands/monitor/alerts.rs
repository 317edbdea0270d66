//! What is done with an alert: a line on the terminal, a line in the directory, and the user's command.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use stepscope_ask::print::Role;
use stepscope_service::{AlertCommand, AlertEvent, AlertState, COMMAND_LIMIT, keep_alert};

use crate::failure::Failure;
use crate::input::remark;
use crate::terminal;

/// Alerts that the summary remembers.
const MAX_REMEMBERED: usize = 1_000;
/// How long a command may go on after the monitor has ended.
const MAX_COMMAND_WAIT: Duration = Duration::from_secs(5);

pub(super) struct Alerts {
    folder: PathBuf,
    command: Option<AlertCommand>,
    fired: Vec<AlertEvent>,
    troubles: Vec<String>,
    said_unwritten: bool,
}

impl Alerts {
    pub(super) fn new(folder: &Path, command: Option<&str>) -> Result<Alerts, Failure> {
        let command = match command {
            None => None,
            Some(command) => Some(AlertCommand::new(command, folder, COMMAND_LIMIT).ok_or_else(|| {
                Failure::wrong_use(
                    "no thread can be started for --on-alert",
                    "raise the limit of threads (ulimit -u)",
                )
            })?),
        };
        let folder = folder.to_owned();
        Ok(Alerts { folder, command, fired: Vec::new(), troubles: Vec::new(), said_unwritten: false })
    }

    /// Whether something went wrong with a command.
    pub(super) fn has_troubles(&mut self) -> bool {
        self.troubles.extend(self.command.as_mut().map(AlertCommand::troubles).unwrap_or_default());
        !self.troubles.is_empty()
    }

    pub(super) fn handle(&mut self, events: Vec<AlertEvent>) {
        for event in events {
            say(&event);
            if let Err(error) = keep_alert(&self.folder, &event)
                && !std::mem::replace(&mut self.said_unwritten, true)
            {
                remark(&format!("alerts cannot be written to {}: {error}", self.folder.display()));
            }
            self.troubles.extend(self.command.as_mut().and_then(|command| command.run(&event)));
            if self.fired.len() < MAX_REMEMBERED {
                self.fired.push(event);
            }
        }
        self.troubles.drain(..).for_each(|words| remark(&words));
    }

    /// Waits for commands, and hands out what happened.
    pub(super) fn finish(mut self) -> Vec<AlertEvent> {
        if let Some(command) = self.command.take() {
            command.finish(MAX_COMMAND_WAIT).iter().for_each(|words| remark(words));
        }
        self.fired
    }
}

fn say(event: &AlertEvent) {
    let screen = terminal::detect(&io::stderr());
    let (role, word) = match event.state {
        AlertState::Firing => (Role::Bad, "alert:"),
        AlertState::Over => (Role::Good, "over:"),
    };
    let line = format!("{} {}\n", screen.paint(role, word), screen.text(&event.message));
    // A closed stderr only means that no one wants to know.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

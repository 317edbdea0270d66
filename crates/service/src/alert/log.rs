//! What rules have done, a line of JSON each: `alerts.jsonl` in the folder.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stepscope_ground::write_whole;

const LOG_FILE: &str = "alerts.jsonl";
/// It is cut to half of this when it gets larger, the oldest lines first.
const MAX_BYTES: u64 = 4 << 20;
/// Events that are read, the newest.
const MAX_EVENTS: usize = 10_000;

/// What became of a rule.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// Its condition has held for as long as it says.
    Firing,
    Over,
}

impl AlertState {
    pub fn word(self) -> &'static str {
        match self {
            AlertState::Firing => "firing",
            AlertState::Over => "over",
        }
    }
}

/// A rule that fired, or stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertEvent {
    /// When, in nanoseconds since 1970.
    pub at_ns: i64,
    /// The rule, as it was written.
    pub rule: String,
    /// What happened, in a sentence.
    pub message: String,
    /// Whether it began or ended.
    pub state: AlertState,
    /// The value then, in the unit of the counter; none if it was unknown.
    #[serde(default)]
    pub value: Option<f64>,
    #[serde(default)]
    pub device: Option<u32>,
    /// The machine that said so.
    #[serde(default)]
    pub host: String,
}

/// All that rules have done, the oldest first; nothing where there is no such file. Lines that are not whole are left out.
pub fn alerts(folder: &Path) -> Vec<AlertEvent> {
    let text = tail(&folder.join(LOG_FILE), MAX_BYTES).unwrap_or_default();
    let mut events: Vec<AlertEvent> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<AlertEvent>(line).ok())
        .collect();
    // Several processes write to one file, and their clocks differ.
    events.sort_by_key(|event| event.at_ns);
    let cut = events.len().saturating_sub(MAX_EVENTS);
    events.split_off(cut)
}

/// Adds an event to the file of a folder.
pub fn keep_alert(folder: &Path, event: &AlertEvent) -> io::Result<()> {
    keep(folder, event, MAX_BYTES)
}

pub(super) fn keep(folder: &Path, event: &AlertEvent, max_bytes: u64) -> io::Result<()> {
    let path = folder.join(LOG_FILE);
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(&path)?;
    let length = file.metadata()?.len();
    let mut line = Vec::new();
    if length > 0 {
        // A writer that was killed left half a line.
        let mut last = [0];
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
        if last[0] != b'\n' {
            line.push(b'\n');
        }
    }
    serde_json::to_writer(&mut line, event)?;
    line.push(b'\n');
    // One call for a line, so that several processes do not mix theirs.
    file.write_all(&line)?;
    if length > max_bytes {
        drop(file);
        halve(&path, max_bytes / 2)?;
    }
    Ok(())
}

fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn halve(path: &Path, keep: u64) -> io::Result<()> {
    let bytes = tail(path, keep)?;
    let whole = bytes.iter().position(|byte| *byte == b'\n').map_or(&bytes[..], |at| &bytes[at + 1..]);
    write_whole(path, whole)
}

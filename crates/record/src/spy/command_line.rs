//! What a process was started as.

use std::fs;

/// A process's command line, shortened.
pub(super) fn command(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    let text = text.trim();
    match text.is_empty() {
        // Kernel threads and those that have ended have none.
        true => fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned(),
        false => text.chars().take(1000).collect(),
    }
}

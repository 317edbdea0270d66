//! The user's browser.

use std::process::{Command, Stdio};

/// Opens an address; false if there is nothing to open it with.
pub(super) fn open(url: &str) -> bool {
    let openers: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "wslview"] };
    // Over ssh, and without a screen, a browser would open where no one sees it, or in the terminal.
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let seen = cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY") || set("WSL_DISTRO_NAME");
    if !seen || set("SSH_CONNECTION") {
        return false;
    }
    openers.iter().any(|opener| {
        let quiet = || Stdio::null();
        Command::new(opener).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
    })
}

/// What this machine calls itself.
pub(super) fn host_name() -> String {
    let from_file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_file.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "HOST".to_owned() } else { name.to_owned() }
}

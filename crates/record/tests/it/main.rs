//! The recorder against trees of files and a driver library whose numbers are known.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; helpers are tests too"
)]

mod machine;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod native;
mod nvidia;
mod recordings;
#[cfg(target_os = "linux")]
mod spy;

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a test waits for something that a busy machine may be late with.
const MAX_WAIT: Duration = Duration::from_secs(240);

/// Asks until there is an answer; what never comes is named.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < MAX_WAIT, "waited {} s for this: {what}", MAX_WAIT.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-record-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn tree(root: &std::path::Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

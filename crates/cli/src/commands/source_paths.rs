//! Places in source files, as they are shown: short names, and the text of one line.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// Longer files are not source code that someone wrote.
const MAX_BYTES: u64 = 4 << 20;

/// Shortens the names of files as one process sees them.
#[derive(Clone, Debug)]
pub(super) struct Shortener {
    pid: u32,
    folder: Option<String>,
}

impl Shortener {
    pub(super) fn new(pid: u32) -> Shortener {
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok();
        let folder = folder.map(|path| format!("{}/", path.to_string_lossy().trim_end_matches('/')));
        Shortener { pid, folder: folder.filter(|folder| folder != "/") }
    }

    /// Below the process's folder, or below where packages are.
    pub(super) fn short<'f>(&self, file: &'f str) -> &'f str {
        let below = self.folder.as_deref().and_then(|folder| file.strip_prefix(folder));
        below.filter(|rest| !rest.contains("site-packages/")).unwrap_or_else(|| below_packages(file))
    }

    /// Where the file is for us: the process may be in a container, or its names relative to its folder.
    pub(super) fn on_disk(&self, file: &str) -> PathBuf {
        let inside = match file.starts_with('/') {
            true => PathBuf::from(format!("/proc/{}/root{file}", self.pid)),
            false => PathBuf::from(format!("/proc/{}/cwd/{file}", self.pid)),
        };
        if inside.exists() { inside } else { PathBuf::from(file) }
    }
}

/// `torch/nn/modules/module.py` of a file in a folder of packages, `threading.py` of one of Python's own.
pub(super) fn below_packages(file: &str) -> &str {
    for folder in ["site-packages/", "dist-packages/"] {
        if let Some((_, rest)) = file.rsplit_once(folder) {
            return rest;
        }
    }
    match file.split_once("/lib/python3").and_then(|(_, rest)| rest.split_once('/')) {
        Some((_, rest)) => rest,
        None => file,
    }
}

thread_local! {
    static LINES: RefCell<HashMap<PathBuf, Vec<String>>> = RefCell::default();
}

/// A line of a source file, if it is there.
pub(super) fn source_line(path: &PathBuf, line: u32) -> Option<String> {
    let is_source = path.extension().is_some_and(|end| end == "py" || end == "pyx");
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    if !is_source {
        return None;
    }
    LINES.with_borrow_mut(|files| {
        let lines = files.entry(path.clone()).or_insert_with(|| {
            let small = fs::metadata(path).is_ok_and(|info| info.is_file() && info.len() <= MAX_BYTES);
            let text = if small { fs::read(path).unwrap_or_default() } else { Vec::new() };
            String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
        });
        lines.get(at).cloned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_short() {
        let paths = Shortener { pid: 1, folder: Some("/home/me/project/".to_owned()) };
        assert_eq!(paths.short("/home/me/project/train.py"), "train.py");
        assert_eq!(paths.short("/home/me/project/.venv/lib/python3.11/site-packages/torch/a.py"), "torch/a.py");
        assert_eq!(paths.short("/usr/lib/python3.11/threading.py"), "threading.py");
        assert_eq!(paths.short("/usr/lib/python3/dist-packages/yaml/a.py"), "yaml/a.py");
        assert_eq!(paths.short("/other/a.py"), "/other/a.py");
    }
}

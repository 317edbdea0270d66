//! Traces in a folder: TensorBoard's layout (`<worker>.<span>.pt.trace.json.gz`) and any other.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_model::Source;

use crate::error::ReadError;

/// A file that looks like a trace by its name; only reading tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceFile {
    /// Where it is.
    pub path: PathBuf,
    /// Stored bytes.
    pub bytes: u64,
}

/// Folders this deep are searched; deeper ones are some other project's.
const MAX_DEPTH: usize = 6;

/// The traces at a path: itself if it is a file or `-`, else all below the folder, sorted by path.
pub fn discover(path: &Path) -> Result<Vec<TraceFile>, ReadError> {
    let name = path.display().to_string();
    if path.as_os_str() == "-" {
        return Ok(vec![TraceFile { path: path.to_owned(), bytes: 0 }]);
    }
    let info = fs::metadata(path).map_err(|e| ReadError::open(&name, e))?;
    if !info.is_dir() {
        return Ok(vec![TraceFile { path: path.to_owned(), bytes: info.len() }]);
    }
    let mut found = Vec::new();
    search(path, 0, &mut found).map_err(|e| ReadError::open(&name, e))?;
    found.sort();
    if found.is_empty() { Err(ReadError::NoTraces { path: name }) } else { Ok(found) }
}

fn search(folder: &Path, depth: usize, found: &mut Vec<TraceFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Links are followed for files, not for folders: a loop would never end.
        if entry.file_type()?.is_dir() {
            if depth < MAX_DEPTH && !entry.file_name().to_string_lossy().starts_with('.') {
                search(&entry.path(), depth + 1, found)?;
            }
        } else if is_trace_name(&entry.file_name().to_string_lossy()) {
            let bytes = fs::metadata(entry.path()).map_or(0, |m| m.len());
            found.push(TraceFile { path: entry.path(), bytes });
        }
    }
    Ok(())
}

fn is_trace_name(name: &str) -> bool {
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    plain.ends_with(".trace.json") || plain.ends_with("trace.json") || plain.ends_with("_trace.json")
}

/// Worker and span from a name such as `host_1234.1700000000000000000.pt.trace.json.gz`.
pub(crate) fn name_parts(path: &str, source: &mut Source) {
    let name = Path::new(path).file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
    let Some(at) = name.find(".pt.trace.json") else { return };
    let stem = &name[..at];
    match stem.rsplit_once('.') {
        Some((worker, span)) if span.len() >= 6 && span.bytes().all(|b| b.is_ascii_digit()) => {
            source.worker = Some(worker.to_owned());
            source.span = Some(span.to_owned());
        }
        _ => source.worker = Some(stem.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str) -> (Option<String>, Option<String>) {
        let mut source = Source::default();
        name_parts(name, &mut source);
        (source.worker, source.span)
    }

    #[test]
    fn names_carry_worker_and_span() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(parts("a/host_12.1700000000123.pt.trace.json.gz"), (some("host_12"), some("1700000000123")));
        assert_eq!(parts("rank0.pt.trace.json"), (some("rank0"), None));
        assert_eq!(parts("trace.json"), (None, None));
    }

    #[test]
    fn trace_names() {
        assert!(is_trace_name("w.1.pt.trace.json.gz"));
        assert!(is_trace_name("trace.json"));
        assert!(is_trace_name("eager_trace.json.zst"));
        assert!(!is_trace_name("key_averages.csv"));
        assert!(!is_trace_name("package.json"));
    }
}

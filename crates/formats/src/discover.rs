//! Traces in a folder: TensorBoard's layout (`<worker>.<span>.pt.trace.json.gz`) and any other.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::memmem;
use stepscope_model::Source;

use crate::OpenOptions;
use crate::chunks::unwrap_layers;
use crate::error::ReadError;

/// A file that looks like a trace; only reading tells.
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
    // The processes of one run are one trace.
    if found.len() > 1 && found.iter().all(|file| is_timeline(&file.path)) {
        let bytes = found.iter().map(|file| file.bytes).sum();
        return Ok(vec![TraceFile { path: path.to_owned(), bytes }]);
    }
    if found.is_empty() { Err(ReadError::NoTraces { path: name }) } else { Ok(found) }
}

/// The timelines of calls below a folder, where there is nothing else.
pub(crate) fn timelines(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if search(folder, 0, &mut found).is_err() || !found.iter().all(|file| is_timeline(&file.path)) {
        return Vec::new();
    }
    found.sort();
    found.into_iter().map(|file| file.path).collect()
}

fn is_timeline(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "calls")
}

/// Files read as if they were one.
pub(crate) struct OneAfterAnother {
    waiting: std::vec::IntoIter<PathBuf>,
    open: Option<fs::File>,
}

impl OneAfterAnother {
    pub(crate) fn new(files: Vec<PathBuf>) -> OneAfterAnother {
        OneAfterAnother { waiting: files.into_iter(), open: None }
    }
}

impl Read for OneAfterAnother {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if let Some(file) = &mut self.open {
                let read = file.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            match self.waiting.next() {
                Some(path) => self.open = Some(fs::File::open(path)?),
                None => return Ok(0),
            }
        }
    }
}

fn search(folder: &Path, depth: usize, found: &mut Vec<TraceFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links are followed for files, not for folders: a loop would never end.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < MAX_DEPTH && !name.starts_with('.') {
                // A folder that may not be read hides its own traces, not those beside it.
                let _ = search(&path, depth + 1, found);
            }
        } else if let Ok(info) = fs::metadata(&path)
            // Opening a pipe would wait for a writer.
            && info.is_file()
            && is_trace(&path, &name)
        {
            found.push(TraceFile { path, bytes: info.len() });
        }
    }
    Ok(())
}

/// Files named like traces and timelines of calls are; other JSON files are if they begin like one.
fn is_trace(path: &Path, name: &str) -> bool {
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    plain.ends_with("trace.json")
        || plain.ends_with(".calls")
        || (plain.ends_with(".json") && begins_like_a_trace(path))
}

/// Bytes of text looked at: long lists of process groups stand before the events.
const HEAD_BYTES: u64 = 256 << 10;

fn begins_like_a_trace(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else { return false };
    let Ok((_, text, _)) = unwrap_layers(file, "", &OpenOptions::default()) else { return false };
    let mut head = Vec::new();
    // A damaged file may still be a trace: what came before the damage decides.
    let _ = text.take(HEAD_BYTES).read_to_end(&mut head);
    let has = |word: &str| memmem::find(&head, word.as_bytes()).is_some();
    match head.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{') => has("\"traceEvents\"") || (has("\"schemaVersion\"") && has("\"deviceProperties\"")),
        Some(b'[') => has("\"ph\"") && has("\"ts\""),
        _ => false,
    }
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

    #[cfg(unix)]
    #[test]
    fn folders_that_may_not_be_read_hide_only_their_own() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("stepscope-locked-{}", std::process::id()));
        let locked = folder.join("locked");
        fs::create_dir_all(&locked).unwrap();
        fs::write(folder.join("w.pt.trace.json"), "{").unwrap();
        // A link to nothing and one to a folder: neither is a file.
        std::os::unix::fs::symlink("nowhere", folder.join("gone.trace.json")).unwrap();
        std::os::unix::fs::symlink(".", folder.join("loop.trace.json")).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        let found = discover(&folder);
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let paths: Vec<PathBuf> = found.unwrap().into_iter().map(|f| f.path).collect();
        assert_eq!(paths, [folder.join("w.pt.trace.json")]);
    }

    #[test]
    fn content_decides_where_the_name_does_not() {
        let folder = std::env::temp_dir().join(format!("stepscope-discover-{}", std::process::id()));
        fs::create_dir_all(folder.join("deep")).unwrap();
        let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        put("w.1.pt.trace.json", "{");
        put("deep/other.json", "{\"traceEvents\": []}");
        put("list.json", "[{\"ph\": \"X\", \"ts\": 1}]");
        put("package.json", "{\"name\": \"x\"}");
        put("timeline.json", "[[1, 2], [3]]");
        put("notes.txt", "{\"traceEvents\": []}");
        let found = discover(&folder).unwrap();
        let names: Vec<_> = found.iter().map(|f| f.path.strip_prefix(&folder).unwrap().to_owned()).collect();
        let want = ["deep/other.json", "list.json", "w.1.pt.trace.json"];
        assert_eq!(names, want.map(PathBuf::from));
        fs::remove_dir_all(&folder).unwrap();
    }
}

//! Traces and profiles in a folder: TensorBoard's layout (`<worker>.<span>.pt.trace.json.gz`) and any other.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::memmem;
use stepscope_model::DocumentKind;

use crate::OpenOptions;
use crate::chunks::unwrap_layers;
use crate::error::ReadError;
use crate::readers;
use crate::trace_file::TraceFile;
use crate::xplane_runs;

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
    xplane_runs::without_copies(&mut found);
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
            && (is_trace(&path, &name) || is_profile(&path, &name))
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
        || plain.ends_with(xplane_runs::FILE_ENDING)
        || plain.ends_with(".calls")
        || (plain.ends_with(".json") && begins_like_a_trace(path))
}

/// Bytes of text looked at: long lists of process groups stand before the events.
const HEAD_BYTES: u64 = 256 << 10;

/// Files of profilers, by the endings they usually have, if they begin like a profile.
fn is_profile(path: &Path, name: &str) -> bool {
    const ENDINGS: [&str; 9] =
        [".pstats", ".prof", ".cprof", ".lprof", ".pprof", ".pb", ".folded", ".collapsed", ".json"];
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    ENDINGS.iter().any(|ending| plain.ends_with(ending))
        && head(path).is_some_and(|head| {
            readers::find(&head).is_some_and(|reader| reader.yields == DocumentKind::Profile)
        })
}

/// How the text of a file begins; none if it cannot be read. A damaged file may still be a trace: what came before the damage
/// decides.
fn head(path: &Path) -> Option<Vec<u8>> {
    let file = fs::File::open(path).ok()?;
    let (_, text, _) = unwrap_layers(file, "", &OpenOptions::default()).ok()?;
    let mut head = Vec::new();
    let _ = text.take(HEAD_BYTES).read_to_end(&mut head);
    Some(head)
}

fn begins_like_a_trace(path: &Path) -> bool {
    let Some(head) = head(path) else { return false };
    let has = |word: &str| memmem::find(&head, word.as_bytes()).is_some();
    match head.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{') => has("\"traceEvents\"") || (has("\"schemaVersion\"") && has("\"deviceProperties\"")),
        Some(b'[') => has("\"ph\"") && has("\"ts\""),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn profiles_are_found_beside_traces() {
        let folder = std::env::temp_dir().join(format!("stepscope-profiles-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles");
        for name in
            ["demo-3.11.pstats", "hot-5.1.lprof", "pyspy.speedscope.json", "austin.pprof", "hot-5.1.lprof.txt"]
        {
            fs::copy(fixtures.join(name), folder.join(name)).unwrap();
        }
        fs::write(folder.join("w.pt.trace.json"), "{").unwrap();
        // Named like a profile, and none.
        fs::write(folder.join("notes.prof"), "hello").unwrap();
        fs::write(folder.join("settings.json"), "{\"a\": 1}").unwrap();
        let found = discover(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let names =
            found.unwrap().into_iter().filter_map(|file| Some(file.path.file_name()?.to_str()?.to_owned()));
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["austin.pprof", "demo-3.11.pstats", "hot-5.1.lprof", "pyspy.speedscope.json", "w.pt.trace.json"]
        );
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

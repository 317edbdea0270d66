//! Finds the Python inside a process: which file it is, where that is loaded, and which version.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::command_line::command;
use super::elf::{Bytes, Elf};
use super::error::{SpyError, Unreadable};
use super::layout::{Layout, published};
use super::layouts::LAYOUTS;
use super::memory::Memory;
use super::tasks;

/// A list of mappings longer than this is not read.
const MAX_MAPS: usize = 64 << 20;
/// Names that tell where Python is and, before 3.11, which version.
const SYMBOL_NAMES: [&str; 6] =
    ["_PyRuntime", "PyCode_Type", "Py_Version", "Py_NewRef", "PyType_GetModule", "PyFunction_Type"];

/// The Python of a process.
#[derive(Clone, Debug)]
pub(super) struct Python {
    pub(super) runtime: u64,
    /// The type of code objects: what is not of it is not code.
    pub(super) code_type: u64,
    /// The same of functions; 0 where it was not found.
    pub(super) function_type: u64,
    pub(super) layout: Layout,
    pub(super) path: String,
    /// As `3.11.7`, or `3.9` where only that is known.
    pub(super) version: String,
}

/// One file in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) offset: u64,
    pub(super) runs: bool,
    pub(super) path: String,
}

/// What is needed of a file with a Python in it.
#[derive(Debug)]
struct Symbols {
    /// Of each name in `WANTED`, as the file has it.
    addresses: Vec<Option<u64>>,
    loads: Vec<(u64, u64)>,
    fixed: bool,
}

/// Files whose symbols were read: those of a Python take milliseconds, and the workers of a pool all have the same.
#[derive(Debug, Default)]
pub(super) struct Files {
    known: Vec<((u64, u64), Arc<Symbols>)>,
}

/// Files that are remembered.
const MAX_FILES: usize = 16;

impl Files {
    fn symbols(&mut self, file: File) -> Option<Arc<Symbols>> {
        let about = file.metadata().ok()?;
        let key = (about.dev(), about.ino());
        if let Some((_, known)) = self.known.iter().find(|(known, _)| *known == key) {
            return Some(known.clone());
        }
        let elf = Elf::read(Bytes::File(file)).ok()?;
        let addresses = elf.addresses(&SYMBOL_NAMES).ok()?;
        let found = Arc::new(Symbols { addresses, loads: elf.loads, fixed: elf.fixed });
        if self.known.len() == MAX_FILES {
            self.known.remove(0);
        }
        self.known.push((key, found.clone()));
        Some(found)
    }
}

/// Code that the kernel puts in every process: the clock is read there.
pub(super) const VDSO: &str = "[vdso]";

/// Whether a process has a Python in it, as far as its files say; cheap enough for all processes of a machine.
pub(super) fn may_be_python(pid: u32) -> bool {
    mappings(pid).is_ok_and(|maps| maps.iter().any(|map| rank(&map.path, "") < 2))
}

pub(super) fn find(pid: u32, memory: &mut Memory, files: &mut Files) -> Result<Python, SpyError> {
    let maps = mappings(pid)?;
    let executable = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let executable = executable.to_string_lossy().into_owned();
    let mut paths: Vec<&str> = maps.iter().map(|map| map.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.sort_by_key(|path| rank(path, &executable));
    let mut nameless = None;
    for path in paths.into_iter().filter(|path| rank(path, &executable) < 3) {
        let Some(file) = open(pid, path, &executable, &maps) else { continue };
        let Some(symbols) = files.symbols(file) else { continue };
        let Some(bias) = bias(&symbols, &maps, path) else { continue };
        let at = |index: usize| symbols.addresses[index].map(|address| address.wrapping_add(bias));
        if let (Some(runtime), Some(code_type)) = (at(0), at(1)) {
            let python = known(pid, memory, &symbols, runtime, code_type, at(2))?;
            let function_type = at(5).unwrap_or(0);
            return Ok(Python { path: path.to_owned(), function_type, ..python });
        }
        nameless = nameless.or(Some(path).filter(|path| rank(path, &executable) < 2));
    }
    if let Some(path) = nameless {
        return Err(SpyError::new(
            format!("process {pid} has {path} loaded, but there is no {} in it", SYMBOL_NAMES[0]),
            "CPython 3.9 to 3.13 have that symbol; older ones, PyPy and Pythons without any symbols cannot be read",
        ));
    }
    if tasks::is_ending(pid) {
        return Err(SpyError::new(
            format!("process {pid} has ended, and its parent has not collected it yet: {}", command(pid)),
            "`stepscope dump --all` lists the Python processes of this machine",
        ));
    }
    Err(SpyError::new(
        format!("there is no Python in process {pid}: {}", command(pid)),
        "`stepscope dump --all` lists the Python processes of this machine",
    ))
}

/// What to do with a file, the most likely first; 3 is left out.
fn rank(path: &str, executable: &str) -> u8 {
    let path = path.trim_end_matches(" (deleted)");
    let name = path.rsplit('/').next().unwrap_or(path);
    match () {
        () if name.starts_with("libpython") => 0,
        () if name.starts_with("python") && !name.contains(".so") => 1,
        () if path == executable.trim_end_matches(" (deleted)") => 2,
        () => 3,
    }
}

fn known(
    pid: u32,
    memory: &mut Memory,
    symbols: &Symbols,
    runtime: u64,
    code_type: u64,
    version_at: Option<u64>,
) -> Result<Python, SpyError> {
    let failed = |error: Unreadable| super::permission::unreadable(pid, error);
    let unknown = |version: &str| SpyError {
        unknown_version: true,
        ..SpyError::new(
            format!("the Python of process {pid} is {version}, which is not known"),
            "CPython 3.9 to 3.13 are (by Py_Version or what each was the first to export); for others `stepscope run` samples from inside",
        )
    };
    let (minor, version) = match version_at {
        Some(at) => {
            let hex = u32::from_le_bytes(memory.array(at).map_err(failed)?);
            let (major, minor, patch) = (hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff);
            if major != 3 {
                return Err(unknown(&format!("{major}.{minor}")));
            }
            (minor as u8, format!("3.{minor}.{patch}"))
        }
        // Each of these functions is new in one version.
        None if symbols.addresses[3].is_some() => (10, "3.10".to_owned()),
        None if symbols.addresses[4].is_some() => (9, "3.9".to_owned()),
        None => return Err(unknown("older than 3.9")),
    };
    let layout = LAYOUTS.iter().find(|layout| layout.version == (3, minor)).cloned();
    let mut layout = layout.ok_or_else(|| unknown(&version))?;
    if minor >= 13 {
        let bytes: [u8; published::WORDS * 8] = memory.array(runtime).map_err(failed)?;
        let words: Vec<u64> =
            bytes.chunks_exact(8).map(|b| b.try_into().map_or(0, u64::from_le_bytes)).collect();
        if bytes[..8] == *published::COOKIE {
            if words[published::FREE_THREADED] != 0 {
                return Err(unknown(&format!("{version} without the GIL (free-threaded)")));
            }
            layout = layout.with_published(&words).ok_or_else(|| failed(Unreadable::Nonsense))?;
        }
    }
    Ok(Python { runtime, code_type, function_type: 0, layout, path: String::new(), version })
}

/// What must be added to the addresses in a file.
fn bias(symbols: &Symbols, maps: &[Mapping], path: &str) -> Option<u64> {
    if symbols.fixed {
        return Some(0);
    }
    let map = maps.iter().find(|map| map.path == path)?;
    moved(&symbols.loads, map)
}

/// By how much a piece of a file was moved; `loads` are offsets and addresses.
pub(super) fn moved(loads: &[(u64, u64)], map: &Mapping) -> Option<u64> {
    let page = |n: u64| n & !(super::memory::PAGE_BYTES - 1);
    let (_, address) = loads.iter().find(|(offset, _)| page(*offset) == map.offset)?;
    Some(map.start.wrapping_sub(page(*address)))
}

/// Opens a file as the process sees it: it may be in a container, or deleted since.
pub(super) fn open(pid: u32, path: &str, executable: &str, maps: &[Mapping]) -> Option<File> {
    let map = maps.iter().find(|map| map.path == path)?;
    let here = path.trim_end_matches(" (deleted)");
    let mut places = vec![PathBuf::from(format!("/proc/{pid}/root{here}"))];
    if path == executable {
        places.insert(0, PathBuf::from(format!("/proc/{pid}/exe")));
    } else if path != here {
        places.insert(0, PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end)));
    }
    places.push(PathBuf::from(here));
    places.into_iter().find_map(|place| File::open(place).ok())
}

pub(super) fn mappings(pid: u32) -> Result<Vec<Mapping>, SpyError> {
    let text = fs::read(format!("/proc/{pid}/maps")).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => super::permission::denied(pid),
        _ => SpyError::gone(pid),
    })?;
    Ok(String::from_utf8_lossy(&text[..text.len().min(MAX_MAPS)]).lines().filter_map(mapping).collect())
}

/// `5581-5582 r-xp 00001000 08:01 123   /usr/bin/python3.11`
fn mapping(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let (rights, rest) = rest.split_once(' ')?;
    let (offset, rest) = rest.split_once(' ')?;
    let path = rest.find('/').or_else(|| rest.find(VDSO)).map(|at| &rest[at..])?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let runs = rights.contains('x');
    Some(Mapping { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, runs, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_taken_apart() {
        let line = "55d1a000-55d1b000 r-xp 00001000 08:01 1234       /opt/my python/bin/python3.11";
        let found = mapping(line).unwrap();
        assert_eq!((found.start, found.end, found.offset), (0x55d1_a000, 0x55d1_b000, 0x1000));
        assert_eq!(found.path, "/opt/my python/bin/python3.11");
        assert!(found.runs);
        let vdso = mapping("7ffd1000-7ffd2000 r-xp 00000000 00:00 0      [vdso]").unwrap();
        assert_eq!(vdso.path, VDSO);
        assert_eq!(mapping("7ffd1000-7ffd2000 rw-p 00000000 00:00 0      [stack]"), None);
        assert_eq!(mapping("nonsense"), None);
    }

    #[test]
    fn the_likely_files_come_first() {
        let of = |path| rank(path, "/usr/bin/uwsgi");
        assert_eq!(of("/usr/lib/libpython3.11.so.1.0"), 0);
        assert_eq!(of("/usr/bin/python3.11 (deleted)"), 1);
        assert_eq!(of("/usr/bin/uwsgi"), 2);
        assert_eq!(of("/usr/lib/libc.so.6"), 3);
    }
}

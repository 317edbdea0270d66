//! What is needed of a file with native code: its unwind tables, and which function an address is in. Names are read from
//! the file when they are asked for: those of a large library would take a hundred megabytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::super::elf::{damaged, half, int, long};
use super::demangle::demangled;

/// Larger tables are not read.
const MAX_TABLE: u64 = 512 << 20;
const MAX_HEADERS: u16 = 4096;
const MAX_SYMBOLS: usize = 8 << 20;
const MAX_NAME: usize = 4096;
const SYMBOL: usize = 24;
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;
const NOT_IN_FILE: u32 = 8;
/// Kinds of symbols that are functions: plain ones, and those chosen when a program starts.
const FUNCTIONS: [u8; 2] = [2, 10];
const BUILD_ID: &str = ".note.gnu.build-id";

/// Where the bytes of an image are.
#[derive(Debug)]
pub(super) enum Bytes {
    File(File),
    /// Copied from a process: the kernel's own code is in no file.
    Memory(Vec<u8>),
}

impl Bytes {
    fn at(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = at.checked_add(length).filter(|_| length <= MAX_TABLE).ok_or_else(damaged)?;
        match self {
            Bytes::File(file) => {
                if end > file.metadata()?.len() {
                    return Err(damaged());
                }
                let mut bytes = vec![0; length as usize];
                file.read_exact_at(&mut bytes, at)?;
                Ok(bytes)
            }
            Bytes::Memory(all) => all.get(at as usize..end as usize).map(<[u8]>::to_vec).ok_or_else(damaged),
        }
    }

    /// The text that starts here.
    fn text(&self, at: u64) -> Option<String> {
        let mut bytes = [0; MAX_NAME];
        let read = match self {
            Bytes::File(file) => file.read_at(&mut bytes, at).ok()?,
            Bytes::Memory(all) => {
                let rest = all.get(usize::try_from(at).ok()?..)?;
                let many = rest.len().min(MAX_NAME);
                bytes[..many].copy_from_slice(&rest[..many]);
                many
            }
        };
        let end = bytes[..read].iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// A piece of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    name: String,
    kind: u32,
    /// Where it is in memory, before it is moved.
    pub(super) address: u64,
    offset: u64,
    pub(super) length: u64,
    link: usize,
}

/// A file with native code.
#[derive(Debug)]
pub(super) struct Image {
    bytes: Bytes,
    sections: Vec<Section>,
    /// Offsets and addresses of what is loaded.
    pub(super) loads: Vec<(u64, u64)>,
    /// Whether it is loaded where it says, and nowhere else.
    pub(super) fixed: bool,
    symbols: OnceLock<Vec<Table>>,
    /// Sections that were read for all processes.
    shared: Mutex<Vec<Shared>>,
    /// Where files with the names of stripped functions may be.
    debug_root: PathBuf,
}

/// A section by its name; none where a file has no such section.
type Shared = (&'static str, Option<Arc<[u8]>>);

/// Functions of one table, by address.
#[derive(Debug)]
struct Table {
    functions: Vec<Symbol>,
    /// Where names are: in the image, or in a file of its own.
    other: Option<Bytes>,
    names_at: u64,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    address: u64,
    length: u64,
    name: u32,
}

/// A function, by what it is called and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) address: u64,
}

impl Image {
    pub(super) fn read(bytes: Bytes, root: &Path) -> io::Result<Image> {
        let (sections, loads, fixed) = headers(&bytes)?;
        let debug_root = root.join("usr/lib/debug/.build-id");
        Ok(Image {
            bytes,
            sections,
            loads,
            fixed,
            symbols: OnceLock::new(),
            shared: Mutex::default(),
            debug_root,
        })
    }

    /// Names an image for as long as its file does not change.
    pub(super) fn key(file: &File) -> Option<(u64, u64, u64, i64)> {
        let info = file.metadata().ok()?;
        Some((info.dev(), info.ino(), info.len(), info.mtime_nsec() ^ info.mtime().rotate_left(32)))
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn content(&self, name: &str) -> Option<Vec<u8>> {
        let section = self.section(name).filter(|section| section.kind != NOT_IN_FILE)?;
        self.bytes.at(section.offset, section.length).ok()
    }

    /// The same, read once for all processes.
    pub(super) fn shared(&self, name: &'static str) -> Option<Arc<[u8]>> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, content)) = shared.iter().find(|(known, _)| *known == name) {
            return content.clone();
        }
        let content: Option<Arc<[u8]>> = self.content(name).map(Arc::from);
        shared.push((name, content.clone()));
        content
    }

    /// The function that an address of the file is in; none where no table says.
    pub(super) fn function(&self, address: u64) -> Option<Function> {
        let tables = self.symbols.get_or_init(|| self.tables());
        let in_table = |table: &Table| {
            let after = table.functions.partition_point(|symbol| symbol.address <= address);
            let start = table.functions.get(after.checked_sub(1)?)?.address;
            // Several names may begin at one address; and a function may have another inside of it.
            let here = table.functions[..after].iter().rev().take_while(|symbol| symbol.address == start);
            let names = here
                .filter(|symbol| address - symbol.address < symbol.length.max(1))
                .filter_map(|symbol| {
                    let bytes = table.other.as_ref().unwrap_or(&self.bytes);
                    bytes.text(table.names_at.checked_add(u64::from(symbol.name))?)
                })
                .filter(|name| !name.is_empty());
            // The plainest name is the one that people know: `read`, not `__GI___libc_read`.
            let name = names.min_by_key(|name| {
                let plain = name.trim_start_matches('_');
                (name.contains("__GI_"), name.len() - plain.len(), name.len(), name.clone())
            })?;
            Some(Function { name: demangled(&name), address: start })
        };
        tables.iter().find_map(in_table)
    }

    /// The table of all functions where there is one, then what the file exports.
    fn tables(&self) -> Vec<Table> {
        let own = |kind: u32| table(&self.bytes, &self.sections, kind);
        let mut found: Vec<Table> = own(SYMBOLS).into_iter().collect();
        if found.is_empty() {
            found.extend(self.debug_file());
        }
        found.extend(own(DYNAMIC_SYMBOLS));
        found
    }

    /// Debian and Fedora keep the tables of stripped files in files named by what was built.
    fn debug_file(&self) -> Option<Table> {
        let note = self.content(BUILD_ID)?;
        let (name, length) = (int(&note, 0).ok()? as usize, int(&note, 4).ok()? as usize);
        let id = note.get(12 + name.next_multiple_of(4)..)?.get(..length).filter(|id| id.len() > 2)?;
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = File::open(self.debug_root.join(&hex[..2]).join(format!("{}.debug", &hex[2..]))).ok()?;
        let bytes = Bytes::File(file);
        let (sections, ..) = headers(&bytes).ok()?;
        let found = table(&bytes, &sections, SYMBOLS)?;
        Some(Table { other: Some(bytes), ..found })
    }
}

type Headers = (Vec<Section>, Vec<(u64, u64)>, bool);

fn headers(bytes: &Bytes) -> io::Result<Headers> {
    let head = bytes.at(0, 64)?;
    if head[..6] != *b"\x7fELF\x02\x01" {
        return Err(damaged());
    }
    let fixed = half(&head, 16)? == 2;
    let (at, size, count) = (long(&head, 32)?, u64::from(half(&head, 54)?), half(&head, 56)?);
    if count > MAX_HEADERS || size < 56 {
        return Err(damaged());
    }
    let mut loads = Vec::new();
    for one in bytes.at(at, size * u64::from(count))?.chunks_exact(size as usize) {
        if int(one, 0)? == 1 {
            loads.push((long(one, 8)?, long(one, 16)?));
        }
    }
    let (at, size, count) = (long(&head, 40)?, u64::from(half(&head, 58)?), half(&head, 60)?);
    if count > MAX_HEADERS || (size < 64 && count > 0) {
        return Err(damaged());
    }
    let all = bytes.at(at, size * u64::from(count))?;
    let mut sections = Vec::new();
    let mut names = Vec::new();
    for one in all.chunks_exact((size as usize).max(64)) {
        names.push(int(one, 0)?);
        sections.push(Section {
            name: String::new(),
            kind: int(one, 4)?,
            address: long(one, 16)?,
            offset: long(one, 24)?,
            length: long(one, 32)?,
            link: int(one, 40)? as usize,
        });
    }
    if let Some(texts) = sections.get(usize::from(half(&head, 62)?)).cloned() {
        for (section, name) in sections.iter_mut().zip(names) {
            section.name = bytes.text(texts.offset.saturating_add(u64::from(name))).unwrap_or_default();
        }
    }
    Ok((sections, loads, fixed))
}

fn table(bytes: &Bytes, sections: &[Section], kind: u32) -> Option<Table> {
    let section = sections.iter().find(|section| section.kind == kind)?;
    let names_at = sections.get(section.link)?.offset;
    let all = bytes.at(section.offset, section.length).ok()?;
    let mut functions: Vec<Symbol> = all
        .chunks_exact(SYMBOL)
        .take(MAX_SYMBOLS)
        .filter(|one| FUNCTIONS.contains(&(one[4] & 15)))
        .filter_map(|one| {
            let (name, section) = (int(one, 0).ok()?, half(one, 6).ok()?);
            let (address, length) = (long(one, 8).ok()?, long(one, 16).ok()?);
            (section != 0 && address != 0).then_some(Symbol { address, length, name })
        })
        .collect();
    functions.sort_unstable();
    (!functions.is_empty()).then_some(Table { functions, other: None, names_at })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_is_found_by_its_address() {
        let file = File::open("/proc/self/exe").unwrap();
        let image = Image::read(Bytes::File(file), Path::new("/")).unwrap();
        assert!(image.content(".eh_frame").is_some_and(|bytes| bytes.len() > 1000));
        assert!(image.loads.len() > 1);
        let tables = image.symbols.get_or_init(|| image.tables());
        let main = tables[0].functions.iter().find_map(|symbol| {
            let name = image.bytes.text(tables[0].names_at + u64::from(symbol.name))?;
            (name == "main").then_some(*symbol)
        });
        let main = main.unwrap();
        assert_eq!(image.function(main.address).unwrap().name, "main");
        assert_eq!(image.function(main.address + main.length - 1).unwrap().name, "main");
        assert_eq!(image.function(0), None);
        assert_eq!(image.function(u64::MAX), None);
    }

    #[test]
    fn broken_files_are_errors_and_no_panics() {
        let whole = std::fs::read("/bin/true").unwrap();
        let tried = |bytes: Vec<u8>| {
            let Ok(image) = Image::read(Bytes::Memory(bytes), Path::new("/nowhere")) else { return };
            let _ = (image.content(".eh_frame"), image.function(0x2000), image.function(u64::MAX));
        };
        for cut in (0..whole.len()).step_by(97) {
            tried(whole[..cut].to_vec());
        }
        let sections = long(&whole, 40).unwrap() as usize;
        for at in (0..64).chain(sections..whole.len()) {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            tried(broken);
        }
    }
}

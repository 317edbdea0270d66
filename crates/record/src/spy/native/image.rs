//! What is needed of a file with native code: its unwind tables, and which function an address is in. Names are read from
//! the file when they are asked for: those of a large library would take a hundred megabytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use stepscope_ground::lock;

use super::super::elf::{Bytes, DYNAMIC_SYMBOL_TABLE, Elf, SYMBOL_TABLE, Symbol, int};
use super::demangle::demangled;

const MAX_SYMBOLS: usize = 8 << 20;
/// Kinds of symbols that are functions: plain ones, and those chosen when a program starts.
const FUNCTION_KINDS: [u8; 2] = [2, 10];
const BUILD_ID: &str = ".note.gnu.build-id";

/// A file with native code.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) elf: Elf,
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

/// A function, by what it is called and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) address: u64,
}

impl Image {
    pub(super) fn read(bytes: Bytes, root: &Path) -> io::Result<Image> {
        Ok(Image {
            elf: Elf::read(bytes)?,
            symbols: OnceLock::new(),
            shared: Mutex::default(),
            debug_root: root.join("usr/lib/debug/.build-id"),
        })
    }

    /// Names an image for as long as its file does not change.
    pub(super) fn key(file: &File) -> Option<(u64, u64, u64, i64)> {
        let info = file.metadata().ok()?;
        Some((info.dev(), info.ino(), info.len(), info.mtime_nsec() ^ info.mtime().rotate_left(32)))
    }

    /// The content of a section, read once for all processes.
    pub(super) fn shared(&self, name: &'static str) -> Option<Arc<[u8]>> {
        let mut shared = lock(&self.shared);
        if let Some((_, content)) = shared.iter().find(|(known, _)| *known == name) {
            return content.clone();
        }
        let content: Option<Arc<[u8]>> = self.elf.content(name).map(Arc::from);
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
                    let bytes = table.other.as_ref().unwrap_or(&self.elf.bytes);
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
        let mut found: Vec<Table> = table(&self.elf, SYMBOL_TABLE).into_iter().collect();
        if found.is_empty() {
            found.extend(self.debug_file());
        }
        found.extend(table(&self.elf, DYNAMIC_SYMBOL_TABLE));
        found
    }

    /// Debian and Fedora keep the tables of stripped files in files named by what was built.
    fn debug_file(&self) -> Option<Table> {
        let note = self.elf.content(BUILD_ID)?;
        let (name, length) = (int(&note, 0).ok()? as usize, int(&note, 4).ok()? as usize);
        let id = note.get(12 + name.next_multiple_of(4)..)?.get(..length).filter(|id| id.len() > 2)?;
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = File::open(self.debug_root.join(&hex[..2]).join(format!("{}.debug", &hex[2..]))).ok()?;
        let elf = Elf::read(Bytes::File(file)).ok()?;
        let found = table(&elf, SYMBOL_TABLE)?;
        Some(Table { other: Some(elf.bytes), ..found })
    }
}

fn table(elf: &Elf, kind: u32) -> Option<Table> {
    let (symbols, names_at, _) = elf.symbols(kind)?;
    let mut functions: Vec<Symbol> =
        symbols.take(MAX_SYMBOLS).filter(|symbol| FUNCTION_KINDS.contains(&symbol.kind)).collect();
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
        assert!(image.elf.content(".eh_frame").is_some_and(|bytes| bytes.len() > 1000));
        assert!(image.elf.loads.len() > 1);
        let tables = image.symbols.get_or_init(|| image.tables());
        let main = tables[0].functions.iter().find_map(|symbol| {
            let name = image.elf.bytes.text(tables[0].names_at + u64::from(symbol.name))?;
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
            let _ = (image.elf.content(".eh_frame"), image.function(0x2000), image.function(u64::MAX));
        };
        for cut in (0..whole.len()).step_by(97) {
            tried(whole[..cut].to_vec());
        }
        let sections = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
        for at in (0..64).chain(sections..whole.len()) {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            tried(broken);
        }
    }
}

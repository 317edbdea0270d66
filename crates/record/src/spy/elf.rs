//! Finds symbols in an ELF file, reading only its tables of symbols: a Python has tens of megabytes, its tables some hundred
//! kilobytes. Only files for 64-bit little-endian machines.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Larger tables are no tables of a Python.
const MAX_TABLE: u64 = 256 << 20;
const MAX_HEADERS: u16 = 4096;
const SYMBOL: usize = 24;
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Symbols {
    /// The address of each wanted name, as the file has it.
    pub(super) found: Vec<Option<u64>>,
    /// Where pieces of the file belong: offset, address.
    pub(super) loads: Vec<(u64, u64)>,
    /// Whether addresses are where they are, and not relative to where the file is loaded.
    pub(super) fixed: bool,
}

/// Looks for these names: first where programs export them, then among all.
pub(super) fn symbols(file: &File, wanted: &[&str]) -> io::Result<Symbols> {
    let head = bytes(file, 0, 64)?;
    if head[..6] != *b"\x7fELF\x02\x01" {
        return Err(damaged());
    }
    let mut symbols =
        Symbols { found: vec![None; wanted.len()], fixed: half(&head, 16)? == 2, loads: loads(file, &head)? };
    let (at, size, count) = (long(&head, 40)?, u64::from(half(&head, 58)?), half(&head, 60)?);
    if count > MAX_HEADERS || size < 64 {
        return Err(damaged());
    }
    let headers = bytes(file, at, size * u64::from(count))?;
    let header = |index: usize| headers.get(index * size as usize..).filter(|rest| rest.len() >= 64);
    for kind in [DYNAMIC_SYMBOLS, SYMBOLS] {
        for index in 0..usize::from(count) {
            let Some(table) = header(index).filter(|h| int(h, 4).is_ok_and(|found| found == kind)) else {
                continue;
            };
            let Some(texts) = header(int(table, 40)? as usize) else { continue };
            let table = bytes(file, long(table, 24)?, long(table, 32)?)?;
            let texts = bytes(file, long(texts, 24)?, long(texts, 32)?)?;
            search(&table, &texts, wanted, &mut symbols.found);
        }
        if symbols.found.first().is_some_and(Option::is_some) {
            break;
        }
    }
    Ok(symbols)
}

fn search(table: &[u8], texts: &[u8], wanted: &[&str], found: &mut [Option<u64>]) {
    for symbol in table.chunks_exact(SYMBOL) {
        let (Ok(name), Ok(section), Ok(value)) = (int(symbol, 0), half(symbol, 6), long(symbol, 8)) else {
            continue;
        };
        // One without a section is used here and defined elsewhere.
        if section == 0 || value == 0 {
            continue;
        }
        let Some(name) = texts.get(name as usize..) else { continue };
        for (at, wanted) in wanted.iter().enumerate() {
            let fits = name.starts_with(wanted.as_bytes()) && name.get(wanted.len()) == Some(&0);
            if fits && found[at].is_none() {
                found[at] = Some(value);
            }
        }
    }
}

pub(super) fn loads(file: &File, head: &[u8]) -> io::Result<Vec<(u64, u64)>> {
    let (at, size, count) = (long(head, 32)?, u64::from(half(head, 54)?), half(head, 56)?);
    if count > MAX_HEADERS || size < 56 {
        return Err(damaged());
    }
    let all = bytes(file, at, size * u64::from(count))?;
    let mut loads = Vec::new();
    for one in all.chunks_exact(size as usize) {
        if int(one, 0)? == 1 {
            loads.push((long(one, 8)?, long(one, 16)?));
        }
    }
    Ok(loads)
}

pub(super) fn bytes(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_TABLE
        || at.checked_add(length).is_none_or(|end| file.metadata().is_ok_and(|m| end > m.len()))
    {
        return Err(damaged());
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

pub(super) fn half(bytes: &[u8], at: usize) -> io::Result<u16> {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes).ok_or_else(damaged)
}

pub(super) fn int(bytes: &[u8], at: usize) -> io::Result<u32> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).ok_or_else(damaged)
}

pub(super) fn long(bytes: &[u8], at: usize) -> io::Result<u64> {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes).ok_or_else(damaged)
}

pub(super) fn damaged() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_a_main_and_no_python() {
        let file = File::open("/proc/self/exe").unwrap();
        let symbols = symbols(&file, &["main", "_PyRuntime"]).unwrap();
        assert!(symbols.found[0].is_some());
        assert_eq!(symbols.found[1], None);
        assert!(symbols.loads.len() > 1);
    }

    #[test]
    fn a_broken_file_is_an_error_and_no_panic() {
        let whole = std::fs::read("/bin/true").unwrap();
        let path = std::env::temp_dir().join(format!("stepscope-elf-{}", std::process::id()));
        for cut in [0, 3, 40, 64, 200, 4096, whole.len() - 10] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(symbols(&File::open(&path).unwrap(), &["main"]).is_err());
        }
        // Every byte of the header, turned over.
        for at in 0..64 {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            std::fs::write(&path, &broken).unwrap();
            let _ = symbols(&File::open(&path).unwrap(), &["main"]);
        }
        let _ = std::fs::remove_file(path);
    }
}

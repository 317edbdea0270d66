//! Reads ELF files of 64-bit little-endian machines: what is loaded where, sections and symbols. Only what is asked for is
//! read: a Python has tens of megabytes, its tables some hundred kilobytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Larger tables are not read.
const MAX_TABLE_BYTES: u64 = 512 << 20;
const MAX_HEADERS: u16 = 4096;
const MAX_NAME_BYTES: usize = 4096;
const SYMBOL_BYTES: usize = 24;
/// Kinds of sections.
pub(super) const SYMBOL_TABLE: u32 = 2;
pub(super) const DYNAMIC_SYMBOL_TABLE: u32 = 11;
const NOT_IN_FILE: u32 = 8;

/// Where the bytes of a file are.
#[derive(Debug)]
pub(super) enum Bytes {
    File(File),
    /// Copied from a process: the kernel's own code is in no file.
    Memory(Vec<u8>),
}

impl Bytes {
    fn at(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = at.checked_add(length).filter(|_| length <= MAX_TABLE_BYTES).ok_or_else(damaged)?;
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
    pub(super) fn text(&self, at: u64) -> Option<String> {
        let mut bytes = [0; MAX_NAME_BYTES];
        match self {
            Bytes::File(file) => {
                let read = file.read_at(&mut bytes, at).ok()?;
                text(&bytes[..read])
            }
            Bytes::Memory(all) => text(all.get(usize::try_from(at).ok()?..)?),
        }
    }
}

/// The text that some bytes start with.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().take(MAX_NAME_BYTES).position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
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

/// A symbol that the file defines.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    pub(super) address: u64,
    pub(super) length: u64,
    /// Where its name is among the names of its table.
    pub(super) name: u32,
    pub(super) kind: u8,
}

/// The headers of a file.
#[derive(Debug)]
pub(super) struct Elf {
    pub(super) bytes: Bytes,
    sections: Vec<Section>,
    /// Where pieces of the file belong: offset, address.
    pub(super) loads: Vec<(u64, u64)>,
    /// Whether it is loaded where it says, and nowhere else.
    pub(super) fixed: bool,
}

impl Elf {
    pub(super) fn read(bytes: Bytes) -> io::Result<Elf> {
        let head = bytes.at(0, 64)?;
        if head[..6] != *b"\x7fELF\x02\x01" {
            return Err(damaged());
        }
        // Where a list of headers is, and how long each is.
        let headers = |at: usize, sizes: usize, least: usize| {
            let (at, size, count) = (long(&head, at)?, half(&head, sizes)?, half(&head, sizes + 2)?);
            if count > MAX_HEADERS || (usize::from(size) < least && count > 0) {
                return Err(damaged());
            }
            let all = bytes.at(at, u64::from(size) * u64::from(count))?;
            Ok((all, usize::from(size).max(least)))
        };
        let mut loads = Vec::new();
        let (all, size) = headers(32, 54, 56)?;
        for one in all.chunks_exact(size) {
            if int(one, 0)? == 1 {
                loads.push((long(one, 8)?, long(one, 16)?));
            }
        }
        let mut sections = Vec::new();
        let (all, size) = headers(40, 58, 64)?;
        for one in all.chunks_exact(size) {
            sections.push(Section {
                name: String::new(),
                kind: int(one, 4)?,
                address: long(one, 16)?,
                offset: long(one, 24)?,
                length: long(one, 32)?,
                link: int(one, 40)? as usize,
            });
        }
        let names = sections.get(usize::from(half(&head, 62)?)).map(|names| (names.offset, names.length));
        let names = names.and_then(|(at, length)| bytes.at(at, length).ok()).unwrap_or_default();
        for (section, header) in sections.iter_mut().zip(all.chunks_exact(size)) {
            section.name = names.get(int(header, 0)? as usize..).and_then(text).unwrap_or_default();
        }
        Ok(Elf { fixed: half(&head, 16)? == 2, bytes, sections, loads })
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn content(&self, name: &str) -> Option<Vec<u8>> {
        let section = self.section(name).filter(|section| section.kind != NOT_IN_FILE)?;
        self.bytes.at(section.offset, section.length).ok()
    }

    /// What the first table of a kind defines, and where and how long its names are.
    pub(super) fn symbols(&self, kind: u32) -> Option<(impl Iterator<Item = Symbol>, u64, u64)> {
        let section = self.sections.iter().find(|section| section.kind == kind)?;
        let names = self.sections.get(section.link)?;
        let all = self.bytes.at(section.offset, section.length).ok()?;
        let symbol = move |at: usize| {
            let one = &all[at * SYMBOL_BYTES..];
            let (address, length) = (long(one, 8).ok()?, long(one, 16).ok()?);
            // One without a section is used here and defined elsewhere.
            let is_defined = half(one, 6).ok()? != 0 && address != 0;
            is_defined.then_some(Symbol { address, length, name: int(one, 0).ok()?, kind: one[4] & 15 })
        };
        let count = section.length as usize / SYMBOL_BYTES;
        Some(((0..count).filter_map(symbol), names.offset, names.length))
    }

    /// The address of each of these names: first where programs export them, then among all.
    pub(super) fn addresses(&self, wanted: &[&str]) -> io::Result<Vec<Option<u64>>> {
        let mut found = vec![None; wanted.len()];
        for kind in [DYNAMIC_SYMBOL_TABLE, SYMBOL_TABLE] {
            let Some((symbols, at, length)) = self.symbols(kind) else { continue };
            let names = self.bytes.at(at, length)?;
            for symbol in symbols {
                let Some(name) = names.get(symbol.name as usize..) else { continue };
                for (found, wanted) in found.iter_mut().zip(wanted) {
                    let fits = name.starts_with(wanted.as_bytes()) && name.get(wanted.len()) == Some(&0);
                    if fits && found.is_none() {
                        *found = Some(symbol.address);
                    }
                }
            }
            if found.first().is_some_and(Option::is_some) {
                break;
            }
        }
        Ok(found)
    }
}

fn half(bytes: &[u8], at: usize) -> io::Result<u16> {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes).ok_or_else(damaged)
}

pub(super) fn int(bytes: &[u8], at: usize) -> io::Result<u32> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).ok_or_else(damaged)
}

fn long(bytes: &[u8], at: usize) -> io::Result<u64> {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes).ok_or_else(damaged)
}

fn damaged() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_a_main_and_no_python() {
        let elf = Elf::read(Bytes::File(File::open("/proc/self/exe").unwrap())).unwrap();
        let found = elf.addresses(&["main", "_PyRuntime"]).unwrap();
        assert!(found[0].is_some());
        assert_eq!(found[1], None);
        assert!(elf.loads.len() > 1);
    }

    #[test]
    fn a_broken_file_is_an_error_and_no_panic() {
        let whole = std::fs::read("/bin/true").unwrap();
        let addresses = |bytes: &[u8]| Elf::read(Bytes::Memory(bytes.to_vec()))?.addresses(&["main"]);
        for cut in [0, 3, 40, 64, 200, 4096, whole.len() - 10] {
            assert!(addresses(&whole[..cut]).is_err());
        }
        // Every byte of the header, turned over.
        for at in 0..64 {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            let _ = addresses(&broken);
        }
    }
}

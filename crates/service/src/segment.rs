//! Files of a store: one per process and hour, and one per process for the minute that is not over.
//!
//! `20261117T01_host_4711_9f3c21aa.minutes` grows by one record per minute. `….open` beside it is replaced as a whole each
//! second. A record is its length, its checksum and a block, so a file is whole up to where it was torn. Counters and stacks
//! lie beside them ([`HOUR_ENDINGS`]): other endings, the same names and records.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use stepscope_ground::{WholeFile, write_whole};

use crate::block::Block;
use crate::crc::crc32;

/// The version of the files that are written. Readers know this one and all before it. A new field needs no new version:
/// who does not know it skips it.
pub const SCHEMA: u16 = 2;
/// The file that says which version a folder has.
pub(crate) const MARK_FILE: &str = "stepscope-production.json";

const MAGIC: &[u8; 6] = b"SSPROD";
const HEADER_BYTES: usize = 8;
const RECORD_HEAD_BYTES: usize = 8;
/// A longer record is damage.
const MAX_RECORD: usize = 64 << 20;
/// More of one file is not read: a busy process writes some 300 KiB per hour.
const MAX_FILE: u64 = 256 << 20;

/// Endings of the files beside the minutes: minutes of counters, their last samples, and stacks of an hour. They go with
/// their hour.
pub(crate) const HOUR_ENDINGS: [&str; 3] = [COUNTERS, SAMPLES, STACKS];
pub(crate) const COUNTERS: &str = "counters";
pub(crate) const SAMPLES: &str = "samples";
pub(crate) const STACKS: &str = "stacks";

/// The process that wrote a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pub host: String,
    pub id: u32,
    /// Numbers are used again: this tells one process from the next.
    pub token: u32,
}

/// The name of a file, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Hours since 1970.
    pub hour: i64,
    pub process: Process,
    /// Whether it is the minute that is not over.
    pub open: bool,
}

/// The name of a file of a process: its hour, the process, and what it holds.
pub(crate) fn name_of(hour: i64, process: &Process, ending: &str) -> String {
    let Process { host, id, token } = process;
    format!("{}_{host}_{id}_{token:08x}.{ending}", stepscope_ground::utc::compact_hour(hour))
}

/// The hour and the process of a name without its ending.
fn parse_stem(stem: &str) -> Option<(i64, Process)> {
    let mut parts = stem.split('_');
    let hour = stepscope_ground::utc::parse_compact_hour(parts.next()?)?;
    let host = parts.next()?.to_owned();
    let (id, token) = (parts.next()?.parse().ok()?, u32::from_str_radix(parts.next()?, 16).ok()?);
    parts.next().is_none().then_some((hour, Process { host, id, token }))
}

impl Name {
    pub(crate) fn text(&self) -> String {
        name_of(self.hour, &self.process, if self.open { "open" } else { "minutes" })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (stem, ending) = text.rsplit_once('.')?;
        let open = match ending {
            "open" => true,
            "minutes" => false,
            _ => return None,
        };
        let (hour, process) = parse_stem(stem)?;
        Some(Self { hour, process, open })
    }
}

/// The name of this machine, as part of a file's name.
pub(crate) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String =
        name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')).take(40).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

pub(crate) fn header() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..6].copy_from_slice(MAGIC);
    header[6..].copy_from_slice(&SCHEMA.to_le_bytes());
    header
}

/// A record: its length, its checksum, and what it holds.
pub(crate) fn record(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + RECORD_HEAD_BYTES);
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Adds a block to the end of a file. If that fails, the file is as long as it was.
pub(crate) fn append(path: &Path, block: &Block) -> io::Result<()> {
    append_record(path, &block.encode())
}

/// The same with whatever a record holds.
pub(crate) fn append_record(path: &Path, payload: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = if length == 0 { header().to_vec() } else { Vec::new() };
    bytes.extend_from_slice(&record(payload));
    // Only this process writes the file, so nothing of another's is cut off.
    file.write_all(&bytes).inspect_err(|_| drop(file.set_len(length)))
}

/// Replaces a file by one with a single block, as a whole or not at all.
pub(crate) fn replace(path: &Path, block: &Block) -> io::Result<()> {
    replace_records(path, &record(&block.encode())).map(drop)
}

/// The same with any records. Returns the file, which is open at its end.
pub(crate) fn replace_records(path: &Path, records: &[u8]) -> io::Result<File> {
    let mut file = WholeFile::new(path);
    file.write_all(&header())?;
    file.write_all(records)?;
    file.keep()
}

#[derive(Debug)]
pub(crate) struct Contents<T = Block> {
    pub blocks: Vec<T>,
    /// What is wrong with it.
    pub trouble: Option<String>,
}

/// Reads a file; what is damaged is said and the rest is kept. `None` if it is gone.
pub(crate) fn read(path: &Path) -> Option<Contents> {
    read_records(path, "minutes", Block::decode)
}

/// The same with whatever records hold. `what`: what to call them.
pub(crate) fn read_records<T>(
    path: &Path,
    what: &str,
    mut decode: impl FnMut(&[u8], u16) -> Option<T>,
) -> Option<Contents<T>> {
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
    let trouble = |words: String| Some(Contents { blocks: Vec::new(), trouble: Some(words) });
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return trouble(format!("cannot be read: {error}")),
        Ok(_) => {}
    }
    if bytes.len() < HEADER_BYTES || !bytes.starts_with(MAGIC) {
        // A process that was killed before the first record leaves nothing of use.
        return if bytes.is_empty() {
            Some(Contents { blocks: Vec::new(), trouble: None })
        } else {
            trouble("is not one of ours".to_owned())
        };
    }
    let version = u16::from_le_bytes([bytes[6], bytes[7]]);
    if version > SCHEMA {
        return trouble(format!("was written by a newer version (schema {version}, known up to {SCHEMA})"));
    }
    let mut contents = Contents { blocks: Vec::new(), trouble: None };
    let mut rest = &bytes[HEADER_BYTES..];
    while !rest.is_empty() {
        let found = next_record(rest).and_then(|(payload, after)| Some((decode(payload, version)?, after)));
        let Some((block, after)) = found else {
            contents.trouble = Some(format!("is damaged after {} whole {what}", contents.blocks.len()));
            break;
        };
        contents.blocks.push(block);
        rest = after;
    }
    Some(contents)
}

fn next_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(RECORD_HEAD_BYTES)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let sum = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let (payload, rest) = rest.split_at_checked(length).filter(|_| length <= MAX_RECORD)?;
    (crc32(payload) == sum).then_some((payload, rest))
}

/// Says which version a folder has, or learns it. `Err` holds the newer version.
pub(crate) fn check_mark(folder: &Path, write: bool) -> io::Result<Result<(), u64>> {
    let path = folder.join(MARK_FILE);
    match File::open(&path) {
        Ok(mut file) => {
            let mut text = String::new();
            file.seek(SeekFrom::Start(0))?;
            file.take(4096).read_to_string(&mut text)?;
            let schema = serde_json::from_str::<serde_json::Value>(&text).ok();
            let schema = schema.and_then(|mark| mark.get("schema")?.as_u64()).unwrap_or(u64::from(SCHEMA));
            Ok(if schema > u64::from(SCHEMA) { Err(schema) } else { Ok(()) })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && write => {
            // Several processes may start at once: each writes the same, whole.
            write_whole(&path, format!("{{\"schema\": {SCHEMA}}}\n").as_bytes())?;
            Ok(Ok(()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ok(())),
        Err(error) => Err(error),
    }
}

/// The files of a store, by their names, with their sizes.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<(Name, PathBuf, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().and_then(Name::parse) else { continue };
        // One that was just removed is not there.
        let Ok(about) = entry.metadata() else { continue };
        found.push((name, entry.path(), about.len()));
    }
    found.sort();
    Ok(found)
}

/// The files with one of the endings of [`HOUR_ENDINGS`]: hour, process and path, the oldest hours first.
pub(crate) fn list_beside(folder: &Path, ending: &str) -> io::Result<Vec<(i64, Process, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(ending)?.strip_suffix('.'));
        let Some((hour, process)) = stem.and_then(parse_stem) else { continue };
        found.push((hour, process, entry.path()));
    }
    found.sort();
    Ok(found)
}

/// Every file of a folder that belongs to an hour, with its size, the oldest hours first.
pub(crate) fn list_all(folder: &Path) -> io::Result<Vec<(i64, PathBuf, u64)>> {
    let mut found: Vec<(i64, PathBuf, u64)> =
        list(folder)?.into_iter().map(|(name, path, bytes)| (name.hour, path, bytes)).collect();
    for ending in HOUR_ENDINGS {
        let files = list_beside(folder, ending)?.into_iter();
        // One that was just removed is not there.
        found.extend(files.filter_map(|(hour, _, path)| {
            let bytes = fs::metadata(&path).ok()?.len();
            Some((hour, path, bytes))
        }));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;

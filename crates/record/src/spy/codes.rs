//! Code objects, each read once and known by its address from then on.
//!
//! An address can be given to another code object when the first is gone. So what identifies one is compared again now and then:
//! a few hundred bytes, and not in every sample.

use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::error::Unreadable;
use super::layout::Layout;
use super::line_table::LineTable;
use super::memory::Memory;
use super::numbers::{int, word};
use super::objects;
use super::system::Piece;

/// How long a code object is believed to be what it was.
const RECHECK_AFTER: Duration = Duration::from_millis(100);
/// Code objects that are kept; a program that makes more has them read again.
const MAX_CODES: usize = 200_000;
const MAX_TABLE: usize = 4 << 20;
const MAX_NAME: usize = 4096;
/// Code objects that one call compares.
const MAX_AT_ONCE: usize = 1000;

/// Names a code object that was read.
pub type CodeId = u32;

/// A function, as its code object describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its name, with the class it is in where Python says that (from 3.11 on).
    pub qualified_name: String,
    pub name: String,
    pub file: String,
    /// The line it starts at.
    pub first_line: u32,
    /// Whether it is native code; then its file is a library, and lines are not known.
    pub native: bool,
    /// The length of its instructions in bytes, where its code object says that.
    pub(super) length: Option<i64>,
    pub(super) lines: LineTable,
}

#[derive(Debug)]
struct KnownCode {
    id: CodeId,
    identity: Vec<u8>,
    checked: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Codes {
    known: HashMap<u64, KnownCode, RandomState>,
    codes: Vec<Code>,
    /// Addresses that were believed too long.
    stale: Vec<u64>,
}

impl Codes {
    /// The code at an address.
    pub(super) fn at(
        &mut self,
        memory: &mut Memory,
        layout: &Layout,
        code_type: u64,
        at: u64,
        now: Instant,
    ) -> Result<CodeId, Unreadable> {
        if let Some(known) = self.known.get(&at) {
            if now.saturating_duration_since(known.checked) >= RECHECK_AFTER {
                self.stale.push(at);
            }
            return Ok(known.id);
        }
        let identity = memory.bytes(at, layout.code_size)?;
        if word(&identity, layout.object_type) != code_type {
            return Err(Unreadable::Nonsense);
        }
        let code = read(memory, layout, &identity)?;
        if self.codes.len() >= MAX_CODES {
            return Err(Unreadable::Nonsense);
        }
        let id = self.codes.len() as CodeId;
        self.codes.push(code);
        self.known.insert(at, KnownCode { id, identity, checked: now });
        Ok(id)
    }

    /// A native function; the caller knows which ones are there already.
    pub(super) fn add_native(&mut self, name: &str, file: &str) -> Option<CodeId> {
        if self.codes.len() >= MAX_CODES {
            return None;
        }
        self.codes.push(Code {
            qualified_name: name.to_owned(),
            name: name.to_owned(),
            file: file.to_owned(),
            first_line: 0,
            native: true,
            length: None,
            lines: LineTable::default(),
        });
        Some(self.codes.len() as CodeId - 1)
    }

    /// Compares what was believed too long, all with one call; whether something there is now another function.
    pub(super) fn recheck(&mut self, memory: &mut Memory, layout: &Layout, now: Instant) -> bool {
        let mut stale = std::mem::take(&mut self.stale);
        stale.sort_unstable();
        stale.dedup();
        let mut changed = false;
        for some in stale.chunks(MAX_AT_ONCE) {
            let pieces: Vec<Piece> = some.iter().map(|at| (*at, layout.code_size)).collect();
            let bytes = memory.pieces(&pieces);
            for (number, at) in some.iter().enumerate() {
                let here = bytes.get(number * layout.code_size..(number + 1) * layout.code_size);
                match self.known.get_mut(at) {
                    Some(known) if here.is_some_and(|here| same(layout, here, &known.identity)) => {
                        known.checked = now
                    }
                    _ => {
                        self.known.remove(at);
                        changed = true;
                    }
                }
            }
        }
        changed
    }

    pub(super) fn get(&self, id: CodeId) -> Option<&Code> {
        self.codes.get(id as usize)
    }

    /// Whether it is native code of which only the file is known.
    pub(super) fn is_unnamed(&self, id: CodeId) -> bool {
        self.get(id).is_some_and(|code| code.native && code.name.starts_with('['))
    }

    pub(super) fn all(&self) -> &[Code] {
        &self.codes
    }
}

/// Whether the fields that make a code object what it is are as they were; counters and caches in it change all the time.
fn same(layout: &Layout, now: &[u8], before: &[u8]) -> bool {
    let words = [layout.object_type, layout.code_filename, layout.code_name, layout.code_linetable];
    words.iter().all(|field| word(now, *field) == word(before, *field))
        && int(now, layout.code_firstlineno) == int(before, layout.code_firstlineno)
}

fn read(memory: &mut Memory, layout: &Layout, bytes: &[u8]) -> Result<Code, Unreadable> {
    let name = objects::text(memory, layout, word(bytes, layout.code_name), MAX_NAME)?;
    let file = objects::text(memory, layout, word(bytes, layout.code_filename), MAX_NAME)?;
    let qualified_name = match layout.code_qualname {
        Some(at) => objects::text(memory, layout, word(bytes, at), MAX_NAME).unwrap_or_else(|_| name.clone()),
        None => name.clone(),
    };
    let first_line = int(bytes, layout.code_firstlineno);
    let table =
        objects::byte_string(memory, layout, word(bytes, layout.code_linetable), MAX_TABLE).unwrap_or_default();
    let lines = LineTable::new(layout.lines, first_line, &table);
    // In units of two bytes, from the version on in which code objects hold their instructions.
    let length = layout.code_start.and_then(|_| i64::try_from(word(bytes, layout.var_size)).ok());
    let length = length.and_then(|units| units.checked_mul(2));
    Ok(Code { qualified_name, name, file, first_line, native: false, length, lines })
}

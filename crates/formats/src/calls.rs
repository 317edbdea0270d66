//! A timeline of every call, as `stepscope run --calls` streams it to disk: about 8 bytes per call.
//!
//! A file is a mark and chunks, each with its kind and length. What names a thread or a function comes before the calls
//! that need it, so that a file without an end (the program was killed, or still runs) can be read up to its last whole
//! word. Files may be put one after the other: each is a process.
//!
//! | chunk | holds |
//! |---|---|
//! | `PROC` | process and parent, what a call costs to record, when that began, the name |
//! | `THRD` | number in this file, the system's number, the name |
//! | `FUNC` | functions: number, line, file, name |
//! | `CALL` | thread, when its first word counts from, how long a tick is, words |
//! | `DONE` | when recording ended, how many calls, why it ended early |
//!
//! A word is 32 bits: two say what it is, the rest mostly how many ticks passed since the word before.

mod read;
mod words;
mod write;

use stepscope_model::{Document, DocumentKind};

use crate::reader::Reader;

pub use words::{CallWords, Mark};
pub use write::{CallStream, ThreadCalls};

pub(crate) const READER: Reader = Reader {
    name: "a timeline of calls",
    about: "written by stepscope run --calls",
    yields: DocumentKind::Trace,
    example: EXAMPLE,
    begins: |head| head.starts_with(&MAGIC),
    read: |text, name, options| read::read(text, name, options).map(Document::Trace),
};

/// How a file begins. The number is that of the format.
const MAGIC: [u8; 8] = *b"\x8fcalls1\n";
const PROCESS_TAG: [u8; 4] = *b"PROC";
const THREAD_TAG: [u8; 4] = *b"THRD";
const FUNCTIONS_TAG: [u8; 4] = *b"FUNC";
const CALLS_TAG: [u8; 4] = *b"CALL";
const DONE_TAG: [u8; 4] = *b"DONE";

/// A chunk is no longer than this.
const MAX_CHUNK_BYTES: usize = 1 << 20;
const MAX_NAME_BYTES: usize = 4 << 10;
/// Ticks are nanoseconds times this, divided by 2 to the 32nd.
const NS_PER_TICK_BITS: u32 = 32;

// What a word is.
const LEAVE_WORD: u32 = 0;
const ENTER_NEAR_WORD: u32 = 1;
const ENTER_WORD: u32 = 2;
const LATER_WORD: u32 = 3;
const KIND_SHIFT: u32 = 30;
/// Ticks of most words.
const TICK_BITS: u32 = 30;
/// Ticks and function of a call that begins soon after the word before.
const NEAR_TICK_BITS: u32 = 18;
const NEAR_FUNCTION_BITS: u32 = 12;

/// `main` from 0 to 100 ns, which calls `work` from 10 to 30 ns; a tick is a nanosecond.
const EXAMPLE: &[u8] = b"\x8fcalls1\n\
PROC\x1e\0\0\0\x07\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0python\
THRD\x10\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0main\
FUNC\x30\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\x04\0\0\0a.pymain\x01\0\0\0\x02\0\0\0\x04\0\0\0\x04\0\0\0a.pywork\
CALL\x24\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x40\x0a\0\x04\x40\x14\0\0\0\x46\0\0\0\
DONE\x10\0\0\0\xa4\x42\x0f\0\0\0\0\0\x02\0\0\0\0\0\0\0";

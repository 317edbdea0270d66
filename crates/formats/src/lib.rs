//! Files to documents, and documents to files. One file or folder per format; the content decides which, never the name.
//!
//! Everything hostile ends here: readers keep, repair or set aside, and note what and how much. This crate
//! refuses to analyze and to use the network.
//!
//! ```no_run
//! use stepscope_model::Document;
//!
//! match stepscope_formats::open("trace.json.gz".as_ref(), &Default::default())? {
//!     Document::Trace(trace) => println!("{} slices", trace.slices().len()),
//!     Document::Profile(profile) => println!("{} samples", profile.samples().len()),
//!     Document::Snapshot(snapshot) => println!("{} segments", snapshot.segments.len()),
//! }
//! # Ok::<(), stepscope_formats::ReadError>(())
//! ```

mod argument_keys;
mod calls;
mod choose;
mod chunks;
mod collapsed;
mod decimal;
mod discover;
mod error;
mod firefox;
mod frame_text;
mod heap;
mod kineto;
mod lprof;
mod marshal;
mod memory_timeline;
mod mprof;
mod notes;
mod pickle;
mod pprof;
mod pstats;
mod reader;
mod readers;

mod snapshot;
mod sniff;
mod speedscope;
mod splice;
mod svg;
mod trace_file;
mod tried_fixes;
mod worker_name;
mod xla_events;
mod xplane;
mod xplane_runs;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_model::{Document, Trace};

pub use argument_keys::declare_keys;
pub use calls::{CallStream, CallWords, Mark, ThreadCalls};
pub use choose::{ChosenTrace, Look, choose, rank_of};
pub use discover::discover;
pub use error::{Limit, ReadError};
pub use firefox::write_firefox;
pub use heap::write_memory;
pub use kineto::{notes as kineto_notes, read_phases, write_chrome, write_chrome_with, write_events};
pub use lprof::write_lprof;
pub use pprof::write_pprof;
pub use pstats::write_pstats;
pub use reader::Reader;
pub use readers::READERS;
pub use speedscope::write_speedscope;
pub use splice::splice;
pub use svg::{SvgOptions, write_svg};
pub use trace_file::TraceFile;
pub use xla_events::XlaEvents;
pub use xplane::Beside;

/// How far a reader got; shared with whoever draws the progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    /// Stored bytes read so far.
    pub read: AtomicU64,
    /// Stored bytes in total; 0 when unknown.
    pub total: AtomicU64,
}

/// Limits and wishes. The limits exist so that a hostile file costs bounded time and memory.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Most bytes of text after decompression.
    pub max_text_bytes: u64,
    /// Most bytes of text for one stored byte, once there are 16 MiB of text. Real traces reach 40; a file made of one
    /// event over and over passes 250.
    pub max_expansion: u64,
    /// How many layers of compression are unwrapped.
    pub max_layers: u32,
    /// Most bytes of one event or one top-level value; a longer one is set aside.
    pub max_event_bytes: usize,
    /// Most events; reading stops there. An event takes about 50 bytes of memory and up.
    pub max_events: u64,
    /// Most top-level entries beside the events; the rest are left out.
    pub max_entries: usize,
    /// Most bytes of keys and values of these entries together.
    pub max_entry_bytes: usize,
    /// Most bytes of text in formats that cannot be read piece by piece, and of what has to be held of the others.
    pub max_whole_bytes: usize,
    /// Most bytes of one part of a file that names what it holds only at its end, such as a plane of an XPlane profile.
    pub max_held_bytes: u64,
    pub progress: Option<Arc<Progress>>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            max_text_bytes: 64 << 30,
            max_expansion: 200,
            max_layers: 2,
            max_event_bytes: 64 << 20,
            max_events: 1 << 28,
            max_entries: 1 << 16,
            max_entry_bytes: 64 << 20,
            max_whole_bytes: 1 << 30,
            max_held_bytes: 16 << 30,
            progress: None,
        }
    }
}

pub use tried_fixes::tried_path;

/// Reads a file, whatever it is, or a folder of timelines of calls, which are processes of one run; `-` is standard
/// input.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Document, ReadError> {
    let name = path.display().to_string();
    if path.as_os_str() == "-" {
        read(std::io::stdin(), &name, options)
    } else {
        let file = File::open(path).map_err(|e| ReadError::open(&name, e))?;
        let info = file.metadata().map_err(|e| ReadError::open(&name, e))?;
        if info.is_dir() {
            let files = discover::timelines(path);
            if files.is_empty() {
                return Err(ReadError::IsDirectory { path: name });
            }
            return read(discover::OneAfterAnother::new(files), &name, options);
        }
        if let Some(progress) = &options.progress {
            progress.total.fetch_add(info.len(), Ordering::Relaxed);
        }
        let mut document = read(file, &name, options)?;
        xplane_runs::number_hosts(path, &mut document);
        tried_fixes::attach(path, &mut document);
        Ok(document)
    }
}

/// Reads from any source; `name` is used in messages.
pub fn read(input: impl Read + Send, name: &str, options: &OpenOptions) -> Result<Document, ReadError> {
    chunks::with_text(input, name, options, |head, text| {
        let reader = if sniff::foreign(head).is_none() { readers::find(head) } else { None };
        match reader {
            Some(reader) => (reader.read)(text, name, options),
            None => Err(ReadError::Unknown {
                what: sniff::foreign(head).unwrap_or_else(|| sniff::unknown(head)).to_owned(),
                readable: readers::readable(),
                path: name.to_owned(),
            }),
        }
    })
}

/// As [`open`], for callers that can only use a trace.
pub fn open_trace(path: &Path, options: &OpenOptions) -> Result<Trace, ReadError> {
    only_trace(open(path, options)?)
}

/// As [`read`], for callers that can only use a trace.
pub fn read_trace(input: impl Read + Send, name: &str, options: &OpenOptions) -> Result<Trace, ReadError> {
    only_trace(read(input, name, options)?)
}

fn only_trace(document: Document) -> Result<Trace, ReadError> {
    let (what, source) = (document.kind().what(), document.source().clone());
    match document {
        Document::Trace(trace) => Ok(trace),
        _ => Err(ReadError::NotATrace { what: format!("{what} ({})", source.format), path: source.path }),
    }
}

//! Kineto and Chrome trace JSON, of every era, whole or broken.
//!
//! The text is read as a stream: only an unfinished event is ever kept back. An event that is not JSON is tried
//! again with guesses ([`salvage`]); what cannot be guessed is set aside, counted and located, and reading goes
//! on at the next event.

mod category;
mod document;
mod entries;
mod event;
mod event_sink;
mod meta;
pub mod notes;
mod open_events;
mod salvage;
mod scan;
mod text;
mod time;
mod write;
mod xla;

use stepscope_model::{Document, DocumentKind, Trace};

use crate::chunks::{End, Text};
use crate::error::ReadError;
use crate::reader::{Reader, trimmed};
use crate::{OpenOptions, worker_name};

pub(crate) use event::EVENT_MEMBER_PREFIX;
pub use meta::read_phases;
pub use write::{write_chrome, write_chrome_with, write_events};
pub(crate) use write::{write_entry, write_events_at, write_names};
pub(crate) use xla::entries as xla_entries;

pub(crate) const READER: Reader = Reader {
    name: "Chrome trace JSON",
    about: "written by PyTorch's profiler (Kineto), prof.export_chrome_trace(\"trace.json.gz\"), and others",
    yields: DocumentKind::Trace,
    example: br#"{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "main"}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 1.5, "dur": 20, "args": {"External id": 1}},
{"ph": "i", "name": "here", "pid": 7, "tid": 7, "ts": 3, "s": "t"}]}"#,
    // Anything that begins like JSON: a broken trace may look like nothing else.
    begins: |head| matches!(trimmed(head).first(), None | Some(b'{' | b'[')),
    read: |text, name, options| read(text, name, options).map(Document::Trace),
};

/// The members of the object that a text begins with, as far as they are there: keys and values as written. The last
/// value may be cut off.
pub(crate) fn members(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut c = scan::Cursor { buf: head, pos: 0 };
    let mut open = c.expect(b'{').is_ok();
    std::iter::from_fn(move || {
        if !open {
            return None;
        }
        if c.next_token() == Ok(b',') {
            c.pos += 1;
            c.skip_blanks();
        }
        let key = c.string().ok()?;
        c.expect(b':').ok()?;
        c.skip_blanks();
        let start = c.pos;
        let value = c.value_text();
        open = value.is_ok();
        Some((key.bytes, value.unwrap_or(&head[start..])))
    })
}

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Trace, ReadError> {
    let mut document = document::DocumentReader::new(options);
    loop {
        let window = text.window();
        let stuck = window.len();
        let used = document.feed(window, text.offset(), text.is_last());
        let moved = used > 0;
        text.consume(used);
        if text.is_last() || document.is_full() {
            break;
        }
        // An event larger than the window: double it, so that trying again costs no more than reading once.
        let want = if moved { text.window().len() + 1 } else { stuck.saturating_mul(2).max(1) };
        while text.window().len() < want && !text.is_last() {
            text.more();
        }
    }
    let offset = text.offset();
    if let Some(End::Limit(limit)) = text.end()
        && document.is_empty()
    {
        return Err(ReadError::Limit { limit: *limit, path: name.to_owned() });
    }
    let mut builder = document.finish(offset, name)?;
    match text.end() {
        Some(End::Damaged(why)) => {
            builder.notes().add_with(notes::DAMAGED_COMPRESSION, offset, why.clone());
        }
        Some(End::Limit(limit)) => {
            builder.notes().add_with(notes::LIMIT_REACHED, offset, limit.to_string());
        }
        _ => {}
    }
    builder.meta().source = text.source(name, "Chrome trace JSON");
    worker_name::name_parts(name, &mut builder.meta().source);
    Ok(builder.finish())
}

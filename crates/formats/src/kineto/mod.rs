//! Kineto and Chrome trace JSON, of every era, whole or broken.
//!
//! The text is read as a stream: only an unfinished event is ever kept back. An event that is not JSON is tried
//! again with guesses ([`salvage`]); what cannot be guessed is set aside, counted and located, and reading goes
//! on at the next event.

mod accept;
mod category;
mod document;
mod entries;
mod event;
mod keys;
mod meta;
pub mod notes;
mod salvage;
mod scan;
mod text;
mod time;
mod waiting;
mod write;

use stepscope_model::Trace;

use crate::chunks::{End, Text};
use crate::error::ReadError;
use crate::{OpenOptions, discover};

pub(crate) use event::EVENT_MEMBER_PREFIX;
pub(crate) use keys::OVERLOAD;
pub use keys::declare_keys;
pub use write::{write_chrome, write_events};

/// Reads a trace from its text.
pub(crate) fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Trace, ReadError> {
    let mut document = document::Document::new(options);
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
    if let Some(End::Limit(why)) = text.end()
        && document.is_empty()
    {
        return Err(ReadError::Limit { why: why.clone(), path: name.to_owned() });
    }
    let mut builder = document.finish(offset, name)?;
    match text.end() {
        Some(End::Damaged(why)) => {
            builder.notes().add_with(notes::DAMAGED_COMPRESSION, offset, why.clone());
        }
        Some(End::Limit(why)) => builder.notes().add_with(notes::LIMIT_REACHED, offset, why.clone()),
        _ => {}
    }
    let source = &mut builder.meta().source;
    source.path = name.to_owned();
    source.format = format!("Chrome trace {}", text.format);
    source.stored_bytes = text.stored_bytes();
    source.text_bytes = offset + text.window().len() as u64;
    discover::name_parts(name, source);
    Ok(builder.finish())
}

//! What a reader of a format is. The table of all of them is in `readers`.

use stepscope_model::{Document, DocumentKind};

use crate::OpenOptions;
use crate::chunks::{End, Text};
use crate::error::{Limit, ReadError};

/// A format that can be read.
#[derive(Debug)]
pub struct Reader {
    /// What a file in it is called, with its article (`a speedscope profile`).
    pub name: &'static str,
    /// Who writes such files, or how they look.
    pub about: &'static str,
    pub yields: DocumentKind,
    /// A small whole file of it. Tests read it, cut it at every byte and flip its bits.
    pub example: &'static [u8],
    /// Whether a text that begins like this is in it.
    pub(crate) begins: fn(&[u8]) -> bool,
    /// Reads a text; the name is used in messages.
    pub(crate) read: fn(Text, &str, &OpenOptions) -> Result<Document, ReadError>,
}

/// The text without a byte order mark and blanks before it.
pub(crate) fn trimmed(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()
}

/// Makes all of a text the window, for formats that cannot be read piece by piece.
pub(crate) fn whole(text: &mut Text, what: &str, name: &str, options: &OpenOptions) -> Result<(), ReadError> {
    let path = || name.to_owned();
    if !text.take_whole(options.max_whole_bytes) {
        let limit = Limit::WholeBytes(options.max_whole_bytes as u64);
        return Err(ReadError::Limit { limit, path: path() });
    }
    match text.end() {
        Some(End::Limit(limit)) => Err(ReadError::Limit { limit: *limit, path: path() }),
        Some(End::Damaged(why)) => Err(ReadError::damaged(what, name, why)),
        _ => Ok(()),
    }
}

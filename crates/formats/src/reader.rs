//! What a reader of a format is. The table of all of them is in `readers`.

use stepscope_model::Document;

use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;

/// Which kind of document a format holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    /// What happened when.
    Trace,
    /// How much each stack or function took.
    Profile,
    /// What a device's memory holds.
    Snapshot,
}

/// A format that can be read.
#[derive(Debug)]
pub struct Reader {
    /// What a file in it is called, with its article (`a speedscope profile`).
    pub name: &'static str,
    /// Who writes such files, or how they look.
    pub about: &'static str,
    /// What it holds.
    pub yields: Yields,
    /// A small whole file of it. Tests read it, cut it at every byte and flip its bits.
    pub example: &'static str,
    /// Whether a text that begins like this is in it.
    pub(crate) begins: fn(&[u8]) -> bool,
    /// Reads a text; the name is used in messages.
    pub(crate) read: fn(Text, &str, &OpenOptions) -> Result<Document, ReadError>,
}

/// The text without a byte order mark and blanks before it.
pub(crate) fn trimmed(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()
}

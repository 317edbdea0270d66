//! What Python's `cProfile` and `profile` dump and `pstats` reads: a marshaled dictionary with a row per function.

mod read;
mod write;

use stepscope_model::{Document, DocumentKind};

use crate::reader::Reader;

pub use write::write_pstats;

pub(crate) const READER: Reader = Reader {
    name: "a pstats file",
    about: "written by cProfile: python -m cProfile -o out.pstats",
    yields: DocumentKind::Profile,
    example: EXAMPLE,
    begins,
    read: |text, name, options| read::read(text, name, options).map(Document::Profile),
};

/// `main` called once, with 1 s of its own, calls `len` three times for half a second.
const EXAMPLE: &[u8] = b"\xfb\xa9\x03\xda\x04a.py\xe9\x07\0\0\0\xda\x04main\xa9\x05\xe9\x01\0\0\0r\x06\0\0\0\
\xe7\0\0\0\0\0\0\xf0?\xe7\0\0\0\0\0\0\xf8?\xfb0\xa9\x03\xda\x01~\xe9\0\0\0\0\xda\x1e<built-in method builtins.len>\
\xa9\x05\xe9\x03\0\0\0r\x0f\0\0\0\xe7\0\0\0\0\0\0\xe0?r\x10\0\0\0\xfb\xa9\x03r\x02\0\0\0r\x03\0\0\0r\x04\0\0\0\
\xa9\x04r\x0f\0\0\0r\x0f\0\0\0r\x10\0\0\0r\x10\0\0\x0000";

/// A dictionary whose first key is a tuple, or one that is empty: neither can begin a text.
fn begins(head: &[u8]) -> bool {
    let plain: Vec<u8> = head.iter().take(2).map(|byte| byte & 0x7f).collect();
    match plain[..] {
        [b'{', b')' | b'('] => true,
        // An empty one, which a profiler that saw no call writes.
        [b'{', b'0'] => head.len() == 2,
        _ => false,
    }
}

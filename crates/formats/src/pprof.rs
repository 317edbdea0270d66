//! pprof's profiles, in and out: what Go's `runtime/pprof`, gperftools and many others write.

mod read;
mod write;

use stepscope_ground::protobuf::{Field, Fields};
use stepscope_model::{Document, DocumentKind, ValueUnit};

use crate::reader::Reader;

pub use write::write_pprof;

pub(crate) const READER: Reader = Reader {
    name: "a pprof profile",
    about: "protocol buffers, written by Go, gperftools and others",
    yields: DocumentKind::Profile,
    example: EXAMPLE,
    begins,
    read: |text, name, options| read::read(text, name, options).map(Document::Profile),
};

/// Two samples of `load` below `main`, of 5 ns and 7 ns.
const EXAMPLE: &[u8] = b"\x0a\x04\x08\x01\x10\x02\x12\x07\x0a\x02\x02\x01\x12\x01\x05\x12\x06\x0a\x02\x02\x01\x10\x07\
\x22\x08\x08\x01\x22\x04\x08\x01\x10\x09\x22\x08\x08\x02\x22\x04\x08\x02\x10\x0c\x2a\x06\x08\x01\x10\x03\x20\x05\
\x2a\x06\x08\x02\x10\x04\x20\x05\x32\x00\x32\x03cpu\x32\x0bnanoseconds\x32\x04main\x32\x04load\x32\x04a.py";

/// The unit as profiles spell it, and how many of ours it is.
const UNITS: &[(&str, ValueUnit, i64)] = &[
    ("nanoseconds", ValueUnit::Nanoseconds, 1),
    ("microseconds", ValueUnit::Nanoseconds, 1_000),
    ("milliseconds", ValueUnit::Nanoseconds, 1_000_000),
    ("seconds", ValueUnit::Nanoseconds, 1_000_000_000),
    ("ns", ValueUnit::Nanoseconds, 1),
    ("us", ValueUnit::Nanoseconds, 1_000),
    ("μs", ValueUnit::Nanoseconds, 1_000),
    ("µs", ValueUnit::Nanoseconds, 1_000),
    ("ms", ValueUnit::Nanoseconds, 1_000_000),
    ("s", ValueUnit::Nanoseconds, 1_000_000_000),
    ("bytes", ValueUnit::Bytes, 1),
    ("kilobytes", ValueUnit::Bytes, 1 << 10),
    ("megabytes", ValueUnit::Bytes, 1 << 20),
];

/// The format has no mark of its own: it begins with the type of a value, whose fields are two numbers, and every field
/// at hand is one of a profile's.
fn begins(head: &[u8]) -> bool {
    let mut fields = Fields::new(head);
    let is_type = |bytes: &[u8]| {
        !bytes.is_empty()
            && bytes.len() <= 20
            && Fields::new(bytes).all(|f| matches!(f, Ok((1 | 2, Field::Number(_)))))
    };
    if !matches!(fields.next(), Some(Ok((1, Field::Bytes(bytes)))) if is_type(bytes)) {
        return false;
    }
    fields.take_while(Result::is_ok).flatten().all(|(number, field)| match field {
        Field::Bytes(_) => matches!(number, 1..=6 | 11 | 13),
        Field::Number(_) => matches!(number, 7..=10 | 12..=15),
    })
}

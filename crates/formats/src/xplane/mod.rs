//! XPlane profiles (`.xplane.pb`), as JAX's, TensorFlow's and XLA's profilers write them.
//!
//! A file is one protocol buffer: a space of planes (the host, a device each), planes of lines (threads, streams), lines
//! of events. Names stand behind the events that refer to them, so that a plane is held until all of it is there; the
//! file is not. Raw files have no categories, groups or steps: what an event is follows from its plane, its name, its
//! stats and what it lies in.

mod device;
mod facts;
mod foreign_lines;
mod hlo;
mod host;
mod keys;
mod launch_texts;
mod line;
mod names;
mod notes;
mod plane;
mod plane_names;
mod pull;
mod run_meta;
mod space;
mod stat;
mod trace_builder;

use stepscope_ground::protobuf::{Field, Fields, varint};
use stepscope_model::{Document, DocumentKind};

use crate::reader::Reader;

pub(crate) use hlo::program;
pub(crate) use keys::declare as declare_stats;
pub(crate) use space::read_beside;
pub use trace_builder::Beside;
pub(crate) use trace_builder::RawProgram;

pub(crate) const READER: Reader = Reader {
    name: "an XPlane profile",
    about: "protocol buffers, written by JAX, TensorFlow and XLA: jax.profiler.trace(\"logs\"), \
            tf.profiler.experimental.start(\"logs\")",
    yields: DocumentKind::Trace,
    example: EXAMPLE,
    begins,
    read: |text, name, options| space::read(text, name, options).map(Document::Trace),
};

/// A step of 20 µs on the thread `python`, with a Python call of 5 µs in it.
const EXAMPLE: &[u8] = b"\x0ai\x12\x09/host:CPU\x1a(\x08\x07\x12\x06python\x18\x01\x22\x0d\x08\x01\x18\x80\xda\xc4\x09\x22\x04\x08\x01 \
\x03\x22\x0b\x08\x02\x10\xc0\x84=\x18\xc0\x96\xb1\x02\x22\x0d\x08\x01\x12\x09\x08\x01\x12\x05train\x22\x11\x08\
\x02\x12\x0d\x08\x02\x12\x09$a.py:1 f*\x10\x08\x01\x12\x0c\x08\x01\x12\x08step_num\x22\x02vm";

/// The format has no mark of its own. It begins with a plane, which begins with its number, if that is not 0, and its
/// name; names of planes begin with a slash, but for a few. Without planes, it is texts about the recording alone.
fn begins(head: &[u8]) -> bool {
    let mut rest = head;
    match varint(&mut rest) {
        Ok(0x0a) => {}
        // Errors, warnings and the host's name.
        Ok(0x12 | 0x1a | 0x22) => {
            let text = |field| match field {
                Ok((2..=4, Field::Bytes(bytes))) => std::str::from_utf8(bytes).is_ok(),
                _ => false,
            };
            return Fields::new(head).all(text);
        }
        _ => return false,
    }
    let Ok(length) = varint(&mut rest) else { return false };
    if length < 2 {
        return false;
    }
    let mut tag = varint(&mut rest);
    if tag == Ok(0x08) {
        if varint(&mut rest).is_err() {
            return false;
        }
        tag = varint(&mut rest);
    }
    if tag != Ok(0x12) {
        return false;
    }
    let Ok(name) = varint(&mut rest) else { return false };
    let name = &rest[..rest.len().min(usize::try_from(name).unwrap_or(usize::MAX))];
    let known = [&b"/host:"[..], b"/device:", b"Task Environment", b"#Chip", b"/"];
    known.iter().any(|beginning| name.starts_with(beginning))
        && name.iter().all(|byte| !byte.is_ascii_control())
}

//! How slices stand in machine output: by number.
//!
//! The number is the slice's position in the columns. It is the same for every reading of one file, and means
//! nothing for another.

use serde::Serializer;
use stepscope_model::SliceId;

/// Writes a slice as its number.
pub(crate) fn serialize<S: Serializer>(slice: &SliceId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(number(*slice))
}

pub(crate) fn number(slice: SliceId) -> u64 {
    slice.index() as u64
}

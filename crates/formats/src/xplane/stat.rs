//! A stat: a number that represents its name, and a value of one of six types.

use std::str;

use stepscope_ground::protobuf::{Field, Fields};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StatValue<'a> {
    /// A whole number. Producers write the same stat signed and unsigned, so that all 64 bits count as they are.
    Int(i64),
    /// A number with digits after the point.
    Float(f64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    Named(u64),
}

/// The number of its name and the value; none if it has no value or is damaged.
pub(super) fn stat(message: &[u8]) -> Option<(u64, StatValue<'_>)> {
    let (mut name, mut value) = (0, None);
    for field in Fields::new(message) {
        match field.ok()? {
            (1, Field::Number(number)) => name = number,
            (2, Field::Number(bits)) => value = Some(StatValue::Float(f64::from_bits(bits))),
            (3 | 4, Field::Number(number)) => value = Some(StatValue::Int(number as i64)),
            (5, Field::Bytes(text)) => value = Some(StatValue::Text(text)),
            (6, Field::Bytes(bytes)) => value = Some(StatValue::Bytes(bytes)),
            (7, Field::Number(number)) => value = Some(StatValue::Named(number)),
            _ => {}
        }
    }
    Some((name, value?))
}

/// A text as it is, or with replacement characters; says which.
pub(super) fn text(bytes: &[u8]) -> (std::borrow::Cow<'_, str>, bool) {
    match str::from_utf8(bytes) {
        Ok(text) => (text.into(), true),
        Err(_) => (String::from_utf8_lossy(bytes), false),
    }
}

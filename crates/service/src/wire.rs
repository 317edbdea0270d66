//! What is kept, as messages with numbered fields (protocol buffers), so that files can grow: a reader skips fields that it
//! does not know, and a field that is missing has its default.
//!
//! Files of schema 1 hold the same values without numbers, in the order in which [`message`] lists them. They are still read.

use std::collections::BTreeMap;

use stepscope_ground::protobuf::{Field, Fields, Message, Put, unzigzag, varint, zigzag};

/// Items of a list at most: more is damage.
const MAX_ITEMS: usize = 1_000_000;

/// The value of a field.
pub(crate) trait Wire: Default {
    /// Adds it, whatever it is.
    fn put(&self, number: u32, out: &mut Message);
    /// Reads it; a list takes one item after the other. `None` where the bytes are no such value.
    fn take(&mut self, value: Field<'_>) -> Option<()>;
    /// Reads it from a file of schema 1.
    fn in_order(from: &mut &[u8]) -> Option<Self>;
    /// What it means in a file of schema 1 where it may be missing.
    fn unless_missing(self) -> Option<Self> {
        Some(self)
    }
}

/// A message: [`message`] makes one of a type.
pub(crate) trait MessageFields: Default {
    fn put_fields(&self, out: &mut Message);
    fn take_field(&mut self, number: u64, value: Field<'_>) -> Option<()>;
    fn fields_in_order(from: &mut &[u8]) -> Option<Self>;
}

/// Gives the fields of a type their numbers, which stay theirs for good. What schema 1 does not have comes `since`, or all
/// of schema 1 is read by a function.
macro_rules! message {
    ($type:ty { $($number:literal: $field:ident),+ $(,)? } $(since { $($later:literal: $new:ident),+ })?) => {
        $crate::wire::message!($type { $($number: $field),+ $($(, $later: $new)+)? } |from: &mut &[u8]| {
            Some(Self { $($field: $crate::wire::Wire::in_order(from)?,)+ ..Self::default() })
        });
    };
    ($type:ty { $($number:literal: $field:ident),+ } $in_order:expr) => {
        impl $crate::wire::MessageFields for $type {
            fn put_fields(&self, out: &mut stepscope_ground::protobuf::Message) {
                $($crate::wire::put_unless_default(&self.$field, $number, out);)+
            }

            fn take_field(&mut self, number: u64, value: stepscope_ground::protobuf::Field<'_>) -> Option<()> {
                match number {
                    $($number => $crate::wire::Wire::take(&mut self.$field, value),)+
                    // Of a newer version.
                    _ => Some(()),
                }
            }

            #[allow(clippy::redundant_closure_call, reason = "the macro takes any function")]
            #[allow(clippy::needless_update, reason = "some types have fields that are not kept")]
            fn fields_in_order(from: &mut &[u8]) -> Option<Self> {
                $in_order(from)
            }
        }
    };
}
pub(crate) use message;

pub(crate) fn put_unless_default<T: Wire + PartialEq>(value: &T, number: u32, out: &mut Message) {
    if *value != T::default() {
        value.put(number, out);
    }
}

/// A message as bytes.
pub(crate) fn encode(message: &impl MessageFields) -> Vec<u8> {
    let mut out = Message::with_capacity(1024);
    message.put_fields(&mut out);
    out
}

/// From bytes; `None` where they are no such message.
pub(crate) fn decode<T: MessageFields>(bytes: &[u8]) -> Option<T> {
    let mut found = T::default();
    found.take(Field::Bytes(bytes))?;
    Some(found)
}

/// The same from a file of schema 1.
pub(crate) fn decode_in_order<T: MessageFields>(mut bytes: &[u8]) -> Option<T> {
    let found = T::fields_in_order(&mut bytes)?;
    bytes.is_empty().then_some(found)
}

impl<T: MessageFields> Wire for T {
    fn put(&self, number: u32, out: &mut Message) {
        out.nested(number, |out| self.put_fields(out));
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        for field in Fields::new(value.bytes()?) {
            let (number, value) = field.ok()?;
            self.take_field(number, value)?;
        }
        Some(())
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        T::fields_in_order(from)
    }
}

/// Numbers as varints: how they are written, and how they are read if they fit.
macro_rules! varints {
    ($($type:ty: $write:expr, $read:expr $(, $unless_missing:expr)?;)+) => {$(
        impl Wire for $type {
            fn put(&self, number: u32, out: &mut Message) {
                out.number(number, $write(*self));
            }

            fn take(&mut self, value: Field<'_>) -> Option<()> {
                *self = $read(value.number()?)?;
                Some(())
            }

            #[allow(clippy::needless_question_mark, reason = "only of a type that always fits")]
            fn in_order(from: &mut &[u8]) -> Option<Self> {
                $read(varint(from).ok()?)
            }

            $(fn unless_missing(self) -> Option<Self> {
                $unless_missing(self)
            })?
        }
    )+};
}

varints! {
    u64: u64::from, Some;
    // One more than it is, where it may be missing.
    u32: u64::from, |value| u32::try_from(value).ok(), |value: u32| value.checked_sub(1);
    bool: u64::from, |value| Some(value != 0);
    i64: zigzag, |value| Some(unzigzag(value));
}

impl Wire for f64 {
    fn put(&self, number: u32, out: &mut Message) {
        out.double(number, *self);
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        *self = Some(f64::from_bits(value.number()?)).filter(|value| value.is_finite())?;
        Some(())
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(f64::from_le_bytes(*bytes)).filter(|value| value.is_finite())
    }
}

impl Wire for String {
    fn put(&self, number: u32, out: &mut Message) {
        out.bytes(number, self);
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        *self = String::from_utf8(value.bytes()?.to_vec()).ok()?;
        Some(())
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(varint(from).ok()?).ok()?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn unless_missing(self) -> Option<Self> {
        Some(self).filter(|text| !text.is_empty())
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, number: u32, out: &mut Message) {
        self.iter().for_each(|value| value.put(number, out));
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        self.get_or_insert_default().take(value)
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        Some(T::in_order(from)?.unless_missing())
    }
}

/// How many things come next in a file of schema 1; each takes a byte at least.
fn count(from: &mut &[u8]) -> Option<usize> {
    let count = usize::try_from(varint(from).ok()?).ok()?;
    (count <= MAX_ITEMS && count <= from.len()).then_some(count)
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, number: u32, out: &mut Message) {
        self.iter().for_each(|item| item.put(number, out));
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        let mut item = T::default();
        item.take(value)?;
        (self.len() < MAX_ITEMS).then(|| self.push(item))
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        (0..count(from)?).map(|_| T::in_order(from)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, number: u32, out: &mut Message) {
        put_pair(&self.0, &self.1, number, out);
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        for field in Fields::new(value.bytes()?) {
            match field.ok()? {
                (1, value) => self.0.take(value)?,
                (2, value) => self.1.take(value)?,
                _ => {}
            }
        }
        Some(())
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        Some((A::in_order(from)?, B::in_order(from)?))
    }
}

fn put_pair(first: &impl Wire, second: &impl Wire, number: u32, out: &mut Message) {
    out.nested(number, |out| {
        first.put(1, out);
        second.put(2, out);
    });
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn put(&self, number: u32, out: &mut Message) {
        self.iter().for_each(|(name, value)| put_pair(name, value, number, out));
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        let mut entry = <(String, T)>::default();
        entry.take(value)?;
        (self.len() < MAX_ITEMS).then(|| drop(self.insert(entry.0, entry.1)))
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        (0..count(from)?).map(|_| <(String, T)>::in_order(from)).collect()
    }
}

/// Many pairs of small numbers in one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pairs<A, B>(pub Vec<(A, B)>);

impl<A, B> Default for Pairs<A, B> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<A, B> Pairs<A, B>
where
    A: Copy + Into<u64> + TryFrom<u64>,
    B: Copy + Into<u64> + TryFrom<u64>,
{
    fn push_next(&mut self, from: &mut &[u8]) -> Option<()> {
        let (first, second) = (varint(from).ok()?, varint(from).ok()?);
        self.0.push((first.try_into().ok()?, second.try_into().ok()?));
        Some(())
    }
}

impl<A, B> Wire for Pairs<A, B>
where
    A: Copy + Into<u64> + TryFrom<u64>,
    B: Copy + Into<u64> + TryFrom<u64>,
{
    fn put(&self, number: u32, out: &mut Message) {
        out.nested(number, |out| {
            for (first, second) in &self.0 {
                out.varint((*first).into());
                out.varint((*second).into());
            }
        });
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        let mut from = value.bytes()?;
        while !from.is_empty() {
            self.push_next(&mut from)?;
        }
        Some(())
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        let mut found = Self::default();
        for _ in 0..count(from)? {
            found.push_next(from)?;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests;

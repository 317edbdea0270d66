//! The wire format of protocol buffers: numbered fields that are numbers or bytes.
//!
//! Generated code for the messages that are read and written here would bring some thirty crates along.

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// A number, of whatever width.
    Number(u64),
    /// A text, a message or a list of numbers.
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    /// The number, if it is one.
    pub fn number(self) -> Option<u64> {
        match self {
            Field::Number(number) => Some(number),
            Field::Bytes(_) => None,
        }
    }

    /// The bytes, if it has any.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Field::Bytes(bytes) => Some(bytes),
            Field::Number(_) => None,
        }
    }
}

/// A number with a sign as one without: small ones stay small.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The number that [`zigzag`] was given.
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The fields of a message, one after the other. It ends after the first that is damaged.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn field(&mut self) -> Result<(u64, Field<'a>), &'static str> {
        let tag = varint(&mut self.rest)?;
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut self.rest)?),
            1 => Field::Number(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(varint(&mut self.rest)?).map_err(|_| TOO_SHORT)?;
                Field::Bytes(self.bytes(length)?)
            }
            5 => Field::Number(u32::from_le_bytes(self.array()?).into()),
            _ => return Err("a field has a type that does not exist"),
        };
        Ok((tag >> 3, field))
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.bytes(N)?.try_into().map_err(|_| TOO_SHORT)
    }
}

const TOO_SHORT: &str = "it ends too early";

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// A number of up to 64 bits in groups of seven, the lowest first.
#[inline]
pub fn varint(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let mut number = 0;
    for at in 0..10 {
        let (&byte, after) = rest.split_first().ok_or(TOO_SHORT)?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number is too long")
}

/// Adds the numbers of a repeated field, which may come one by one or together.
pub fn numbers(field: Field<'_>, list: &mut Vec<u64>) -> Result<(), &'static str> {
    match field {
        Field::Number(number) => list.push(number),
        Field::Bytes(mut packed) => {
            while !packed.is_empty() {
                list.push(varint(&mut packed)?);
            }
        }
    }
    Ok(())
}

/// A message that is being written.
pub type Message = Vec<u8>;

const VARINT_TYPE: u32 = 0;
const FIXED_64: u32 = 1;
const LENGTH_TYPE: u32 = 2;

/// Writing fields into a [`Message`].
pub trait Put {
    /// A number without a field.
    fn varint(&mut self, value: u64);
    /// uint32, uint64, int64 that is not negative, bool, enum.
    fn number(&mut self, field: u32, value: u64);
    /// fixed64, sfixed64.
    fn fixed(&mut self, field: u32, value: u64);
    /// string, bytes, a message.
    fn bytes(&mut self, field: u32, value: impl AsRef<[u8]>);
    /// A message that is written in place.
    fn nested(&mut self, field: u32, write: impl FnOnce(&mut Message));

    /// A number, unless it is 0, which is what a missing one means.
    fn nonzero(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.number(field, value);
        }
    }

    /// A text, unless it is empty, which is what a missing one means.
    fn nonempty(&mut self, field: u32, value: &str) {
        if !value.is_empty() {
            self.bytes(field, value);
        }
    }

    /// sint32, sint64.
    fn signed(&mut self, field: u32, value: i64) {
        self.number(field, zigzag(value));
    }

    fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// Several numbers in one field.
    fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.nested(field, |inside| values.into_iter().for_each(|value| inside.varint(value)));
    }
}

// Inlined, for builds that do not optimize across crates: writing a record is hardly anything else.
impl Put for Message {
    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | u64::from(VARINT_TYPE));
        self.varint(value);
    }

    fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | u64::from(FIXED_64));
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        self.varint(u64::from(field) << 3 | u64::from(LENGTH_TYPE));
        self.varint(value.len() as u64);
        self.extend_from_slice(value);
    }

    fn nested(&mut self, field: u32, write: impl FnOnce(&mut Message)) {
        self.varint(u64::from(field) << 3 | u64::from(LENGTH_TYPE));
        let start = self.len();
        write(self);
        // Its length is known now and comes before it.
        let length = self.len() - start;
        self.varint(length as u64);
        let moved = self.len() - start - length;
        self[start..].rotate_right(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_documentation() {
        // The examples of "Encoding" in the documentation of protocol buffers: field 1 = 150, field 2 = "testing", and a
        // message in field 3 with the first of them; zigzag of -2 is 3.
        let mut inner = Message::new();
        inner.number(1, 150);
        assert_eq!(inner, [0x08, 0x96, 0x01]);
        let mut outer = Message::new();
        outer.bytes(2, "testing");
        outer.bytes(3, &inner);
        outer.signed(4, -2);
        outer.packed(6, [3, 270, 86_942]);
        outer.double(5, 1.0);
        outer.nonzero(7, 0);
        outer.nonempty(8, "");
        let mut expected = vec![0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        expected.extend([0x1a, 0x03, 0x08, 0x96, 0x01, 0x20, 0x03]);
        expected.extend([0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        expected.extend([0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(outer, expected);
        let mut most = Message::new();
        most.signed(1, i64::MIN);
        assert_eq!(most, [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        for value in [0, -1, 1, -2, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        let (mut in_place, mut copied) = (Message::new(), Message::new());
        for length in [0, 1, 127, 128, 20_000] {
            in_place.nested(1, |inside| inside.extend(std::iter::repeat_n(7, length)));
            copied.bytes(1, vec![7; length]);
        }
        assert_eq!(in_place, copied);

        let read: Vec<_> = Fields::new(&outer).collect::<Result<_, _>>().unwrap();
        let [(2, Field::Bytes(b"testing")), (3, Field::Bytes(_)), (4, Field::Number(3)), (6, packed), (5, one)] =
            read[..]
        else {
            panic!("{read:?}")
        };
        let mut list = Vec::new();
        numbers(packed, &mut list).unwrap();
        assert_eq!((list, one), (vec![3, 270, 86_942], Field::Number(1_f64.to_bits())));
        assert!(Fields::new(&outer[..outer.len() - 1]).last().unwrap().is_err());
    }
}

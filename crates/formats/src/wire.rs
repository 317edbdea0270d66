//! The wire format of protocol buffers: numbered fields that are numbers or bytes.

/// The value of a field.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// A number, of whatever width.
    Number(u64),
    /// A text, a message or a list of numbers.
    Bytes(&'a [u8]),
}

/// The fields of a message, one after the other. It ends after the first that is damaged.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn field(&mut self) -> Result<(u64, Field<'a>), &'static str> {
        let tag = varint(&mut self.rest)?;
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut self.rest)?),
            1 => Field::Number(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(varint(&mut self.rest)?).map_err(|_| SHORT)?;
                Field::Bytes(self.bytes(length)?)
            }
            5 => Field::Number(u32::from_le_bytes(self.array()?).into()),
            _ => return Err("a field has a type that does not exist"),
        };
        Ok((tag >> 3, field))
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.bytes(N)?.try_into().map_err(|_| SHORT)
    }
}

const SHORT: &str = "it ends too early";

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
pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let mut number = 0;
    for at in 0..10 {
        let (&byte, after) = rest.split_first().ok_or(SHORT)?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number is too long")
}

/// Adds the numbers of a repeated field, which may come one by one or together.
pub(crate) fn numbers(field: Field<'_>, list: &mut Vec<u64>) -> Result<(), &'static str> {
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

/// Puts a number.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Puts a field that is a number; 0 is what a missing one means.
pub(crate) fn put_number(out: &mut Vec<u8>, field: u64, number: u64) {
    if number != 0 {
        put(out, field << 3);
        put(out, number);
    }
}

/// Puts a field that is bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put(out, field << 3 | 2);
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Puts a list of numbers.
pub(crate) fn put_numbers(out: &mut Vec<u8>, field: u64, numbers: impl IntoIterator<Item = u64>) {
    let mut packed = Vec::new();
    numbers.into_iter().for_each(|number| put(&mut packed, number));
    put_bytes(out, field, &packed);
}

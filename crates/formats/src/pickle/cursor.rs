//! Reading the bytes at hand. What runs past them is tried again when there are more.

use super::Why;

/// Why an instruction did not happen.
pub(super) enum Interruption {
    /// The bytes at hand end in the middle of it.
    Short,
    Why(Why),
}

impl From<&'static str> for Interruption {
    fn from(why: &'static str) -> Interruption {
        Interruption::Why(why.into())
    }
}

impl From<String> for Interruption {
    fn from(why: String) -> Interruption {
        Interruption::Why(why.into())
    }
}

pub(super) type PickleResult<T> = Result<T, Interruption>;

/// Names and numbers in lines are not longer: a line without an end would be looked through with every piece of a file.
const LONGEST_LINE: usize = 64 << 10;

pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn byte(&mut self) -> PickleResult<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Interruption::Short)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn take(&mut self, length: usize) -> PickleResult<&'a [u8]> {
        let end = self.at.checked_add(length).ok_or(Interruption::Short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(Interruption::Short)?;
        self.at = end;
        Ok(bytes)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> PickleResult<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Interruption::Short)
    }

    pub(super) fn length4(&mut self) -> PickleResult<usize> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| "a length is negative".into())
    }

    /// A text up to the end of its line.
    pub(super) fn line(&mut self) -> PickleResult<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let Some(length) = memchr::memchr(b'\n', &rest[..rest.len().min(LONGEST_LINE)]) else {
            return Err(if rest.len() < LONGEST_LINE {
                Interruption::Short
            } else {
                "a line does not end".into()
            });
        };
        self.at += length + 1;
        Ok(&rest[..length])
    }
}

/// A number of so many bytes; one beyond 64 bits stops there.
#[inline]
pub(super) fn long(bytes: &[u8]) -> i64 {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let (low, high) = bytes.split_at(bytes.len().min(8));
    let mut number = [fill; 8];
    number[..low.len()].copy_from_slice(low);
    let number = i64::from_le_bytes(number);
    let fits = high.iter().all(|&byte| byte == fill) && (number < 0) == negative;
    match (fits, negative) {
        (true, _) => number,
        (false, true) => i64::MIN,
        (false, false) => i64::MAX,
    }
}

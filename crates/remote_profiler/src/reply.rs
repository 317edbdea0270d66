//! The answer of a profiler server, taken apart as it arrives: one gRPC message that is a `ProfileResponse`.
//!
//! The profile inside goes to a writer piece by piece, as it is; nothing else of an answer is kept.

use std::io::Write;

/// The field of a `ProfileResponse` that says that nothing was recorded.
const EMPTY_TRACE: u64 = 7;
/// The field that holds the profile.
const XSPACE_FIELD: u64 = 8;
/// A byte that says whether a message is compressed, and four with its length.
const PREFIX_BYTES: usize = 5;

/// What is wrong with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It is not an answer of this kind.
    Malformed(&'static str),
    /// It is longer than it may be.
    TooLarge(u64),
    /// It could not be written.
    Write(String, std::io::ErrorKind),
}

#[derive(Clone, Copy, Debug)]
enum ReplyState {
    Prefix,
    Tag,
    Number { field: u64 },
    Length { field: u64 },
    Copy { left: u64 },
    Skip { left: u64 },
}

/// Takes an answer apart.
pub(crate) struct Reply<W> {
    out: W,
    max_bytes: u64,
    state: ReplyState,
    prefix: Vec<u8>,
    left: u64,
    varint: u64,
    shift: u32,
    /// The length of the whole message, once it is known.
    pub(crate) expected: Option<u64>,
    /// Whether the server says that it recorded nothing.
    pub(crate) is_empty: bool,
    /// Bytes of the profile; None if there is none.
    pub(crate) profile_bytes: Option<u64>,
}

impl<W: Write> Reply<W> {
    pub(crate) fn new(out: W, max_bytes: u64) -> Reply<W> {
        Reply {
            out,
            max_bytes,
            state: ReplyState::Prefix,
            prefix: Vec::with_capacity(PREFIX_BYTES),
            left: 0,
            varint: 0,
            shift: 0,
            expected: None,
            is_empty: false,
            profile_bytes: None,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Damage> {
        while !bytes.is_empty() {
            if matches!(self.state, ReplyState::Prefix) {
                bytes = self.begin(bytes)?;
                continue;
            }
            if self.left == 0 {
                return Err(Damage::Malformed("there is more than one message"));
            }
            let here = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            let used = self.step(&bytes[..here])?;
            self.left -= used as u64;
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// The answer is over: what took the profile, if the answer is whole.
    pub(crate) fn finish(self) -> Result<W, Damage> {
        let whole = matches!(self.state, ReplyState::Tag) && self.shift == 0 && self.left == 0;
        // An answer of no bytes at all has no prefix either.
        if whole || (matches!(self.state, ReplyState::Prefix) && self.prefix.is_empty()) {
            return Ok(self.out);
        }
        Err(Damage::Malformed("it is cut off"))
    }

    fn begin<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Damage> {
        let (taken, rest) = bytes.split_at(bytes.len().min(PREFIX_BYTES - self.prefix.len()));
        self.prefix.extend_from_slice(taken);
        if let &[compressed, a, b, c, d] = self.prefix.as_slice() {
            if compressed != 0 {
                return Err(Damage::Malformed("it is compressed, which was not asked for"));
            }
            self.left = u64::from(u32::from_be_bytes([a, b, c, d]));
            if self.left > self.max_bytes {
                return Err(Damage::TooLarge(self.left));
            }
            self.expected = Some(self.left);
            self.state = ReplyState::Tag;
        }
        Ok(rest)
    }

    /// Uses some of the bytes, at least one; how many.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Damage> {
        match self.state {
            ReplyState::Prefix => Ok(0),
            ReplyState::Copy { left } | ReplyState::Skip { left } => {
                let used = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let rest = left - used as u64;
                if let ReplyState::Copy { .. } = self.state {
                    let failed = |error: std::io::Error| Damage::Write(error.to_string(), error.kind());
                    self.out.write_all(&bytes[..used]).map_err(failed)?;
                    *self.profile_bytes.get_or_insert(0) += used as u64;
                    self.state = ReplyState::Copy { left: rest };
                } else {
                    self.state = ReplyState::Skip { left: rest };
                }
                if rest == 0 {
                    self.state = ReplyState::Tag;
                }
                Ok(used)
            }
            ReplyState::Tag | ReplyState::Number { .. } | ReplyState::Length { .. } => {
                if let Some(value) = self.digit(bytes[0])? {
                    self.state = self.after(value)?;
                }
                Ok(1)
            }
        }
    }

    /// One more byte of a number, which is returned once it is whole.
    fn digit(&mut self, byte: u8) -> Result<Option<u64>, Damage> {
        if self.shift > 63 || (self.shift == 63 && byte > 1) {
            return Err(Damage::Malformed("a number is too long"));
        }
        self.varint |= u64::from(byte & 0x7f) << self.shift;
        self.shift += 7;
        if byte & 0x80 != 0 {
            return Ok(None);
        }
        self.shift = 0;
        Ok(Some(std::mem::take(&mut self.varint)))
    }

    fn after(&mut self, value: u64) -> Result<ReplyState, Damage> {
        // The byte that ended the number is still counted as left.
        let rest = self.left - 1;
        let bounded = |left: u64| match left <= rest {
            true => Ok(left),
            false => Err(Damage::Malformed("a field is longer than the message")),
        };
        Ok(match self.state {
            ReplyState::Tag => match (value >> 3, value & 7) {
                (0, _) => return Err(Damage::Malformed("a field has no number")),
                (field, 0) => ReplyState::Number { field },
                (_, 1) => ReplyState::Skip { left: bounded(8)? },
                (field, 2) => ReplyState::Length { field },
                (_, 5) => ReplyState::Skip { left: bounded(4)? },
                _ => return Err(Damage::Malformed("a field is of an unknown kind")),
            },
            ReplyState::Number { field } => {
                if field == EMPTY_TRACE {
                    self.is_empty = value != 0;
                }
                ReplyState::Tag
            }
            ReplyState::Length { field: XSPACE_FIELD } => {
                self.profile_bytes.get_or_insert(0);
                if value == 0 { ReplyState::Tag } else { ReplyState::Copy { left: bounded(value)? } }
            }
            ReplyState::Length { .. } if value == 0 => ReplyState::Tag,
            ReplyState::Length { .. } => ReplyState::Skip { left: bounded(value)? },
            ReplyState::Prefix | ReplyState::Copy { .. } | ReplyState::Skip { .. } => ReplyState::Tag,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend_from_slice(&(message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(message);
        bytes
    }

    /// tool_data {name "t"}, empty_trace, a fixed64 and a fixed32 that no one knows, and a profile of three bytes.
    fn example() -> Vec<u8> {
        framed(b"\x32\x03\x0a\x01t\x38\x01\x51AAAAAAAA\x5dBBBB\x42\x03xyz")
    }

    fn read(bytes: &[u8], piece: usize) -> Result<(Vec<u8>, bool, Option<u64>), Damage> {
        let mut reply = Reply::new(Vec::new(), 1 << 20);
        for piece in bytes.chunks(piece) {
            reply.push(piece)?;
        }
        let (is_empty, bytes) = (reply.is_empty, reply.profile_bytes);
        reply.finish().map(|out| (out, is_empty, bytes))
    }

    #[test]
    fn the_profile_is_the_same_however_it_arrives() {
        let bytes = example();
        for piece in 1..=bytes.len() {
            assert_eq!(read(&bytes, piece), Ok((b"xyz".to_vec(), true, Some(3))), "pieces of {piece}");
        }
        // A field that comes twice is one message in two parts.
        let twice = framed(b"\x42\x02ab\x42\x00\x42\x01c");
        assert_eq!(read(&twice, 4), Ok((b"abc".to_vec(), false, Some(3))));
        assert_eq!(read(&framed(b""), 4), Ok((Vec::new(), false, None)));
        assert_eq!(read(b"", 4), Ok((Vec::new(), false, None)));
    }

    #[test]
    fn an_answer_cut_anywhere_is_an_error() {
        let bytes = example();
        for end in 1..bytes.len() {
            assert_eq!(read(&bytes[..end], 7), Err(Damage::Malformed("it is cut off")), "cut at {end}");
        }
    }

    #[test]
    fn flipped_bits_never_panic() {
        let bytes = example();
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let _ = read(&flipped, 5);
        }
    }

    #[test]
    fn what_is_no_answer_is_told() {
        let wrong = |message: &[u8]| read(message, 3).unwrap_err();
        assert_eq!(wrong(&framed(b"\x42\x7fabc")), Damage::Malformed("a field is longer than the message"));
        assert_eq!(wrong(&framed(b"\x0b")), Damage::Malformed("a field is of an unknown kind"));
        assert_eq!(wrong(&framed(b"\x02\x00")), Damage::Malformed("a field has no number"));
        assert_eq!(wrong(&framed(&[0xff; 12])), Damage::Malformed("a number is too long"));
        assert_eq!(
            wrong(b"\x01\x00\x00\x00\x00"),
            Damage::Malformed("it is compressed, which was not asked for")
        );
        assert_eq!(wrong(b"\x00\xff\xff\xff\xff"), Damage::TooLarge(0xffff_ffff));
        let mut two = framed(b"\x38\x01");
        two.extend_from_slice(&framed(b""));
        assert_eq!(wrong(&two), Damage::Malformed("there is more than one message"));
    }
}

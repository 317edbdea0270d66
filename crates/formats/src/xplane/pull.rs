//! Pulls the fields of a message out of a stream, so that a profile may be longer than memory allows to hold twice.
//!
//! Only the outermost two messages are read this way, the space and its planes. A field is copied out when all of it has
//! arrived; a length that the file only claims costs nothing.

use stepscope_ground::protobuf;

use crate::chunks::Text;

/// Why a message could not be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PullError {
    /// The text ended.
    Cut,
    /// These bytes are not a field.
    Bad(&'static str),
    /// More would have to be held than is allowed.
    TooLong,
}

/// What a field's tag announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Number(u64),
    /// This many bytes, which come next.
    Bytes(u64),
}

/// The longest number of the wire format.
const MAX_VARINT: usize = 10;

/// A stream of fields.
pub(super) struct Pull {
    text: Text,
}

impl Pull {
    pub(super) fn new(text: Text) -> Pull {
        Pull { text }
    }

    /// The text it reads from.
    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// How many bytes were taken.
    pub(super) fn offset(&self) -> u64 {
        self.text.offset()
    }

    pub(super) fn is_done(&mut self) -> bool {
        self.fill(1);
        self.text.window().is_empty()
    }

    /// Gets this many bytes into the window, or as many as there are.
    fn fill(&mut self, bytes: usize) {
        while self.text.window().len() < bytes && !self.text.is_last() {
            self.text.more();
        }
    }

    fn varint(&mut self) -> Result<u64, PullError> {
        self.fill(MAX_VARINT);
        let window = self.text.window();
        let mut rest = window;
        match protobuf::varint(&mut rest) {
            Ok(number) => {
                let used = window.len() - rest.len();
                self.text.consume(used);
                Ok(number)
            }
            Err(_) if window.len() < MAX_VARINT => Err(PullError::Cut),
            Err(why) => Err(PullError::Bad(why)),
        }
    }

    /// The number of the next field, and what it holds.
    pub(super) fn field(&mut self) -> Result<(u64, FieldKind), PullError> {
        let tag = self.varint()?;
        let announced = match tag & 7 {
            0 => FieldKind::Number(self.varint()?),
            1 => FieldKind::Number(self.fixed(8)?),
            2 => FieldKind::Bytes(self.varint()?),
            5 => FieldKind::Number(self.fixed(4)?),
            _ => return Err(PullError::Bad("a field has a type that does not exist")),
        };
        if tag >> 3 == 0 {
            return Err(PullError::Bad("a field has no number"));
        }
        Ok((tag >> 3, announced))
    }

    fn fixed(&mut self, bytes: usize) -> Result<u64, PullError> {
        self.fill(bytes);
        let found = self.text.window().get(..bytes).ok_or(PullError::Cut)?;
        let number = found.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        self.text.consume(bytes);
        Ok(number)
    }

    /// Appends the next bytes to `to`, at most as many as `most` allows.
    pub(super) fn take(&mut self, bytes: u64, to: &mut Vec<u8>, most: u64) -> Result<(), PullError> {
        // A length is believed only as far as there are bytes.
        self.pass(bytes.min(most), |piece| to.extend_from_slice(piece))?;
        if bytes > most { Err(PullError::TooLong) } else { Ok(()) }
    }

    pub(super) fn skip(&mut self, bytes: u64) -> Result<(), PullError> {
        self.pass(bytes, |_| {})
    }

    fn pass(&mut self, bytes: u64, mut piece: impl FnMut(&[u8])) -> Result<(), PullError> {
        let mut left = bytes;
        while left > 0 {
            self.fill(1);
            let window = self.text.window();
            if window.is_empty() {
                return Err(PullError::Cut);
            }
            let some = usize::try_from(left).unwrap_or(usize::MAX).min(window.len());
            piece(&window[..some]);
            self.text.consume(some);
            left -= some as u64;
        }
        Ok(())
    }
}

//! Fast text: numbers and strings into a buffer that is handed on when it is full.

use std::io::{self, Write};

/// How much text is gathered before it is handed on.
const CHUNK: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Text<W> {
    out: W,
    buffer: Vec<u8>,
    written: u64,
}

impl<W: Write> Text<W> {
    /// Text that goes to `out`.
    pub(crate) fn new(out: W) -> Self {
        Self { out, buffer: Vec::with_capacity(2 * CHUNK), written: 0 }
    }

    /// Hands the text on if enough has gathered.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        if self.buffer.len() < CHUNK {
            return Ok(());
        }
        self.hand_on()
    }

    /// Hands on what is left, and gives the number of bytes in total.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.hand_on()?;
        self.out.flush()?;
        Ok(self.written)
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(crate) fn raw(&mut self, text: &str) -> &mut Self {
        self.buffer.extend_from_slice(text.as_bytes());
        self
    }

    pub(crate) fn num(&mut self, value: u64) -> &mut Self {
        self.digits(value, 1)
    }

    /// Adds nanoseconds as microseconds with three digits behind the point.
    pub(crate) fn micros(&mut self, ns: u64) -> &mut Self {
        self.fixed(ns, 3)
    }

    /// Adds `value / 10^places` with all its places.
    pub(crate) fn fixed(&mut self, value: u64, places: u32) -> &mut Self {
        let scale = 10_u64.pow(places);
        self.num(value / scale).raw(".").digits(value % scale, places as usize)
    }

    /// Adds a number with at least `least` digits.
    fn digits(&mut self, mut value: u64, least: usize) -> &mut Self {
        let mut digits = [b'0'; 20];
        let mut from = digits.len();
        while value > 0 {
            from -= 1;
            digits[from] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        from = from.min(digits.len() - least);
        self.buffer.extend_from_slice(&digits[from..]);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn numbers_are_written_in_full() {
        let mut out = Vec::new();
        let mut text = Text::new(&mut out);
        text.num(0).raw(" ").num(u64::MAX).raw(" ").micros(1_002_030).raw(" ").fixed(5, 6);
        assert_eq!(text.finish().unwrap(), out.len() as u64);
        assert_eq!(out, b"0 18446744073709551615 1002.030 0.000005");
    }
}

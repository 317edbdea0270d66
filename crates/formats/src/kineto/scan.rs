//! The JSON scanner: one pass over bytes, no copies, no recursion.
//!
//! Why not a JSON library: none reads a stream in constant memory, keeps decimal timestamps exact, and says
//! where it stopped so that the rest of a broken file can be saved. All three are the point here.

use stepscope_model::Decimal;

/// Why scanning stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ScanError {
    /// The window ends inside a token: grow it and try again.
    More,
    /// Not JSON here.
    Bad,
}

pub(super) type ScanResult<T> = Result<T, ScanError>;

/// A place in a window of text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) buf: &'a [u8],
    pub(super) pos: usize,
}

/// A string as it comes between its quotes.
#[derive(Copy, Clone, Debug)]
pub(super) struct RawString<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) escaped: bool,
}

/// A number, exactly.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Int(i64),
    Decimal(Decimal),
    /// Written with an exponent, with leading zeros or with more digits than 64 bits hold: see its text.
    Odd,
}

impl<'a> Cursor<'a> {
    pub(super) fn peek(&self) -> ScanResult<u8> {
        self.buf.get(self.pos).copied().ok_or(ScanError::More)
    }

    pub(super) fn skip_blanks(&mut self) {
        while let Some(&byte) = self.buf.get(self.pos)
            && is_blank(byte)
        {
            self.pos += 1;
        }
    }

    /// The next byte that is not blank, left in place.
    pub(super) fn next_token(&mut self) -> ScanResult<u8> {
        self.skip_blanks();
        self.peek()
    }

    pub(super) fn expect(&mut self, byte: u8) -> ScanResult<()> {
        if self.next_token()? != byte {
            return Err(ScanError::Bad);
        }
        self.pos += 1;
        Ok(())
    }

    /// A string, from its opening quote. Inlined because its result, handed over in memory, stalls the caller:
    /// that alone took a tenth of a load.
    #[inline(always)]
    pub(super) fn string(&mut self) -> ScanResult<RawString<'a>> {
        if self.peek()? != b'"' {
            return Err(ScanError::Bad);
        }
        let start = self.pos + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = quote_or_backslash(self.buf, at).ok_or(ScanError::More)?;
            if self.buf[at] == b'"' {
                self.pos = at + 1;
                return Ok(RawString { bytes: &self.buf[start..at], escaped });
            }
            escaped = true;
            at += 2;
        }
    }

    pub(super) fn number(&mut self) -> ScanResult<(Number, &'a [u8])> {
        let start = self.pos;
        let negative = self.peek()? == b'-';
        self.pos += usize::from(negative);
        let int_start = self.pos;
        let mut mantissa = 0u64;
        self.digits(&mut mantissa)?;
        let int_digits = self.pos - int_start;
        let mut scale = 0;
        if self.peek()? == b'.' {
            self.pos += 1;
            let fraction = self.pos;
            self.digits(&mut mantissa)?;
            scale = self.pos - fraction;
            if scale == 0 {
                return Err(ScanError::Bad);
            }
        }
        if int_digits == 0 {
            return Err(ScanError::Bad);
        }
        let mut odd = int_digits + scale > 18 && !fits(&self.buf[int_start..self.pos]);
        odd |= int_digits > 1 && self.buf[int_start] == b'0';
        if matches!(self.peek()?, b'e' | b'E') {
            odd = true;
            self.pos += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.pos += 1;
            }
            let exponent = self.pos;
            self.digits(&mut 0)?;
            if self.pos == exponent {
                return Err(ScanError::Bad);
            }
        }
        let text = &self.buf[start..self.pos];
        odd |= negative && mantissa == 0;
        if odd {
            return Ok((Number::Odd, text));
        }
        let value = if negative { -(mantissa as i64) } else { mantissa as i64 };
        Ok(match u8::try_from(scale) {
            Ok(0) => (Number::Int(value), text),
            Ok(scale) => (Number::Decimal(Decimal { mantissa: value, scale }), text),
            Err(_) => (Number::Odd, text),
        })
    }

    fn digits(&mut self, value: &mut u64) -> ScanResult<()> {
        loop {
            let digit = self.peek()?.wrapping_sub(b'0');
            if digit > 9 {
                return Ok(());
            }
            *value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.pos += 1;
        }
    }

    /// An array or an object, as its text. Nesting costs a counter, not a stack.
    pub(super) fn nested(&mut self) -> ScanResult<&'a [u8]> {
        let start = self.pos;
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.pos += 1;
                        return Ok(&self.buf[start..self.pos]);
                    }
                }
                _ => {}
            }
            self.pos += 1;
        }
    }

    /// A bare word (`true`, `NaN`, `N/A`): everything up to the next delimiter.
    pub(super) fn word(&mut self) -> ScanResult<&'a [u8]> {
        let start = self.pos;
        loop {
            match self.peek()? {
                b',' | b'}' | b']' | b'"' | b'{' | b'[' | b':' => break,
                byte if is_blank(byte) => break,
                _ => self.pos += 1,
            }
        }
        if self.pos == start { Err(ScanError::Bad) } else { Ok(&self.buf[start..self.pos]) }
    }

    pub(super) fn value_text(&mut self) -> ScanResult<&'a [u8]> {
        let token = self.next_token()?;
        let start = self.pos;
        match token {
            b'"' => {
                self.string()?;
                Ok(&self.buf[start..self.pos])
            }
            b'[' | b'{' => self.nested(),
            _ => self.word(),
        }
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Whether all digits together fit 64 signed bits.
fn fits(text: &[u8]) -> bool {
    let mut value = 0i64;
    text.iter().filter(|b| b.is_ascii_digit()).all(|b| {
        let next = value.checked_mul(10).and_then(|v| v.checked_add(i64::from(b - b'0')));
        value = next.unwrap_or(0);
        next.is_some()
    })
}

/// The next quote or backslash, eight bytes at a time: most strings are too short for wider steps to pay.
fn quote_or_backslash(buf: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |x: u64| x.wrapping_sub(ONES) & !x & HIGHS;
    while let Some(Ok(word)) = buf.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let word = u64::from_le_bytes(word);
        let hits = zero_bytes(word ^ (ONES * b'"' as u64)) | zero_bytes(word ^ (ONES * b'\\' as u64));
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = buf.get(at..)?;
    rest.iter().position(|&b| b == b'"' || b == b'\\').map(|i| at + i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> ScanResult<(Number, String)> {
        let text = format!("{text},");
        let (n, raw) = Cursor { buf: text.as_bytes(), pos: 0 }.number()?;
        Ok((n, String::from_utf8_lossy(raw).into_owned()))
    }

    #[test]
    fn numbers_are_exact() {
        let of = |t| number(t).map(|n| n.0);
        assert_eq!(of("0"), Ok(Number::Int(0)));
        assert_eq!(of("-12"), Ok(Number::Int(-12)));
        assert_eq!(of("9223372036854775807"), Ok(Number::Int(i64::MAX)));
        assert_eq!(of("9223372036854775808"), Ok(Number::Odd));
        let d = |mantissa, scale| Ok(Number::Decimal(Decimal { mantissa, scale }));
        assert_eq!(of("3845607497116.795"), d(3_845_607_497_116_795, 3));
        assert_eq!(of("-0.50"), d(-50, 2));
        assert_eq!(of("1e5"), Ok(Number::Odd));
        assert_eq!(of("007"), Ok(Number::Odd));
        assert_eq!(of("-0"), Ok(Number::Odd));
        assert_eq!(of("."), Err(ScanError::Bad));
        assert_eq!(of("1."), Err(ScanError::Bad));
        assert_eq!(Cursor { buf: b"12", pos: 0 }.number(), Err(ScanError::More));
    }

    #[test]
    fn strings_end_at_the_first_unescaped_quote() {
        for text in ["", "a", "sevench", "eight ch", "much longer than sixteen bytes"] {
            let doc = format!("\"{text}\\\"{text}\" rest");
            let mut c = Cursor { buf: doc.as_bytes(), pos: 0 };
            let raw = c.string().unwrap();
            assert_eq!(raw.bytes, format!("{text}\\\"{text}").as_bytes());
            assert!(raw.escaped);
            assert_eq!(&doc[c.pos..], " rest");
        }
        assert_eq!(Cursor { buf: b"\"open\\", pos: 0 }.string().map(|_| ()), Err(ScanError::More));
    }

    #[test]
    fn nesting_is_a_counter() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Cursor { buf: deep.as_bytes(), pos: 0 }.nested().unwrap().len(), 200_000);
        let tricky = br#"{"a]": [1, "}"]} x"#;
        assert_eq!(Cursor { buf: tricky, pos: 0 }.nested().unwrap(), br#"{"a]": [1, "}"]}"#);
    }
}

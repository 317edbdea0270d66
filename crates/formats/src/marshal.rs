//! Python's marshal format, as far as it is data: what `marshal.dumps` of CPython 2.7 and later writes for numbers,
//! texts, tuples, lists and dictionaries.
//!
//! Nothing is called and nothing recursed into: containers stand on a stack of limited depth, and what is referred to
//! twice is held once, so a file costs memory in proportion to its length.

use std::borrow::Cow;
use std::ops::Range;

/// Containers within containers; profiles need four.
const MAX_DEPTH: usize = 64;
/// Marks an object that later ones may refer to.
const FLAG_REF: u8 = 0x80;

pub(crate) type ValueId = u32;

#[derive(Clone, Debug)]
enum Value {
    /// A container whose end was not read yet.
    Unfinished,
    /// `None`, an ellipsis, a truth value: nothing that a profile is made of.
    Nothing,
    Int(i64),
    Float(f64),
    /// Where the bytes of a text are in the input.
    Text(Range<usize>),
    /// The elements of a tuple, a list or a set, or the keys and values of a dictionary in turn, by their place.
    Items(Range<usize>),
}

/// A file's values.
#[derive(Debug)]
pub(crate) struct Marshal<'a> {
    input: &'a [u8],
    values: Vec<Value>,
    items: Vec<ValueId>,
    root: ValueId,
}

impl<'a> Marshal<'a> {
    pub(crate) fn read(input: &'a [u8]) -> Result<Marshal<'a>, &'static str> {
        let marshal = Marshal { input, values: Vec::new(), items: Vec::new(), root: 0 };
        MarshalReader {
            marshal,
            at: 0,
            refs: Vec::new(),
            interned: Vec::new(),
            open: Vec::new(),
            pending: Vec::new(),
        }
        .read()
    }

    pub(crate) fn root(&self) -> ValueId {
        self.root
    }

    /// The elements of a container, or nothing.
    pub(crate) fn items(&self, id: ValueId) -> &[ValueId] {
        match &self.values[id as usize] {
            Value::Items(range) => &self.items[range.clone()],
            _ => &[],
        }
    }

    /// A text; what is not UTF-8 in it is replaced.
    pub(crate) fn text(&self, id: ValueId) -> Option<Cow<'a, str>> {
        match &self.values[id as usize] {
            Value::Text(range) => Some(String::from_utf8_lossy(&self.input[range.clone()])),
            _ => None,
        }
    }

    pub(crate) fn int(&self, id: ValueId) -> Option<i64> {
        match self.values[id as usize] {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn number(&self, id: ValueId) -> Option<f64> {
        match self.values[id as usize] {
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }
}

/// A container that is being read.
struct OpenContainer {
    id: ValueId,
    /// Elements to come; a dictionary ends where it says so.
    left: Option<usize>,
    first: usize,
}

struct MarshalReader<'a> {
    marshal: Marshal<'a>,
    at: usize,
    refs: Vec<ValueId>,
    /// Python 2 refers to interned texts by numbers of their own.
    interned: Vec<ValueId>,
    open: Vec<OpenContainer>,
    pending: Vec<ValueId>,
}

const ENDS_EARLY: &str = "it ends too early";

impl<'a> MarshalReader<'a> {
    fn read(mut self) -> Result<Marshal<'a>, &'static str> {
        loop {
            let Some(mut done) = self.object()? else { continue };
            loop {
                let Some(around) = self.open.last_mut() else {
                    self.marshal.root = done;
                    return Ok(self.marshal);
                };
                self.pending.push(done);
                match &mut around.left {
                    None => break,
                    Some(left) => {
                        *left -= 1;
                        if *left > 0 {
                            break;
                        }
                    }
                }
                done = self.close();
            }
        }
    }

    /// Reads one value; `None` for a container that has just begun.
    fn object(&mut self) -> Result<Option<ValueId>, &'static str> {
        let code = self.byte()?;
        let flagged = code & FLAG_REF != 0;
        let code = code & !FLAG_REF;
        if code == b'0' {
            return self.null();
        }
        if code == b'r' || code == b'R' {
            let number = self.length()?;
            let known = if code == b'r' { &self.refs } else { &self.interned };
            let id = *known.get(number).ok_or("it refers to what it does not hold")?;
            return match self.marshal.values[id as usize] {
                Value::Unfinished => Err("it contains itself"),
                _ => Ok(Some(id)),
            };
        }
        let id =
            u32::try_from(self.marshal.values.len()).map_err(|_| "it has more than four billion values")?;
        self.marshal.values.push(Value::Unfinished);
        if flagged {
            self.refs.push(id);
        }
        let value = match code {
            b'N' | b'F' | b'T' | b'.' | b'S' => Value::Nothing,
            b'i' => Value::Int(i64::from(i32::from_le_bytes(self.array()?))),
            b'I' => Value::Int(i64::from_le_bytes(self.array()?)),
            b'l' => Value::Int(self.long()?),
            b'g' => Value::Float(f64::from_le_bytes(self.array()?)),
            b'f' => {
                let length = usize::from(self.byte()?);
                let text = self.bytes(length)?;
                let text =
                    std::str::from_utf8(&self.marshal.input[text]).map_err(|_| "a number is not readable")?;
                Value::Float(text.trim().parse().map_err(|_| "a number is not readable")?)
            }
            b's' | b'u' | b'a' | b'A' | b't' => {
                let length = self.length()?;
                if code == b't' {
                    self.interned.push(id);
                }
                Value::Text(self.bytes(length)?)
            }
            b'z' | b'Z' => {
                let length = usize::from(self.byte()?);
                Value::Text(self.bytes(length)?)
            }
            b'(' | b'[' | b'<' | b'>' => {
                let length = self.length()?;
                return self.begin(id, Some(length));
            }
            b')' => {
                let length = usize::from(self.byte()?);
                return self.begin(id, Some(length));
            }
            b'{' => return self.begin(id, None),
            _ => return Err("it holds a kind of value that profiles are not made of"),
        };
        self.marshal.values[id as usize] = value;
        Ok(Some(id))
    }

    fn begin(&mut self, id: ValueId, left: Option<usize>) -> Result<Option<ValueId>, &'static str> {
        if left == Some(0) {
            self.marshal.values[id as usize] = Value::Items(0..0);
            return Ok(Some(id));
        }
        // Every element takes a byte at least.
        if left.is_some_and(|left| left > self.marshal.input.len() - self.at) {
            return Err(ENDS_EARLY);
        }
        if self.open.len() >= MAX_DEPTH {
            return Err("its values are nested too deep");
        }
        self.open.push(OpenContainer { id, left, first: self.pending.len() });
        Ok(None)
    }

    /// The end of a dictionary: it is where a key would.
    fn null(&mut self) -> Result<Option<ValueId>, &'static str> {
        match self.open.last() {
            Some(open) if open.left.is_none() && (self.pending.len() - open.first).is_multiple_of(2) => {
                Ok(Some(self.close()))
            }
            _ => Err("something ends that did not begin"),
        }
    }

    /// Ends the innermost container.
    fn close(&mut self) -> ValueId {
        let Some(open) = self.open.pop() else { return 0 };
        let begin = self.marshal.items.len();
        self.marshal.items.extend(self.pending.drain(open.first..));
        self.marshal.values[open.id as usize] = Value::Items(begin..self.marshal.items.len());
        open.id
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        let byte = *self.marshal.input.get(self.at).ok_or(ENDS_EARLY)?;
        self.at += 1;
        Ok(byte)
    }

    fn bytes(&mut self, length: usize) -> Result<Range<usize>, &'static str> {
        let end =
            self.at.checked_add(length).filter(|&end| end <= self.marshal.input.len()).ok_or(ENDS_EARLY)?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let range = self.bytes(N)?;
        self.marshal.input[range].try_into().map_err(|_| ENDS_EARLY)
    }

    /// A length or a number of a reference, which no writer makes negative.
    fn length(&mut self) -> Result<usize, &'static str> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| "a length is negative")
    }

    /// A number of any length in digits of 15 bits; one beyond 64 bits stops there.
    fn long(&mut self) -> Result<i64, &'static str> {
        let signed = i32::from_le_bytes(self.array()?);
        let digits = self.bytes((signed.unsigned_abs() as usize).checked_mul(2).ok_or(ENDS_EARLY)?)?;
        let mut magnitude = 0i128;
        for (at, digit) in self.marshal.input[digits].chunks_exact(2).enumerate() {
            let digit = i128::from(u16::from_le_bytes([digit[0], digit[1]]) & 0x7fff);
            if digit != 0 {
                magnitude = if at < 5 { magnitude | digit << (15 * at) } else { i128::MAX };
            }
        }
        let number = if signed < 0 { -magnitude } else { magnitude };
        Ok(i64::try_from(number).unwrap_or(if signed < 0 { i64::MIN } else { i64::MAX }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_and_references_are_read() {
        // marshal.dumps((1, -2.5, "é", "ab", "ab", 1 << 40, [], {"k": 3}), 4) of CPython 3.11, written out by hand.
        let bytes =
            b"\xa9\x08\xe9\x01\0\0\0\xe7\0\0\0\0\0\0\x04\xc0\xf5\x02\0\0\0\xc3\xa9\xda\x02abr\x04\0\0\0\
                      l\x03\0\0\0\0\0\0\0\0\x04\xdb\0\0\0\0\xfb\xda\x01ki\x03\0\0\x000";
        let marshal = Marshal::read(bytes).unwrap();
        let items = marshal.items(marshal.root());
        assert_eq!(items.len(), 8);
        assert_eq!((marshal.int(items[0]), marshal.number(items[1])), (Some(1), Some(-2.5)));
        let texts: Vec<_> = items[2..5].iter().map(|&id| marshal.text(id).unwrap()).collect();
        assert_eq!(texts, ["é", "ab", "ab"]);
        assert_eq!(marshal.int(items[5]), Some(1 << 40));
        assert!(marshal.items(items[6]).is_empty());
        let pair = marshal.items(items[7]);
        assert_eq!((marshal.text(pair[0]).as_deref(), marshal.int(pair[1])), (Some("k"), Some(3)));
    }

    #[test]
    fn what_no_writer_makes_is_refused() {
        let why = |bytes: &[u8]| Marshal::read(bytes).unwrap_err();
        assert_eq!(why(b""), ENDS_EARLY);
        assert_eq!(why(b"("), ENDS_EARLY);
        assert_eq!(why(b"(\xff\xff\xff\x7f"), ENDS_EARLY);
        assert_eq!(why(b"(\xff\xff\xff\xff"), "a length is negative");
        // A tuple that is its own element.
        assert_eq!(why(b"\xa9\x01r\0\0\0\0"), "it contains itself");
        assert_eq!(why(b"r\x05\0\0\0"), "it refers to what it does not hold");
        assert_eq!(why(b"{N0"), "something ends that did not begin");
        assert_eq!(why(b"c"), "it holds a kind of value that profiles are not made of");
        assert_eq!(why(&b")\x01".repeat(100_000)), "its values are nested too deep");
        assert_eq!(Marshal::read(b"l\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0").unwrap().int(0), Some(i64::MAX));
    }
}

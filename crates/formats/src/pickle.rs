//! Python's pickle format, protocols 2 to 5, as data: classes are names, objects are what was said about them.
//!
//! A pickle is a program that builds values. This machine builds them in a table and nothing else: it imports nothing and
//! calls nothing, whatever the file asks for. Every instruction adds at most one value, so a file costs memory in
//! proportion to its length, and there is no recursion.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Names one value.
pub(crate) type ValueId = u32;

#[derive(Debug)]
enum Value {
    Nothing,
    Bool,
    Int(i64),
    Float(f64),
    /// Where the bytes of a text are in the input.
    Text(Range<usize>),
    /// A list, a tuple or a set.
    List(Vec<ValueId>),
    /// Keys and values in turn.
    Dict(Vec<ValueId>),
    /// A class or a function: its module and its name.
    Class(Range<usize>, Range<usize>),
    /// What a class or a function makes, and the state it is given.
    Object {
        class: ValueId,
        state: Option<ValueId>,
    },
}

/// A file's values.
#[derive(Debug)]
pub(crate) struct Pickle<'a> {
    input: &'a [u8],
    values: Vec<Value>,
    root: ValueId,
}

impl<'a> Pickle<'a> {
    /// Reads all of it.
    pub(crate) fn read(input: &'a [u8]) -> Result<Pickle<'a>, &'static str> {
        let pickle = Pickle { input, values: Vec::new(), root: 0 };
        Machine { pickle, at: 0, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() }.run()
    }

    /// The outermost value.
    pub(crate) fn root(&self) -> ValueId {
        self.root
    }

    /// The module and name of an object's class.
    pub(crate) fn class(&self, id: ValueId) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let Value::Object { class, .. } = self.value(id) else { return None };
        let Value::Class(module, name) = self.value(*class) else { return None };
        Some((self.text_at(module), self.text_at(name)))
    }

    /// An object's state.
    pub(crate) fn state(&self, id: ValueId) -> Option<ValueId> {
        match self.value(id) {
            Value::Object { state, .. } => *state,
            _ => None,
        }
    }

    /// The elements of a list or a tuple; none of anything else.
    pub(crate) fn items(&self, id: ValueId) -> &[ValueId] {
        match self.value(id) {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The keys and values of a dictionary in turn; none of anything else.
    pub(crate) fn pairs(&self, id: ValueId) -> &[ValueId] {
        match self.value(id) {
            Value::Dict(pairs) => pairs,
            _ => &[],
        }
    }

    /// What a dictionary has under this text.
    pub(crate) fn under(&self, id: ValueId, key: &str) -> Option<ValueId> {
        let pairs = self.pairs(id).chunks_exact(2).rev();
        pairs.into_iter().find(|pair| self.text(pair[0]).is_some_and(|text| text == key)).map(|pair| pair[1])
    }

    /// A text; what is not UTF-8 in it is replaced.
    pub(crate) fn text(&self, id: ValueId) -> Option<Cow<'a, str>> {
        match self.value(id) {
            Value::Text(range) => Some(self.text_at(range)),
            _ => None,
        }
    }

    /// A whole number.
    pub(crate) fn int(&self, id: ValueId) -> Option<i64> {
        match *self.value(id) {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Any number.
    pub(crate) fn number(&self, id: ValueId) -> Option<f64> {
        match *self.value(id) {
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    fn value(&self, id: ValueId) -> &Value {
        &self.values[id as usize]
    }

    fn text_at(&self, range: &Range<usize>) -> Cow<'a, str> {
        String::from_utf8_lossy(&self.input[range.clone()])
    }
}

const SHORT: &str = "it ends too early";
const EMPTY: &str = "it takes more values than it made";
const KIND: &str = "it adds to something that holds nothing";

struct Machine<'a> {
    pickle: Pickle<'a>,
    at: usize,
    stack: Vec<ValueId>,
    marks: Vec<usize>,
    memo: HashMap<u64, ValueId>,
}

type Done<T> = Result<T, &'static str>;

impl<'a> Machine<'a> {
    fn run(mut self) -> Done<Pickle<'a>> {
        loop {
            let code = self.byte()?;
            if code == b'.' {
                self.pickle.root = self.pop()?;
                return Ok(self.pickle);
            }
            self.step(code)?;
        }
    }

    fn step(&mut self, code: u8) -> Done<()> {
        match code {
            0x80 => self.bytes(1).map(drop),
            0x95 => self.bytes(8).map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'0' => self.pop().map(drop),
            b'1' => self.marked().map(drop),
            b'2' => {
                let top = *self.stack.last().ok_or(EMPTY)?;
                self.stack.push(top);
                Ok(())
            }
            b'N' => self.push(Value::Nothing),
            0x88 | 0x89 => self.push(Value::Bool),
            b'J' => {
                let number = i32::from_le_bytes(self.array()?);
                self.push(Value::Int(number.into()))
            }
            b'K' => {
                let number = self.byte()?;
                self.push(Value::Int(number.into()))
            }
            b'M' => {
                let number = u16::from_le_bytes(self.array()?);
                self.push(Value::Int(number.into()))
            }
            0x8a | 0x8b => {
                let length = if code == 0x8a { usize::from(self.byte()?) } else { self.length4()? };
                let number = self.long(length)?;
                self.push(Value::Int(number))
            }
            b'G' => {
                let number = f64::from_be_bytes(self.array()?);
                self.push(Value::Float(number))
            }
            b'U' | 0x8c | b'C' => {
                let length = usize::from(self.byte()?);
                self.push_text(length)
            }
            b'T' | b'X' | b'B' => {
                let length = self.length4()?;
                self.push_text(length)
            }
            0x8d | 0x8e | 0x96 => {
                let length = usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| SHORT)?;
                self.push_text(length)
            }
            b']' | 0x8f => self.push(Value::List(Vec::new())),
            b')' => self.push(Value::List(Vec::new())),
            b'}' => self.push(Value::Dict(Vec::new())),
            0x85..=0x87 => {
                let count = usize::from(code - 0x84);
                let first = self.stack.len().checked_sub(count).ok_or(EMPTY)?;
                let items = self.stack.split_off(first);
                self.push(Value::List(items))
            }
            b't' | b'l' | 0x91 => {
                let items = self.marked()?;
                self.push(Value::List(items))
            }
            b'd' => {
                let items = self.marked()?;
                self.push(Value::Dict(items))
            }
            b'a' => {
                let item = self.pop()?;
                self.extend(vec![item])
            }
            b'e' | 0x90 => {
                let items = self.marked()?;
                self.extend(items)
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.extend_dict(vec![key, value])
            }
            b'u' => {
                let items = self.marked()?;
                self.extend_dict(items)
            }
            b'h' | b'j' | b'g' => {
                let number = self.memo_number(code)?;
                let id = *self.memo.get(&number).ok_or("it refers to what it does not hold")?;
                self.stack.push(id);
                Ok(())
            }
            b'q' | b'r' | b'p' => {
                let number = self.memo_number(code)?;
                self.remember(number)
            }
            0x94 => self.remember(self.memo.len() as u64),
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Value::Class(module, name))
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.pickle.value(module), self.pickle.value(name)) {
                    (Value::Text(module), Value::Text(name)) => {
                        let class = Value::Class(module.clone(), name.clone());
                        self.push(class)
                    }
                    _ => Err("a class has no name"),
                }
            }
            b'R' | 0x81 => {
                let (_, class) = (self.pop()?, self.pop()?);
                self.push(Value::Object { class, state: None })
            }
            0x92 => {
                let (_, _, class) = (self.pop()?, self.pop()?, self.pop()?);
                self.push(Value::Object { class, state: None })
            }
            b'b' => {
                let given = self.pop()?;
                let object = *self.stack.last().ok_or(EMPTY)?;
                match &mut self.pickle.values[object as usize] {
                    Value::Object { state, .. } => {
                        *state = Some(given);
                        Ok(())
                    }
                    _ => Err("something that is no object gets a state"),
                }
            }
            _ => Err("it has an instruction that data does not need"),
        }
    }

    fn push(&mut self, value: Value) -> Done<()> {
        let id = u32::try_from(self.pickle.values.len()).map_err(|_| "it has more than four billion values")?;
        self.pickle.values.push(value);
        self.stack.push(id);
        Ok(())
    }

    fn push_text(&mut self, length: usize) -> Done<()> {
        let range = self.bytes(length)?;
        self.push(Value::Text(range))
    }

    fn pop(&mut self) -> Done<ValueId> {
        // What lies below a mark is not to be taken before the mark is.
        if self.marks.last().is_some_and(|&mark| self.stack.len() <= mark) {
            return Err(EMPTY);
        }
        self.stack.pop().ok_or(EMPTY)
    }

    /// Everything since the last mark.
    fn marked(&mut self) -> Done<Vec<ValueId>> {
        let mark = self.marks.pop().ok_or("a mark is missing")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn extend(&mut self, items: Vec<ValueId>) -> Done<()> {
        let list = *self.stack.last().ok_or(EMPTY)?;
        match &mut self.pickle.values[list as usize] {
            Value::List(held) => {
                held.extend(items);
                Ok(())
            }
            _ => Err(KIND),
        }
    }

    fn extend_dict(&mut self, items: Vec<ValueId>) -> Done<()> {
        if !items.len().is_multiple_of(2) {
            return Err("a key has no value");
        }
        let dict = *self.stack.last().ok_or(EMPTY)?;
        match &mut self.pickle.values[dict as usize] {
            Value::Dict(held) => {
                held.extend(items);
                Ok(())
            }
            // Dictionaries of a class of their own, such as an ordered one: their entries are their state.
            Value::Object { .. } => Ok(()),
            _ => Err(KIND),
        }
    }

    fn memo_number(&mut self, code: u8) -> Done<u64> {
        Ok(match code {
            b'h' | b'q' => self.byte()?.into(),
            b'j' | b'r' => u32::from_le_bytes(self.array()?).into(),
            _ => {
                let line = self.line()?;
                let text =
                    std::str::from_utf8(&self.pickle.input[line]).map_err(|_| "a number is no number")?;
                text.trim().parse().map_err(|_| "a number is no number")?
            }
        })
    }

    fn remember(&mut self, number: u64) -> Done<()> {
        self.memo.insert(number, *self.stack.last().ok_or(EMPTY)?);
        Ok(())
    }

    fn byte(&mut self) -> Done<u8> {
        let byte = *self.pickle.input.get(self.at).ok_or(SHORT)?;
        self.at += 1;
        Ok(byte)
    }

    fn bytes(&mut self, length: usize) -> Done<Range<usize>> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.pickle.input.len()).ok_or(SHORT)?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    fn array<const N: usize>(&mut self) -> Done<[u8; N]> {
        let range = self.bytes(N)?;
        self.pickle.input[range].try_into().map_err(|_| SHORT)
    }

    fn length4(&mut self) -> Done<usize> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| "a length is negative")
    }

    /// A text up to the end of its line.
    fn line(&mut self) -> Done<Range<usize>> {
        let length = memchr::memchr(b'\n', &self.pickle.input[self.at..]).ok_or(SHORT)?;
        let range = self.at..self.at + length;
        self.at += length + 1;
        Ok(range)
    }

    /// A number of so many bytes; one beyond 64 bits stops there.
    fn long(&mut self, length: usize) -> Done<i64> {
        let range = self.bytes(length)?;
        let bytes = &self.pickle.input[range];
        let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
        let fill = if negative { 0xff } else { 0 };
        let (low, high) = bytes.split_at(bytes.len().min(8));
        let mut number = [fill; 8];
        number[..low.len()].copy_from_slice(low);
        let number = i64::from_le_bytes(number);
        let fits = high.iter().all(|&byte| byte == fill) && (number < 0) == negative;
        Ok(if fits {
            number
        } else if negative {
            i64::MIN
        } else {
            i64::MAX
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_what_is_said_about_them() {
        // pickle.dumps(fractions.Fraction(1, 3), 2), and an object with a state in protocol 4.
        let pickle =
            Pickle::read(b"\x80\x02cfractions\nFraction\nq\0X\x03\0\0\x001/3q\x01\x85q\x02Rq\x03.").unwrap();
        assert_eq!(pickle.class(pickle.root()), Some(("fractions".into(), "Fraction".into())));
        let text = b"\x80\x04\x95\x20\0\0\0\0\0\0\0\x8c\x01m\x94\x8c\x01C\x94\x93\x94)\x81\x94}\x94(\x8c\x01a\x94K\x07\
                     \x8c\x01b\x94]\x94(\x8a\x02\xff\xfeG?\xe0\0\0\0\0\0\0eub.";
        let pickle = Pickle::read(text).unwrap();
        let state = pickle.state(pickle.root()).unwrap();
        assert_eq!(pickle.under(state, "a").and_then(|id| pickle.int(id)), Some(7));
        let list = pickle.items(pickle.under(state, "b").unwrap());
        assert_eq!((pickle.int(list[0]), pickle.number(list[1])), (Some(-257), Some(0.5)));
    }

    #[test]
    fn nothing_is_called_and_nothing_panics() {
        // os.system("true") is a name and a text.
        let pickle = Pickle::read(b"cos\nsystem\n(X\x04\0\0\0truetR.").unwrap();
        assert_eq!(pickle.class(pickle.root()), Some(("os".into(), "system".into())));
        // A list that holds itself, and one instruction after the other without its values.
        assert!(Pickle::read(b"]q\0h\0a.").is_ok());
        for code in 0..=255u8 {
            assert!(Pickle::read(&[code]).is_err(), "{code}");
            // Most of these miss something; none may do worse.
            let _ = Pickle::read(&[b'(', code, 0xff, 0xff, 0xff, 0xff, b'.']);
        }
        assert_eq!(Pickle::read(b"\x8a\x09\0\0\0\0\0\0\0\0\x01.").unwrap().int(0), Some(i64::MAX));
        assert!(Pickle::read(&b"(".repeat(1_000_000)).is_err());
    }
}

//! Python's pickle format, protocols 2 to 5, as data: classes are names, objects are what was said about them.
//!
//! A pickle is a program that builds values. This machine builds them in tables and nothing else: it imports nothing and
//! calls nothing, whatever the file asks for. Every instruction adds at most one value, so a file costs memory in
//! proportion to its length, and there is no recursion. Numbers take no place in the tables, and dictionaries that a
//! reader wants to keep in a form of its own take none either: there may be millions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// A value, or where to find it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `None`, or what is not true.
    Nothing,
    True,
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    Text(u32),
    /// A list, a tuple or a set.
    List(u32),
    Dict(u32),
    Class(u32),
    Object(u32),
    /// A dictionary that the reader took, by the number it gave.
    Taken(u32),
}

/// What a class or a function makes, and the state it is given.
#[derive(Debug)]
struct Object {
    class: Value,
    state: Value,
}

/// A file's values.
#[derive(Debug, Default)]
pub(crate) struct Pickle<'a> {
    input: &'a [u8],
    texts: Vec<Range<usize>>,
    lists: Vec<Vec<Value>>,
    /// Keys and values in turn.
    dicts: Vec<Vec<Value>>,
    /// A class or a function: its module and its name.
    classes: Vec<(Range<usize>, Range<usize>)>,
    objects: Vec<Object>,
    root: Option<Value>,
}

/// What a reader does with dictionaries while a file is read.
pub(crate) trait Take {
    /// Whether files may name classes and functions: data of dictionaries and lists alone never does.
    const CLASSES: bool;

    /// Looks at the keys and values of a dictionary, in turn; a number if it need not be kept.
    fn take(&mut self, pickle: &Pickle<'_>, pairs: &[Value]) -> Option<u32>;
}

/// Takes none, and lets files name classes.
pub(crate) struct Keep;

impl Take for Keep {
    const CLASSES: bool = true;

    fn take(&mut self, _: &Pickle<'_>, _: &[Value]) -> Option<u32> {
        None
    }
}

/// Why a file could not be read.
pub(crate) type Why = Cow<'static, str>;

impl<'a> Pickle<'a> {
    /// Reads all of it.
    pub(crate) fn read(input: &'a [u8]) -> Result<Pickle<'a>, Why> {
        match Pickle::read_with(input, &mut Keep) {
            (pickle, None) => Ok(pickle),
            (_, Some(why)) => Err(why),
        }
    }

    /// Reads as much as it can, and says what stopped it. What was under construction then is put together from what is
    /// there.
    pub(crate) fn read_with(input: &'a [u8], taker: &mut impl Take) -> (Pickle<'a>, Option<Why>) {
        let pickle = Pickle { input, ..Pickle::default() };
        let mut machine = Machine {
            pickle,
            taker,
            at: 0,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Memo::default(),
            remembered: Vec::new(),
        };
        let why = machine.run().err();
        if why.is_some() {
            machine.put_together();
        }
        (machine.pickle, why)
    }

    /// The outermost value.
    pub(crate) fn root(&self) -> Value {
        self.root.unwrap_or(Value::Nothing)
    }

    /// The module and name of an object's class.
    pub(crate) fn class(&self, value: Value) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let Value::Object(object) = value else { return None };
        let Value::Class(class) = self.objects[object as usize].class else { return None };
        let (module, name) = &self.classes[class as usize];
        Some((self.text_at(module), self.text_at(name)))
    }

    /// An object's state.
    pub(crate) fn state(&self, value: Value) -> Option<Value> {
        match value {
            Value::Object(object) => Some(self.objects[object as usize].state),
            _ => None,
        }
    }

    /// The elements of a list or a tuple; none of anything else.
    pub(crate) fn items(&self, value: Value) -> &[Value] {
        match value {
            Value::List(list) => &self.lists[list as usize],
            _ => &[],
        }
    }

    /// The keys and values of a dictionary in turn; none of anything else.
    pub(crate) fn pairs(&self, value: Value) -> &[Value] {
        match value {
            Value::Dict(dict) => &self.dicts[dict as usize],
            _ => &[],
        }
    }

    /// What a dictionary has under this text.
    pub(crate) fn under(&self, value: Value, key: &str) -> Option<Value> {
        let mut pairs = self.pairs(value).chunks_exact(2).rev();
        pairs.find(|pair| self.bytes_of(pair[0]) == Some(key.as_bytes())).map(|pair| pair[1])
    }

    /// A text; what is not UTF-8 in it is replaced.
    pub(crate) fn text(&self, value: Value) -> Option<Cow<'a, str>> {
        self.bytes_of(value).map(String::from_utf8_lossy)
    }

    /// The bytes of a text.
    pub(crate) fn bytes_of(&self, value: Value) -> Option<&'a [u8]> {
        match value {
            Value::Text(text) => Some(&self.input[self.texts[text as usize].clone()]),
            _ => None,
        }
    }

    /// A whole number.
    pub(crate) fn int(&self, value: Value) -> Option<i64> {
        match value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Any number.
    pub(crate) fn number(&self, value: Value) -> Option<f64> {
        match value {
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    fn text_at(&self, range: &Range<usize>) -> Cow<'a, str> {
        String::from_utf8_lossy(&self.input[range.clone()])
    }
}

/// What a file refers back to. Numbers count up in every file that Python writes.
#[derive(Default)]
struct Memo {
    in_order: Vec<Value>,
    others: HashMap<u64, Value>,
}

impl Memo {
    fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }

    fn set(&mut self, number: u64, value: Value) {
        if number == self.in_order.len() as u64 && !self.others.contains_key(&number) {
            self.in_order.push(value);
        } else if let Some(held) = usize::try_from(number).ok().and_then(|at| self.in_order.get_mut(at)) {
            *held = value;
        } else {
            self.others.insert(number, value);
        }
    }

    fn get(&self, number: u64) -> Option<Value> {
        let in_order = usize::try_from(number).ok().and_then(|at| self.in_order.get(at));
        in_order.or_else(|| self.others.get(&number)).copied()
    }
}

const SHORT: &str = "it ends too early";
const EMPTY: &str = "it takes more values than it made";
const KIND: &str = "it adds to something that holds nothing";

struct Machine<'a, 't, T> {
    pickle: Pickle<'a>,
    taker: &'t mut T,
    at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: Memo,
    /// By dictionary, where the memo has it; [`u32::MAX`] if it has not.
    remembered: Vec<u32>,
}

type Done<T> = Result<T, Why>;

impl<T: Take> Machine<'_, '_, T> {
    fn run(&mut self) -> Done<()> {
        loop {
            let code = self.byte()?;
            if code == b'.' {
                self.pickle.root = Some(self.pop()?);
                return Ok(());
            }
            self.step(code)?;
        }
    }

    /// Ends what was begun, from the inside out.
    fn put_together(&mut self) {
        while let Ok(mut items) = self.marked() {
            items.truncate(items.len() / 2 * 2);
            match self.stack.last() {
                Some(Value::List(_)) => drop(self.extend(items)),
                Some(Value::Dict(_)) => drop(self.extend_dict(items)),
                _ => {}
            }
        }
        self.pickle.root = self.stack.first().copied();
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
            0x88 => self.push(Value::True),
            0x89 => self.push(Value::Nothing),
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
            b']' | 0x8f => self.push_list(Vec::new()),
            b')' => self.push_list(Vec::new()),
            b'}' => self.push_dict(Vec::new()),
            0x85..=0x87 => {
                let count = usize::from(code - 0x84);
                let first = self.stack.len().checked_sub(count).ok_or(EMPTY)?;
                let items = self.stack.split_off(first);
                self.push_list(items)
            }
            b't' | b'l' | 0x91 => {
                let items = self.marked()?;
                self.push_list(items)
            }
            b'd' => {
                let items = self.marked()?;
                self.push_dict(items)
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
                let value = self.memo.get(number).ok_or("it refers to what it does not hold")?;
                self.push(value)
            }
            b'q' | b'r' | b'p' => {
                let number = self.memo_number(code)?;
                self.remember(number)
            }
            0x94 => self.remember(self.memo.len() as u64),
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push_class(module, name)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (module, name) {
                    (Value::Text(module), Value::Text(name)) => {
                        let range = |text: u32| self.pickle.texts[text as usize].clone();
                        self.push_class(range(module), range(name))
                    }
                    _ => Err("a class has no name".into()),
                }
            }
            b'R' | 0x81 => {
                let (_, class) = (self.pop()?, self.pop()?);
                self.push_object(class)
            }
            0x92 => {
                let (_, _, class) = (self.pop()?, self.pop()?, self.pop()?);
                self.push_object(class)
            }
            b'b' => {
                let given = self.pop()?;
                let Value::Object(object) = *self.stack.last().ok_or(EMPTY)? else {
                    return Err("something that is no object gets a state".into());
                };
                self.pickle.objects[object as usize].state = given;
                Ok(())
            }
            _ => Err("it has an instruction that data does not need".into()),
        }
    }

    fn push(&mut self, value: Value) -> Done<()> {
        self.stack.push(value);
        Ok(())
    }

    fn push_text(&mut self, length: usize) -> Done<()> {
        let range = self.bytes(length)?;
        let text = number(self.pickle.texts.len())?;
        self.pickle.texts.push(range);
        self.push(Value::Text(text))
    }

    fn push_list(&mut self, items: Vec<Value>) -> Done<()> {
        let list = number(self.pickle.lists.len())?;
        self.pickle.lists.push(items);
        self.push(Value::List(list))
    }

    fn push_dict(&mut self, items: Vec<Value>) -> Done<()> {
        let dict = number(self.pickle.dicts.len())?;
        self.pickle.dicts.push(items);
        self.push(Value::Dict(dict))
    }

    fn push_object(&mut self, class: Value) -> Done<()> {
        let object = number(self.pickle.objects.len())?;
        self.pickle.objects.push(Object { class, state: Value::Nothing });
        self.push(Value::Object(object))
    }

    fn push_class(&mut self, module: Range<usize>, name: Range<usize>) -> Done<()> {
        if !T::CLASSES {
            let (module, name) = (self.pickle.text_at(&module), self.pickle.text_at(&name));
            return Err(
                format!("it asks for {module}.{name}, and data needs no classes and no functions").into()
            );
        }
        let class = number(self.pickle.classes.len())?;
        self.pickle.classes.push((module, name));
        self.push(Value::Class(class))
    }

    fn pop(&mut self) -> Done<Value> {
        // What lies below a mark is not to be taken before the mark is.
        if self.marks.last().is_some_and(|&mark| self.stack.len() <= mark) {
            return Err(EMPTY.into());
        }
        self.stack.pop().ok_or(EMPTY.into())
    }

    /// Everything since the last mark.
    fn marked(&mut self) -> Done<Vec<Value>> {
        let mark = self.marks.pop().ok_or("a mark is missing")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn extend(&mut self, items: Vec<Value>) -> Done<()> {
        let Value::List(list) = *self.stack.last().ok_or(EMPTY)? else { return Err(KIND.into()) };
        self.pickle.lists[list as usize].extend(items);
        Ok(())
    }

    fn extend_dict(&mut self, items: Vec<Value>) -> Done<()> {
        if !items.len().is_multiple_of(2) {
            return Err("a key has no value".into());
        }
        match *self.stack.last().ok_or(EMPTY)? {
            Value::Dict(dict) => {
                let held = &mut self.pickle.dicts[dict as usize];
                if held.is_empty()
                    && let Some(taken) = self.taker.take(&self.pickle, &items)
                {
                    return self.replace_last(dict, Value::Taken(taken));
                }
                let held = &mut self.pickle.dicts[dict as usize];
                held.extend(items);
                Ok(())
            }
            // Dictionaries of a class of their own, such as an ordered one: their entries are their state.
            Value::Object(_) => Ok(()),
            _ => Err(KIND.into()),
        }
    }

    /// Puts a value in the place of a dictionary on top of the stack, also where the file refers back to it: it did so
    /// right after it made the dictionary, before what is in it. What is left of the dictionary is an empty one.
    fn replace_last(&mut self, dict: u32, value: Value) -> Done<()> {
        if let Some(last) = self.stack.last_mut() {
            *last = value;
        }
        if let Some(held) =
            self.remembered.get(dict as usize).and_then(|&at| self.memo.in_order.get_mut(at as usize))
            && *held == Value::Dict(dict)
        {
            *held = value;
        }
        Ok(())
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
        let value = *self.stack.last().ok_or(EMPTY)?;
        if let (Value::Dict(dict), Ok(at)) = (value, u32::try_from(number)) {
            self.remembered.resize(self.pickle.dicts.len(), u32::MAX);
            self.remembered[dict as usize] = at;
        }
        self.memo.set(number, value);
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
        self.pickle.input[range].try_into().map_err(|_| SHORT.into())
    }

    fn length4(&mut self) -> Done<usize> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| "a length is negative".into())
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

/// A place in a table.
fn number(length: usize) -> Done<u32> {
    u32::try_from(length).map_err(|_| "it has more than four billion values".into())
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
        assert_eq!(pickle.under(state, "a").and_then(|value| pickle.int(value)), Some(7));
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
        assert_eq!(Pickle::read(b"\x8a\x09\0\0\0\0\0\0\0\0\x01.").unwrap().root(), Value::Int(i64::MAX));
        assert!(Pickle::read(&b"(".repeat(1_000_000)).is_err());
    }
}

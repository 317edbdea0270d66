//! Python's pickle format, protocols 2 to 5, as data: classes are names, objects are what was said about them.
//!
//! A pickle is a program that builds values. This machine builds them in tables and nothing else: it imports nothing and
//! calls nothing, whatever the file asks for. Every instruction adds at most one value, so a file costs memory in
//! proportion to its length, and there is no recursion. It is read piece by piece: only texts are kept, each short one once.
//! Numbers take no place in the tables, and what a reader wants to keep in a form of its own takes none either: there may be
//! millions of dictionaries.

mod cursor;
mod flat;
mod machine;
mod memo;
mod texts;

use std::borrow::Cow;

use crate::chunks::Text;
use machine::Machine;
use texts::Texts;

/// A value, or where to find it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `None`, or what is not true.
    Nothing,
    True,
    Int(i64),
    Float(f64),
    Text(u32),
    /// A list, a tuple or a set.
    List(u32),
    Dict(u32),
    Class(u32),
    Object(u32),
    /// A dictionary that the reader took, by the number it gave.
    Taken(u32),
    /// In a list: dictionaries that the reader took one after the other, the number of the first and how many.
    Run(u32, u32),
    /// A dictionary that the reader took as a part of lists that it may take as well.
    Part(u32),
}

#[derive(Copy, Clone, Debug)]
enum ListContent {
    Empty,
    /// A place in the table of elements.
    Values(u32),
    /// Parts that the reader took, by the number it gave them together.
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
pub(crate) struct Pickle {
    texts: Texts,
    lists: Vec<ListContent>,
    elements: Vec<Vec<Value>>,
    /// Keys and values in turn.
    dicts: Vec<Vec<Value>>,
    /// How many values lists and dictionaries hold.
    held: usize,
    /// A class or a function: its module and its name.
    classes: Vec<(u32, u32)>,
    objects: Vec<Object>,
    root: Option<Value>,
}

/// What a reader takes for itself while a file is read.
pub(crate) trait Collector {
    /// Whether files may name classes and functions: data of dictionaries and lists alone never does.
    const ALLOWS_CLASSES: bool;
    const COLLECTS_DICTS: bool;

    /// A dictionary comes, pair by pair. It may come again from its beginning.
    fn begin(&mut self) {}

    /// What the reader calls a key, by the number of its text.
    fn key(&mut self, _: &Pickle, _text: u32) -> u8 {
        0
    }

    /// A pair with a whole number.
    fn int(&mut self, _key: u8, _number: i64) {}

    /// A pair with a text, by its number.
    fn text(&mut self, _key: u8, _text: u32) {}

    /// A pair with anything else.
    fn other(&mut self, _key: u8, _value: Value) {}

    /// It is complete; returns the value to keep instead, if any.
    fn end(&mut self, _: &Pickle) -> Option<Value> {
        None
    }

    /// A list of nothing but parts: its number, if it is taken.
    fn list(&mut self, _parts: &[u32]) -> Option<u32> {
        None
    }

    /// The parts of a list that was taken.
    fn parts(&self, _list: u32) -> &[u32] {
        &[]
    }
}

/// Takes nothing, and lets files name classes.
pub(crate) struct NoCollector;

impl Collector for NoCollector {
    const ALLOWS_CLASSES: bool = true;
    const COLLECTS_DICTS: bool = false;
}

/// Why a file could not be read.
pub(crate) type Why = Cow<'static, str>;

/// What ended the reading of a file before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The file is not what it seems.
    Why(Why),
    /// More would have been held than is allowed.
    Limit,
}

/// Where the bytes of a file come from.
pub(crate) trait Input {
    /// The bytes at hand.
    fn window(&self) -> &[u8];

    /// Lets go of so many bytes from the front and gets more; false if there are none.
    fn advance(&mut self, used: usize) -> bool;
}

impl Input for &[u8] {
    fn window(&self) -> &[u8] {
        self
    }

    fn advance(&mut self, used: usize) -> bool {
        *self = &self[used.min(self.len())..];
        false
    }
}

impl Input for Text {
    fn window(&self) -> &[u8] {
        Text::window(self)
    }

    fn advance(&mut self, used: usize) -> bool {
        self.consume(used);
        let more = !self.is_last();
        self.more();
        more
    }
}

impl Pickle {
    pub(crate) fn read(mut input: &[u8]) -> Result<Pickle, Why> {
        match Pickle::read_with(&mut input, &mut NoCollector, usize::MAX) {
            (pickle, None) => Ok(pickle),
            (_, Some(Stop::Why(why))) => Err(why),
            (_, Some(Stop::Limit)) => Err("it holds too much".into()),
        }
    }

    /// Reads as much as it can, and says what stopped it. What was under construction then is put together from what is
    /// there. No more than about `most` bytes are held.
    pub(crate) fn read_with(
        input: &mut impl Input,
        collector: &mut impl Collector,
        most: usize,
    ) -> (Pickle, Option<Stop>) {
        let mut machine = Machine::new(collector);
        let stop = machine.read(input, most).err();
        if stop.is_some() {
            machine.put_together();
        }
        (machine.finish(), stop)
    }

    pub(crate) fn root(&self) -> Value {
        self.root.unwrap_or(Value::Nothing)
    }

    /// The module and name of an object's class.
    pub(crate) fn class(&self, value: Value) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
        let Value::Object(object) = value else { return None };
        let Value::Class(class) = self.objects[object as usize].class else { return None };
        let (module, name) = self.classes[class as usize];
        Some((self.text_at(module), self.text_at(name)))
    }

    pub(crate) fn state(&self, value: Value) -> Option<Value> {
        match value {
            Value::Object(object) => Some(self.objects[object as usize].state),
            _ => None,
        }
    }

    /// The elements of a list or a tuple; none of anything else, and none of a list that was taken.
    pub(crate) fn items(&self, value: Value) -> &[Value] {
        match value {
            Value::List(list) => match self.lists[list as usize] {
                ListContent::Values(at) => &self.elements[at as usize],
                ListContent::Empty | ListContent::Taken(_) => &[],
            },
            _ => &[],
        }
    }

    /// The number of a list that the reader took.
    pub(crate) fn taken_list(&self, value: Value) -> Option<u32> {
        match value {
            Value::List(list) => match self.lists[list as usize] {
                ListContent::Taken(number) => Some(number),
                ListContent::Empty | ListContent::Values(_) => None,
            },
            _ => None,
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
    pub(crate) fn text(&self, value: Value) -> Option<Cow<'_, str>> {
        self.bytes_of(value).map(String::from_utf8_lossy)
    }

    pub(crate) fn bytes_of(&self, value: Value) -> Option<&[u8]> {
        match value {
            Value::Text(text) => Some(self.texts.get(text)),
            _ => None,
        }
    }

    pub(crate) fn int(&self, value: Value) -> Option<i64> {
        match value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn number(&self, value: Value) -> Option<f64> {
        match value {
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn text_count(&self) -> usize {
        self.texts.len()
    }

    /// How many lists and how many dictionaries there are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.lists.len(), self.dicts.len())
    }

    fn text_at(&self, text: u32) -> Cow<'_, str> {
        String::from_utf8_lossy(self.texts.get(text))
    }

    /// About how many bytes are held.
    fn heap_bytes(&self) -> usize {
        self.texts.heap_bytes()
            + self.lists.len() * size_of::<ListContent>()
            + (self.elements.len() + self.dicts.len()) * size_of::<Vec<Value>>()
            + self.held * size_of::<Value>()
            + self.classes.len() * 8
            + self.objects.len() * size_of::<Object>()
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
        // A line is a name or a number: it has an end.
        let long = [&b"c"[..], &b"x".repeat(1 << 20), b"\ny\n)R."].concat();
        assert!(Pickle::read(&long).unwrap_err().contains("line"));
    }

    #[test]
    fn texts_that_repeat_are_kept_once() {
        let repeated = [&b"("[..], &b"\x8c\x03N/A\x94".repeat(1_000), b"l."].concat();
        let pickle = Pickle::read(&repeated).unwrap();
        assert_eq!((pickle.items(pickle.root()).len(), pickle.text_count()), (1_000, 1));
        // Texts that share a place in what is remembered of them stay apart.
        let many: Vec<String> = (0..20_000).map(|at| format!("{at}")).collect();
        let bytes: Vec<u8> = many
            .iter()
            .chain(&many)
            .flat_map(|text| [&[0x8c, text.len() as u8], text.as_bytes()].concat())
            .collect();
        let pickle = Pickle::read(&[&b"("[..], &bytes, b"l."].concat()).unwrap();
        let read: Vec<_> = pickle.items(pickle.root()).iter().map(|text| pickle.text(*text).unwrap()).collect();
        assert!(read.iter().eq(many.iter().chain(&many)));
    }
}

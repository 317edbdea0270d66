//! The arguments of events, kept in full and compactly.
//!
//! Most events of one category carry the same keys in the same order with values of the same type. So the list
//! of (key, type) pairs is stored once as a *shape*; an event keeps its shape number and its values as
//! variable-length integers. A `cpu_op` with seven arguments takes about twenty bytes, and the text of the file
//! can be given back exactly. What the keys mean ([`Attr`]) is written down once for each shape too, so asking for
//! an attribute compares no text.

use std::fmt;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};

use crate::attr::Attr;
use crate::shapes::{Input, parse_shapes};
use crate::strings::{StrId, Strings};

/// Names the arguments of one event.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
pub struct ArgsId(u32);

/// A decimal number as it was written: `mantissa / 10^scale`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// All digits as one integer.
    pub mantissa: i64,
    /// How many of them stand after the point.
    pub scale: u8,
}

impl Decimal {
    /// The nearest float, for numbers that are estimates anyway (bandwidth, occupancy).
    pub fn to_f64(self) -> f64 {
        self.mantissa as f64 / 10f64.powi(i32::from(self.scale))
    }
}

/// All digits that were written; a whole number has no point.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let scale = usize::from(self.scale);
        let digits = format!("{:0>width$}", self.mantissa.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let point = if scale > 0 { "." } else { "" };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

/// A value on its way into the store; texts are already interned.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ArgValue {
    Int(i64),
    Decimal(Decimal),
    Str(StrId),
    /// Anything else (arrays, objects, numbers too large), as its JSON text.
    Json(StrId),
    Bool(bool),
    Null,
}

/// A value read back.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Int(i64),
    Decimal(Decimal),
    Str(&'a str),
    /// JSON text of an array, an object or an unusual number.
    Json(&'a str),
    Bool(bool),
    Null,
}

impl<'a> Value<'a> {
    /// The value as an integer: also from a text of digits, as some producers quote them.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Value::Int(v) => Some(v),
            Value::Decimal(d) if d.scale == 0 => Some(d.mantissa),
            Value::Str(s) => s.trim().parse().ok(),
            _ => None,
        }
    }

    /// The value as a float.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Value::Int(v) => Some(v as f64),
            Value::Decimal(d) => Some(d.to_f64()),
            Value::Str(s) | Value::Json(s) => s.trim().parse().ok().filter(|v: &f64| v.is_finite()),
            _ => None,
        }
    }

    /// The value's text, if it is a text or JSON.
    pub fn as_text(self) -> Option<&'a str> {
        match self {
            Value::Str(s) | Value::Json(s) => Some(s),
            _ => None,
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Type {
    Int,
    Decimal,
    Str,
    Json,
    True,
    False,
    Null,
}

/// The keys, types and meanings of an event's arguments, in file order.
#[derive(Debug, Clone)]
struct Shape {
    keys: Box<[(StrId, Type)]>,
    attrs: Box<[Option<Attr>]>,
}

/// All arguments of a trace.
#[derive(Debug, Clone)]
pub(crate) struct ArgStore {
    shapes: Vec<Shape>,
    bytes: Vec<u8>,
}

/// Fills an [`ArgStore`]; holds what only writing needs.
#[derive(Debug)]
pub(crate) struct ArgWriter {
    store: ArgStore,
    shape_ids: HashTable<u32>,
    hasher: RandomState,
    shape: Vec<(StrId, Type)>,
    payload: Vec<u8>,
    meanings: HashMap<StrId, Attr, RandomState>,
    /// Shape of the event before: neighbors are often alike, which saves the look-up.
    last: u32,
}

impl Default for ArgWriter {
    fn default() -> Self {
        // Shape 0 and offset 0 are "no arguments".
        let store =
            ArgStore { shapes: vec![Shape { keys: Box::new([]), attrs: Box::new([]) }], bytes: vec![0] };
        ArgWriter {
            store,
            shape_ids: HashTable::new(),
            hasher: RandomState::default(),
            shape: Vec::new(),
            payload: Vec::new(),
            meanings: HashMap::default(),
            last: 0,
        }
    }
}

impl ArgWriter {
    /// From the next new shape on, arguments of this key are this attribute.
    pub(crate) fn mean(&mut self, key: StrId, attr: Attr) {
        self.meanings.insert(key, attr);
    }

    pub(crate) fn push(&mut self, key: StrId, value: ArgValue) {
        let kind = match value {
            ArgValue::Int(v) => {
                put_varint(&mut self.payload, zigzag(v));
                Type::Int
            }
            ArgValue::Decimal(d) => {
                put_varint(&mut self.payload, zigzag(d.mantissa));
                self.payload.push(d.scale);
                Type::Decimal
            }
            ArgValue::Str(s) => {
                put_varint(&mut self.payload, u64::from(s.raw()));
                Type::Str
            }
            ArgValue::Json(s) => {
                put_varint(&mut self.payload, u64::from(s.raw()));
                Type::Json
            }
            ArgValue::Bool(true) => Type::True,
            ArgValue::Bool(false) => Type::False,
            ArgValue::Null => Type::Null,
        };
        self.shape.push((key, kind));
    }

    /// Forgets what was pushed since the last [`ArgWriter::commit`], and says whether there was anything.
    pub(crate) fn discard(&mut self) -> bool {
        let any = !self.shape.is_empty();
        self.shape.clear();
        self.payload.clear();
        any
    }

    /// What was pushed since the last [`ArgWriter::commit`], if all of it is numbers.
    pub(crate) fn numbers(&self) -> Option<Vec<(StrId, Decimal)>> {
        let mut payload = &self.payload[..];
        let number = |&(key, kind): &(StrId, Type)| match take_value(kind, &mut payload) {
            ArgValue::Int(mantissa) => Some((key, Decimal { mantissa, scale: 0 })),
            ArgValue::Decimal(decimal) if decimal.scale > 0 => Some((key, decimal)),
            _ => None,
        };
        self.shape.iter().map(number).collect()
    }

    /// Stores what was pushed. `None` once four gigabytes of arguments or four billion shapes are held; the caller
    /// notes it.
    pub(crate) fn commit(&mut self) -> Option<ArgsId> {
        if self.shape.is_empty() {
            return Some(ArgsId(0));
        }
        let shape = self.shape_id();
        let offset = shape.and_then(|_| u32::try_from(self.store.bytes.len()).ok());
        if let (Some(shape), Some(_)) = (shape, offset) {
            put_varint(&mut self.store.bytes, u64::from(shape));
            self.store.bytes.extend_from_slice(&self.payload);
        }
        self.discard();
        offset.map(ArgsId)
    }

    pub(crate) fn finish(mut self) -> ArgStore {
        self.store.bytes.shrink_to_fit();
        self.store
    }

    fn shape_id(&mut self) -> Option<u32> {
        let ArgWriter { store, shape_ids, hasher, shape, meanings, last, .. } = self;
        if *store.shapes[*last as usize].keys == shape[..] {
            return Some(*last);
        }
        let hash = hasher.hash_one(&shape[..]);
        let found = shape_ids.find(hash, |&id| *store.shapes[id as usize].keys == shape[..]).copied();
        let id = match found {
            Some(id) => id,
            None => {
                let id = u32::try_from(store.shapes.len()).ok()?;
                let attrs = shape.iter().map(|(key, _)| meanings.get(key).copied()).collect();
                store.shapes.push(Shape { keys: shape.clone().into_boxed_slice(), attrs });
                shape_ids.insert_unique(hash, id, |&id| hasher.hash_one(&*store.shapes[id as usize].keys));
                id
            }
        };
        *last = id;
        Some(id)
    }
}

impl ArgStore {
    pub(crate) fn get<'a>(&'a self, id: ArgsId, strings: &'a Strings) -> Args<'a> {
        let mut bytes = &self.bytes[id.0 as usize..];
        let shape = take_varint(&mut bytes) as usize;
        Args { shape: &self.shapes[shape], payload: bytes, strings }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.len()
            + self.shapes.iter().map(|s| size_of_val(&*s.keys) + size_of_val(&*s.attrs)).sum::<usize>()
    }
}

/// The arguments of one event, in file order.
#[derive(Copy, Clone, Debug)]
pub struct Args<'a> {
    shape: &'a Shape,
    payload: &'a [u8],
    strings: &'a Strings,
}

impl<'a> Args<'a> {
    pub fn len(&self) -> usize {
        self.shape.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shape.keys.is_empty()
    }

    pub fn iter(self) -> impl Iterator<Item = (&'a str, Value<'a>)> + Clone {
        let strings = self.strings;
        self.entries().map(move |(key, value)| (strings.get(key), value.resolve(strings)))
    }

    /// Every value with a known meaning, in file order: the form for whoever wants several.
    pub fn attrs(self) -> impl Iterator<Item = (Attr, Value<'a>)> {
        let strings = self.strings;
        let known = self.shape.attrs.iter().zip(self.entries());
        known.filter_map(move |(attr, (_, value))| Some(((*attr)?, value.resolve(strings))))
    }

    /// The value of an attribute; of several, the last, as JSON readers do.
    pub fn value(self, attr: Attr) -> Option<Value<'a>> {
        self.last_of(attr).map(|value| value.resolve(self.strings))
    }

    /// The integer of an attribute.
    pub fn int(self, attr: Attr) -> Option<i64> {
        self.value(attr).and_then(Value::as_int)
    }

    /// The number of an attribute.
    pub fn float(self, attr: Attr) -> Option<f64> {
        self.value(attr).and_then(Value::as_f64)
    }

    /// The text of an attribute.
    pub fn text(self, attr: Attr) -> Option<&'a str> {
        self.text_id(attr).map(|id| self.strings.get(id))
    }

    /// The interned text of an attribute: compares and groups without touching the text.
    pub fn text_id(self, attr: Attr) -> Option<StrId> {
        match self.last_of(attr)? {
            ArgValue::Str(id) | ArgValue::Json(id) => Some(id),
            _ => None,
        }
    }

    /// The sizes of an operator's inputs; `None` where they are not recorded or no such list.
    pub fn input_shapes(self) -> Option<Vec<Input>> {
        parse_shapes(self.text(Attr::InputShapes)?)
    }

    /// The value of a key as the producer spelled it, for keys that have no [`Attr`]; of several, the last.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let key = self.strings.find(key)?;
        let at = self.shape.keys.iter().rposition(|&(k, _)| k == key)?;
        self.entries().nth(at).map(|(_, value)| value.resolve(self.strings))
    }

    /// Values are decoded only up to the attribute, and not at all where the shape lacks it.
    fn last_of(self, attr: Attr) -> Option<ArgValue> {
        let at = self.shape.attrs.iter().rposition(|&a| a == Some(attr))?;
        self.entries().nth(at).map(|(_, value)| value)
    }

    fn entries(self) -> impl Iterator<Item = (StrId, ArgValue)> + Clone + 'a {
        let mut payload = self.payload;
        self.shape.keys.iter().map(move |&(key, kind)| (key, take_value(kind, &mut payload)))
    }
}

fn take_value(kind: Type, payload: &mut &[u8]) -> ArgValue {
    match kind {
        Type::Int => ArgValue::Int(unzigzag(take_varint(payload))),
        Type::Decimal => {
            let mantissa = unzigzag(take_varint(payload));
            let (&scale, rest) = payload.split_first().unwrap_or((&0, &[]));
            *payload = rest;
            ArgValue::Decimal(Decimal { mantissa, scale })
        }
        Type::Str => ArgValue::Str(StrId::from_raw(take_varint(payload) as u32)),
        Type::Json => ArgValue::Json(StrId::from_raw(take_varint(payload) as u32)),
        Type::True => ArgValue::Bool(true),
        Type::False => ArgValue::Bool(false),
        Type::Null => ArgValue::Null,
    }
}

impl ArgValue {
    fn resolve(self, strings: &Strings) -> Value<'_> {
        match self {
            ArgValue::Int(v) => Value::Int(v),
            ArgValue::Decimal(d) => Value::Decimal(d),
            ArgValue::Str(id) => Value::Str(strings.get(id)),
            ArgValue::Json(id) => Value::Json(strings.get(id)),
            ArgValue::Bool(b) => Value::Bool(b),
            ArgValue::Null => Value::Null,
        }
    }
}

fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

fn unzigzag(v: u64) -> i64 {
    ((v >> 1) as i64) ^ -((v & 1) as i64)
}

fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn take_varint(bytes: &mut &[u8]) -> u64 {
    let mut v = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        v |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_went_in() {
        let mut strings = Strings::default();
        let mut w = ArgWriter::default();
        let keys: Vec<StrId> = ["a", "b", "c", "d", "e", "f", "g"].iter().map(|k| strings.intern(k)).collect();
        let text = strings.intern("hello");
        let given = [
            ArgValue::Int(i64::MIN),
            ArgValue::Int(i64::MAX),
            ArgValue::Decimal(Decimal { mantissa: -12345, scale: 3 }),
            ArgValue::Str(text),
            ArgValue::Json(text),
            ArgValue::Bool(true),
            ArgValue::Null,
        ];
        for (&key, &value) in keys.iter().zip(&given) {
            w.push(key, value);
        }
        let id = w.commit().unwrap();
        w.push(keys[0], ArgValue::Int(7));
        w.push(keys[0], ArgValue::Int(8));
        let twice = w.commit().unwrap();
        let none = w.commit().unwrap();
        let store = w.finish();
        let back: Vec<_> = store.get(id, &strings).entries().collect();
        assert_eq!(back, keys.iter().copied().zip(given).collect::<Vec<_>>());
        assert_eq!(store.get(twice, &strings).get("a"), Some(Value::Int(8)));
        assert_eq!(store.get(twice, &strings).get("z"), None);
        assert!(store.get(none, &strings).is_empty());
    }

    #[test]
    fn attributes_are_found_under_any_key() {
        let mut strings = Strings::default();
        let mut w = ArgWriter::default();
        let [old, new, other] = ["Input dims", "Input Dims", "mine"].map(|key| strings.intern(key));
        w.mean(old, Attr::InputShapes);
        w.mean(new, Attr::InputShapes);
        let text = strings.intern("[[2, 3], []]");
        let mut event = |args: &[(StrId, ArgValue)]| {
            args.iter().for_each(|&(key, value)| w.push(key, value));
            w.commit().unwrap()
        };
        let first = event(&[(other, ArgValue::Int(1)), (old, ArgValue::Str(text))]);
        let second = event(&[(new, ArgValue::Json(text)), (other, ArgValue::Int(1))]);
        let third = event(&[(other, ArgValue::Int(1))]);
        let store = w.finish();
        let shapes = Some(vec![Input::Tensor(vec![2, 3]), Input::Tensor(Vec::new())]);
        for id in [first, second] {
            let args = store.get(id, &strings);
            assert_eq!((args.text_id(Attr::InputShapes), args.input_shapes()), (Some(text), shapes.clone()));
            assert_eq!(args.attrs().count(), 1);
            assert_eq!(args.get("mine"), Some(Value::Int(1)));
        }
        assert_eq!(store.get(third, &strings).value(Attr::InputShapes), None);
        assert_eq!(store.get(first, &strings).int(Attr::InputShapes), None);
    }
}

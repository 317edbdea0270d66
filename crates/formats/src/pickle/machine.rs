//! The machine: one instruction after the other, a stack, and what the file refers back to.

use super::cursor::{Cursor, Interruption, PickleResult, long};
use super::memo::{Memo, small};
use super::{Collector, Input, ListContent, Object, Pickle, Stop, Value};

const ENDS_EARLY: &str = "it ends too early";
const STACK_EMPTY: &str = "it takes more values than it made";
const NO_CONTAINER: &str = "it adds to something that holds nothing";
const TOO_MANY_VALUES: &str = "it has more than four billion values";

pub(super) struct Machine<'t, T> {
    pub(super) pickle: Pickle,
    pub(super) collector: &'t mut T,
    pub(super) stack: Vec<Value>,
    marks: Vec<usize>,
    pub(super) memo: Memo,
    /// By dictionary, where the memo has it; [`u32::MAX`] if it has not.
    remembered: Vec<u32>,
    /// What a flat dictionary adds to the memo.
    pub(super) fresh: Vec<u32>,
    /// Parts of a list under construction.
    pub(super) parts: Vec<u32>,
}

impl<'t, T: Collector> Machine<'t, T> {
    pub(super) fn new(collector: &'t mut T) -> Machine<'t, T> {
        Machine {
            pickle: Pickle::default(),
            collector,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Memo::default(),
            remembered: Vec::new(),
            fresh: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Reads to the end, or until something stops it.
    pub(super) fn read(&mut self, input: &mut impl Input, most: usize) -> Result<(), Stop> {
        loop {
            let mut cursor = Cursor { bytes: input.window(), at: 0 };
            match self.run(&mut cursor) {
                Ok(()) => {
                    let used = cursor.at;
                    input.advance(used);
                    return Ok(());
                }
                Err(Interruption::Why(why)) => return Err(Stop::Why(why)),
                Err(Interruption::Short) => {
                    let used = cursor.at;
                    if !input.advance(used) {
                        return Err(Stop::Why(ENDS_EARLY.into()));
                    }
                }
            }
            if self.heap_bytes() > most {
                return Err(Stop::Limit);
            }
        }
    }

    pub(super) fn finish(self) -> Pickle {
        self.pickle
    }

    fn heap_bytes(&self) -> usize {
        self.pickle.heap_bytes()
            + self.memo.heap_bytes()
            + self.stack.len() * size_of::<Value>()
            + self.marks.len() * 8
            + self.remembered.len() * 4
    }

    /// Goes through the bytes at hand. If they end in the middle of an instruction, the cursor is where it begins.
    fn run(&mut self, cursor: &mut Cursor<'_>) -> PickleResult<()> {
        loop {
            let from = cursor.at;
            let code = cursor.byte()?;
            if T::COLLECTS_DICTS
                && code == b'}'
                && let Some(end) = self.flat(cursor.bytes, cursor.at)
            {
                cursor.at = end;
                continue;
            }
            if code == b'.' {
                self.pickle.root = Some(self.pop()?);
                return Ok(());
            }
            if let Err(halt) = self.step(code, cursor) {
                cursor.at = from;
                return Err(halt);
            }
        }
    }

    /// Ends what was begun, from the inside out.
    pub(super) fn put_together(&mut self) {
        while let Some(mark) = self.marks.pop() {
            let mark = mark.min(self.stack.len());
            match mark.checked_sub(1).map(|below| self.stack[below]) {
                Some(Value::List(_)) => drop(self.extend(mark)),
                Some(Value::Dict(_)) => {
                    let pairs = (self.stack.len() - mark) / 2;
                    self.stack.truncate(mark + pairs * 2);
                    drop(self.extend_dict(mark));
                }
                _ => self.stack.truncate(mark),
            }
        }
        self.pickle.root = self.stack.first().copied();
    }

    fn step(&mut self, code: u8, from: &mut Cursor<'_>) -> PickleResult<()> {
        match code {
            0x80 => from.take(1).map(drop),
            0x95 => from.take(8).map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'0' => self.pop().map(drop),
            b'1' => {
                let mark = self.mark()?;
                self.stack.truncate(mark);
                Ok(())
            }
            b'2' => {
                let top = *self.stack.last().ok_or(STACK_EMPTY)?;
                self.push(top)
            }
            b'N' | 0x89 => self.push(Value::Nothing),
            0x88 => self.push(Value::True),
            b'J' => {
                let number = i32::from_le_bytes(from.array()?);
                self.push(Value::Int(number.into()))
            }
            b'K' => {
                let number = from.byte()?;
                self.push(Value::Int(number.into()))
            }
            b'M' => {
                let number = u16::from_le_bytes(from.array()?);
                self.push(Value::Int(number.into()))
            }
            0x8a | 0x8b => {
                let length = if code == 0x8a { usize::from(from.byte()?) } else { from.length4()? };
                let number = long(from.take(length)?);
                self.push(Value::Int(number))
            }
            b'G' => {
                let number = f64::from_be_bytes(from.array()?);
                self.push(Value::Float(number))
            }
            b'U' | 0x8c | b'C' => {
                let length = usize::from(from.byte()?);
                self.push_text(from.take(length)?)
            }
            b'T' | b'X' | b'B' => {
                let length = from.length4()?;
                self.push_text(from.take(length)?)
            }
            0x8d | 0x8e | 0x96 => {
                let length = usize::try_from(u64::from_le_bytes(from.array()?)).map_err(|_| ENDS_EARLY)?;
                self.push_text(from.take(length)?)
            }
            b']' | 0x8f | b')' => self.push_list(self.stack.len()),
            b'}' => self.push_dict(self.stack.len()),
            0x85..=0x87 => {
                let count = usize::from(code - 0x84);
                self.push_list(self.stack.len().checked_sub(count).ok_or(STACK_EMPTY)?)
            }
            b't' | b'l' | 0x91 => {
                let mark = self.mark()?;
                self.push_list(mark)
            }
            b'd' => {
                let mark = self.mark()?;
                self.push_dict(mark)
            }
            b'a' => {
                let last = self.stack.len().checked_sub(1).ok_or(STACK_EMPTY)?;
                self.above_mark(last)?;
                self.extend(last)
            }
            b'e' | 0x90 => {
                let mark = self.mark()?;
                self.extend(mark)
            }
            b's' => {
                let key = self.stack.len().checked_sub(2).ok_or(STACK_EMPTY)?;
                self.above_mark(key)?;
                self.extend_dict(key)
            }
            b'u' => {
                let mark = self.mark()?;
                self.extend_dict(mark)
            }
            b'h' | b'j' | b'g' => {
                let number = memo_number(code, from)?;
                let value = self.memo.get(number).ok_or("it refers to what it does not hold")?;
                self.push(value)
            }
            b'q' | b'r' | b'p' => {
                let number = memo_number(code, from)?;
                self.remember(number)
            }
            0x94 => self.remember(self.memo.len() as u64),
            b'c' => {
                let (module, name) = (from.line()?, from.line()?);
                let (module, name) = (self.text(module)?, self.text(name)?);
                self.push_class(module, name)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (module, name) {
                    (Value::Text(module), Value::Text(name)) => self.push_class(module, name),
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
                let Value::Object(object) = *self.stack.last().ok_or(STACK_EMPTY)? else {
                    return Err("a state for something that is not an object".into());
                };
                self.pickle.objects[object as usize].state = given;
                Ok(())
            }
            _ => Err("it has an instruction that data does not need".into()),
        }
    }

    fn push(&mut self, value: Value) -> PickleResult<()> {
        self.stack.push(value);
        Ok(())
    }

    pub(super) fn text(&mut self, text: &[u8]) -> PickleResult<u32> {
        self.pickle.texts.add(text).ok_or(TOO_MANY_VALUES.into())
    }

    fn push_text(&mut self, text: &[u8]) -> PickleResult<()> {
        let text = self.text(text)?;
        self.push(Value::Text(text))
    }

    /// Makes a list of what lies on the stack from a place on.
    fn push_list(&mut self, from: usize) -> PickleResult<()> {
        self.above_mark(from)?;
        let list = number(self.pickle.lists.len())?;
        self.pickle.lists.push(ListContent::Empty);
        if from < self.stack.len() {
            self.fill(list, from)?;
        }
        self.stack.truncate(from);
        self.push(Value::List(list))
    }

    fn push_dict(&mut self, from: usize) -> PickleResult<()> {
        let dict = number(self.pickle.dicts.len())?;
        self.pickle.held += self.stack.len() - from;
        self.pickle.dicts.push(self.stack.drain(from..).collect());
        self.push(Value::Dict(dict))
    }

    fn push_object(&mut self, class: Value) -> PickleResult<()> {
        let object = number(self.pickle.objects.len())?;
        self.pickle.objects.push(Object { class, state: Value::Nothing });
        self.push(Value::Object(object))
    }

    fn push_class(&mut self, module: u32, name: u32) -> PickleResult<()> {
        if !T::ALLOWS_CLASSES {
            let (module, name) = (self.pickle.text_at(module), self.pickle.text_at(name));
            return Err(
                format!("it asks for {module}.{name}, and data needs no classes and no functions").into()
            );
        }
        let class = number(self.pickle.classes.len())?;
        self.pickle.classes.push((module, name));
        self.push(Value::Class(class))
    }

    /// What lies below a mark is not to be taken before the mark is.
    fn above_mark(&self, from: usize) -> PickleResult<()> {
        match self.marks.last() {
            Some(&mark) if from < mark => Err(STACK_EMPTY.into()),
            _ => Ok(()),
        }
    }

    fn pop(&mut self) -> PickleResult<Value> {
        let last = self.stack.len().checked_sub(1).ok_or(STACK_EMPTY)?;
        self.above_mark(last)?;
        self.stack.pop().ok_or(STACK_EMPTY.into())
    }

    /// The place of what lies above the last mark.
    fn mark(&mut self) -> PickleResult<usize> {
        let mark = self.marks.pop().ok_or("a mark is missing")?;
        Ok(mark.min(self.stack.len()))
    }

    /// Adds what lies on the stack from a place on to the list below it.
    fn extend(&mut self, from: usize) -> PickleResult<()> {
        let below = from.checked_sub(1).ok_or(STACK_EMPTY)?;
        let Value::List(list) = self.stack[below] else { return Err(NO_CONTAINER.into()) };
        if from < self.stack.len() {
            self.fill(list, from)?;
        }
        self.stack.truncate(from);
        Ok(())
    }

    fn fill(&mut self, list: u32, from: usize) -> PickleResult<()> {
        let items = &self.stack[from..];
        let elements = match self.pickle.lists[list as usize] {
            ListContent::Values(at) => at,
            body => {
                if matches!(body, ListContent::Empty)
                    && let Some(taken) = take_list(self.collector, &mut self.parts, items)
                {
                    self.pickle.lists[list as usize] = ListContent::Taken(taken);
                    return Ok(());
                }
                let before = match body {
                    ListContent::Taken(taken) => {
                        self.collector.parts(taken).iter().map(|&part| Value::Part(part)).collect()
                    }
                    _ => Vec::new(),
                };
                let at = number(self.pickle.elements.len())?;
                self.pickle.held += before.len();
                self.pickle.elements.push(before);
                self.pickle.lists[list as usize] = ListContent::Values(at);
                at
            }
        };
        let elements = &mut self.pickle.elements[elements as usize];
        let before = elements.len();
        for &item in items {
            match (elements.last_mut(), item) {
                (Some(Value::Run(first, count)), Value::Taken(next))
                    if first.checked_add(*count) == Some(next) =>
                {
                    *count += 1;
                }
                (_, Value::Taken(first)) => elements.push(Value::Run(first, 1)),
                _ => elements.push(item),
            }
        }
        self.pickle.held += elements.len() - before;
        Ok(())
    }

    /// Adds the keys and values on the stack from a place on to the dictionary below them.
    fn extend_dict(&mut self, from: usize) -> PickleResult<()> {
        let below = from.checked_sub(1).ok_or(STACK_EMPTY)?;
        let items = &self.stack[from..];
        if !items.len().is_multiple_of(2) {
            return Err("a key has no value".into());
        }
        match self.stack[below] {
            Value::Dict(dict) => {
                let held = &self.pickle.dicts[dict as usize];
                if T::COLLECTS_DICTS
                    && held.is_empty()
                    && !items.is_empty()
                    && let Some(taken) = take_dict(self.collector, &self.pickle, items)
                {
                    self.stack.truncate(from);
                    return self.replace_last(dict, taken);
                }
                self.pickle.held += items.len();
                self.pickle.dicts[dict as usize].extend(items);
            }
            // Dictionaries of a class of their own, such as an ordered one: their entries are their state.
            Value::Object(_) => {}
            _ => return Err(NO_CONTAINER.into()),
        }
        self.stack.truncate(from);
        Ok(())
    }

    /// Puts a value in the place of a dictionary on top of the stack, also where the file refers back to it: it did so
    /// right after it made the dictionary, before what is in it. What is left of the dictionary is an empty one.
    fn replace_last(&mut self, dict: u32, value: Value) -> PickleResult<()> {
        if let Some(last) = self.stack.last_mut() {
            *last = value;
        }
        if let Some(&at) = self.remembered.get(dict as usize)
            && let Some(held) = self.memo.in_order.get(at as usize)
            && Some(*held) == small(Value::Dict(dict))
        {
            self.memo.set(at.into(), value);
        }
        Ok(())
    }

    fn remember(&mut self, number: u64) -> PickleResult<()> {
        let value = *self.stack.last().ok_or(STACK_EMPTY)?;
        if let (true, Value::Dict(dict), Ok(at)) = (T::COLLECTS_DICTS, value, u32::try_from(number)) {
            self.remembered.resize(self.pickle.dicts.len(), u32::MAX);
            self.remembered[dict as usize] = at;
        }
        self.memo.set(number, value);
        Ok(())
    }
}

fn memo_number(code: u8, from: &mut Cursor<'_>) -> PickleResult<u64> {
    Ok(match code {
        b'h' | b'q' => from.byte()?.into(),
        b'j' | b'r' => u32::from_le_bytes(from.array()?).into(),
        _ => {
            let text = std::str::from_utf8(from.line()?).map_err(|_| "a number is not readable")?;
            text.trim().parse().map_err(|_| "a number is not readable")?
        }
    })
}

fn take_dict<T: Collector>(collector: &mut T, pickle: &Pickle, items: &[Value]) -> Option<Value> {
    collector.begin();
    for pair in items.chunks_exact(2) {
        let Value::Text(key) = pair[0] else { return None };
        let key = collector.key(pickle, key);
        match pair[1] {
            Value::Int(number) => collector.int(key, number),
            Value::Text(text) => collector.text(key, text),
            other => collector.other(key, other),
        }
    }
    collector.end(pickle)
}

fn take_list<T: Collector>(collector: &mut T, parts: &mut Vec<u32>, items: &[Value]) -> Option<u32> {
    parts.clear();
    for item in items {
        let Value::Part(part) = item else { return None };
        parts.push(*part);
    }
    collector.list(parts)
}

/// A place in a table.
pub(super) fn number(length: usize) -> PickleResult<u32> {
    u32::try_from(length).map_err(|_| TOO_MANY_VALUES.into())
}

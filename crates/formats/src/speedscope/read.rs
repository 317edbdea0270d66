//! Reads speedscope's format. The text is held as a whole, since its parts may come in any order; lists are walked
//! through in place, so that memory beside the text grows with what is kept.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;
use stepscope_model::{Frame, FrameId, LineIs, Ns, Profile, Sample, StackId, ValueKind, ValueUnit};

use super::{UNITS, notes};
use crate::OpenOptions;
use crate::chunks::Text;
use crate::decimal::{self, Whole};
use crate::error::ReadError;
use crate::reader::whole;

#[derive(Deserialize)]
struct File<'a> {
    name: Option<String>,
    exporter: Option<String>,
    #[serde(borrow)]
    shared: SharedTables<'a>,
    #[serde(borrow)]
    profiles: &'a RawValue,
}

#[derive(Deserialize)]
struct SharedTables<'a> {
    #[serde(borrow)]
    frames: &'a RawValue,
}

#[derive(Deserialize)]
struct FileFrame<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    file: Option<String>,
    line: Option<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileProfile<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    name: Option<String>,
    unit: Option<String>,
    #[serde(borrow)]
    end_value: Option<&'a RawValue>,
    #[serde(borrow)]
    samples: Option<&'a RawValue>,
    #[serde(borrow)]
    weights: Option<&'a RawValue>,
    #[serde(borrow)]
    events: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FileEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    frame: u64,
    #[serde(borrow)]
    at: &'a RawValue,
}

pub(super) fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    const FORMAT_NAME: &str = "speedscope profile";
    whole(&mut text, FORMAT_NAME, name, options)?;
    let damaged = |why: String| ReadError::damaged(FORMAT_NAME, name, why);
    let window = text.window();
    let window = window.strip_prefix(b"\xef\xbb\xbf").unwrap_or(window);
    let mut profile = document(window).map_err(|error| damaged(error.to_string()))?;
    profile.source = text.source(name, "speedscope JSON");
    Ok(profile)
}

fn document(text: &[u8]) -> Result<Profile, serde_json::Error> {
    let file: File<'_> = serde_json::from_slice(text)?;
    // The units first: every sample has an amount for each.
    let mut values: Vec<ValueKind> = Vec::new();
    elements(file.profiles, |profile: FileProfile<'_>| {
        let unit = unit_of(&profile).0;
        if values.iter().all(|value| value.unit != unit) {
            values.push(ValueKind { name: value_name(unit).to_owned(), unit });
        }
    })?;
    let mut reader = SpeedscopeReader { profile: Profile::new(values), frames: Vec::new() };
    reader.profile.name = file.name.unwrap_or_default();
    // Lines are where functions were, except in the files of this tool.
    if file.exporter.is_some_and(|exporter| exporter.starts_with("pyinstrument")) {
        reader.profile.line_is = LineIs::Start;
    }
    elements(file.shared.frames, |frame: FileFrame<'_>| reader.frame(&frame))?;
    let mut result = Ok(());
    elements(file.profiles, |profile: FileProfile<'_>| {
        if result.is_ok() {
            result = reader.part(&profile);
        }
    })?;
    result.map(|()| reader.profile)
}

fn unit_of(profile: &FileProfile<'_>) -> (ValueUnit, i32) {
    let name = profile.unit.as_deref().unwrap_or("none");
    UNITS
        .iter()
        .find(|(known, ..)| *known == name)
        .map_or((ValueUnit::Plain, 0), |&(_, unit, power)| (unit, power))
}

fn value_name(unit: ValueUnit) -> &'static str {
    match unit {
        ValueUnit::Plain => "weight",
        ValueUnit::Nanoseconds => "time",
        ValueUnit::Bytes => "size",
    }
}

struct SpeedscopeReader {
    profile: Profile,
    /// The frames by their number in the file.
    frames: Vec<FrameId>,
}

impl SpeedscopeReader {
    fn frame(&mut self, frame: &FileFrame<'_>) {
        let stacks = &mut self.profile.stacks;
        let line = frame.line.as_ref().and_then(Number::as_u64);
        let frame = Frame {
            name: stacks.intern(&frame.name),
            file: stacks.intern(frame.file.as_deref().unwrap_or_default()),
            line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
        };
        self.frames.push(stacks.frame(frame));
    }

    /// The stack with one more frame; without it where the file does not describe that frame.
    fn push(&mut self, stack: StackId, frame: u64) -> StackId {
        match usize::try_from(frame).ok().and_then(|at| self.frames.get(at)) {
            Some(&frame) => self.profile.stacks.push(stack, frame),
            None => {
                self.profile.notes.add_count(notes::UNKNOWN_FRAME, 1);
                stack
            }
        }
    }

    fn part(&mut self, part: &FileProfile<'_>) -> Result<(), serde_json::Error> {
        let (unit, power) = unit_of(part);
        let value = self.profile.values().iter().position(|value| value.unit == unit).unwrap_or(0);
        self.profile.parts.push(part.name.clone().unwrap_or_default());
        match (&*part.kind, part.samples, part.events) {
            ("sampled", Some(samples), _) => self.sampled(samples, part.weights, value, power),
            ("evented", _, Some(events)) => self.evented(events, part.end_value, value, power),
            _ => {
                self.profile.notes.add_count(notes::UNKNOWN_TYPE, 1);
                Ok(())
            }
        }
    }

    fn sampled(
        &mut self,
        samples: &RawValue,
        weights: Option<&RawValue>,
        value: usize,
        power: i32,
    ) -> Result<(), serde_json::Error> {
        let mut stacks = Vec::new();
        let mut result = Ok(());
        elements(samples, |frames: &RawValue| {
            let mut stack = StackId::EMPTY;
            let read = elements(frames, |frame: u64| stack = self.push(stack, frame));
            if let Err(error) = read {
                result = Err(error);
            }
            stacks.push(stack);
        })?;
        result?;
        let mut next = stacks.iter().copied();
        let mut extra = 0;
        if let Some(weights) = weights {
            elements(weights, |weight: &RawValue| match next.next() {
                Some(stack) => {
                    if let Some(amount) = self.number(weight, power) {
                        self.add(None, stack, value, amount);
                    }
                }
                None => extra += 1,
            })?;
        } else {
            // Without weights every sample counts once.
            next.by_ref().for_each(|stack| self.add(None, stack, value, 1));
        }
        self.profile.notes.add_count(notes::NO_PARTNER, extra + next.count() as u64);
        Ok(())
    }

    /// Calls that begin and end: the time between two events belongs to the stack that is open then.
    fn evented(
        &mut self,
        events: &RawValue,
        end: Option<&RawValue>,
        value: usize,
        power: i32,
    ) -> Result<(), serde_json::Error> {
        // Every open call: its frame's number and the stack with it.
        let mut open: Vec<(u64, StackId)> = Vec::new();
        // How often each frame is open: an end without a begin must not search all that is.
        let mut counts: HashMap<u64, usize> = HashMap::new();
        let mut now: Option<i64> = None;
        elements(events, |event: FileEvent<'_>| {
            let Some(at) = self.number(event.at, power) else { return };
            self.advance(&open, &mut now, at, value);
            match &*event.kind {
                "O" => {
                    let below = open.last().map_or(StackId::EMPTY, |&(_, stack)| stack);
                    let stack = self.push(below, event.frame);
                    open.push((event.frame, stack));
                    *counts.entry(event.frame).or_default() += 1;
                }
                _ => {
                    let innermost = open.last().is_some_and(|&(frame, _)| frame == event.frame);
                    self.profile.notes.add_count(notes::BAD_CLOSE, u64::from(!innermost));
                    while counts.get(&event.frame).is_some_and(|&count| count > 0)
                        && let Some((frame, _)) = open.pop()
                    {
                        counts.entry(frame).and_modify(|count| *count -= 1);
                        if frame == event.frame {
                            break;
                        }
                    }
                }
            }
        })?;
        if !open.is_empty() {
            self.profile.notes.add_count(notes::LEFT_OPEN, open.len() as u64);
            if let Some(end) = end.and_then(|end| self.number(end, power)) {
                self.advance(&open, &mut now, end, value);
            }
        }
        Ok(())
    }

    fn advance(&mut self, open: &[(u64, StackId)], now: &mut Option<i64>, at: i64, value: usize) {
        let before = now.unwrap_or(at);
        if at < before {
            self.profile.notes.add_count(notes::BACKWARDS, 1);
            return;
        }
        if let Some(&(_, stack)) = open.last()
            && at > before
        {
            self.add(Some(before), stack, value, at.saturating_sub(before));
        }
        *now = Some(at);
    }

    fn number(&mut self, raw: &RawValue, power: i32) -> Option<i64> {
        let text = raw.get();
        // Anything else than a number (a text, a list) does not begin like one.
        let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        match if is_number { decimal::parse(text.as_bytes(), power) } else { Whole::Nothing } {
            Whole::Exact(amount) => Some(amount),
            Whole::Rounded(amount) => {
                self.profile.notes.add_count(notes::ROUNDED, 1);
                Some(amount)
            }
            Whole::OutOfRange | Whole::Nothing => {
                self.profile.notes.add_count(notes::BAD_NUMBER, 1);
                None
            }
        }
    }

    fn add(&mut self, at: Option<i64>, stack: StackId, value: usize, amount: i64) {
        // There are as many values as units, and no more than three of those.
        let mut amounts = [0; 3];
        amounts[value.min(2)] = amount;
        // Only time is a moment; other units say how much lies before.
        let is_time = self.profile.values().get(value).is_some_and(|kind| kind.unit == ValueUnit::Nanoseconds);
        let at = at.filter(|_| is_time).map(Ns);
        let part = self.profile.parts.len().saturating_sub(1);
        self.profile.add(Sample { part, at, stack, amounts: &amounts });
    }
}

/// Hands over the elements of a list, one after the other.
fn elements<'a, T: Deserialize<'a>>(list: &'a RawValue, each: impl FnMut(T)) -> Result<(), serde_json::Error> {
    struct ElementVisitor<T, F>(F, PhantomData<T>);
    impl<'a, T: Deserialize<'a>, F: FnMut(T)> Visitor<'a> for ElementVisitor<T, F> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(element) = list.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
        fn visit_unit<E: de::Error>(self) -> Result<(), E> {
            Ok(())
        }
    }
    serde_json::Deserializer::from_str(list.get()).deserialize_any(ElementVisitor(each, PhantomData))
}

//! From messages to a profile.

use std::collections::HashMap;

use stepscope_ground::protobuf::{Field, Fields, numbers};
use stepscope_model::{
    Frame, FrameId, LineIs, NoteKind, Profile, Sample, Severity, StackId, ValueKind, ValueUnit,
};

use super::UNITS;
use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;
use crate::reader::whole;

const FORMAT_NAME: &str = "pprof profile";
/// Frames of all stacks together for each byte of the file; real files have few.
const FRAMES_PER_BYTE: usize = 16;
/// Frames that any file may have.
const ANY_FRAMES: usize = 1 << 20;
/// Kinds of values; heap profiles have four.
const MAX_VALUES: usize = 64;

const UNKNOWN_LOCATION: &NoteKind = &NoteKind::new(
    "unknown-location",
    Severity::Repaired,
    70,
    "places that the file does not describe were left out of their stacks",
);
const LARGE_VALUE: &NoteKind =
    &NoteKind::new("large-value", Severity::Repaired, 71, "values beyond 64 bits stop at the largest");

/// What the messages say, by their numbers.
#[derive(Default)]
struct Tables<'a> {
    /// The type and unit of each value, as numbers of texts.
    types: Vec<(u64, u64)>,
    samples: Vec<&'a [u8]>,
    /// The functions and lines of a place, the innermost first, and its address.
    places: HashMap<u64, (Vec<(u64, u64)>, u64)>,
    /// The name and file of a function.
    functions: HashMap<u64, (u64, u64)>,
    texts: Vec<&'a [u8]>,
}

pub(super) fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    whole(&mut text, FORMAT_NAME, name, options)?;
    let damaged = |why: &str| ReadError::damaged(FORMAT_NAME, name, why);
    let tables = tables(text.window()).map_err(damaged)?;
    let frames = text.window().len().saturating_mul(FRAMES_PER_BYTE).max(ANY_FRAMES);
    let mut profile = profile(&tables, frames, options).map_err(damaged)?;
    profile.source = text.source(name, "pprof");
    Ok(profile)
}

fn tables(message: &[u8]) -> Result<Tables<'_>, &'static str> {
    let mut tables = Tables::default();
    for field in Fields::new(message) {
        match field? {
            (1, Field::Bytes(bytes)) => {
                let mut of = (0, 0);
                for field in Fields::new(bytes) {
                    match field? {
                        (1, Field::Number(number)) => of.0 = number,
                        (2, Field::Number(number)) => of.1 = number,
                        _ => {}
                    }
                }
                tables.types.push(of);
            }
            (2, Field::Bytes(bytes)) => tables.samples.push(bytes),
            (4, Field::Bytes(bytes)) => tables.place(bytes)?,
            (5, Field::Bytes(bytes)) => tables.function(bytes)?,
            (6, Field::Bytes(bytes)) => tables.texts.push(bytes),
            _ => {}
        }
    }
    match tables.types.len() {
        0 => Err("it does not say what it counts"),
        1..=MAX_VALUES => Ok(tables),
        _ => Err("it counts more kinds of values than are read"),
    }
}

impl<'a> Tables<'a> {
    fn place(&mut self, bytes: &'a [u8]) -> Result<(), &'static str> {
        let (mut id, mut address, mut lines) = (0, 0, Vec::new());
        for field in Fields::new(bytes) {
            match field? {
                (1, Field::Number(number)) => id = number,
                (3, Field::Number(number)) => address = number,
                (4, Field::Bytes(bytes)) => {
                    let mut line = (0, 0);
                    for field in Fields::new(bytes) {
                        match field? {
                            (1, Field::Number(number)) => line.0 = number,
                            (2, Field::Number(number)) => line.1 = number,
                            _ => {}
                        }
                    }
                    lines.push(line);
                }
                _ => {}
            }
        }
        self.places.insert(id, (lines, address));
        Ok(())
    }

    fn function(&mut self, bytes: &'a [u8]) -> Result<(), &'static str> {
        let (mut id, mut name, mut plain, mut file) = (0, 0, 0, 0);
        for field in Fields::new(bytes) {
            match field? {
                (1, Field::Number(number)) => id = number,
                (2, Field::Number(number)) => name = number,
                (3, Field::Number(number)) => plain = number,
                (4, Field::Number(number)) => file = number,
                _ => {}
            }
        }
        self.functions.insert(id, (if name == 0 { plain } else { name }, file));
        Ok(())
    }

    fn text(&self, number: u64) -> std::borrow::Cow<'a, str> {
        let text = usize::try_from(number).ok().and_then(|at| self.texts.get(at));
        text.map_or_else(Default::default, |text| String::from_utf8_lossy(text))
    }
}

fn profile(tables: &Tables<'_>, most_frames: usize, options: &OpenOptions) -> Result<Profile, &'static str> {
    let mut scales = Vec::new();
    let mut values = Vec::new();
    for &(name, unit) in &tables.types {
        let unit = tables.text(unit);
        let known = UNITS.iter().find(|(word, ..)| *word == unit);
        let (unit, scale) = known.map_or((ValueUnit::Plain, 1), |&(_, unit, scale)| (unit, scale));
        values.push(ValueKind { name: tables.text(name).into_owned(), unit });
        scales.push(scale);
    }
    let mut profile = Profile::new(values);
    profile.line_is = LineIs::Current;
    profile.parts.push(String::new());
    // The frames of each place, the innermost first, made when it is first met.
    let mut known: HashMap<u64, Vec<FrameId>> = HashMap::new();
    let mut frames = 0;
    let (mut places, mut amounts, mut scaled) = (Vec::new(), Vec::new(), Vec::new());
    for (at, sample) in tables.samples.iter().enumerate() {
        places.clear();
        amounts.clear();
        for field in Fields::new(sample) {
            match field? {
                (1, field) => numbers(field, &mut places)?,
                (2, field) => numbers(field, &mut amounts)?,
                _ => {}
            }
        }
        let mut stack = StackId::EMPTY;
        for &place in places.iter().rev() {
            let inner_first = known.entry(place).or_insert_with(|| frames_of(tables, place, &mut profile));
            if inner_first.is_empty() {
                profile.notes.add_count(UNKNOWN_LOCATION, 1);
            }
            frames += inner_first.len();
            for &frame in inner_first.iter().rev() {
                stack = profile.stacks.push(stack, frame);
            }
            if frames > most_frames {
                return Err("its stacks are longer than a file of this size has them");
            }
        }
        if at as u64 >= options.max_events {
            profile.notes.add_with(
                NoteKind::LIMIT_REACHED,
                0,
                format!("more than {} samples", options.max_events),
            );
            break;
        }
        scaled.clear();
        for (&amount, &scale) in amounts.iter().zip(&scales) {
            let amount = amount as i64;
            let exact = amount.checked_mul(scale);
            profile.notes.add_count(LARGE_VALUE, u64::from(exact.is_none()));
            scaled.push(exact.unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX }));
        }
        profile.add(Sample::new(0, stack, &scaled));
    }
    Ok(profile)
}

/// The frames of a place: more than one where calls were inlined. Nothing for a place that is not described.
fn frames_of(tables: &Tables<'_>, place: u64, profile: &mut Profile) -> Vec<FrameId> {
    let Some((lines, address)) = tables.places.get(&place) else { return Vec::new() };
    if lines.is_empty() {
        let name = profile.stacks.intern(&format!("0x{address:x}"));
        return vec![profile.stacks.frame(Frame { name, ..Frame::default() })];
    }
    let mut frames = Vec::new();
    for &(function, line) in lines {
        let (name, file) = tables.functions.get(&function).copied().unwrap_or_default();
        let (name, file) = (tables.text(name), tables.text(file));
        let name = if name.is_empty() { "(unknown)" } else { &*name };
        let (name, file) = (profile.stacks.intern(name), profile.stacks.intern(&file));
        frames.push(profile.stacks.frame(Frame { name, file, line: u32::try_from(line).unwrap_or(0) }));
    }
    frames
}

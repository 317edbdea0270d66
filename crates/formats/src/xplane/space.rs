//! A space: the planes of one host, read one after the other.

use stepscope_model::{NoteKind, Tag, Trace};

use super::about;
use super::device::{self, device_number};
use super::hlo;
use super::host;
use super::known::Known;
use super::making::Making;
use super::notes;
use super::plane::Plane;
use super::pull::{Announced, Pull, Stop};
use super::stat::{StatValue, stat};
use crate::chunks::{End, Text};
use crate::error::{Limit, ReadError};
use crate::{OpenOptions, worker_name};
use stepscope_ground::protobuf::{Field, Fields};

/// What errors call a file in this format.
const WHAT: &str = "XPlane profile";

/// No text that the profiler writes about itself is longer.
const MAX_TEXT: u64 = 64 << 10;

/// Reads a trace from its text.
pub(super) fn read(text: Text, name: &str, options: &OpenOptions) -> Result<Trace, ReadError> {
    let mut reading =
        Reading { making: Making::new(options), planes: 0, errors: Vec::new(), host: String::new() };
    let mut pull = Pull::new(text);
    let stop = reading.fields(&mut pull, options.max_held_bytes).err();
    let path = || name.to_owned();
    if stop == Some(Stop::TooLong) {
        return Err(ReadError::Limit { limit: Limit::HeldBytes(options.max_held_bytes), path: path() });
    }
    let offset = pull.offset();
    let Reading { mut making, errors, host, .. } = reading;
    let events = making.builder.len();
    let damage = match (stop, pull.text().end()) {
        (_, Some(End::Limit(limit))) => {
            if events == 0 {
                return Err(ReadError::Limit { limit: *limit, path: path() });
            }
            making.builder.notes().add_with(NoteKind::LIMIT_REACHED, offset, limit.to_string());
            None
        }
        (_, Some(End::Damaged(why))) => {
            making.builder.notes().add_with(notes::DAMAGED_COMPRESSION, offset, why.clone());
            Some(why.clone())
        }
        (Some(Stop::Cut), _) => {
            making.builder.notes().add(notes::CUT_PLANE, offset);
            Some("it is cut short".to_owned())
        }
        (Some(Stop::Bad(why)), _) => {
            making.builder.notes().add_with(notes::DAMAGED_MESSAGE, offset, why);
            Some(why.to_owned())
        }
        _ => None,
    };
    if events == 0 {
        return Err(match damage {
            Some(why) => ReadError::Damaged { what: WHAT.to_owned(), why, path: path() },
            None => ReadError::NothingRecorded { what: WHAT.to_owned(), errors, path: path() },
        });
    }
    about::framework(&mut making);
    let mut source = pull.text().source(name, "XPlane");
    worker_name::name_parts(name, &mut source);
    if source.worker.is_none() && !host.is_empty() {
        source.worker = Some(host);
    }
    making.builder.meta().source = source;
    Ok(making.builder.finish())
}

struct Reading<'o> {
    making: Making<'o>,
    planes: u64,
    errors: Vec<String>,
    host: String,
}

impl Reading<'_> {
    fn fields(&mut self, pull: &mut Pull, most: u64) -> Result<(), Stop> {
        while !pull.is_done() {
            let at = pull.offset();
            match pull.field()? {
                (1, Announced::Bytes(length)) => {
                    self.making.at = at;
                    let mut plane = Plane::default();
                    let result = plane.pull(pull, length, most);
                    self.plane(plane, result.err())?;
                }
                (number @ 2..=4, Announced::Bytes(length)) => {
                    let mut text = Vec::new();
                    pull.take(length, &mut text, MAX_TEXT).map_err(|stop| match stop {
                        Stop::TooLong => Stop::Bad("a text is too long"),
                        other => other,
                    })?;
                    self.said(number, &String::from_utf8_lossy(&text), at);
                }
                (_, Announced::Bytes(length)) => pull.skip(length)?,
                (_, Announced::Number(_)) => {}
            }
        }
        Ok(())
    }

    /// What the profiler says about itself and its host.
    fn said(&mut self, field: u64, text: &str, at: u64) {
        let notes = self.making.builder.notes();
        match field {
            2 => {
                notes.add_with(notes::PROFILER_ERROR, at, text);
                self.errors.push(text.to_owned());
                self.errors.truncate(8);
            }
            3 => notes.add_with(notes::PROFILER_WARNING, at, text),
            _ if self.host.is_empty() => text.clone_into(&mut self.host),
            _ => {}
        }
    }

    /// Takes in a plane, or what there is of it.
    fn plane(&mut self, mut plane: Plane, stop: Option<Stop>) -> Result<(), Stop> {
        self.planes += 1;
        let making = &mut self.making;
        match stop {
            Some(Stop::TooLong) => return Err(Stop::TooLong),
            Some(Stop::Bad(why)) => {
                let detail = format!("{why} (plane {})", plane.name);
                making.builder.notes().add_with(notes::DAMAGED_MESSAGE, making.at, detail);
            }
            _ => {}
        }
        let lines = std::mem::take(&mut plane.lines);
        if plane.is_nameless() && !lines.is_empty() {
            // Names stand behind the lines: without them an event is a number.
            let events = lines.iter().map(|line| count_events(line)).sum();
            making.builder.notes().add_count(notes::NAMELESS, events);
            making.builder.meta().events_in_file += events;
            making.builder.meta().events_set_aside += events;
        } else {
            let mut known = Known::new(&plane, &mut making.builder);
            match device_number(&plane.name) {
                Some((_, device)) => {
                    about::device(making, &plane, &known, device);
                    device::take(making, &mut known, lines, device);
                }
                None => {
                    let process = process(making, &plane, &known);
                    about::keep(making, &plane, &known);
                    programs(making, &plane, &known);
                    host::take(making, &mut known, lines, process);
                }
            }
        }
        // The planes after one that is damaged can still be read; after one that is cut there are none.
        stop.filter(|stop| *stop == Stop::Cut).map_or(Ok(()), Err)
    }
}

/// Takes in the compiled programs that a plane describes.
fn programs(making: &mut Making<'_>, plane: &Plane, known: &Known<'_>) {
    for (_, message) in plane.events() {
        let (mut name, mut number, mut program) = (&[][..], None, None);
        for field in Fields::new(message).flatten() {
            match field {
                (2, Field::Bytes(bytes)) => name = bytes,
                (5, Field::Bytes(message)) => {
                    let Some((of, value)) = stat(message) else { continue };
                    let of = known.stat(of).map(|of| making.builder.text(of.text));
                    match (of, value) {
                        (Some("Hlo Proto" | "hlo_proto"), StatValue::Bytes(bytes)) => program = Some(bytes),
                        (Some("program_id"), StatValue::Int(id)) => number = Some(id),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let name = String::from_utf8_lossy(name);
        if let Some(program) = program.and_then(|program| hlo::program(program, number, &name)) {
            making.builder.program(program);
        }
    }
}

fn count_events(line: &[u8]) -> u64 {
    Fields::new(line).filter(|field| matches!(field, Ok((4, Field::Bytes(_))))).count() as u64
}

/// The process that a plane's threads are of. Planes of the host itself are one process.
fn process(making: &mut Making<'_>, plane: &Plane, known: &Known<'_>) -> Tag {
    let id =
        about::plane_stats(plane, known, &making.builder).into_iter().find_map(|(name, value)| match value {
            StatValue::Int(id) if name == "process_id" => Some(id),
            _ => None,
        });
    match id {
        Some(id) => Tag::Int(id),
        None if plane.name.starts_with("/host:") => Tag::Int(0),
        None => Tag::Str(making.builder.intern(&plane.name)),
    }
}

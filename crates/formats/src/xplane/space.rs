//! A space: the planes of one host, read one after the other.

use stepscope_ground::protobuf::{Field, Fields};
use stepscope_model::{NoteKind, Tag, Trace};

use super::device::{self, device_number};
use super::hlo;
use super::host;
use super::notes;
use super::plane::Plane;
use super::plane_names::PlaneNames;
use super::pull::{FieldKind, Pull, PullError};
use super::run_meta;
use super::stat::{StatValue, stat};
use super::trace_builder::{Beside, RawProgram, XplaneBuilder};
use crate::chunks::{End, Text};
use crate::error::{Limit, ReadError};
use crate::{OpenOptions, worker_name};

/// What errors call a file in this format.
const FORMAT_NAME: &str = "XPlane profile";

/// No text that the profiler writes about itself is longer.
const MAX_TEXT: u64 = 64 << 10;

pub(super) fn read(text: Text, name: &str, options: &OpenOptions) -> Result<Trace, ReadError> {
    read_into(XplaneBuilder::new(options), text, name, options).map(|(trace, _)| trace)
}

/// Reads a trace that becomes part of another one, and the compiled programs as they are in the file.
pub(crate) fn read_beside(
    text: Text,
    name: &str,
    options: &OpenOptions,
    beside: Beside,
) -> Result<(Trace, Vec<RawProgram>), ReadError> {
    read_into(XplaneBuilder::beside(options, beside), text, name, options)
}

fn read_into(
    out: XplaneBuilder<'_>,
    text: Text,
    name: &str,
    options: &OpenOptions,
) -> Result<(Trace, Vec<RawProgram>), ReadError> {
    let mut reader = SpaceReader { out, planes: 0, errors: Vec::new(), host: String::new() };
    let mut pull = Pull::new(text);
    let stop = reader.fields(&mut pull, options.max_held_bytes).err();
    let path = || name.to_owned();
    if stop == Some(PullError::TooLong) {
        return Err(ReadError::Limit { limit: Limit::HeldBytes(options.max_held_bytes), path: path() });
    }
    let offset = pull.offset();
    let SpaceReader { mut out, errors, host, .. } = reader;
    let events = out.builder.len();
    let damage = match (stop, pull.text().end()) {
        (_, Some(End::Limit(limit))) => {
            if events == 0 {
                return Err(ReadError::Limit { limit: *limit, path: path() });
            }
            out.builder.notes().add_with(NoteKind::LIMIT_REACHED, offset, limit.to_string());
            None
        }
        (_, Some(End::Damaged(why))) => {
            out.builder.notes().add_with(notes::DAMAGED_COMPRESSION, offset, why.clone());
            Some(why.clone())
        }
        (Some(PullError::Cut), _) => {
            out.builder.notes().add(notes::CUT_PLANE, offset);
            Some("it is cut short".to_owned())
        }
        (Some(PullError::Bad(why)), _) => {
            out.builder.notes().add_with(notes::DAMAGED_MESSAGE, offset, why);
            Some(why.to_owned())
        }
        _ => None,
    };
    if events == 0 {
        return Err(match damage {
            Some(why) => ReadError::Damaged { what: FORMAT_NAME.to_owned(), why, path: path() },
            None => ReadError::NothingRecorded { what: FORMAT_NAME.to_owned(), errors, path: path() },
        });
    }
    run_meta::framework(&mut out);
    let mut source = pull.text().source(name, "XPlane");
    worker_name::name_parts(name, &mut source);
    if source.worker.is_none() && !host.is_empty() {
        source.worker = Some(host);
    }
    out.builder.meta().source = source;
    Ok((out.builder.finish(), out.raw_programs))
}

struct SpaceReader<'o> {
    out: XplaneBuilder<'o>,
    planes: u64,
    errors: Vec<String>,
    host: String,
}

impl SpaceReader<'_> {
    fn fields(&mut self, pull: &mut Pull, most: u64) -> Result<(), PullError> {
        while !pull.is_done() {
            let at = pull.offset();
            match pull.field()? {
                (1, FieldKind::Bytes(length)) => {
                    self.out.at = at;
                    let mut plane = Plane::default();
                    let result = plane.pull(pull, length, most);
                    self.plane(plane, result.err())?;
                }
                (number @ 2..=4, FieldKind::Bytes(length)) => {
                    let mut text = Vec::new();
                    pull.take(length, &mut text, MAX_TEXT).map_err(|stop| match stop {
                        PullError::TooLong => PullError::Bad("a text is too long"),
                        other => other,
                    })?;
                    self.said(number, &String::from_utf8_lossy(&text), at);
                }
                (_, FieldKind::Bytes(length)) => pull.skip(length)?,
                (_, FieldKind::Number(_)) => {}
            }
        }
        Ok(())
    }

    /// What the profiler says about itself and its host.
    fn said(&mut self, field: u64, text: &str, at: u64) {
        let notes = self.out.builder.notes();
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
    fn plane(&mut self, mut plane: Plane, stop: Option<PullError>) -> Result<(), PullError> {
        self.planes += 1;
        let out = &mut self.out;
        match stop {
            Some(PullError::TooLong) => return Err(PullError::TooLong),
            Some(PullError::Bad(why)) => {
                let detail = format!("{why} (plane {})", plane.name);
                out.builder.notes().add_with(notes::DAMAGED_MESSAGE, out.at, detail);
            }
            _ => {}
        }
        let lines = std::mem::take(&mut plane.lines);
        if plane.is_nameless() && !lines.is_empty() {
            // Names stand behind the lines: without them an event is a number.
            let events = lines.iter().map(|line| count_events(line)).sum();
            out.builder.notes().add_count(notes::NAMELESS, events);
            out.builder.meta().events_in_file += events;
            out.builder.meta().events_set_aside += events;
        } else {
            let mut known = PlaneNames::new(&plane, &mut out.builder);
            match device_number(&plane.name) {
                Some((_, device)) => {
                    run_meta::device(out, &plane, &known, device);
                    device::read_lines(out, &mut known, lines, device);
                }
                None => {
                    let process = process(out, &plane, &known);
                    run_meta::keep(out, &plane, &known);
                    programs(out, &plane, &known);
                    host::read_lines(out, &mut known, lines, process);
                }
            }
        }
        // The planes after one that is damaged can still be read; after one that is cut there are none.
        stop.filter(|stop| *stop == PullError::Cut).map_or(Ok(()), Err)
    }
}

/// Takes in the compiled programs that a plane describes.
fn programs(out: &mut XplaneBuilder<'_>, plane: &Plane, known: &PlaneNames<'_>) {
    for (_, message) in plane.events() {
        let (mut name, mut number, mut program) = (&[][..], None, None);
        for field in Fields::new(message).flatten() {
            match field {
                (2, Field::Bytes(bytes)) => name = bytes,
                (5, Field::Bytes(message)) => {
                    let Some((of, value)) = stat(message) else { continue };
                    let of = known.stat(of).map(|of| out.builder.text(of.text));
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
        let Some(message) = program else { continue };
        if let Some(program) = hlo::program(message, number, &name) {
            out.builder.program(program);
            if out.beside.is_some() {
                out.raw_programs.push(RawProgram {
                    number,
                    name: name.into_owned(),
                    message: message.to_vec(),
                });
            }
        }
    }
}

fn count_events(line: &[u8]) -> u64 {
    Fields::new(line).filter(|field| matches!(field, Ok((4, Field::Bytes(_))))).count() as u64
}

/// The process that a plane's threads are of. Planes of the host itself are one process.
fn process(out: &mut XplaneBuilder<'_>, plane: &Plane, known: &PlaneNames<'_>) -> Tag {
    let id =
        run_meta::plane_stats(plane, known, &out.builder).into_iter().find_map(|(name, value)| match value {
            StatValue::Int(id) if name == "process_id" => Some(id),
            _ => None,
        });
    match id {
        Some(id) => Tag::Int(id),
        None if plane.name.starts_with("/host:") => Tag::Int(out.beside.map_or(0, |beside| beside.process)),
        None => Tag::Str(out.builder.intern(&plane.name)),
    }
}

//! From marshaled rows to a profile.

use stepscope_model::{
    CallRow, Caller, Frame, FrameId, LineIs, NoteKind, Ns, Profile, Severity, ValueKind, ValueUnit,
};

use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;
use crate::marshal::{Marshal, ValueId};
use crate::reader::whole;

const FORMAT_NAME: &str = "pstats file";
/// The file of functions that are not Python's.
pub(super) const NO_FILE: &str = "~";
/// The key with which samplers mark that calls are samples.
const SAMPLED_MARK: &str = "__sampled__";

const BAD_ROW: &NoteKind =
    &NoteKind::new("bad-row", Severity::Lost, 60, "functions whose row is not one of pstats were set aside");
const BAD_CALLER: &NoteKind =
    &NoteKind::new("bad-caller", Severity::Lost, 61, "callers whose entry is not one of pstats were set aside");
const NO_CALLER_TIMES: &NoteKind = &NoteKind::new(
    "no-caller-times",
    Severity::Info,
    62,
    "callers have counts and no times, as the module `profile` writes them",
);
const CALLS_ARE_SAMPLES: &NoteKind = &NoteKind::new(
    "calls-are-samples",
    Severity::Info,
    63,
    "calls are samples: the file was written by a sampling profiler",
);

pub(super) fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    whole(&mut text, FORMAT_NAME, name, options)?;
    let damaged = |why: &str| ReadError::damaged(FORMAT_NAME, name, why);
    let marshal = Marshal::read(text.window()).map_err(damaged)?;
    let mut profile = Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
    profile.line_is = LineIs::Start;
    // References make it possible to name one list of callers for every function: no real file has more callers than
    // bytes.
    let mut room = text.window().len();
    for pair in marshal.items(marshal.root()).chunks_exact(2) {
        if profile.calls.len() as u64 >= options.max_events {
            profile.notes.add_with(
                NoteKind::LIMIT_REACHED,
                0,
                format!("more than {} rows", options.max_events),
            );
            break;
        }
        if is_mark(&marshal, pair[0]) {
            profile.notes.add_count(CALLS_ARE_SAMPLES, 1);
            continue;
        }
        room = room
            .checked_sub(marshal.items(*marshal.items(pair[1]).last().unwrap_or(&pair[1])).len())
            .ok_or_else(|| damaged("one list of callers is used over and over"))?;
        match row(&marshal, pair[0], pair[1], &mut profile) {
            Some(row) => profile.calls.push(row),
            None => profile.notes.add_count(BAD_ROW, 1),
        }
    }
    profile.source = text.source(name, "pstats");
    Ok(profile)
}

fn is_mark(marshal: &Marshal<'_>, key: ValueId) -> bool {
    let text = match marshal.items(key) {
        [only] => marshal.text(*only),
        _ => marshal.text(key),
    };
    text.is_some_and(|text| text == SAMPLED_MARK)
}

fn row(marshal: &Marshal<'_>, key: ValueId, value: ValueId, profile: &mut Profile) -> Option<CallRow> {
    let frame = frame(marshal, key, profile)?;
    let [primitive, calls, own, total, callers] = marshal.items(value) else { return None };
    let mut row = CallRow {
        frame,
        calls: count(marshal, *calls)?,
        primitive_calls: count(marshal, *primitive)?,
        self_ns: time(marshal, *own)?,
        total_ns: time(marshal, *total)?,
        callers: Vec::new(),
    };
    for pair in marshal.items(*callers).chunks_exact(2) {
        match caller(marshal, pair[0], pair[1], profile) {
            Some(caller) => row.callers.push(caller),
            None => profile.notes.add_count(BAD_CALLER, 1),
        }
    }
    Some(row)
}

fn caller(marshal: &Marshal<'_>, key: ValueId, value: ValueId, profile: &mut Profile) -> Option<Caller> {
    let frame = frame(marshal, key, profile)?;
    match marshal.items(value) {
        // All calls first, unlike the function's own row.
        [calls, primitive, own, total] => Some(Caller {
            frame,
            calls: count(marshal, *calls)?,
            primitive_calls: count(marshal, *primitive)?,
            self_ns: time(marshal, *own)?,
            total_ns: time(marshal, *total)?,
        }),
        _ => {
            let calls = count(marshal, value)?;
            profile.notes.add_count(NO_CALLER_TIMES, 1);
            Some(Caller { frame, calls, primitive_calls: calls, self_ns: Ns::ZERO, total_ns: Ns::ZERO })
        }
    }
}

fn frame(marshal: &Marshal<'_>, key: ValueId, profile: &mut Profile) -> Option<FrameId> {
    let [file, line, name] = marshal.items(key) else { return None };
    let (file, line, name) = (marshal.text(*file)?, marshal.int(*line)?, marshal.text(*name)?);
    let file = if file == NO_FILE { "" } else { &*file };
    let (name, file) = (profile.stacks.intern(&name), profile.stacks.intern(file));
    Some(profile.stacks.frame(Frame { name, file, line: u32::try_from(line).unwrap_or(0) }))
}

/// A number of calls. Samplers that do not know any write -1.
fn count(marshal: &Marshal<'_>, id: ValueId) -> Option<u64> {
    match marshal.int(id) {
        Some(-1) => Some(0),
        number => number.and_then(|number| u64::try_from(number).ok()),
    }
}

/// Seconds as nanoseconds. A clock that went backwards leaves times below zero, which stay.
fn time(marshal: &Marshal<'_>, id: ValueId) -> Option<Ns> {
    let ns = (marshal.number(id)? * 1e9).round();
    (ns.abs() < 9e18).then_some(Ns(ns as i64))
}

//! What `line_profiler` saves: a pickled `LineStats` with hits and times of the lines of functions.

mod write;

use stepscope_model::{
    Document, DocumentKind, Frame, LineIs, LineRow, NoteKind, Ns, Profile, Severity, ValueKind, ValueUnit,
};

use crate::OpenOptions;
use crate::chunks::Text;
use crate::error::ReadError;
use crate::pickle::{Pickle, Value};
use crate::reader::{Reader, whole};

pub use write::write_lprof;

pub(crate) const READER: Reader = Reader {
    name: "a line_profiler file",
    about: "written by kernprof -l as *.lprof",
    yields: DocumentKind::Profile,
    example: EXAMPLE,
    begins,
    read: |text, name, options| read(text, name, options).map(Document::Profile),
};

/// `f` from line 3 on, of which lines 4 and 5 ran, in protocol 4.
const EXAMPLE: &[u8] = b"\x80\x04\x95\x76\0\0\0\0\0\0\0\x8c\x1bline_profiler.line_profiler\x94\x8c\x09LineStats\x94\x93\x94\
)\x81\x94}\x94(\x8c\x07timings\x94}\x94\x8c\x04a.py\x94K\x03\x8c\x01f\x94\x87\x94]\x94(K\x04K\x02M\x10\x27\x87\x94\
K\x05K\x02K\x64\x87\x94es\x8c\x04unit\x94G\x3e\x11\x2e\x0b\xe8\x26\xd6\x95ub.";

const FORMAT_NAME: &str = "line_profiler file";
const BAD_LINE: &NoteKind = &NoteKind::new(
    "bad-timing",
    Severity::Lost,
    65,
    "functions or lines whose timing is not one of line_profiler were set aside",
);

/// A pickle whose first class is the one that line_profiler saves; the class was in a module of its own once.
fn begins(head: &[u8]) -> bool {
    head.first() == Some(&0x80)
        && matches!(head.get(1), Some(2..=5))
        && memchr::memmem::find(&head[..head.len().min(200)], b"line_profiler").is_some()
}

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    whole(&mut text, FORMAT_NAME, name, options)?;
    let damaged = |why: &str| ReadError::damaged(FORMAT_NAME, name, why);
    let pickle = Pickle::read(text.window()).map_err(|why| damaged(&why))?;
    let state = pickle
        .class(pickle.root())
        .filter(|(_, class)| class == "LineStats")
        .and_then(|_| pickle.state(pickle.root()))
        .ok_or_else(|| damaged("it holds something other than LineStats"))?;
    let unit = pickle.under(state, "unit").and_then(|id| pickle.number(id));
    let unit =
        unit.filter(|unit| *unit > 0.0 && *unit <= 1e6).ok_or_else(|| damaged("it has no unit of time"))?;
    let timings = pickle.under(state, "timings").ok_or_else(|| damaged("it has no timings"))?;
    let mut profile = Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
    profile.line_is = LineIs::Start;
    // One list may stand for many functions; no real file has more lines than bytes.
    let most = (text.window().len() as u64).min(options.max_events);
    for pair in pickle.pairs(timings).chunks_exact(2) {
        if !function(&pickle, pair[0], pair[1], unit, most, &mut profile) {
            profile.notes.add_count(BAD_LINE, 1);
        }
        if profile.lines.len() as u64 >= most {
            profile.notes.add_with(NoteKind::LIMIT_REACHED, 0, format!("more than {most} lines"));
            break;
        }
    }
    profile.source = text.source(name, "line_profiler");
    Ok(profile)
}

fn function(pickle: &Pickle, key: Value, timings: Value, unit: f64, most: u64, profile: &mut Profile) -> bool {
    let [file, start, name] = pickle.items(key) else { return false };
    let (Some(file), Some(start), Some(name)) = (pickle.text(*file), pickle.int(*start), pickle.text(*name))
    else {
        return false;
    };
    let (name, file) = (profile.stacks.intern(&name), profile.stacks.intern(&file));
    let frame = profile.stacks.frame(Frame { name, file, line: u32::try_from(start).unwrap_or(0) });
    for &timing in pickle.items(timings) {
        if profile.lines.len() as u64 >= most {
            break;
        }
        match line(pickle, timing, unit) {
            Some((line, hits, ns)) => profile.lines.push(LineRow { function: frame, line, hits, ns }),
            None => profile.notes.add_count(BAD_LINE, 1),
        }
    }
    true
}

fn line(pickle: &Pickle, timing: Value, unit: f64) -> Option<(u32, u64, Ns)> {
    let [line, hits, ticks] = pickle.items(timing) else { return None };
    let line = u32::try_from(pickle.int(*line)?).ok()?;
    let hits = u64::try_from(pickle.int(*hits)?).ok()?;
    match pickle.int(*ticks) {
        // Whole nanoseconds stay as they are.
        Some(ticks) if (unit * 1e9 - 1.0).abs() < 1e-9 => Some((line, hits, Ns(ticks))),
        _ => {
            let ns = (pickle.number(*ticks)? * unit * 1e9).round();
            (ns.abs() < 9e18).then_some((line, hits, Ns(ns as i64)))
        }
    }
}

//! Adds events and entries to a trace file that another program wrote, without reading it as a trace: events go to the head
//! of its list, on its clock, and entries stand before the list; every byte of the file stays as it is.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use memchr::memmem;

use crate::kineto::write_entry;

/// What comes before the events is about the devices and the run. More than this, and it is no such file.
const MAX_HEAD: usize = 16 << 20;
const EVENTS_KEY: &[u8] = b"\"traceEvents\"";
const BASE_TIME_KEY: &[u8] = b"\"baseTimeNanoseconds\"";

/// Copies a trace with more entries and events in it. `entries` are values as JSON texts, by name. `events` is given the
/// moment that the file counts from, in nanoseconds since 1970, and writes events counted from there, with commas between
/// them.
pub fn splice<W: Write>(
    source: &mut impl BufRead,
    out: &mut W,
    entries: &BTreeMap<String, String>,
    events: impl FnOnce(i64, &mut bool, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    let mut head = Vec::new();
    let key = loop {
        let old = head.len();
        if source.read_until(b'[', &mut head)? == 0 || head.len() > MAX_HEAD {
            let words = "the profiler's file has no list \"traceEvents\"";
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        let since = old.saturating_sub(EVENTS_KEY.len() + 8);
        let found = memmem::rfind(&head[since..], EVENTS_KEY).map(|at| since + at);
        if let Some(at) = found.filter(|at| is_opened(&head[at + EVENTS_KEY.len()..])) {
            break at;
        }
    };
    out.write_all(&head[..key])?;
    for (name, text) in entries {
        write_entry(name, text, out)?;
    }
    out.write_all(&head[key..])?;
    let mut none = true;
    events(base_of(&head).unwrap_or(0), &mut none, out)?;
    let mut space = Vec::new();
    loop {
        let rest = source.fill_buf()?;
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        space.extend_from_slice(&rest[..blank]);
        let (ended, more) = (rest.is_empty(), rest.get(blank).copied());
        source.consume(blank);
        if more.is_some_and(|byte| byte != b']') && !none {
            out.write_all(b",")?;
        }
        if ended || more.is_some() {
            break;
        }
    }
    out.write_all(&space)?;
    io::copy(source, out).map(drop)
}

/// A colon and the bracket, and nothing else.
fn is_opened(rest: &[u8]) -> bool {
    let marks: Vec<u8> = rest.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    marks == b":["
}

fn base_of(head: &[u8]) -> Option<i64> {
    let at = memmem::find(head, BASE_TIME_KEY)? + BASE_TIME_KEY.len();
    let text = std::str::from_utf8(head.get(at..(at + 40).min(head.len()))?).ok()?;
    let digits = text.trim_start_matches([':', ' ']);
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use stepscope_model::{NewSlice, Ns, Trace, TraceBuilder};

    use super::*;
    use crate::{OpenOptions, read_trace, write_events};

    fn one(base: i64) -> Trace {
        let mut b = TraceBuilder::new();
        let name = b.intern(&format!("ours since {base}"));
        let lane = b.lane(Default::default());
        b.slice(NewSlice { start: Ns(1_500), dur: Ns(2_000), name, lane, ..NewSlice::default() });
        b.finish()
    }

    fn spliced(text: &str, events: impl FnOnce(i64) -> Trace) -> io::Result<String> {
        spliced_with(text, &[], events)
    }

    fn spliced_with(
        text: &str,
        entries: &[(&str, &str)],
        events: impl FnOnce(i64) -> Trace,
    ) -> io::Result<String> {
        let mut out = Vec::new();
        let entries = entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // A small buffer, so that every boundary is met.
        splice(&mut BufReader::with_capacity(3, text.as_bytes()), &mut out, &entries, |base, first, out| {
            write_events(&events(base), first, out)
        })?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn events_go_to_the_head_of_the_list() {
        let text = r#"{"devices": [{"id": 0}], "baseTimeNanoseconds": 77, "traceEvents" : [
            {"ph": "X", "name": "theirs", "pid": 1, "tid": 1, "ts": 1, "dur": 2} ], "traceName": "[x]"}"#;
        let text = spliced_with(text, &[("our \"entry\"", "{\"a\": [1]}")], one).unwrap();
        let trace = read_trace(text.as_bytes(), "spliced", &OpenOptions::default()).unwrap();
        let names: Vec<&str> = trace.slices().ids().map(|id| trace.name(id)).collect();
        assert!(names.contains(&"ours since 77") && names.contains(&"theirs"), "{names:?}");
        assert!(trace.notes().is_empty(), "{text}");
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&document["our \"entry\""]["a"][0], &document["baseTimeNanoseconds"]),
            (&1.into(), &77.into())
        );
    }

    #[test]
    fn an_empty_list_takes_them_too() {
        let text = spliced(r#"{"traceEvents": [ ]}"#, one).unwrap();
        assert!(text.contains("ours since 0"));
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    }

    #[test]
    fn without_events_and_entries_the_file_stays_as_it_is() {
        let text = "{\"traceEvents\": [ {\"ph\": \"i\"}\n] }";
        assert_eq!(spliced(text, |_| TraceBuilder::new().finish()).unwrap(), text);
    }

    #[test]
    fn another_file_is_refused() {
        assert!(spliced("{\"traceEvents\": 5, \"a\": []}", one).is_err());
        assert!(spliced("", one).is_err());
    }
}

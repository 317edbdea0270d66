//! Writes a trace as Chrome trace JSON: every event that was kept, times and arguments to the digit. Ids of arrows
//! that were texts come out as numbers; ends that belong together still do.

use std::borrow::Cow;
use std::io::{self, Write};

use stepscope_model::{Attr, CounterRow, Decimal, Domain, FlowSide, LaneKey, Ns, PointKind, Tag, Trace, Value};

use crate::argument_keys::OVERLOAD_KEY;
use crate::kineto::EVENT_MEMBER_PREFIX;

/// Writes the trace; slices lane by lane, then points, counters and allocations, then arrows.
pub fn write_chrome(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    write_chrome_with(trace, |_, _| Ok(()), out)
}

/// As [`write_chrome`], with more events before the trace's own.
pub fn write_chrome_with<W: Write>(
    trace: &Trace,
    more: impl FnOnce(&mut bool, &mut W) -> io::Result<()>,
    out: &mut W,
) -> io::Result<()> {
    out.write_all(b"{\n")?;
    for (key, text) in &trace.meta().extra {
        write_entry(key, text, out)?;
    }
    out.write_all(b"\"traceEvents\": [")?;
    let mut first = true;
    more(&mut first, out)?;
    write_names(trace, &mut first, out)?;
    write_events(trace, &mut first, out)?;
    out.write_all(b"\n]\n}\n")
}

/// Writes a top-level entry, whose text is JSON, and the comma behind it.
pub(crate) fn write_entry(key: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    write_text(out, key)?;
    // Text that was cut or broken in the file is passed on as a string, so that the copy is valid JSON.
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => writeln!(out, ": {text},"),
        Err(_) => {
            out.write_all(b": ")?;
            write_text(out, text)?;
            out.write_all(b",\n")
        }
    }
}

/// The names of processes and threads, where the file had no events for them.
pub(crate) fn write_names(trace: &Trace, first: &mut bool, out: &mut impl Write) -> io::Result<()> {
    let points = trace.points();
    if points.ids().any(|id| points.kind(id) == PointKind::Metadata) {
        return Ok(());
    }
    for (_, lane) in trace.lanes().iter() {
        for (event, name) in [("process_name", lane.process_name), ("thread_name", lane.thread_name)] {
            let name = trace.text(name);
            if !name.is_empty() {
                open(out, first, b'M', "", event)?;
                place(trace, out, lane.key, Ns::ZERO)?;
                write_args(out, [("name", Value::Str(name))].into_iter())?;
            }
        }
    }
    Ok(())
}

/// Writes the events alone, with commas between them. `first` says whether none comes before; afterwards, whether still
/// none does.
pub fn write_events(trace: &Trace, first: &mut bool, out: &mut impl Write) -> io::Result<()> {
    write_events_at(trace, Ns::ZERO, first, out)
}

/// As [`write_events`], each as much later.
pub(crate) fn write_events_at(
    trace: &Trace,
    later: Ns,
    first: &mut bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let slices = trace.slices();
    for id in slices.ids() {
        let name = match trace.args(id).value(Attr::Overload) {
            Some(Value::Str(overload)) => Cow::Owned(format!("{}.{overload}", trace.name(id))),
            _ => Cow::Borrowed(trace.name(id)),
        };
        open(out, first, b'X', trace.category(slices.cat(id)), &name)?;
        let lane = trace.lanes().get(slices.lane(id)).key;
        place(trace, out, lane, slices.start(id) + later)?;
        out.write_all(b", \"dur\": ")?;
        write_micros(out, slices.dur(id))?;
        write_args(out, trace.args(id).iter())?;
    }
    let points = trace.points();
    for id in points.ids() {
        open(
            out,
            first,
            point_phase(points.kind(id)),
            trace.category(points.cat(id)),
            trace.text(points.name(id)),
        )?;
        place(trace, out, trace.lanes().get(points.lane(id)).key, points.at(id) + later)?;
        write_args(out, trace.point_args(id).iter())?;
    }
    write_counters(trace, later, first, out)?;
    let allocations = trace.allocations();
    for id in allocations.ids() {
        open(out, first, b'i', trace.category(allocations.cat(id)), trace.text(allocations.name()))?;
        place(trace, out, trace.lanes().get(allocations.lane(id)).key, allocations.at(id) + later)?;
        write_args(out, trace.allocation_args(id).iter())?;
    }
    for flow in trace.flows().iter() {
        let phase = match flow.side {
            FlowSide::Start => b's',
            FlowSide::Step => b't',
            FlowSide::Finish => b'f',
        };
        open(out, first, phase, trace.category(flow.cat), trace.text(flow.name))?;
        place(trace, out, trace.lanes().get(flow.lane).key, flow.at + later)?;
        write!(out, ", \"id\": {}", flow.id)?;
        out.write_all(if flow.side == FlowSide::Finish { b", \"bp\": \"e\"}" } else { b"}" })?;
    }
    Ok(())
}

/// Counters, the values of one event together again.
fn write_counters(trace: &Trace, later: Ns, first: &mut bool, out: &mut impl Write) -> io::Result<()> {
    let counters = trace.counters();
    let mut rows = counters.rows().peekable();
    let mut values: Vec<(&str, Value<'_>)> = Vec::new();
    while let Some(row) = rows.next() {
        let series = counters.series()[row.series.index()];
        let value = |row: CounterRow| match row.value {
            Decimal { mantissa, scale: 0 } => Value::Int(mantissa),
            decimal => Value::Decimal(decimal),
        };
        values.clear();
        values.push((trace.text(series.part), value(row)));
        while let Some(next) = rows.next_if(|next| next.joined) {
            values.push((trace.text(counters.series()[next.series.index()].part), value(next)));
        }
        open(out, first, b'C', trace.category(series.cat), trace.text(series.name))?;
        place(trace, out, trace.lanes().get(series.lane).key, row.at + later)?;
        write_args(out, values.iter().copied())?;
    }
    Ok(())
}

fn point_phase(kind: PointKind) -> u8 {
    match kind {
        PointKind::Instant => b'i',
        PointKind::Counter => b'C',
        PointKind::Metadata => b'M',
        PointKind::Other(phase) => phase,
    }
}

fn open(out: &mut impl Write, first: &mut bool, phase: u8, cat: &str, name: &str) -> io::Result<()> {
    out.write_all(if std::mem::take(first) { b"\n{\"ph\": " } else { b",\n{\"ph\": " })?;
    write_text(out, char::from(phase).encode_utf8(&mut [0; 4]))?;
    if !cat.is_empty() {
        out.write_all(b", \"cat\": ")?;
        write_text(out, cat)?;
    }
    out.write_all(b", \"name\": ")?;
    write_text(out, name)
}

fn place(trace: &Trace, out: &mut impl Write, lane: LaneKey, at: Ns) -> io::Result<()> {
    debug_assert!(matches!(lane.domain, Domain::Host | Domain::Device));
    for (key, tag) in [("pid", lane.process), ("tid", lane.thread)] {
        match tag {
            Tag::Int(v) => write!(out, ", \"{key}\": {v}")?,
            Tag::Str(text) => {
                write!(out, ", \"{key}\": ")?;
                write_text(out, trace.text(text))?;
            }
            Tag::None => {}
        }
    }
    out.write_all(b", \"ts\": ")?;
    // As the producer wrote it.
    write_micros(out, at + trace.origin())
}

/// Nanoseconds as decimal microseconds.
fn write_micros(out: &mut impl Write, at: Ns) -> io::Result<()> {
    let sign = if at.0 < 0 { "-" } else { "" };
    let ns = at.0.unsigned_abs();
    write!(out, "{sign}{}.{:03}", ns / 1000, ns % 1000)
}

fn write_args<'a>(
    out: &mut impl Write,
    args: impl Iterator<Item = (&'a str, Value<'a>)> + Clone,
) -> io::Result<()> {
    // The overload went back into the name.
    let args = || args.clone().filter(|&(key, value)| !(key == OVERLOAD_KEY && matches!(value, Value::Str(_))));
    for (key, value) in args() {
        if let Some(member) = member_name(key, value) {
            out.write_all(b", ")?;
            write_member(out, member, value)?;
        }
    }
    let mut written = false;
    for (key, value) in args().filter(|&(key, value)| member_name(key, value).is_none()) {
        out.write_all(if written { b", " } else { b", \"args\": {" })?;
        written = true;
        write_member(out, key, value)?;
    }
    out.write_all(if written { b"}}" } else { b"}" })
}

/// The event member that was kept as this argument. A file may name an argument so that it looks like one
/// (`event.ts`): written as a member it would say something else about the event, so it stays an argument.
fn member_name<'a>(key: &'a str, value: Value<'_>) -> Option<&'a str> {
    let name = key.strip_prefix(EVENT_MEMBER_PREFIX)?;
    let speaks_for_event = match name {
        "ph" | "name" | "cat" | "pid" | "tid" | "ts" | "dur" | "bp" => true,
        "args" => matches!(value, Value::Json(text) if text.starts_with('{')),
        _ => false,
    };
    (!speaks_for_event).then_some(name)
}

fn write_member(out: &mut impl Write, key: &str, value: Value<'_>) -> io::Result<()> {
    write_text(out, key)?;
    out.write_all(b": ")?;
    match value {
        Value::Int(v) => write!(out, "{v}"),
        Value::Decimal(d) => write!(out, "{d}"),
        Value::Str(text) => write_text(out, text),
        Value::Json(text) => match serde_json::from_str::<&serde_json::value::RawValue>(text) {
            Ok(_) => out.write_all(text.as_bytes()),
            Err(_) => write_text(out, text),
        },
        Value::Bool(b) => write!(out, "{b}"),
        Value::Null => out.write_all(b"null"),
    }
}

fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

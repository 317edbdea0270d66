//! Device planes: the events of streams become kernels, copies and memsets.

use stepscope_model::{ArgValue, Domain, Kind, LaneKey, NewSlice, Tag};

use super::facts::Facts;
use super::launch_texts::{self, Copy};
use super::line::Line;
use super::notes;
use super::plane_names::PlaneNames;
use super::trace_builder::XplaneBuilder;

/// The vendor's word and the number of a device plane: `/device:GPU:0`.
pub(super) fn device_number(plane: &str) -> Option<(&str, i64)> {
    let rest = plane.strip_prefix("/device:")?;
    let (kind, number) = rest.split_once(':')?;
    // A TPU's cores are named `/device:TPU:0 (pid 7)` by some versions.
    let digits = number.split([' ', '(']).next()?;
    Some((kind, digits.parse().ok().filter(|&number| number >= 0)?))
}

/// What the events of a line are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// Work of the device.
    Work,
    /// Ranges over work that is on other lines.
    Ranges,
    /// The profiler's own time.
    Overhead,
}

fn line_kind(name: &str) -> LineKind {
    const RANGES: [&str; 10] = [
        "Steps",
        "XLA Modules",
        "XLA TraceMe",
        "Async XLA Ops",
        "Framework Ops",
        "Framework Name Scope",
        "TensorFlow Ops",
        "TensorFlow Name Scope",
        "Source code",
        "Launch Stats",
    ];
    if name.starts_with("Stream #") {
        LineKind::Work
    } else if name.contains("overhead") {
        LineKind::Overhead
    } else if RANGES.iter().any(|range| name.starts_with(range)) || name.contains(" - from #") {
        LineKind::Ranges
    } else {
        LineKind::Work
    }
}

/// Takes in the lines of a device plane.
pub(super) fn read_lines(
    out: &mut XplaneBuilder<'_>,
    known: &mut PlaneNames<'_>,
    lines: Vec<Vec<u8>>,
    device: i64,
) {
    for message in lines {
        let line = out.line(&message);
        if !line.events.is_empty() {
            stream(out, known, &message, &line, device);
        }
    }
}

fn stream(out: &mut XplaneBuilder<'_>, known: &mut PlaneNames<'_>, message: &[u8], line: &Line, device: i64) {
    let is = line_kind(&line.name);
    let domain = if is == LineKind::Overhead { Domain::Host } else { Domain::Device };
    let lane = out.builder.lane(LaneKey { domain, process: Tag::Int(device), thread: Tag::Int(line.id) });
    let name = out.builder.intern(&line.name);
    out.builder.lane_mut(lane).thread_name = name;
    if is == LineKind::Ranges {
        out.builder.notes().add_count(notes::DERIVED_LINES, line.events.len() as u64);
    }
    for event in &line.events {
        let described = known.event(event.is, &mut out.builder, out.at);
        let bytes = &message[event.message.clone()];
        let facts = Facts::read(bytes, &described, known, &out.keys, &mut out.builder);
        let text = out.builder.text(described.name);
        let kind = match is {
            LineKind::Ranges => Kind::DeviceAnnotation,
            LineKind::Overhead => Kind::Overhead,
            LineKind::Work if facts.is_copy || text.starts_with("Memcpy") => Kind::Memcpy,
            LineKind::Work if facts.is_fill || text.starts_with("Memset") => Kind::Memset,
            LineKind::Work => Kind::Kernel,
        };
        let mut name = described.name;
        if kind == Kind::Memcpy {
            let word = |id| out.builder.text(id);
            let copy = Copy { from: facts.from.map(word), to: facts.to.map(word), ..Copy::default() };
            if let Some(usual) = launch_texts::copy_name(text, copy) {
                out.builder.push_arg(out.keys.recorded_name, ArgValue::Str(described.name));
                name = out.builder.intern(&usual);
            }
        }
        if facts.impossible {
            out.builder.notes().add_count(notes::IMPOSSIBLE_DETAILS, 1);
        }
        out.saw(kind, &described);
        let args = out.builder.commit_args();
        out.slice(NewSlice {
            start: event.start,
            dur: event.dur,
            name,
            cat: out.category(kind),
            kind,
            lane,
            args,
            correlation: facts.correlation,
            external: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_tell_their_device() {
        assert_eq!(device_number("/device:GPU:3"), Some(("GPU", 3)));
        assert_eq!(device_number("/device:TPU:0 (pid 7)"), Some(("TPU", 0)));
        for other in ["/host:CPU", "/device:CUSTOM:Megascale Trace", "/device:GPU:-1", "/device:GPU"] {
            assert_eq!(device_number(other), None, "{other}");
        }
    }

    #[test]
    fn lines_of_ranges_are_told_from_streams() {
        assert_eq!(line_kind("Stream #14(MemcpyD2D,Compute)"), LineKind::Work);
        assert_eq!(line_kind("XLA Ops"), LineKind::Work);
        assert_eq!(line_kind("XLA Modules"), LineKind::Ranges);
        assert_eq!(line_kind("XLA Ops - from #16"), LineKind::Ranges);
        assert_eq!(line_kind("CUPTI overhead"), LineKind::Overhead);
    }
}

//! Device planes: the events of streams become kernels, copies and memsets.

use stepscope_model::{ArgValue, Domain, Kind, LaneKey, NewSlice, Tag};

use super::details::{self, Copy};
use super::facts::Facts;
use super::known::Known;
use super::line::Line;
use super::making::Making;
use super::notes;

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
enum LineIs {
    /// Work of the device.
    Work,
    /// Ranges over work that is on other lines.
    Ranges,
    /// The profiler's own time.
    Overhead,
}

fn line_is(name: &str) -> LineIs {
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
        LineIs::Work
    } else if name.contains("overhead") {
        LineIs::Overhead
    } else if RANGES.iter().any(|range| name.starts_with(range)) || name.contains(" - from #") {
        LineIs::Ranges
    } else {
        LineIs::Work
    }
}

/// Takes in the lines of a device plane.
pub(super) fn take(making: &mut Making<'_>, known: &mut Known<'_>, lines: Vec<Vec<u8>>, device: i64) {
    for message in lines {
        let line = making.line(&message);
        if !line.events.is_empty() {
            stream(making, known, &message, &line, device);
        }
    }
}

fn stream(making: &mut Making<'_>, known: &mut Known<'_>, message: &[u8], line: &Line, device: i64) {
    let is = line_is(&line.name);
    let domain = if is == LineIs::Overhead { Domain::Host } else { Domain::Device };
    let lane = making.builder.lane(LaneKey { domain, process: Tag::Int(device), thread: Tag::Int(line.id) });
    let name = making.builder.intern(&line.name);
    making.builder.lane_mut(lane).thread_name = name;
    if is == LineIs::Ranges {
        making.builder.notes().add_count(notes::DERIVED_LINES, line.events.len() as u64);
    }
    for event in &line.events {
        let described = known.event(event.is, &mut making.builder, making.at);
        let bytes = &message[event.message.clone()];
        let facts = Facts::read(bytes, &described, known, &making.keys, &mut making.builder);
        let text = making.builder.text(described.name);
        let kind = match is {
            LineIs::Ranges => Kind::DeviceAnnotation,
            LineIs::Overhead => Kind::Overhead,
            LineIs::Work if facts.is_copy || text.starts_with("Memcpy") => Kind::Memcpy,
            LineIs::Work if facts.is_fill || text.starts_with("Memset") => Kind::Memset,
            LineIs::Work => Kind::Kernel,
        };
        let mut name = described.name;
        if kind == Kind::Memcpy {
            let word = |id| making.builder.text(id);
            let copy = Copy { from: facts.from.map(word), to: facts.to.map(word), ..Copy::default() };
            if let Some(usual) = details::copy_name(text, copy) {
                making.builder.push_arg(making.keys.recorded_name, ArgValue::Str(described.name));
                name = making.builder.intern(&usual);
            }
        }
        if facts.impossible {
            making.builder.notes().add_count(notes::IMPOSSIBLE_DETAILS, 1);
        }
        making.saw(kind, &described);
        let args = making.builder.commit_args();
        making.slice(NewSlice {
            start: event.start,
            dur: event.dur,
            name,
            cat: making.category(kind),
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
        assert_eq!(line_is("Stream #14(MemcpyD2D,Compute)"), LineIs::Work);
        assert_eq!(line_is("XLA Ops"), LineIs::Work);
        assert_eq!(line_is("XLA Modules"), LineIs::Ranges);
        assert_eq!(line_is("XLA Ops - from #16"), LineIs::Ranges);
        assert_eq!(line_is("CUPTI overhead"), LineIs::Overhead);
    }
}

//! The counters that a file itself has: counter points, one curve for each name and argument.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{PointKind, StrId, Tag, Trace};

use super::curves::Levels;
use super::curves::{Curve, Unit};
use super::spans::drawn;

/// Process, name and argument.
type Key<'a> = (Tag, StrId, &'a str);

/// At most so many counters of a file, in the order they are first seen, and how many there are beyond.
pub(super) fn file_counters(trace: &Trace, most: usize) -> (Vec<Curve>, usize) {
    let points = trace.points();
    // None: past the limit.
    let mut numbers: HashMap<Key<'_>, Option<usize>, RandomState> = HashMap::default();
    let mut found: Vec<(Key<'_>, Vec<(i64, f64)>)> = Vec::new();
    for id in points.ids().filter(|&id| points.kind(id) == PointKind::Counter) {
        let process = trace.lanes().get(points.lane(id)).key.process;
        for (argument, value) in trace.point_args(id).iter() {
            let Some(value) = value.as_f64().filter(|value| value.is_finite()) else { continue };
            let key = (process, points.name(id), argument);
            let number = *numbers.entry(key).or_insert_with(|| {
                (found.len() < most).then(|| {
                    found.push((key, Vec::new()));
                    found.len() - 1
                })
            });
            if let Some(number) = number {
                found[number].1.push((drawn(points.at(id)), value));
            }
        }
    }
    let beyond = numbers.len() - found.len();
    let several = |(process, name, argument): Key<'_>| {
        found.iter().any(|(other, _)| other.0 != process && (other.1, other.2) == (name, argument))
    };
    let labels: Vec<String> = found
        .iter()
        .map(|(key, _)| {
            let process = if several(*key) { process_text(trace, key.0) } else { String::new() };
            label(trace.text(key.1), key.2, &process)
        })
        .collect();
    let numbered = found.into_iter().zip(labels).enumerate();
    let curves = numbered.map(|(number, (((_, _, argument), mut values), label))| {
        values.sort_by_key(|value| value.0);
        let suffix = suffix(argument).unwrap_or("");
        Curve {
            id: format!("file:{number}"),
            label,
            unit: if suffix == "bytes" { Unit::Bytes } else { Unit::Other },
            suffix: if suffix == "bytes" { "" } else { suffix },
            device: None,
            definition: "A counter of the file, as it stands there.",
            levels: Levels::new(values),
        }
    });
    (curves.collect(), beyond)
}

/// What our own recordings, and others that do so, call an argument: the unit of its values.
fn suffix(argument: &str) -> Option<&'static str> {
    const UNITS: &[&str] = &["bytes", "bytes/s", "%", "W", "J", "°C", "MHz", "tasks", "threads", "0 or 1"];
    UNITS.iter().copied().find(|&unit| unit == argument)
}

/// A counter is called by its name alone where its argument says no more, or only the unit.
fn label(name: &str, argument: &str, process: &str) -> String {
    let alone = argument == name || argument == "value" || suffix(argument).is_some();
    let named = if alone { name.to_owned() } else { format!("{name}: {argument}") };
    if process.is_empty() { named } else { format!("{named} ({process})") }
}

fn process_text(trace: &Trace, process: Tag) -> String {
    match process {
        Tag::Int(number) => format!("pid {number}"),
        Tag::Str(text) => trace.text(text).to_owned(),
        Tag::None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::{ArgValue, NewPoint, Ns, TraceBuilder};

    use super::*;

    #[test]
    fn those_past_the_limit_are_counted() {
        let mut b = TraceBuilder::new();
        for (name, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            let key = b.intern("value");
            b.push_arg(key, ArgValue::Int(value));
            let (name, args) = (b.intern(name), b.commit_args());
            b.point(NewPoint { at: Ns(value), name, args, kind: PointKind::Counter, ..NewPoint::default() });
        }
        b.lane(Default::default());
        let trace = b.finish();
        for (most, beyond) in [(0, 3), (1, 2), (2, 1), (3, 0), (9, 0)] {
            let (curves, more) = file_counters(&trace, most);
            assert_eq!((curves.len(), more), (3 - beyond, beyond));
        }
        let (curves, _) = file_counters(&trace, 1);
        assert_eq!((curves[0].label.as_str(), curves[0].levels.max()), ("a", 3.0));
    }

    #[test]
    fn an_argument_that_is_a_unit_is_no_part_of_the_name() {
        assert_eq!(label("GPU 0 power", "W", ""), "GPU 0 power");
        assert_eq!(label("memory", "bytes", "pid 7"), "memory (pid 7)");
        assert_eq!(label("queue", "length", ""), "queue: length");
        assert_eq!((suffix("°C"), suffix("length")), (Some("°C"), None));
    }
}

//! The counters that a file itself has, one curve for each process, name and part.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{LaneId, Ns, PointKind, StrId, Tag, Trace};

use super::curves::Levels;
use super::curves::{Curve, Unit};
use super::spans::drawn;

/// Process, name and argument.
type Key<'a> = (Tag, StrId, &'a str);

/// Curves on the way.
struct CurveCollector<'a> {
    most: usize,
    /// None: past the limit.
    numbers: HashMap<Key<'a>, Option<usize>, RandomState>,
    curves: Vec<(Key<'a>, Vec<(i64, f64)>)>,
}

impl<'a> CurveCollector<'a> {
    fn number(&mut self, key: Key<'a>) -> Option<usize> {
        let CurveCollector { most, numbers, curves } = self;
        *numbers.entry(key).or_insert_with(|| {
            (curves.len() < *most).then(|| {
                curves.push((key, Vec::new()));
                curves.len() - 1
            })
        })
    }

    fn add(&mut self, number: Option<usize>, at: Ns, value: f64) {
        if let Some(number) = number {
            self.curves[number].1.push((drawn(at), value));
        }
    }
}

/// At most so many counters of a file, in the order they are first seen, and how many there are beyond.
pub(super) fn file_counters(trace: &Trace, most: usize) -> (Vec<Curve>, usize) {
    let mut found = CurveCollector { most, numbers: HashMap::default(), curves: Vec::new() };
    let process = |lane: LaneId| trace.lanes().get(lane).key.process;
    let counters = trace.counters();
    let series = counters.series().iter().map(|s| found.number((process(s.lane), s.name, trace.text(s.part))));
    let series: Vec<Option<usize>> = series.collect();
    for row in counters.rows() {
        found.add(series[row.series.index()], row.at, row.value.to_f64());
    }
    // What the columns do not hold: numbers in a form that would not be written back, or as texts.
    let points = trace.points();
    for id in points.ids().filter(|&id| points.kind(id) == PointKind::Counter) {
        for (argument, value) in trace.point_args(id).iter() {
            let Some(value) = value.as_f64().filter(|value| value.is_finite()) else { continue };
            let number = found.number((process(points.lane(id)), points.name(id), argument));
            found.add(number, points.at(id), value);
        }
    }
    let CurveCollector { numbers, curves: found, .. } = found;
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
        let (unit, suffix) = match stepscope_model::Unit::of_symbol(argument) {
            Some(stepscope_model::Unit::Bytes) => (Unit::Bytes, ""),
            unit => (Unit::Other, unit.map_or("", stepscope_model::Unit::symbol)),
        };
        Curve {
            id: format!("file:{number}"),
            label,
            unit,
            suffix,
            device: None,
            definition: "A counter from the file, shown as recorded.",
            levels: Levels::new(values),
        }
    });
    (curves.collect(), beyond)
}

/// A counter is called by its name alone where its argument says no more, or only the unit.
fn label(name: &str, argument: &str, process: &str) -> String {
    let alone = argument == name || argument == "value" || stepscope_model::Unit::of_symbol(argument).is_some();
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
    use stepscope_model::{ArgValue, NewPoint, TraceBuilder};

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
    }
}

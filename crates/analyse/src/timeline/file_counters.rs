//! The counters that a file itself has: points of phase `C`, one curve for each name and argument.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, StrId, Tag, Trace};

use super::counters::{Curve, Unit};
use super::curves::Levels;
use super::spans::since;

/// Process, name and argument.
type Key<'a> = (Tag, StrId, &'a str);

/// At most so many counters of a file, in the order they are first seen, and how many there are beyond.
pub(super) fn file_counters(trace: &Trace, origin: Ns, most: usize) -> (Vec<Curve>, usize) {
    let points = trace.points();
    let mut numbers: HashMap<Key<'_>, usize, RandomState> = HashMap::default();
    let mut found: Vec<(Key<'_>, Vec<(i64, f64)>)> = Vec::new();
    for id in points.ids().filter(|&id| points.phase(id) == b'C') {
        let process = trace.lanes().get(points.lane(id)).key.process;
        for (argument, value) in trace.point_args(id).iter() {
            let Some(value) = value.as_f64().filter(|value| value.is_finite()) else { continue };
            let key = (process, points.name(id), argument);
            let number = *numbers.entry(key).or_insert_with(|| {
                if found.len() < most {
                    found.push((key, Vec::new()));
                }
                found.len() - 1
            });
            // Those past the limit share the last number but not its key.
            if let Some((of, values)) = found.get_mut(number).filter(|(of, _)| *of == key) {
                debug_assert!(*of == key);
                values.push((since(origin, points.at(id)), value));
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
    let curve = |(number, ((_, mut values), label)): (usize, ((Key<'_>, Vec<(i64, f64)>), String))| {
        values.sort_by_key(|value| value.0);
        Curve {
            id: format!("file:{number}"),
            label,
            unit: Unit::Other,
            device: None,
            definition: "A counter of the file, as it stands there.",
            levels: Levels::new(values),
        }
    };
    (found.into_iter().zip(labels).enumerate().map(curve).collect(), beyond)
}

/// A counter with one argument is called by its name alone where the two say the same.
fn label(name: &str, argument: &str, process: &str) -> String {
    let named =
        if argument == name || argument == "value" { name.to_owned() } else { format!("{name}: {argument}") };
    if process.is_empty() { named } else { format!("{named} ({process})") }
}

fn process_text(trace: &Trace, process: Tag) -> String {
    match process {
        Tag::Int(number) => format!("pid {number}"),
        Tag::Str(text) => trace.text(text).to_owned(),
        Tag::None => String::new(),
    }
}

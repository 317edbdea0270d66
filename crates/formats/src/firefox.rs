//! Writes a profile as the Firefox Profiler (profiler.firefox.com) reads it: its processed format, version 55, a thread per
//! part.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_model::{FrameId, LineIs, Profile, StackId, StrId, ValueUnit};

/// The version of the format that is written. The Profiler upgrades older ones by itself.
const FORMAT_VERSION: u32 = 55;
/// The place of a category in the list below.
const OTHER_CATEGORY: u32 = 0;
const PYTHON_CATEGORY: u32 = 1;

/// Writes one of a profile's values.
pub fn write_firefox(profile: &Profile, value: usize, out: &mut impl Write) -> io::Result<()> {
    let unit = profile.values().get(value).map_or(ValueUnit::Plain, |kind| kind.unit);
    let parts: Vec<&str> = match profile.parts.as_slice() {
        [] => vec![""],
        parts => parts.iter().map(String::as_str).collect(),
    };
    let threads: Vec<Value> =
        parts.iter().enumerate().map(|(part, name)| thread(profile, value, unit, part, name)).collect();
    let category =
        |name: &str, color: &str| json!({ "name": name, "color": color, "subcategories": ["Other"] });
    let document = json!({
        "meta": {
            "categories": [category("Other", "grey"), category("Python", "orange")],
            "debug": false,
            "extensions": { "baseURL": [], "id": [], "length": 0, "name": [] },
            "interval": 1.0,
            "preprocessedProfileVersion": FORMAT_VERSION,
            "processType": 0,
            "product": if profile.name.is_empty() { "Python" } else { &profile.name },
            "sampleUnits": { "eventDelay": "ms", "threadCPUDelta": "µs", "time": "ms" },
            "startTime": 0.0,
            "symbolicated": true,
            "pausedRanges": [],
            "version": 24,
            "usesOnlyOneStackType": true,
            "sourceCodeIsNotOnSearchfox": true,
            "markerSchema": [],
        },
        "libs": [],
        "threads": threads,
        "pages": [],
        "profilerOverhead": [],
        "counters": [],
    });
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// Everything about one thread; tables belong to it alone.
#[derive(Default)]
struct Tables {
    texts: HashMap<StrId, usize>,
    strings: Vec<String>,
    functions: HashMap<(StrId, StrId, u32), usize>,
    function_name: Vec<usize>,
    function_file: Vec<Option<usize>>,
    function_line: Vec<Option<u32>>,
    frames: HashMap<FrameId, usize>,
    frame_function: Vec<usize>,
    frame_line: Vec<Option<u32>>,
    frame_category: Vec<u32>,
    stacks: HashMap<StackId, usize>,
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

impl Tables {
    fn text(&mut self, profile: &Profile, id: StrId) -> usize {
        *self.texts.entry(id).or_insert_with(|| {
            self.strings.push(profile.stacks.text(id).to_owned());
            self.strings.len() - 1
        })
    }

    fn frame(&mut self, profile: &Profile, id: FrameId) -> usize {
        if let Some(&known) = self.frames.get(&id) {
            return known;
        }
        let frame = profile.stacks.get(id);
        let starts = profile.line_is == LineIs::Start;
        let line = (frame.line > 0).then_some(frame.line);
        let key = (frame.name, frame.file, if starts { frame.line } else { 0 });
        let has_file = !profile.stacks.text(frame.file).is_empty();
        let function = match self.functions.get(&key) {
            Some(&known) => known,
            None => {
                let name = self.text(profile, frame.name);
                let file = has_file.then(|| self.text(profile, frame.file));
                self.function_name.push(name);
                self.function_file.push(file);
                self.function_line.push(line.filter(|_| starts));
                self.functions.insert(key, self.function_name.len() - 1);
                self.function_name.len() - 1
            }
        };
        self.frame_function.push(function);
        self.frame_line.push(line.filter(|_| !starts));
        self.frame_category.push(if has_file { PYTHON_CATEGORY } else { OTHER_CATEGORY });
        self.frames.insert(id, self.frame_function.len() - 1);
        self.frame_function.len() - 1
    }

    /// A stack's place; those it begins with come before it. Each is placed once, however deep it is.
    fn stack(&mut self, profile: &Profile, stack: StackId) -> Option<usize> {
        let mut above = Vec::new();
        let mut at = stack;
        let mut place = loop {
            if let Some(&known) = self.stacks.get(&at) {
                break Some(known);
            }
            let Some((below, frame)) = profile.stacks.pop(at) else { break None };
            above.push((at, frame));
            at = below;
        };
        for (stack, frame) in above.into_iter().rev() {
            let frame = self.frame(profile, frame);
            self.prefix.push(place);
            self.frame.push(frame);
            place = Some(self.frame.len() - 1);
            self.stacks.insert(stack, self.frame.len() - 1);
        }
        place
    }
}

fn thread(profile: &Profile, value: usize, unit: ValueUnit, part: usize, name: &str) -> Value {
    let mut tables = Tables::default();
    let (mut stacks, mut weights, mut deltas) = (Vec::new(), Vec::new(), Vec::new());
    for sample in profile.samples().iter().filter(|sample| sample.part == part) {
        let amount = sample.amounts.get(value).copied().unwrap_or(0);
        // A profile does not say when: samples stand one after the other, each as wide as it weighs.
        let ms = amount.max(0) as f64 / 1e6;
        let (weight, delta) = match unit {
            ValueUnit::Nanoseconds => (json!(ms), ms),
            ValueUnit::Plain | ValueUnit::Bytes => (json!(amount), 1.0),
        };
        stacks.push(tables.stack(profile, sample.stack));
        weights.push(weight);
        deltas.push(delta);
    }
    let weight_type = match unit {
        ValueUnit::Nanoseconds => "tracing-ms",
        ValueUnit::Plain => "samples",
        ValueUnit::Bytes => "bytes",
    };
    let (frames, functions, samples) = (tables.frame_function.len(), tables.function_name.len(), stacks.len());
    let all = |count: usize, value: Value| vec![value; count];
    let name = if name.is_empty() { "all threads" } else { name };
    json!({
        "frameTable": {
            "length": frames,
            "address": all(frames, json!(-1)),
            "inlineDepth": all(frames, json!(0)),
            "category": tables.frame_category,
            "subcategory": all(frames, json!(0)),
            "func": tables.frame_function,
            "nativeSymbol": all(frames, Value::Null),
            "innerWindowID": all(frames, json!(0)),
            "line": tables.frame_line,
            "column": all(frames, Value::Null),
        },
        "funcTable": {
            "length": functions,
            "name": tables.function_name,
            "isJS": all(functions, json!(false)),
            "relevantForJS": all(functions, json!(false)),
            "resource": all(functions, json!(-1)),
            "fileName": tables.function_file,
            "lineNumber": tables.function_line,
            "columnNumber": all(functions, Value::Null),
        },
        "markers": {
            "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": [],
        },
        "name": name,
        "isMainThread": part == 0,
        "nativeSymbols": { "length": 0, "address": [], "functionSize": [], "libIndex": [], "name": [] },
        "pausedRanges": [],
        "pid": "1",
        "processName": "python",
        "processShutdownTime": null,
        "processStartupTime": 0.0,
        "processType": "default",
        "registerTime": 0.0,
        "resourceTable": { "length": 0, "lib": [], "name": [], "host": [], "type": [] },
        "samples": {
            "length": samples,
            "weightType": weight_type,
            "stack": stacks,
            "timeDeltas": deltas,
            "weight": weights,
            "threadCPUDelta": all(samples, json!(0)),
        },
        "stackTable": { "length": tables.frame.len(), "prefix": tables.prefix, "frame": tables.frame },
        "stringArray": tables.strings,
        "tid": (part + 1).to_string(),
        "unregisterTime": null,
        "showMarkersInTimeline": false,
    })
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Frame, Sample, ValueKind};

    use super::*;

    #[test]
    fn tables_refer_to_each_other() {
        let mut profile =
            Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
        let mut frame = |name: &str, file: &str, line| {
            let (name, file) = (profile.stacks.intern(name), profile.stacks.intern(file));
            profile.stacks.frame(Frame { name, file, line })
        };
        let frames = [
            frame("main", "a.py", 3),
            frame("load", "a.py", 7),
            frame("load", "a.py", 9),
            frame("read", "", 0),
        ];
        let mut stack = StackId::EMPTY;
        for frame in [frames[0], frames[2], frames[3]] {
            stack = profile.stacks.push(stack, frame);
        }
        let early = profile.stacks.pop(stack).map(|(below, _)| below).unwrap();
        profile.parts = vec!["MainThread".to_owned()];
        profile.add(Sample::new(0, stack, &[2_500_000]));
        profile.add(Sample::new(0, early, &[1_000_000]));
        let mut out = Vec::new();
        write_firefox(&profile, 0, &mut out).unwrap();
        let document: Value = serde_json::from_slice(&out).unwrap();
        let thread = &document["threads"][0];
        assert_eq!(thread["name"], "MainThread");
        assert_eq!(thread["samples"]["stack"], json!([2, 1]));
        assert_eq!(thread["samples"]["weight"], json!([2.5, 1.0]));
        assert_eq!(thread["stackTable"]["prefix"], json!([null, 0, 1]));
        assert_eq!(thread["stringArray"], json!(["main", "a.py", "load", "read"]));
        assert_eq!(thread["funcTable"]["fileName"], json!([1, 1, null]));
        assert_eq!(thread["frameTable"]["line"], json!([3, 9, null]));
        // Every column of a table is as long as the table.
        for table in ["frameTable", "funcTable", "samples", "stackTable"] {
            let columns = thread[table].as_object().unwrap();
            let length = columns["length"].as_u64().unwrap() as usize;
            assert!(
                columns.values().filter_map(Value::as_array).all(|column| column.len() == length),
                "{table}"
            );
        }
    }
}

//! The text must be valid, and must say exactly what the summary says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::{NameTotals, OpTotals, Summary, Synth};

type Fields = BTreeMap<String, Box<RawValue>>;

/// One event read back; numbers keep their exact text.
struct Event {
    fields: Fields,
    args: Fields,
}

impl Event {
    fn text(&self, key: &str) -> String {
        self.fields.get(key).map_or_else(String::new, |raw| raw.get().trim_matches('"').to_owned())
    }

    fn ns(&self, key: &str) -> u64 {
        let text = self.text(key);
        let (whole, part) = text.split_once('.').unwrap();
        assert_eq!(part.len(), 3, "{text}");
        format!("{whole}{part}").parse().unwrap()
    }

    fn arg(&self, key: &str) -> i64 {
        self.args[key].get().parse().unwrap()
    }

    fn is(&self, phase: &str, category: &str) -> bool {
        self.text("ph") == phase && self.text("cat") == category
    }

    fn lane(&self) -> (String, String) {
        (self.text("pid"), self.text("tid"))
    }

    fn range(&self) -> (u64, u64) {
        (self.ns("ts"), self.ns("ts") + self.ns("dur"))
    }
}

fn write(synth: &Synth) -> (String, Summary) {
    let mut out = Vec::new();
    let summary = synth.write_kineto(&mut out).unwrap();
    assert_eq!(summary.bytes, out.len() as u64);
    (String::from_utf8(out).unwrap(), summary)
}

fn read(text: &str) -> Vec<Event> {
    let top: Fields = serde_json::from_str(text).unwrap();
    let events: Vec<Fields> = serde_json::from_str(top["traceEvents"].get()).unwrap();
    let args = |fields: &Fields| fields.get("args").map(|raw| serde_json::from_str(raw.get()).unwrap());
    events.into_iter().map(|fields| Event { args: args(&fields).unwrap_or_default(), fields }).collect()
}

fn sample() -> (Vec<Event>, Summary) {
    let (text, summary) = write(&Synth { with_stack: true, steps: 4, ..Synth::new(3, 20_011) });
    (read(&text), summary)
}

/// Every size gives valid JSON with exactly so many events, from nothing upwards.
#[test]
fn number_of_events_is_exact() {
    for size in (0..30).chain([99, 100, 150, 200, 999, 1_000, 4_321]) {
        for (with_stack, steps, streams) in [(false, 0, 3), (true, 0, 1), (false, 7, 9), (true, 1, 0)] {
            let synth = Synth { with_stack, steps, streams, ..Synth::new(1, size) };
            let (text, summary) = write(&synth);
            assert_eq!(read(&text).len() as u64, size, "{synth:?}");
            assert_eq!(summary.events, size, "{synth:?}");
        }
    }
}

#[test]
fn same_seed_same_bytes() {
    let synth = Synth { with_stack: true, ..Synth::new(11, 15_000) };
    assert_eq!(write(&synth), write(&synth));
    assert_ne!(write(&synth).0, write(&Synth { seed: 12, ..synth }).0);
}

#[test]
fn steps_are_as_asked_for() {
    let steps = |steps, events| write(&Synth { steps, ..Synth::new(5, events) }).1.steps.len();
    assert_eq!(steps(10, 20_000), 10);
    assert_eq!(steps(1, 20_000), 1);
    assert_eq!(steps(0, 48_000), 4);
    assert!(steps(1_000, 1_000) < 15);
}

#[test]
fn summary_matches_the_text() {
    let (events, summary) = sample();
    let mut kinds: BTreeMap<(char, String), u64> = BTreeMap::new();
    let mut ops: BTreeMap<String, OpTotals> = BTreeMap::new();
    let mut kernels: BTreeMap<String, NameTotals> = BTreeMap::new();
    let mut streams: BTreeMap<u64, NameTotals> = BTreeMap::new();
    let mut steps = Vec::new();
    let (mut first, mut last, mut peak, mut copied) = (u64::MAX, 0, 0, 0);
    for event in &events {
        let (phase, category) = (event.text("ph"), event.text("cat"));
        *kinds.entry((phase.chars().next().unwrap(), category.clone())).or_default() += 1;
        if event.text("name") == "[memory]" {
            peak = peak.max(event.arg("Total Allocated"));
        }
        if phase != "X" || category == "Trace" || category.contains("annotation") {
            if event.text("name").starts_with("ProfilerStep#") {
                steps.push((event.text("name"), event.ns("ts"), event.ns("dur")));
            }
            continue;
        }
        let (start, end) = event.range();
        if category != "python_function" {
            (first, last) = (first.min(start), last.max(end));
        }
        if category == "cpu_op" {
            let totals = ops.entry(event.text("name")).or_default();
            totals.count += 1;
            totals.host_ns += end - start;
        }
        if category == "kernel" || category.starts_with("gpu_mem") {
            let by_stream = streams.entry(event.text("tid").parse().unwrap()).or_default();
            let by_name = kernels.entry(event.text("name")).or_default();
            for totals in [by_stream, by_name] {
                totals.count += 1;
                totals.ns += end - start;
            }
        }
        if category == "gpu_memcpy" {
            copied += event.arg("bytes");
        }
    }
    kernels.retain(|name, _| !name.starts_with("Mem"));
    assert_eq!(kinds, summary.by_kind.iter().map(|(k, n)| ((k.0, k.1.to_owned()), *n)).collect());
    assert_eq!(kernels, summary.kernels_by_name.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect());
    assert_eq!(summary.kernels, kernels.values().map(|totals| totals.count).sum::<u64>());
    assert_eq!(summary.kernel_ns, kernels.values().map(|totals| totals.ns).sum::<u64>());
    assert_eq!(summary.streams, streams);
    assert_eq!((summary.first_ns, summary.last_ns), (first, last));
    assert_eq!((summary.peak_allocated as i64, summary.copied_bytes as i64), (peak, copied));
    let told = summary.steps.iter().map(|s| (format!("ProfilerStep#{}", s.number), s.start_ns, s.dur_ns));
    assert_eq!(told.collect::<Vec<_>>(), steps);
    assert_eq!(steps.len(), 4);
    let told = summary.ops.iter().map(|(k, n)| ((*k).to_owned(), OpTotals { self_ns: 0, ..*n }));
    assert_eq!(told.collect::<BTreeMap<_, _>>(), ops);
    assert_eq!(summary.phase('X') + summary.phase('i') + summary.phase('M') + flows(&summary), 20_011);
    assert!(summary.category("kernel") > 1_000);
}

fn flows(summary: &Summary) -> u64 {
    summary.phase('s') + summary.phase('f')
}

/// On each thread the ranges nest; self times are what is left without the operators inside.
#[test]
fn host_ranges_nest() {
    let (events, summary) = sample();
    let mut threads: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in events.iter().filter(|e| e.text("ph") == "X" && e.text("pid") == "1070") {
        let (start, end) = event.range();
        threads.entry(event.lane()).or_default().push((start, std::cmp::Reverse(end), event));
    }
    assert_eq!(threads.len(), 2);
    let mut self_ns: BTreeMap<String, i128> = BTreeMap::new();
    let mut deepest = 0;
    for mut ranges in threads.into_values() {
        ranges.sort_by_key(|range| (range.0, range.1));
        let mut open: Vec<(u64, Option<String>)> = Vec::new();
        for (start, end, event) in ranges {
            open.retain(|outer| outer.0 > start);
            assert!(open.iter().all(|outer| end.0 <= outer.0), "{} sticks out", event.text("name"));
            let op = (event.text("cat") == "cpu_op").then(|| event.text("name"));
            if let Some(name) = &op {
                let ns = i128::from(end.0 - start);
                *self_ns.entry(name.clone()).or_default() += ns;
                if let Some(parent) = open.last().and_then(|outer| outer.1.clone()) {
                    *self_ns.entry(parent).or_default() -= ns;
                }
            }
            open.push((end.0, op));
            deepest = deepest.max(open.iter().filter(|outer| outer.1.is_some()).count());
        }
    }
    assert!((3..=6).contains(&deepest), "{deepest}");
    let told = summary.ops.iter().map(|(name, totals)| ((*name).to_owned(), i128::from(totals.self_ns)));
    assert_eq!(told.collect::<BTreeMap<_, _>>(), self_ns);
}

/// On each stream one thing runs at a time, after the call that started it.
#[test]
fn streams_do_not_overlap() {
    let (events, _) = sample();
    let calls: BTreeMap<i64, u64> = events
        .iter()
        .filter(|e| e.is("X", "cuda_runtime") || e.is("X", "cuda_driver"))
        .map(|e| (e.arg("correlation"), e.ns("ts")))
        .collect();
    let mut streams: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in events.iter().filter(|e| e.is("X", "kernel") || e.text("cat").starts_with("gpu_mem")) {
        assert!(calls[&event.arg("correlation")] < event.ns("ts"));
        assert_eq!(event.arg("stream").to_string(), event.text("tid"));
        streams.entry(event.lane()).or_default().push(event.range());
    }
    assert_eq!(streams.len(), 3);
    for ranges in streams.values_mut() {
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}

/// Every arrow that starts also ends, and the ends of `fwdbwd` lie on the two threads.
#[test]
fn arrows_have_two_ends() {
    let (events, _) = sample();
    let ids = |phase: &str, category: &str| -> BTreeSet<String> {
        let ends: Vec<_> = events.iter().filter(|e| e.is(phase, category)).map(|e| e.text("id")).collect();
        let ids: BTreeSet<_> = ends.iter().cloned().collect();
        assert_eq!(ids.len(), ends.len(), "{phase} {category}");
        ids
    };
    assert_eq!(ids("s", "fwdbwd"), ids("f", "fwdbwd"));
    assert!(ids("s", "ac2g").is_subset(&ids("f", "ac2g")));
    for event in events.iter().filter(|e| e.text("cat") == "fwdbwd") {
        assert_eq!(event.text("tid"), if event.text("ph") == "s" { "1070" } else { "1112" });
    }
}

/// Allocations and frees add up to the totals beside them.
#[test]
fn memory_adds_up() {
    let (events, _) = sample();
    let mut memory: Vec<_> = events.iter().filter(|e| e.text("name") == "[memory]").collect();
    memory.sort_by_key(|event| event.ns("ts"));
    assert!(memory.len() > 1_000);
    for pair in memory.windows(2) {
        let total = pair[0].arg("Total Allocated") + pair[1].arg("Bytes");
        assert_eq!(total, pair[1].arg("Total Allocated"));
        assert!(total <= pair[1].arg("Total Reserved"));
    }
}

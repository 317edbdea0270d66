//! Whoever shows a number can show its definition: every question defines every number its answers can have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::Definition;
use stepscope_ask::{Answer, Ask, QUESTIONS, Question, answer, run_row, runs_part};
use stepscope_formats::{OpenOptions, open};
use stepscope_model::DocumentKind;

use crate::fields::Fields;

/// Traces that differ in what was recorded: stacks, modules and memory; nothing but the smallest; data loading; compiled
/// programs.
const TRACES: &[&str] = &[
    "2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz",
    "mini/mini.pt.trace.json",
    "2.11-h200-twins/seen/slow_loader/fault.shapes.json.zst",
    "../xla/layers.xplane.pb",
];

/// Profiles that differ in what they hold: calls, lines, samples with lines, times, memory.
const PROFILES: &[&str] = &[
    "demo-3.11.pstats",
    "hot-5.1.lprof",
    "pyspy.raw",
    "austin.pprof",
    "cache.mem",
    "cache.mprof.dat",
    "../memory/out_of_memory_by_shortage.pickle.gz",
];

const IDENTIFIERS: &[&str] = &["device", "device_id", "stream", "rank", "index", "depth", "parent"];

/// Definitions of words that are no field of an answer: the causes that its rows name.
const TERMS: &[(&str, &[&str])] =
    &[("gaps", &["host_…_ns", "launch_latency_ns", "queued_gap_ns", "dependency_ns", "unlinked_ns"])];

/// Fields that one question has from several analyses with different meanings; its own definition tells them apart.
const COMBINED: &[(&str, &[&str])] =
    &[("summary", &["calls", "kernel_ns", "start_ns", "dur_ns", "bytes", "count", "streams"])];

/// Options without which an answer lacks a fact or a part.
const MORE: &[(&str, &[(&str, &str)])] = &[
    ("memory", &[("from", "0ms"), ("to", "1s")]),
    ("memory", &[("lines", "")]),
    ("functions", &[("callers", "")]),
    ("functions", &[("callees", "")]),
];

/// Options that only memory snapshots know.
const OF_SNAPSHOTS: &[&[(&str, &str)]] =
    &[&[("leaks", "")], &[("oom", "")], &[("at", "peak"), ("by", "category")], &[("by", "size")]];

fn runs() -> &'static [Arc<Run>] {
    static RUNS: OnceLock<Vec<Arc<Run>>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        let read = |(folder, path): (&str, &&str)| {
            let document = open(&root.join(folder).join(path), &OpenOptions::default());
            Arc::new(Run::from_document(document.unwrap_or_else(|e| panic!("{path}: {e}"))))
        };
        let profiles = PROFILES.iter().map(|path| ("profiles", path));
        TRACES.iter().map(|path| ("pytorch", path)).chain(profiles).map(read).collect()
    })
}

fn fields() -> &'static BTreeMap<&'static str, Fields> {
    static FIELDS: OnceLock<BTreeMap<&'static str, Fields>> = OnceLock::new();
    FIELDS.get_or_init(|| QUESTIONS.iter().map(|question| (question.name, fields_of(question))).collect())
}

fn fields_of(question: &'static Question) -> Fields {
    let mut asks = Vec::new();
    for by in question.variants() {
        asks.push((Ask::with(question.name, by.map(|by| ("by", by))).unwrap(), by.is_some()));
    }
    for (_, options) in MORE.iter().filter(|(name, _)| *name == question.name) {
        // A profile has no timeline to take a stretch of.
        let timed = options.iter().any(|(name, _)| *name == "from");
        asks.push((Ask::with(question.name, options.iter().copied()).unwrap(), timed));
    }
    let mut fields = Fields::default();
    if question.name == "memory" {
        for run in runs().iter().filter(|run| run.snapshot().is_some()) {
            for options in OF_SNAPSHOTS {
                let ask = Ask::with(question.name, options.iter().copied()).unwrap();
                fields.add(&answer(&ask, std::slice::from_ref(run)).unwrap());
            }
            let ask = Ask::with(question.name, [("leaks", "")]).unwrap();
            fields.add(&answer(&ask, &[run.clone(), run.clone()]).unwrap());
            let ask = Ask::with(question.name, [("fit", ""), ("batch", "8,16")]).unwrap();
            fields.add(&answer(&ask, &[run.clone(), run.clone()]).unwrap());
        }
    }
    if question.name == "hlo" {
        let ask = Ask::with(question.name, [("around", "custom-call.1")]).unwrap();
        let compiled = runs().iter().filter(|run| !run.trace().programs().is_empty());
        compiled.for_each(|run| fields.add(&answer(&ask, std::slice::from_ref(run)).unwrap()));
    }
    if question.lists_folder {
        let ask = Ask::about_all(question);
        let rows = runs().iter().map(|run| run_row(&ask, run)).collect();
        fields.add(&Answer::new(vec![runs_part(&ask, rows)]));
    }
    if question.compares() {
        let runs: Vec<_> = runs().iter().filter(|run| question.answers_for(run.kind())).cloned().collect();
        for sides in [&runs[..2], &runs[1..3], &runs[..3]] {
            let mut ask = Ask::about_all(question);
            let runs = ask.take_sides(&sides.iter().map(|run| vec![run.clone()]).collect::<Vec<_>>());
            fields.add(&answer(&ask, &runs).unwrap());
        }
        return fields;
    }
    for (ask, grouped) in &asks {
        // A profile has no groups of host and device.
        let fits = |run: &&Arc<Run>| {
            // HTA knows PyTorch's traces only.
            let other = question.name == "hta" && run.trace().meta().framework.is_some();
            question.answers_for(run.kind()) && !other && (run.kind() == DocumentKind::Trace || !*grouped)
        };
        for run in runs().iter().filter(fits) {
            let answer =
                answer(ask, std::slice::from_ref(run)).unwrap_or_else(|e| panic!("{}: {e:?}", question.name));
            fields.add(&answer);
        }
    }
    fields
}

/// Whether a definition is about a field. `host_…_ns` is about every field that begins and ends like that.
fn is_about(definition: &Definition, field: &str) -> bool {
    match definition.field.split_once('…') {
        Some((start, end)) => field.starts_with(start) && field.ends_with(end),
        None => definition.field == field,
    }
}

fn lists(list: &[(&str, &[&str])], question: &Question, field: &str) -> bool {
    list.iter().any(|(name, fields)| *name == question.name && fields.contains(&field))
}

#[test]
fn every_number_has_a_definition() {
    let mut missing = Vec::new();
    for question in QUESTIONS {
        let definitions = question.all_definitions();
        let fields = &fields()[question.name];
        for field in &fields.numbers {
            let defined = definitions.iter().any(|d| is_about(d, field));
            if !defined && !IDENTIFIERS.contains(&field.as_str()) {
                missing.push(format!("{}: {field} (in {:?})", question.name, fields.all[field]));
            }
        }
    }
    assert!(missing.is_empty(), "{} numbers without a definition:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn every_definition_is_about_a_field() {
    let mut dead = Vec::new();
    for question in QUESTIONS {
        let fields = &fields()[question.name].all;
        for definition in question.all_definitions() {
            if !lists(TERMS, question, definition.field)
                && !fields.keys().any(|field| is_about(&definition, field))
            {
                dead.push(format!("{}: {}", question.name, definition.field));
            }
        }
    }
    assert!(dead.is_empty(), "{} definitions of no field:\n{}", dead.len(), dead.join("\n"));
}

#[test]
fn a_question_gives_a_field_one_meaning() {
    let mut odd = Vec::new();
    for question in QUESTIONS {
        let mut texts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for definition in question.definitions.iter().copied().flatten() {
            texts.entry(definition.field).or_default().insert(definition.text);
        }
        for (field, texts) in &texts {
            if (texts.len() > 1) != lists(COMBINED, question, field) {
                odd.push(format!("{}: {field} has {} meanings", question.name, texts.len()));
            }
        }
        let shown: BTreeSet<&str> = question.all_definitions().iter().map(|d| d.field).collect();
        assert_eq!(shown.len(), question.all_definitions().len(), "{}: a field is shown twice", question.name);
        assert_eq!(shown.len(), texts.len(), "{}: a field is not shown", question.name);
    }
    assert!(odd.is_empty(), "fields with other than one meaning:\n{}", odd.join("\n"));
}

/// The fields whose definitions a file of a question takes its headings from.
fn metrics(text: &str) -> impl Iterator<Item = &str> {
    let calls = text.split(".metric").skip(1).filter(|call| call.starts_with(['(', '_']));
    calls.filter_map(|call| call.split('"').nth(1))
}

#[test]
fn headings_of_metrics_are_defined() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/questions");
    let (mut found, mut undefined) = (0, Vec::new());
    for question in QUESTIONS {
        let definitions = question.all_definitions();
        let own = folder.join(question.name.replace('-', "_"));
        let inside = std::fs::read_dir(&own).into_iter().flatten().map(|entry| entry.unwrap().path());
        for file in inside.chain([own.with_extension("rs")]) {
            let text = std::fs::read_to_string(&file).unwrap();
            for field in metrics(&text) {
                found += 1;
                if !definitions.iter().any(|d| d.field == field) {
                    undefined.push(format!("{}: {field}", file.display()));
                }
            }
        }
    }
    assert!(found > 200, "only {found} metrics in {}", folder.display());
    assert!(undefined.is_empty(), "headings without a definition:\n{}", undefined.join("\n"));
}

#[test]
fn definitions_are_sentences() {
    let mut odd = Vec::new();
    for question in QUESTIONS {
        for Definition { field, label, text } in question.all_definitions() {
            // What explains words begins with the first of them.
            let number = fields()[question.name].numbers.contains(field);
            let starts = !number || text.starts_with(|c: char| c.is_uppercase() || c == '`');
            let whole = text.ends_with('.') && text.len() > 20;
            let clean = !text.contains("  ") && !text.contains('\n') && text.trim() == text;
            if !(starts && whole && clean) || label.is_empty() {
                odd.push(format!("{}: {field}: {text}", question.name));
            }
        }
    }
    assert!(odd.is_empty(), "no sentences:\n{}", odd.join("\n"));
}

//! Runs and ways to ask about them that together have every form of every answer.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_ask::{Ask, Question};
use stepscope_formats::{OpenOptions, open, open_trace};

use super::root;

/// Traces that together have everything: kernels, stacks, modules, memory, communication, data loading, compiled programs, and
/// nothing.
pub(super) fn traces() -> Vec<Arc<Run>> {
    let fixtures = root().join("fixtures/pytorch");
    let paths = [
        "2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz",
        "2.11-h200/conv_slow_loader/conv_slow_loader.pt.trace.json.gz",
        "mini/mini.pt.trace.json",
        "../xla/layers.xplane.pb",
    ];
    let read = |path: &&str| open_trace(&fixtures.join(path), &OpenOptions::default()).unwrap();
    paths.iter().map(read).map(|trace| Arc::new(Run::new(trace))).collect()
}

/// Profiles that together have everything: calls, lines, stacks and memory.
pub(super) fn profiles() -> Vec<Arc<Run>> {
    let fixtures = root().join("fixtures/profiles");
    let paths = [
        "demo-3.11.pstats",
        "hot-5.1.lprof",
        "pyspy.raw",
        "cache.mem",
        "../memory/out_of_memory_by_shortage.pickle.gz",
    ];
    let read = |path: &&str| open(&fixtures.join(path), &OpenOptions::default()).unwrap();
    paths.iter().map(read).map(|document| Arc::new(Run::from_document(document))).collect()
}

/// Options that give an answer another form, beside groupings and the flags of reports.
const OTHERS: &[(&str, &[(&str, &str)])] = &[
    ("functions", &[("callers", ".")]),
    ("functions", &[("callees", ".")]),
    ("hlo", &[("around", "custom-call.1")]),
    ("memory", &[("lines", "1")]),
    ("memory", &[("from", "0"), ("to", "1ms")]),
    ("memory", &[("by", "stack"), ("at", "peak")]),
    ("summary", &[("no-findings", "1")]),
];

/// The same, about one run more than once.
const OF_SEVERAL: &[(&str, &[(&str, &str)])] =
    &[("memory", &[("leaks", "1")]), ("memory", &[("fit", "1"), ("batch", "16,64")])];

pub(super) fn asked(question: &'static Question, runs: &[Arc<Run>]) -> Vec<(String, Ask, Vec<Arc<Run>>)> {
    if !question.answers_for(runs[0].kind()) {
        return Vec::new();
    }
    let flags = question.report_by.unwrap_or_default().iter().filter(|word| !question.by.contains(word));
    let mut ways: Vec<Vec<(&str, &str)>> = question
        .variants()
        .map(|by| by.map(|by| ("by", by)).into_iter().collect())
        .chain(flags.map(|&flag| vec![(flag, "1")]))
        .collect();
    let of_question = |others: &[(&str, &'static [(&str, &str)])]| {
        let own = others.iter().filter(|(name, _)| *name == question.name);
        own.map(|(_, options)| options.to_vec()).collect::<Vec<_>>()
    };
    ways.extend(of_question(OTHERS));
    let mut all = Vec::new();
    let mut add = |options: &[(&str, &str)], about: Vec<Arc<Run>>| {
        let mut ask = Ask::with(question.name, options.iter().copied()).unwrap();
        ask.sides = vec![1; about.len()];
        let path = &about[about.len() - 1].trace().meta().source.path;
        all.push((format!("{} {options:?} about {path}", question.name), ask, about));
    };
    for run in runs {
        for options in &ways {
            match question.compares() {
                true => {
                    add(options, vec![runs[0].clone(), run.clone()]);
                    add(options, vec![runs[0].clone(), run.clone(), run.clone()]);
                }
                false => add(options, vec![run.clone()]),
            }
        }
        for options in of_question(OF_SEVERAL) {
            add(&options, vec![run.clone(), run.clone()]);
        }
    }
    all
}

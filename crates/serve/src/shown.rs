//! Which pages have something to show about a run: those whose questions have an answer with rows.

use stepscope_model::{DocumentKind, Kind};

use crate::run::Run;
use stepscope_ask::Ask;

/// Pages that are there if one of these questions has rows, and the parts that count.
const BY_QUESTION: &[(&str, &str, &[&str])] = &[
    ("code", "code", &["code"]),
    ("functions", "functions", &["functions"]),
    ("lines", "lines", &["lines"]),
    ("hlo", "hlo", &["instructions"]),
    ("memory", "memory", &["devices", "process", "programs"]),
    ("modules", "modules", &["modules"]),
    ("threads", "threads", &["threads", "tasks"]),
    ("regions", "regions", &["regions"]),
    ("phases", "phases", &["phases"]),
    ("collectives", "collectives", &["collectives"]),
    ("serving", "serving", &["kinds", "iterations"]),
    ("graphs", "graphs", &["graphs"]),
    ("compile", "compile", &["health", "compiled", "eager", "regions"]),
];

/// The names of the pages.
pub(crate) fn shown(run: &Run) -> Vec<&'static str> {
    let (trace, slices) = (run.run.trace(), run.run.trace().slices());
    let mut pages = vec!["overview"];
    let is_trace = run.run.kind() == DocumentKind::Trace;
    let has = |is: fn(Kind) -> bool| slices.kinds().iter().any(|kind| is(*kind));
    let operators = has(|kind| matches!(kind, Kind::HostOp | Kind::HostAnnotation));
    let device = has(|kind| matches!(kind, Kind::Kernel | Kind::Memcpy | Kind::Memset));
    let timeline = is_trace && (!slices.is_empty() || !trace.counters().is_empty());
    let profile = run.run.profile();
    let stacks = profile.is_some_and(|profile| !profile.samples().is_empty() || !profile.calls.is_empty());
    let fixed = [
        ("timeline", timeline),
        ("operators", operators),
        ("kernels", device),
        ("flame", is_trace && !slices.is_empty() || stacks),
        ("memory", run.run.snapshot().is_some()),
        ("diagnosis", is_trace && (device || has(|kind| kind == Kind::HostOp))),
    ];
    pages.extend(fixed.into_iter().filter(|(_, there)| *there).map(|(page, _)| page));
    let asked = BY_QUESTION.iter().filter(|(_, question, parts)| has_rows(run, question, parts));
    pages.extend(asked.map(|(page, _, _)| *page));
    if is_trace {
        pages.push("compare");
    }
    pages
}

fn has_rows(run: &Run, question: &str, parts: &[&str]) -> bool {
    let Ok(ask) = Ask::new(question) else { return false };
    if !ask.question().answers_for(run.run.kind()) {
        return false;
    }
    let Ok(answer) = run.ask(&format!("{question}?[]"), &ask) else { return false };
    answer.parts.iter().any(|part| parts.contains(&part.key) && !part.is_empty())
}

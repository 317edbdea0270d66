//! Which pages have something to show about a run: those whose questions have an answer with rows.

use stepscope_ask::{Ask, Part, QUESTIONS, Question};
use stepscope_model::{DocumentKind, Kind};

use crate::cached_run::CachedRun;

/// The names of the pages.
pub(crate) fn shown(run: &CachedRun) -> Vec<&'static str> {
    let (trace, slices) = (run.trace(), run.trace().slices());
    let mut pages = vec!["overview"];
    let is_trace = run.kind() == DocumentKind::Trace;
    let has = |is: fn(Kind) -> bool| slices.kinds().iter().any(|kind| is(*kind));
    let operators = has(|kind| matches!(kind, Kind::HostOp | Kind::HostAnnotation));
    let device = has(|kind| matches!(kind, Kind::Kernel | Kind::Memcpy | Kind::Memset));
    let timeline = is_trace && (!slices.is_empty() || !trace.counters().is_empty());
    let profile = run.profile();
    let stacks = profile.is_some_and(|profile| !profile.samples().is_empty() || !profile.calls.is_empty());
    let fixed = [
        ("timeline", timeline),
        ("operators", operators),
        ("kernels", device),
        ("flame", is_trace && !slices.is_empty() || stacks),
        ("memory", run.snapshot().is_some()),
        ("diagnosis", is_trace && (device || has(|kind| kind == Kind::HostOp))),
    ];
    pages.extend(fixed.into_iter().filter(|(_, there)| *there).map(|(page, _)| page));
    let asked = QUESTIONS.iter().filter(|question| has_rows(run, question));
    pages.extend(asked.map(|question| question.name));
    if is_trace {
        pages.push("compare");
    }
    pages
}

/// Whether one of the parts that give the question a page has rows.
fn has_rows(run: &CachedRun, question: &'static Question) -> bool {
    if question.page_parts.is_empty() || !question.answers_for(run.kind()) {
        return false;
    }
    let answer = run.ask(&format!("{}?[]", question.name), &Ask::about_all(question));
    let has_rows = |part: &Part| question.page_parts.contains(&part.key) && !part.is_empty();
    answer.is_ok_and(|answer| answer.parts.iter().any(has_rows))
}

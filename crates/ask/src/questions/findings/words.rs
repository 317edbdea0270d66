//! The parts of a finding in words, the same on the screen, in Markdown and in SARIF.

use stepscope_analyse::findings::{Confidence, Estimate, Figure, Finding, Severity};
use stepscope_analyse::run::{Run, Unprofiled};

use crate::print::{Role, units};

/// The color of a severity.
pub(crate) fn role(severity: Severity) -> Role {
    match severity {
        Severity::High => Role::Bad,
        Severity::Medium => Role::Warn,
        Severity::Low => Role::Accent,
        Severity::Info => Role::Dim,
    }
}

/// What savings are parts of.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Whole {
    /// The mean step, or all of a run without steps.
    pub(crate) ns: i64,
    /// Whether it is a step.
    pub(crate) is_step: bool,
}

impl Whole {
    pub(crate) fn of(run: &Run) -> Whole {
        Whole {
            ns: run.whole_ns(),
            is_step: run.hot().is_none() || !run.steps().synthetic && run.step_ns() > 0,
        }
    }
}

/// What a fix would save; none if nothing is known.
pub(crate) fn saves(finding: &Finding, whole: Whole) -> Option<String> {
    let share = finding.saves_share?;
    let Some(ns) = finding.saves_ns else {
        return Some(format!("saves at most {} of the samples", units::percent(share)));
    };
    let (verb, how) = match finding.estimate {
        Estimate::Replay => ("saves", ", from replay"),
        Estimate::Model => ("saves", ", from a hardware model"),
        Estimate::UpperBound => ("saves at most", ""),
        Estimate::None => ("saves", ""),
    };
    Some(format!(
        "{verb} {}{} ({} of {}){how}",
        units::time(ns),
        if whole.is_step { " per step" } else { "" },
        units::percent(share),
        units::time(whole.ns),
    ))
}

/// How long the step takes without the profiler, where that is less; nothing if it is about the same.
pub(super) fn without_profiler(step_ns: i64, unprofiled: Unprofiled) -> String {
    match unprofiled.step_ns as f64 <= 0.95 * step_ns as f64 {
        true => format!(", about {} without the profiler", units::about(unprofiled.step_ns)),
        false => String::new(),
    }
}

/// What it would save without the profiler, where that is another share; none if nothing is known.
pub(crate) fn saves_unprofiled(finding: &Finding) -> Option<String> {
    let (recorded, unprofiled) = (finding.saves_share?, finding.saves_unprofiled_share?);
    let differs = (recorded - unprofiled).abs() > 0.1 * recorded;
    let ns = finding.saves_unprofiled_ns?;
    differs.then(|| format!("about {} ({}) without the profiler", units::about(ns), units::percent(unprofiled)))
}

/// What it would save, here and without the profiler, in as few words as a list has room for.
pub(crate) fn saves_short(finding: &Finding) -> Option<String> {
    let share = finding.saves_share?;
    let verb = if finding.estimate == Estimate::UpperBound { "saves at most" } else { "saves" };
    let Some(ns) = finding.saves_ns else {
        return Some(format!("{verb} {} of the samples", units::percent(share)));
    };
    let here = format!("{verb} {} ({})", units::time(ns), units::percent(share));
    match saves_unprofiled(finding) {
        Some(unprofiled) => Some(format!("{here} here, {unprofiled}")),
        None => Some(here),
    }
}

/// The first line of a snippet that changes something.
pub(crate) fn first_change(code: &str) -> Option<&str> {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with('#');
    code.lines().map(str::trim).find(is_code).or_else(|| code.lines().next())
}

/// How sure the rule is.
pub(super) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "the trace shows it",
        Confidence::Medium => "likely",
        Confidence::Low => "low confidence",
    }
}

/// A number with its unit.
pub(super) fn metric(figure: &Figure) -> String {
    match figure {
        Figure::Ns(ns) => units::time(*ns),
        Figure::Share(share) => units::percent(*share),
        Figure::Count(count) => units::count(*count),
        Figure::Bytes(bytes) => units::bytes(*bytes),
        Figure::BytesPerSecond(rate) => units::rate_bytes(*rate),
        Figure::Number(number) => {
            let text = format!("{number:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Figure::Text(text) => text.clone(),
    }
}

/// The first sentence of a text.
pub(crate) fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_units() {
        assert_eq!(metric(&Figure::Ns(1_500)), "1.500 µs");
        assert_eq!(metric(&Figure::Number(2.50)), "2.5");
        assert_eq!(metric(&Figure::Number(100.0)), "100");
        assert_eq!(metric(&Figure::Number(0.0)), "0");
        assert_eq!(first_sentence("Do this. Then that."), "Do this.");
        assert_eq!(first_sentence("Do 1.5 of it"), "Do 1.5 of it");
    }

    #[test]
    fn the_first_line_that_changes_something() {
        assert_eq!(first_change("# first\n\n    x = 1\ny = 2"), Some("x = 1"));
        assert_eq!(first_change("# only words"), Some("# only words"));
        assert_eq!(first_change(""), None);
    }
}

//! The parts of a finding in words, the same on the screen, in Markdown and in SARIF.

use stepscope_analyse::findings::{Amount, Confidence, Estimate, Finding, MIN_SHOWN_SHARE, Severity};
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
    pub(crate) is_step: bool,
    /// The step without the profiler, where steps were timed before the recording.
    bare_ns: Option<i64>,
}

impl Whole {
    pub(crate) fn new(run: &Run) -> Whole {
        // Without such steps there is nothing to replay for.
        let bare = run.trace().meta().bare_steps.as_ref().map(|_| ());
        Whole {
            ns: run.whole_ns(),
            is_step: run.hot().is_none() || !run.steps().synthetic && run.step_ns() > 0,
            bare_ns: bare.map(|()| run.unprofiled()).filter(|of| of.measured).map(|of| of.step_ns),
        }
    }
}

/// What a fix saves of the step as it was recorded, of the step without the profiler, or of both: whatever says something.
enum SavingText {
    Samples(f64),
    Here(i64, f64),
    Bare(i64, f64),
    Both((i64, f64), (i64, f64)),
}

/// Where steps were timed without the profiler, what is saved of those is all that matters; where nothing is saved of the
/// recorded step, too.
fn saving(finding: &Finding, whole: Whole) -> Option<SavingText> {
    let share = finding.saves_share?;
    let Some(ns) = finding.saves_ns else { return Some(SavingText::Samples(share)) };
    let here = Some((ns, share)).filter(|_| share >= MIN_SHOWN_SHARE);
    let bare =
        finding.saves_unprofiled_ns.zip(finding.saves_unprofiled_share).filter(|of| of.1 >= MIN_SHOWN_SHARE);
    Some(match (here, bare) {
        (None, None) => return None,
        (_, Some((ns, share))) if whole.bare_ns.is_some() => SavingText::Bare(ns, share),
        (None, Some((ns, share))) => SavingText::Bare(ns, share),
        (Some((_, share)), Some(bare)) if (share - bare.1).abs() > 0.1 * share => {
            SavingText::Both((ns, share), bare)
        }
        (Some((ns, share)), _) => SavingText::Here(ns, share),
    })
}

/// What a fix would save, a sentence each for here and without the profiler; nothing if nothing is known.
pub(crate) fn saves(finding: &Finding, whole: Whole) -> Vec<String> {
    let (verb, how) = match finding.estimate {
        Estimate::Replay => ("saves", ", from replay"),
        Estimate::Model => ("saves", ", from a hardware model"),
        Estimate::UpperBound => ("saves at most", ""),
        Estimate::None => ("saves", ""),
    };
    let each = if whole.is_step { " per step" } else { "" };
    let here = |(ns, share): (i64, f64)| {
        format!(
            "{verb} {}{each} ({} of {}){how}",
            units::time(ns),
            units::percent(share),
            units::time(whole.ns)
        )
    };
    let bare = |(ns, share): (i64, f64)| {
        format!("about {} ({}) without the profiler", units::about(ns), units::percent(share))
    };
    match saving(finding, whole) {
        None => Vec::new(),
        Some(SavingText::Samples(share)) => {
            vec![format!("saves at most {} of the samples", units::percent(share))]
        }
        Some(SavingText::Here(ns, share)) => vec![here((ns, share))],
        Some(SavingText::Both(recorded, unprofiled)) => vec![here(recorded), bare(unprofiled)],
        Some(SavingText::Bare(ns, share)) => {
            let of = whole.bare_ns.map(|ns| format!(" of {}", units::time(ns))).unwrap_or_default();
            let (ns, share) = (units::about(ns), units::percent(share));
            vec![format!("{verb} about {ns}{each} ({share}{of} without the profiler){how}")]
        }
    }
}

/// How long a step takes here and without the profiler: `39.14 ms per step here, about 25 ms (23 to 28 ms) without the
/// profiler`.
pub(crate) fn step_text(run: &Run) -> String {
    let here = units::time(run.step_ns());
    let Unprofiled { step_ns, low_ns, high_ns, measured, .. } = *run.unprofiled();
    let what = if run.steps().synthetic { "in total" } else { "per step" };
    if measured {
        return format!(
            "{} {what}, measured without the profiler; {here} while recording",
            units::time(step_ns)
        );
    }
    // The cost of recording is known for PyTorch's profiler alone.
    if run.trace().meta().framework.is_some() {
        return format!("{here} {what} here; what the profiler adds to it is unknown");
    }
    if step_ns as f64 > 0.95 * run.step_ns() as f64 {
        return format!("{here} {what}; by estimate, the profiler adds little");
    }
    let range = match units::about(low_ns) == units::about(high_ns) {
        true => String::new(),
        false => format!(" ({})", units::about_range(low_ns, high_ns)),
    };
    format!("{here} {what} here, about {}{range} without the profiler", units::about(step_ns))
}

/// How long the step takes without the profiler, where that is less; nothing if it is about the same.
pub(super) fn without_profiler(step_ns: i64, unprofiled: Unprofiled) -> String {
    match unprofiled.step_ns as f64 <= 0.95 * step_ns as f64 {
        true if unprofiled.measured => {
            format!(", {} measured without the profiler", units::time(unprofiled.step_ns))
        }
        true => format!(", about {} without the profiler", units::about(unprofiled.step_ns)),
        false => String::new(),
    }
}

/// What it would save, in as few words as a list has room for.
pub(crate) fn saves_short(finding: &Finding, whole: Whole) -> Option<String> {
    if finding.measured_text.is_some() {
        return finding.measured_text.clone();
    }
    let verb = if finding.estimate == Estimate::UpperBound { "saves at most" } else { "saves" };
    let here = |ns, share| format!("{verb} {} ({})", units::time(ns), units::percent(share));
    let bare =
        |ns, share| format!("about {} ({}) without the profiler", units::about(ns), units::percent(share));
    Some(match saving(finding, whole)? {
        SavingText::Samples(share) => format!("{verb} {} of the samples", units::percent(share)),
        SavingText::Here(ns, share) => here(ns, share),
        SavingText::Bare(ns, share) => format!("{verb} {}", bare(ns, share)),
        SavingText::Both((ns, share), unprofiled) => {
            format!("{} here, {}", here(ns, share), bare(unprofiled.0, unprofiled.1))
        }
    })
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
pub(super) fn amount(amount: &Amount) -> String {
    match amount {
        Amount::Ns(ns) => units::time(*ns),
        Amount::Share(share) => units::percent(*share),
        Amount::Count(count) => units::count(*count),
        Amount::Bytes(bytes) => units::bytes(*bytes),
        Amount::BytesPerSecond(rate) => units::rate_bytes(*rate),
        Amount::Number(number) => {
            let text = format!("{number:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Amount::Text(text) => text.clone(),
    }
}

pub(crate) fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_units() {
        assert_eq!(amount(&Amount::Ns(1_500)), "1.500 µs");
        assert_eq!(amount(&Amount::Number(2.50)), "2.5");
        assert_eq!(amount(&Amount::Number(100.0)), "100");
        assert_eq!(amount(&Amount::Number(0.0)), "0");
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

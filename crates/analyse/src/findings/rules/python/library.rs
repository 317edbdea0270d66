//! A finding about the time that a program spends in a library: how much, who asks for it, and what to do instead.

use super::super::text::percent;
use crate::findings::{Amount, Context, Evidence, Finding, evidence};
use crate::run::{AmountUnit, FunctionsTotal, PythonTime};

/// Places that are named as evidence.
const MAX_PLACES: usize = 3;

/// What a rule says about a library.
pub(super) struct Library {
    pub(super) rule: &'static str,
    /// The threshold of the share from which on it speaks.
    pub(super) min_share: &'static str,
    /// The library, as a title begins: `JSON`.
    pub(super) what: &'static str,
    /// What the program does there: `encoding and decoding JSON`.
    pub(super) doing: &'static str,
    pub(super) why: &'static str,
    pub(super) fix: &'static str,
}

impl Library {
    /// The finding, if the share is large enough.
    pub(super) fn finding(&self, context: &Context<'_>, spent: &FunctionsTotal) -> Option<Finding> {
        if spent.share < context.threshold(self.min_share) {
            return None;
        }
        let time = context.python()?;
        let mut finding = context.taking(self.rule, spent.share)?;
        let by = spent.places.first().map(|place| format!(", most of it for {}", place.describe()));
        let share = percent(spent.share);
        finding.title =
            format!("{}: {share} of the run goes into {}{}", self.what, self.doing, by.unwrap_or_default());
        finding.evidence = evidence(time, spent, self.doing);
        finding.why = self.why.to_owned();
        finding.fix = self.fix.to_owned();
        finding.source = spent.places.first().map(|place| place.frame());
        finding.verify = verify(context);
        Some(finding)
    }
}

/// How to see whether a change helped.
pub(super) fn verify(context: &Context<'_>) -> String {
    match context.kind() {
        stepscope_model::DocumentKind::Profile => {
            "Record again the same way; `stepscope functions` should show less time there.".to_owned()
        }
        _ => "Record again with `stepscope run`; `stepscope functions` should show less time there.".to_owned(),
    }
}

/// An amount in the unit of the profile.
pub(super) fn metric(time: &PythonTime<'_>, amount: i64) -> Amount {
    match time.unit {
        AmountUnit::Nanoseconds => Amount::Ns(amount),
        AmountUnit::Samples | AmountUnit::Bytes => Amount::Count(amount.max(0) as u64),
    }
}

pub(super) fn evidence(time: &PythonTime<'_>, spent: &FunctionsTotal, doing: &str) -> Vec<Evidence> {
    let mut evidence = evidence! {
        doing.to_owned() => metric(time, spent.amount),
            "Time, or samples, of the stacks that hold one of these functions, each counted once, in the thread where that is \
             most.";
        "share of the run" => Amount::Share(spent.share),
            "The same divided by the longest thread, its waiting included. No change can save more than this.";
    };
    if let Some(calls) = spent.calls.filter(|calls| *calls > 0) {
        evidence.push(Evidence::new(
            "calls",
            Amount::Count(calls),
            "How often one of these functions was called by another function, as the profiler counted.",
        ));
    }
    if let Some((name, _)) = spent.entered.first() {
        evidence.push(Evidence::new(
            "entered at",
            Amount::Text(name.clone()),
            "The function of the library through which most of the time was entered.",
        ));
    }
    for place in spent.places.iter().take(MAX_PLACES) {
        evidence.push(Evidence::new(
            format!("for {}", place.describe()),
            metric(time, place.amount),
            "The same by the innermost function of the program around it, in all threads; the line is that of the call where \
             stacks say it, else the function's first.",
        ));
    }
    evidence
}

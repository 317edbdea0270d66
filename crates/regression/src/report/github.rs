//! Annotations as GitHub's runner reads them off the output of a step.

use super::cause as cause_of;
use crate::check::{Checked, Outcome};

/// One line per condition that did not pass.
pub fn annotations(checked: &Checked) -> String {
    let lines = checked.findings.iter().filter_map(|finding| {
        let level = match finding.outcome {
            Outcome::Pass => return None,
            Outcome::Fail => "error",
            Outcome::Inconclusive => "warning",
        };
        let cause = checked.explanation.as_ref().filter(|_| finding.outcome == Outcome::Fail);
        let why = match cause.map(|found| cause_of(checked, found)) {
            Some(cause) => format!("{}; {cause}", finding.why),
            None => finding.why.clone(),
        };
        let title = property(&format!("{}: {}", finding.condition, finding.outcome.word()));
        Some(format!("::{level} title={title}::{}\n", message(&why)))
    });
    lines.collect()
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

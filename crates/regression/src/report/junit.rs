//! JUnit's XML, which every CI system shows.

use std::fmt::Write as _;

use stepscope_ground::markup;

use crate::check::{Checked, Outcome};

/// The file: a test per condition. What is not decided is a failure of its own kind, because it is not a pass.
pub fn junit(checked: &Checked, suite: &str) -> String {
    let of = |outcome: Outcome| checked.findings.iter().filter(|f| f.outcome == outcome).count();
    let failures = of(Outcome::Fail) + of(Outcome::Inconclusive);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\"", checked.findings.len());
    let _ = write!(text, "<testsuites {counts}>\n  <testsuite name=\"{}\" {counts}>\n", escaped(suite));
    for finding in &checked.findings {
        let name = escaped(&finding.condition.text);
        let why = escaped(&finding.why);
        let _ = match finding.outcome {
            Outcome::Pass => writeln!(
                text,
                "    <testcase classname=\"stepscope.check\" name=\"{name}\">\n      <system-out>{why}</system-out>\n    </testcase>"
            ),
            outcome => writeln!(
                text,
                "    <testcase classname=\"stepscope.check\" name=\"{name}\">\n      <failure type=\"{}\" message=\"{why}\"/>\n    </testcase>",
                outcome.word()
            ),
        };
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Text that can be in an attribute, which has one line.
fn escaped(text: &str) -> String {
    markup::escaped(&text.replace(['\n', '\r'], " "))
}

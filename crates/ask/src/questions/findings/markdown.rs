//! Findings as a document for an issue or a pull request.

use std::fmt::Write as _;

use stepscope_analyse::findings::Finding;

use super::{FindingList, words};
use crate::print::{markdown_text, units};

pub(super) fn document(found: &FindingList) -> String {
    let mut text = String::from("## Findings\n\n");
    // Writing to a text cannot fail.
    let _ = match found.steps {
        _ if !found.whole.is_step => writeln!(text, "{}", markdown_text(&found.path)),
        0 => writeln!(text, "{}", markdown_text(&found.path)),
        n => writeln!(
            text,
            "{}: {n} steps, {} on average{}.",
            markdown_text(&found.path),
            markdown_text(&units::time(found.step_ns)),
            markdown_text(&words::without_profiler(found.step_ns, found.unprofiled))
        ),
    };
    if found.shown.rows.is_empty() {
        text.push_str(if found.shown.all > 0 { "\nNone matches the filter.\n" } else { "\nNone.\n" });
    }
    for finding in &found.shown.rows {
        section(&mut text, finding, found.whole);
    }
    if let Some(left_out) = found.shown.left_out() {
        let _ = writeln!(text, "\n{}", markdown_text(&left_out));
    }
    text
}

fn section(text: &mut String, finding: &Finding, whole: words::Whole) {
    let _ = writeln!(text, "\n### {}: {}\n", finding.severity.label(), markdown_text(&finding.title));
    let mut facts: Vec<String> = finding.measured_text.clone().into_iter().collect();
    facts.extend(words::saves(finding, whole));
    facts.push(words::confidence(finding.confidence).to_owned());
    let _ = writeln!(text, "{} (`{}`)\n", markdown_text(&facts.join("; ")), finding.rule);
    let _ = writeln!(text, "**Why.** {}\n", markdown_text(&finding.why));
    let _ = writeln!(text, "**Change.** {}", markdown_text(&finding.fix));
    if let Some(code) = &finding.code {
        // A fence longer than any in the code.
        let fence = if code.contains("```") { "`````" } else { "```" };
        let _ = writeln!(text, "\n{fence}python\n{code}\n{fence}");
    }
    if let Some(source) = &finding.source {
        let _ = writeln!(text, "\n**Line.** {}", markdown_text(source));
    }
    if !finding.evidence.is_empty() {
        text.push_str("\n| Evidence | Value | Meaning |\n| --- | ---: | --- |\n");
        for evidence in &finding.evidence {
            let value = markdown_text(&words::amount(&evidence.value));
            let (label, meaning) = (markdown_text(&evidence.label), markdown_text(evidence.definition));
            let _ = writeln!(text, "| {label} | {value} | {meaning} |");
        }
    }
    let _ = writeln!(text, "\n**Check.** {}", markdown_text(&finding.verify));
}

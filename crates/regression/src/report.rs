//! A check for people and for other programs: a table, Markdown, JUnit XML, GitHub's annotations, JSON.

mod github;
mod junit;

use serde_json::{Value, json};
use stepscope_ask::print::{Cell, Column, Columns, Role, Table, markdown, middle_ellipsis, units};

use crate::check::{Checked, Finding, Outcome};
use crate::explain::Explanation;

pub use crate::check::percent;

pub use github::annotations;
pub use junit::junit;

/// What is said in one line.
pub fn sentence(checked: &Checked) -> String {
    let of = |outcome: Outcome| checked.findings.iter().filter(|f| f.outcome == outcome).count();
    let total = checked.findings.len();
    let conditions = if total == 1 { "1 condition".to_owned() } else { format!("{total} conditions") };
    match checked.outcome() {
        Outcome::Pass => format!("pass: {conditions} kept"),
        Outcome::Fail => format!("fail: {} of {conditions} broken", of(Outcome::Fail)),
        Outcome::Inconclusive => {
            format!(
                "inconclusive: {} of {conditions} could not be decided (counts as not passed)",
                of(Outcome::Inconclusive)
            )
        }
    }
}

/// The conditions as a table.
pub fn table(checked: &Checked) -> Table {
    let verdict = |outcome: Outcome| {
        Cell::text(outcome.word()).role(match outcome {
            Outcome::Pass => Role::Good,
            Outcome::Fail => Role::Bad,
            Outcome::Inconclusive => Role::Accent,
        })
    };
    let mut table = Columns::of(&checked.findings)
        .add(Column::name("Fails if").flexible(16, middle_ellipsis), |f| Cell::text(&f.condition.text))
        .add(Column::text("Verdict").keep(), |f| verdict(f.outcome))
        .add(Column::number("Baseline"), |f| Cell::text(numbers(f).before))
        .add(Column::number("Now"), |f| Cell::text(numbers(f).now))
        .add(Column::number("Change"), |f| Cell::text(numbers(f).change))
        .add(Column::text("Interval"), |f| Cell::text(numbers(f).interval))
        .add(Column::text("Runs"), |f| Cell::text(numbers(f).runs))
        .table();
    for finding in checked.findings.iter().filter(|f| f.outcome == Outcome::Inconclusive) {
        table.note(format!("{}: {}", finding.condition, finding.why));
    }
    table.notes(&checked.remarks);
    table
}

/// The numbers of a finding in words; empty where there is none.
#[derive(Default)]
struct Numbers {
    before: String,
    now: String,
    change: String,
    interval: String,
    runs: String,
}

fn numbers(finding: &Finding) -> Numbers {
    let text = |value: Option<f64>| value.map_or(String::new(), |value| finding.text(value));
    let range = |range: Option<(f64, f64)>, text: &dyn Fn(f64) -> String| {
        let range = range.filter(|(low, high)| low != high);
        range.map_or(String::new(), |(low, high)| format!("{} to {}", text(low), text(high)))
    };
    match (&finding.comparison, &finding.level) {
        (Some(found), _) => Numbers {
            before: text(found.baseline),
            now: text(found.current),
            change: found.ratio.map_or("from 0".to_owned(), percent),
            interval: range(found.low.zip(found.high), &percent),
            runs: format!("{} / {}", found.n.baseline_repeats, found.n.current_repeats),
        },
        (None, Some(level)) => Numbers {
            now: finding.text(level.value),
            interval: range(level.interval, &|value| finding.text(value)),
            ..Numbers::default()
        },
        _ => Numbers::default(),
    }
}

/// What traces say about a failure, in one sentence: `from traces, which did not decide: …`.
pub fn cause(checked: &Checked, explanation: &Explanation) -> String {
    let what = match (&explanation.because, explanation.agrees) {
        (Some(because), true) => because.clone(),
        (because, _) => {
            let because = because.as_ref().map(|words| format!(" {words}")).unwrap_or_default();
            format!("the traces do not show a slower step. {}{because}", explanation.sentence)
        }
    };
    match checked.from_traces {
        true => format!("from the same traces: {what}"),
        false => format!("from traces, which did not decide: {what}"),
    }
}

/// The places that take more time than before.
pub fn cause_table(checked: &Checked, explanation: &Explanation) -> Table {
    let from = match checked.from_traces {
        true => "per step",
        false => "per step, from traces; the verdict does not rest on them",
    };
    Columns::of(&explanation.rows)
        .add(Column::number("Change").keep(), |r| Cell::text(units::delta_time(r.delta_ns)).role(Role::Warn))
        .add(Column::number("Before"), |r| Cell::time(r.before_ns))
        .add(Column::number("After"), |r| Cell::time(r.after_ns))
        .add(Column::text("Cause"), |r| Cell::text(r.cause))
        .add(Column::text("Sure").priority(60), |r| {
            Cell::text(if r.is_noise { "may be noise" } else { "yes" }).role(Role::Dim)
        })
        .add(Column::name("Where").flexible(24, middle_ellipsis), |r| Cell::text(&r.place))
        .table()
        .title("What takes more time", from)
        .when_empty("no place takes more time than before")
}

/// For a comment on a pull request.
pub fn as_markdown(checked: &Checked, title: &str) -> String {
    let mark = match checked.outcome() {
        Outcome::Pass => "✅",
        Outcome::Fail => "❌",
        Outcome::Inconclusive => "⚠️",
    };
    let title = stepscope_ask::print::markdown_text(title);
    let mut text = format!("### {mark} {title}: {}\n\n{}", sentence(checked), markdown(&table(checked)));
    for finding in checked.findings.iter().filter(|f| f.outcome == Outcome::Fail) {
        text.push_str(&format!(
            "\n- **{}**: {}\n",
            stepscope_ask::print::markdown_text(&finding.condition.text),
            finding.why
        ));
    }
    if let Some(found) = &checked.explanation {
        let words = stepscope_ask::print::markdown_text(&format!("Cause, {}", cause(checked, found)));
        text.push_str(&format!("\n{words}\n\n{}", markdown(&cause_table(checked, found))));
    }
    text
}

/// Everything, unrounded.
pub fn as_json(checked: &Checked) -> Value {
    let findings: Vec<Value> = checked
        .findings
        .iter()
        .map(|finding| {
            json!({
                "condition": finding.condition.text,
                "metric": finding.condition.metric.name,
                "outcome": finding.outcome,
                "why": finding.why,
                "comparison": finding.comparison,
                "level": finding.level,
                "method": finding.comparison.as_ref().map(|c| c.method.sentence()),
            })
        })
        .collect();
    json!({
        "outcome": checked.outcome(), "conditions": findings, "remarks": checked.remarks,
        "explanation": checked.explanation,
    })
}

#[cfg(test)]
mod tests;

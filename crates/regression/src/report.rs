//! A check as an answer, and as what build servers read: JUnit XML and GitHub's annotations.

mod github;
mod junit;

use std::io::{self, Write};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::statistics::{Comparison, Level};
use stepscope_ask::print::{
    Cell, Column, Columns, Role, Screen, Table, markdown, markdown_text, middle_ellipsis, units, wrap,
};
use stepscope_ask::{Answer, Draw, Part};

use crate::check::{Checked, Finding, Outcome};
use crate::explain::{Contribution, Explanation};

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

/// A condition and what became of it, for programs.
#[derive(Serialize, JsonSchema)]
struct ConditionRow {
    condition: String,
    metric: String,
    outcome: Outcome,
    why: String,
    comparison: Option<Comparison>,
    level: Option<Level>,
    /// How the two sides were compared, in a sentence.
    method: Option<&'static str>,
}

/// The check as an answer, like that to any question.
pub fn answer(checked: &Arc<Checked>, title: &str) -> Answer {
    let row = |finding: &Finding| ConditionRow {
        condition: finding.condition.text.clone(),
        metric: finding.condition.metric.name.clone(),
        outcome: finding.outcome,
        why: finding.why.clone(),
        comparison: finding.comparison.clone(),
        level: finding.level,
        method: finding.comparison.as_ref().map(|comparison| comparison.method.sentence()),
    };
    let shown = [checked.clone(), checked.clone(), checked.clone(), checked.clone()];
    let [of_table, of_causes, of_verdict, of_document] = shown;
    let title = title.to_owned();
    let causes = checked.explanation.iter().flat_map(|found| found.rows.clone()).collect();
    let causes = Part::new("causes", causes, move |rows| cause_table(of_causes.from_traces, rows));
    // In JSON they are inside the explanation.
    let mut causes = causes.shown(checked.explanation.is_some()).held_elsewhere();
    let verdict: Draw = Box::new(move |out, screen| verdict(&of_verdict, out, screen));
    let below = match checked.explanation {
        Some(_) => {
            causes.picture = Some(verdict);
            None
        }
        None => Some(verdict),
    };
    let mut answer = Answer::new(vec![
        Part::new("conditions", checked.findings.iter().map(row).collect(), move |_| table(&of_table)),
        causes,
    ])
    .fact("outcome", &checked.outcome())
    .fact("explanation", &checked.explanation);
    answer.question = "check";
    answer.remarks.clone_from(&checked.remarks);
    answer.below = below;
    answer.document = Some(Box::new(move || document(&of_document, &title)));
    answer
}

/// The verdict, and what traces say about a failure.
fn verdict(checked: &Checked, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
    let sentence = screen.paint(role(checked.outcome()), &sentence(checked));
    let Some(found) = &checked.explanation else { return writeln!(out, "\n{sentence}") };
    writeln!(out, "{sentence}")?;
    for line in wrap(&screen.text(&cause(checked, found)), screen.width.clamp(40, 110)) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

fn role(outcome: Outcome) -> Role {
    match outcome {
        Outcome::Pass => Role::Good,
        Outcome::Fail => Role::Bad,
        Outcome::Inconclusive => Role::Accent,
    }
}

/// The conditions as a table.
fn table(checked: &Checked) -> Table {
    let mut table = Columns::of(&checked.findings)
        .add(Column::name("Fails if").flexible(16, middle_ellipsis), |f| Cell::text(&f.condition.text))
        .add(Column::text("Verdict").keep(), |f| Cell::text(f.outcome.word()).role(role(f.outcome)))
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
fn cause(checked: &Checked, explanation: &Explanation) -> String {
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
fn cause_table(from_traces: bool, rows: &[Contribution]) -> Table {
    let from = match from_traces {
        true => "per step",
        false => "per step, from traces; the verdict does not rest on them",
    };
    Columns::of(rows)
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
fn document(checked: &Checked, title: &str) -> String {
    let mark = match checked.outcome() {
        Outcome::Pass => "✅",
        Outcome::Fail => "❌",
        Outcome::Inconclusive => "⚠️",
    };
    let title = markdown_text(title);
    let mut text = format!("### {mark} {title}: {}\n\n{}", sentence(checked), markdown(&table(checked)));
    for finding in checked.findings.iter().filter(|f| f.outcome == Outcome::Fail) {
        text.push_str(&format!("\n- **{}**: {}\n", markdown_text(&finding.condition.text), finding.why));
    }
    if let Some(found) = &checked.explanation {
        let words = markdown_text(&format!("Cause, {}", cause(checked, found)));
        text.push_str(&format!("\n{words}\n\n{}", markdown(&cause_table(checked.from_traces, &found.rows))));
    }
    text
}

#[cfg(test)]
mod tests;

//! Two runs compared, or more set side by side. Not in the registry of questions about one run: it needs two sides.

mod several;
pub mod words;

use std::io::Write;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::compare::{
    self, CauseChange, Change, ChangeRow, DiffQuery, FigureRow, FigureUnit, FindingChange, FindingState,
    Matched, StepSide, diff,
};
use stepscope_analyse::devices::energy::ENERGY;
use stepscope_analyse::run::Run;
use stepscope_analyse::statistics::{Comparison, Rule, Verdict};
use stepscope_analyse::steps::samples;
use stepscope_ground::Problem;

use self::words::{because, place, sentence, shortened};
use super::TOP;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES};
use crate::print::{self, Cell, Column, Role, Screen, Table, labelled, units, wrap};
use crate::rows::arrange;

/// The question about two sides. [`Ask::sides`] says how many of the runs belong to which.
pub static DIFF: Question = Question {
    name: "diff",
    alias: Some("compare"),
    about: "Did it help? Compares two runs: faster or slower, by how much, and what made the difference.",
    examples: &[
        "diff before.json.gz after.json.gz",
        "diff runs/before/ runs/after/  several recordings per side",
        "diff a1.json a2.json --after b1.json b2.json",
        "diff before.json.gz after.json.gz --filter gemm --format md",
        "diff before.json.gz after.json.gz --html comparison.html  as one file for any browser",
        "diff batch32.json batch64.json batch128.json  more than two side by side",
    ],
    group: Group::Change,
    by: &[],
    options: &["sort", "top", "filter", "device"],
    report_by: None,
    definitions: &[compare::DEFINITIONS, samples::DEFINITIONS, &[ENERGY]],
    answers_for: TRACES,
    answer,
};

/// The verdict for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Judged {
    /// What follows from the steps.
    verdict: Verdict,
    /// The sentence.
    sentence: String,
    /// What made most of the difference; none where there is no difference.
    because: Option<String>,
    /// What the interval rests on, in words.
    rests_on: &'static str,
    #[serde(flatten)]
    comparison: Comparison,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let needs_two = || {
        Problem::new(
            "a comparison needs two runs",
            "name the earlier one first: stepscope diff before.json.gz after.json.gz",
        )
    };
    if ask.sides.len() < 2 || ask.sides.contains(&0) || ask.sides.iter().sum::<usize>() != runs.len() {
        return Err(needs_two());
    }
    if ask.sides.len() > 2 {
        return several::answer(ask, runs);
    }
    let (before, after) = runs.split_at(ask.sides[0]);
    let query = DiffQuery { device: ask.device, rule: Rule::default() };
    let found = diff(before, after, &query, &ask.thresholds);
    let judged = Judged {
        verdict: found.comparison.verdict,
        sentence: sentence(&found),
        because: because(&found),
        rests_on: found.comparison.method.sentence(),
        comparison: found.comparison.clone(),
    };
    let step_ns = found.before.mean_ns;
    let causes = Part::new("causes", found.causes, move |rows| causes_table(rows, step_ns));
    let changed = arrange(found.rows, &ask.rows, None, TOP, |row: &ChangeRow| &row.name)?;
    let rows = changed.into_part("rows", "nothing to compare: no steps in one of the runs", |rows| {
        rows_table(rows)
            .title("What made the difference", "per step; the changes of all rows add up to that of the step")
    });
    let figures = Part::new("figures", found.figures, figures_table);
    let findings = Part::new("findings", found.findings, findings_table);
    let mut answer = Answer::new(vec![causes, rows, figures, findings])
        .main("rows")
        .fact("before", &found.before)
        .fact("after", &found.after)
        .fact("delta_ns", &found.delta_ns)
        .fact("judged", &judged)
        .fact("unlike", &found.unlike);
    answer.headline = Some(match &judged.because {
        Some(because) => format!("{} {because}", judged.sentence),
        None => judged.sentence.clone(),
    });
    let (before, after, unlike) = (found.before, found.after, found.unlike);
    answer.above =
        Some(Box::new(move |out, screen| headline(out, screen, &judged, [&before, &after], &unlike)));
    Ok(answer)
}

fn headline(
    out: &mut dyn Write,
    screen: &Screen,
    judged: &Judged,
    sides: [&StepSide; 2],
    unlike: &[String],
) -> std::io::Result<()> {
    let room = screen.width.clamp(40, 110) - print::LABEL;
    let role = match judged.verdict {
        Verdict::Faster => Role::Good,
        Verdict::Slower => Role::Warn,
        _ => Role::Heading,
    };
    let mut lines: Vec<String> =
        wrap(&judged.sentence, room).iter().map(|line| screen.paint(role, line)).collect();
    labelled(out, screen, "DIFF", &lines)?;
    if let Some(because) = &judged.because {
        labelled(out, screen, "WHY", &wrap(because, room))?;
    }
    let count = |n: u64, what: &str| format!("{} {what}{}", units::count(n), if n == 1 { "" } else { "s" });
    let of =
        |side: &StepSide| format!("{} of {}", count(side.steps, "step"), count(side.recordings, "recording"));
    lines = wrap(
        &format!(
            "{} before, {} after; {}. Times come from recordings, so they include profiler overhead.",
            of(sides[0]),
            of(sides[1]),
            judged.rests_on
        ),
        room,
    );
    lines = lines.iter().map(|line| screen.paint(Role::Dim, line)).collect();
    labelled(out, screen, "", &lines)?;
    for text in unlike {
        let lines: Vec<String> =
            wrap(&screen.text(text), room).iter().map(|l| screen.paint(Role::Warn, l)).collect();
        labelled(out, screen, "NOTE", &lines)?;
    }
    writeln!(out)
}

/// More time is bad, less is good.
fn delta(ns: i64, is_noise: bool) -> Cell {
    let cell = Cell::text(if ns == 0 { "0".to_owned() } else { units::delta_time(ns) });
    match ns {
        _ if is_noise => cell.role(Role::Dim),
        0 => cell.role(Role::Dim),
        ns if ns > 0 => cell.role(Role::Warn),
        _ => cell.role(Role::Good),
    }
}

fn causes_table(rows: &[CauseChange], step_ns: i64) -> Table {
    let mut table = Table::new(vec![
        Column::text("Cause").keep(),
        Column::number("Before").keep(),
        Column::number("After").keep(),
        Column::number("Change").keep(),
        Column::number("Of the step").priority(120),
    ])
    .title(
        "Where the step's time goes",
        "per step, as in `stepscope account`; the changes add up to that of the step",
    );
    let mut sums = [0i64; 2];
    for row in rows {
        sums = [sums[0].saturating_add(row.before_ns), sums[1].saturating_add(row.after_ns)];
        table.row(vec![
            Cell::text(row.label),
            Cell::time(row.before_ns),
            Cell::time(row.after_ns),
            delta(row.delta_ns, false),
            Cell::text(units::delta_percent(ratio(row.delta_ns, step_ns))),
        ]);
    }
    let all = sums[1].saturating_sub(sums[0]);
    table.total(vec![
        Cell::text("step"),
        Cell::time(sums[0]),
        Cell::time(sums[1]),
        delta(all, false),
        Cell::text(units::delta_percent(ratio(all, step_ns))),
    ]);
    table
}

fn rows_table(rows: &[ChangeRow]) -> Table {
    let mut table = Table::new(vec![
        Column::number("Change").keep(),
        Column::number("Noise").priority(60),
        Column::number("Before").priority(130),
        Column::number("After").priority(130),
        Column::number("Count").priority(90),
        Column::text("What").priority(140),
        Column::name("Where").flexible(24, print::middle_ellipsis),
        Column::name("Module").priority(50).flexible(12, print::middle_ellipsis),
    ]);
    for row in rows {
        let what = match (row.change, row.matched) {
            (Change::Added, _) => "new",
            (Change::Removed, _) => "gone",
            (Change::Same, _) => "same",
            (_, Matched::Fused) => "fused",
            (_, Matched::Operator | Matched::OperatorElsewhere) if row.cause == Cause::Kernel => "other kernel",
            (_, Matched::Operator | Matched::OperatorElsewhere) if row.cause == Cause::Copy => "other copy",
            (_, Matched::Module) => "replaced",
            (_, Matched::Kernel) => "other shapes",
            _ if row.is_noise => "noise",
            (Change::Increased, _) => "slower",
            (Change::Decreased, _) => "faster",
        };
        let count = |n: f64| if n >= 10.0 || n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") };
        let counts = match row.before_count == row.after_count {
            true => count(row.after_count),
            false => format!("{} → {}", count(row.before_count), count(row.after_count)),
        };
        let mut place = place(row);
        if let Some(was) = row.before_name.as_deref().map(shortened).filter(|was| *was != shortened(&row.name))
        {
            place = format!("{was} → {place}");
        }
        if !row.cause.is_busy() {
            place = match place == row.cause.label() {
                true => place,
                false => format!("{}: {place}", row.cause.label()),
            };
        }
        table.row(vec![
            delta(row.delta_ns, row.is_noise),
            Cell::maybe(row.noise_ns, |ns| Cell::text(format!("±{}", units::time(ns))).role(Role::Dim)),
            Cell::time(row.before_ns),
            Cell::time(row.after_ns),
            Cell::text(counts),
            if row.is_noise { Cell::text(what).role(Role::Dim) } else { Cell::text(what) },
            Cell::text(place),
            Cell::maybe(row.module.as_ref(), |path| {
                Cell::text(if row.backward { format!("{path} (backward)") } else { path.clone() })
            }),
        ]);
    }
    table
}

fn figures_table(rows: &[FigureRow]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Metric").keep(),
        Column::number("Before").keep(),
        Column::number("After").keep(),
        Column::number("Change").keep(),
    ])
    .title("Other metrics", "of the steps");
    for row in rows {
        let shown = |value: f64| match row.unit {
            FigureUnit::Nanoseconds => units::time(value as i64),
            FigureUnit::Bytes => units::bytes(value as i64),
            FigureUnit::Count if value >= 1e6 => units::flops(value),
            FigureUnit::Count if value.fract() == 0.0 => units::count(value as u64),
            FigureUnit::Count => format!("{value:.1}"),
            FigureUnit::Share => units::percent(value),
            FigureUnit::PerSecond => units::rate(value),
            FigureUnit::Joules => units::joules(value),
        };
        let change = match (row.delta, row.before) {
            (Some(0.0), _) => Cell::text("0").role(Role::Dim),
            (Some(delta), _) if row.unit == FigureUnit::Share => {
                Cell::text(format!("{}{:.1} points", if delta > 0.0 { "+" } else { "−" }, delta.abs() * 100.0))
            }
            (Some(delta), Some(before)) if before != 0.0 => Cell::text(units::delta_percent(delta / before)),
            _ => Cell::nothing(),
        };
        let better = row.delta.zip(row.less_is_better).map(|(delta, less)| (delta < 0.0) == less);
        let change = match better.filter(|_| row.delta != Some(0.0)) {
            Some(true) => change.role(Role::Good),
            Some(false) => change.role(Role::Warn),
            None => change,
        };
        table.row(vec![
            Cell::text(row.figure),
            Cell::maybe(row.before, |value| Cell::text(shown(value))),
            Cell::maybe(row.after, |value| Cell::text(shown(value))),
            change,
        ]);
    }
    table
}

fn findings_table(rows: &[FindingChange]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Finding").keep(),
        Column::number("Worth before").priority(120),
        Column::number("Worth after").priority(120),
        Column::name("What").flexible(30, print::end_ellipsis),
    ])
    .title("Findings", "what appeared, what went away, what is still there")
    .when_empty("no findings in either");
    for row in rows {
        let state = match row.change {
            FindingState::New => Cell::text("new").role(Role::Warn),
            FindingState::Gone => Cell::text("gone").role(Role::Good),
            FindingState::Both => Cell::text("both").role(Role::Dim),
        };
        table.row(vec![
            state,
            Cell::maybe(row.before_saves_ns, Cell::time),
            Cell::maybe(row.after_saves_ns, Cell::time),
            Cell::text(&row.title),
        ]);
    }
    table
}

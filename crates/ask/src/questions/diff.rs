//! Two runs compared, or more set side by side.

mod several;
pub mod words;

use std::io::Write;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::compare::{
    self, CauseChange, Change, ChangeRow, DiffQuery, FindingChange, FindingState, MatchLevel, MetricRow,
    MetricUnit, StepSide, diff,
};
use stepscope_analyse::devices::energy::ENERGY;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::statistics::{Comparison, Rule, Verdict};
use stepscope_analyse::steps::samples;
use stepscope_ground::Problem;

use self::words::{because, place, sentence, shortened};
use super::DEFAULT_TOP;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Findings, Group, Question, TRACES, Takes, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Screen, Table, labelled, units, wrap};
use crate::rows::arrange;

/// [`Ask::sides`] says how many of the runs belong to which side.
pub(super) const QUESTION: Question = Question {
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
    options: &["sort", "top", "filter", "device"],
    definitions: &[compare::DEFINITIONS, samples::DEFINITIONS, &[ENERGY], JUDGED_DEFINITIONS],
    forms: &[
        Form {
            name: "DiffAnswer",
            about: TRACES,
            members: &[&[
                rows::<CauseChange>("causes"),
                rows::<ChangeRow>("rows"),
                rows::<MetricRow>("metrics"),
                rows::<FindingChange>("findings"),
                fact::<StepSide>("before"),
                fact::<StepSide>("after"),
                fact::<i64>("delta_ns"),
                fact::<ProgramVerdict>("judged"),
                fact::<Vec<String>>("unlike"),
            ]],
        },
        Form { name: "SideBySide", about: TRACES, members: &[several::MEMBERS] },
    ],
    answer,
    takes: Takes::Sides(
        "The later run: a trace or a folder of them. Several are shown side by side; with --after, these are more of the \
         earlier runs",
    ),
    findings: Findings::Included,
    ..USUAL
};

const JUDGED_DEFINITIONS: &[Definition] = definitions! {
    "baseline", "Before" => "Step time of the earlier side: the median over its recordings.";
    "current", "After" => "Step time of the later side: the median over its recordings.";
    "p", "p" => "How likely such a difference, or a larger one, would be if there were none.";
    "length", "Block" => "Steps that are resampled together, because neighbors are alike.";
    "baseline_repeats", "Recordings before" => "Recordings of the earlier side.";
    "current_repeats", "Recordings after" => "Recordings of the later side.";
    "baseline_values", "Steps before" => "Steps of the earlier side in total.";
    "current_values", "Steps after" => "Steps of the later side in total.";
    "repeats_to_decide", "Recordings to decide" =>
        "About how many recordings per side would decide, if nothing was decided and the noise stays as it is.";
};

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ProgramVerdict {
    verdict: Verdict,
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
    let judged = ProgramVerdict {
        verdict: found.comparison.verdict,
        sentence: sentence(&found),
        because: because(&found),
        rests_on: found.comparison.method.sentence(),
        comparison: found.comparison.clone(),
    };
    let step_ns = found.before.mean_ns;
    let causes = Part::new("causes", found.causes, move |rows| causes_table(rows, step_ns));
    let changed = arrange(found.rows, &ask.rows, None, DEFAULT_TOP, |row: &ChangeRow| &row.name)?;
    let rows = changed.into_part("rows", "nothing to compare: no steps in one of the runs", |rows| {
        rows_table(rows)
            .title("What made the difference", "per step; the changes of all rows add up to that of the step")
    });
    let metrics = Part::new("metrics", found.metrics, metrics_table);
    let findings = Part::new("findings", found.findings, findings_table);
    let mut answer = Answer::new(vec![causes, rows, metrics, findings])
        .main("rows")
        .fact("before", &found.before)
        .fact("after", &found.after)
        .fact("delta_ns", &found.delta_ns)
        .fact("judged", &judged)
        .fact("unlike", &found.unlike);
    answer.headline = vec![match &judged.because {
        Some(because) => format!("{} {because}", judged.sentence),
        None => judged.sentence.clone(),
    }];
    let (before, after, unlike) = (found.before, found.after, found.unlike);
    answer.above =
        Some(Box::new(move |out, screen| headline(out, screen, &judged, [&before, &after], &unlike)));
    Ok(answer)
}

fn headline(
    out: &mut dyn Write,
    screen: &Screen,
    judged: &ProgramVerdict,
    sides: [&StepSide; 2],
    unlike: &[String],
) -> std::io::Result<()> {
    let room = screen.width.clamp(40, 110) - print::LABEL_COLUMNS;
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
    let of = |side: &StepSide| {
        format!("{} of {}", units::counted(side.steps, "step"), units::counted(side.recordings, "recording"))
    };
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
    let sum = |value: fn(&CauseChange) -> i64| rows.iter().map(value).fold(0, i64::saturating_add);
    let (before, after) = (sum(|r| r.before_ns), sum(|r| r.after_ns));
    let step = ("step", before, after, after.saturating_sub(before));
    Columns::of(rows.iter().map(|r| (r.label, r.before_ns, r.after_ns, r.delta_ns)))
        .defined_by(QUESTION.definitions)
        .add(Column::text("Cause").keep(), |(label, ..)| Cell::text(label))
        .metric("before_ns", KEEP, |(_, before, ..)| Cell::time(before))
        .metric("after_ns", KEEP, |(_, _, after, _)| Cell::time(after))
        .metric("delta_ns", KEEP, |(.., change)| delta(change, false))
        .add(Column::number("Of the step").priority(120), |(.., change)| {
            Cell::text(units::delta_percent(ratio(change, step_ns)))
        })
        .total(Some(step))
        .table()
        .title(
            "Where the step's time goes",
            "per step, as in `stepscope account`; the changes add up to that of the step",
        )
}

/// What happened to a row, in a word or two.
fn what(row: &ChangeRow) -> &'static str {
    match (row.change, row.matched) {
        (Change::Added, _) => "new",
        (Change::Removed, _) => "gone",
        (Change::Same, _) => "same",
        (_, MatchLevel::Fused) => "fused",
        (_, MatchLevel::Operator | MatchLevel::OperatorElsewhere) if row.cause == Cause::Kernel => {
            "other kernel"
        }
        (_, MatchLevel::Operator | MatchLevel::OperatorElsewhere) if row.cause == Cause::Copy => "other copy",
        (_, MatchLevel::Module) => "replaced",
        (_, MatchLevel::Kernel) => "other shapes",
        _ if row.is_noise => "noise",
        (Change::Increased, _) => "slower",
        (Change::Decreased, _) => "faster",
    }
}

fn counts(row: &ChangeRow) -> String {
    let count = |n: f64| if n >= 10.0 || n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") };
    match row.before_count == row.after_count {
        true => count(row.after_count),
        false => format!("{} → {}", count(row.before_count), count(row.after_count)),
    }
}

/// Where it is, what was there before, and for what is not work, why.
fn place_of(row: &ChangeRow) -> String {
    let mut place = place(row);
    if let Some(was) = row.before_name.as_deref().map(shortened).filter(|was| *was != shortened(&row.name)) {
        place = format!("{was} → {place}");
    }
    match row.cause.is_busy() || place == row.cause.label() {
        true => place,
        false => format!("{}: {place}", row.cause.label()),
    }
}

fn rows_table(rows: &[ChangeRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("delta_ns", KEEP, |r| delta(r.delta_ns, r.is_noise))
        .metric("noise_ns", 60, |r| {
            Cell::maybe(r.noise_ns, |ns| Cell::text(format!("±{}", units::time(ns))).role(Role::Dim))
        })
        .metric("before_ns", 130, |r| Cell::time(r.before_ns))
        .metric("after_ns", 130, |r| Cell::time(r.after_ns))
        .add(Column::number("Count").priority(90), |r| Cell::text(counts(r)))
        .add(Column::text("What").priority(140), |r| {
            if r.is_noise { Cell::text(what(r)).role(Role::Dim) } else { Cell::text(what(r)) }
        })
        .add(Column::name("Where").flexible(24, print::middle_ellipsis), |r| Cell::text(place_of(r)))
        .add(Column::name("Module").priority(50).flexible(12, print::middle_ellipsis), |r| {
            Cell::maybe(r.module.as_ref(), |path| {
                Cell::text(if r.backward { format!("{path} (backward)") } else { path.clone() })
            })
        })
        .table()
}

fn metric_text(value: f64, unit: MetricUnit) -> String {
    match unit {
        MetricUnit::Nanoseconds => units::time(value as i64),
        MetricUnit::Bytes => units::bytes(value as i64),
        MetricUnit::Count if value >= 1e6 => units::flops(value),
        MetricUnit::Count if value.fract() == 0.0 => units::count(value as u64),
        MetricUnit::Count => format!("{value:.1}"),
        MetricUnit::Share => units::percent(value),
        MetricUnit::PerSecond => units::rate(value),
        MetricUnit::Joules => units::joules(value),
    }
}

fn metric_change(row: &MetricRow) -> Cell {
    let change = match (row.delta, row.before) {
        (Some(0.0), _) => Cell::text("0").role(Role::Dim),
        (Some(delta), _) if row.unit == MetricUnit::Share => {
            Cell::text(format!("{}{:.1} points", if delta > 0.0 { "+" } else { "−" }, delta.abs() * 100.0))
        }
        (Some(delta), Some(before)) if before != 0.0 => Cell::text(units::delta_percent(delta / before)),
        _ => Cell::nothing(),
    };
    let better = row.delta.zip(row.less_is_better).map(|(delta, less)| (delta < 0.0) == less);
    match better.filter(|_| row.delta != Some(0.0)) {
        Some(true) => change.role(Role::Good),
        Some(false) => change.role(Role::Warn),
        None => change,
    }
}

fn metrics_table(rows: &[MetricRow]) -> Table {
    let value =
        |r: &MetricRow, value: Option<f64>| Cell::maybe(value, |value| Cell::text(metric_text(value, r.unit)));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Metric").keep(), |r| Cell::text(r.metric))
        .metric("before", KEEP, |r| value(r, r.before))
        .metric("after", KEEP, |r| value(r, r.after))
        .add(Column::number("Change").keep(), metric_change)
        .table()
        .title("Other metrics", "of the steps")
}

fn findings_table(rows: &[FindingChange]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Finding").keep(), |r| match r.change {
            FindingState::New => Cell::text("new").role(Role::Warn),
            FindingState::Gone => Cell::text("gone").role(Role::Good),
            FindingState::Both => Cell::text("both").role(Role::Dim),
        })
        .metric("before_saves_ns", 120, |r| Cell::maybe(r.before_saves_ns, Cell::time))
        .metric("after_saves_ns", 120, |r| Cell::maybe(r.after_saves_ns, Cell::time))
        .add(Column::name("What").flexible(30, print::end_ellipsis), |r| Cell::text(&r.title))
        .table()
        .title("Findings", "what appeared, what went away, what is still there")
        .when_empty("no findings in either")
}

//! When devices were idle, why, and who is to blame.

mod tables;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::causes::{account, gaps};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use crate::answer::Answer;
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::options::RowOptions;
use crate::print::units;
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "gaps",
    about: "Idle time of each device: how much, why, and what caused it.",
    examples: &[
        "gaps TRACE",
        "gaps TRACE --by culprit --top 0",
        "gaps TRACE --by gap --filter DataLoader --format csv",
    ],
    group: Group::Waiting,
    by: &["kind", "culprit", "gap", "stream"],
    options: &["sort", "top", "filter", "step", "device", "full"],
    report_by: Some(&["kind", "culprit", "gap"]),
    definitions: &[gaps::DEFINITIONS, account::IDLE_DEFINITIONS],
    forms: &[Form {
        name: "GapsAnswer",
        about: TRACES,
        members: &[&[
            rows::<gaps::GapKindRow>("kinds"),
            rows::<gaps::CulpritRow>("culprits"),
            rows::<gaps::GapRow>("gaps"),
            rows::<gaps::StreamGapsRow>("streams"),
            fact::<GapsTotals>("totals"),
        ]],
    }],
    answer,
    ..USUAL
};

/// Culprits and gaps shown beside each other unless `--top` says otherwise.
const DEFAULT_FEW: usize = 10;
/// Gaps that are looked at one by one, beside as many as the file has slices.
const MAX_GAPS: usize = 100_000;
use super::NO_DEVICE_WORK as NONE;

/// All gaps together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct GapsTotals {
    gaps: u64,
    idle_ns: i64,
    wall_ns: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let by = ask.by;
    if by.is_none() {
        ask.refuse(&["sort"], "four tables at once", "choose one with --by kind|culprit|gap|stream")?;
    }
    let asked = ask.part_of(&runs[0])?;
    // The longest gaps are sorted and filtered here, so all of them are needed then. There is at least one for each step
    // of each device, which may be many times what the file holds.
    let some = ask.rows.sort.is_none() && ask.rows.filter.is_none();
    let most = asked.trace().slices().len().saturating_add(MAX_GAPS);
    let top = match ask.rows.top.unwrap_or(DEFAULT_TOP) {
        0 => most,
        top if some => top,
        top => top.max(most),
    };
    let report = asked.run.gaps(ask.device, top);
    let unknown = (report.culprits.iter().filter(|row| row.cause == Cause::DEVICE_UNRECORDED))
        .fold(0i64, |sum, row| sum.saturating_add(row.idle_ns));
    let (idle, or_not) = match unknown {
        0 => ("idle", String::new()),
        unknown => {
            let share = units::percent(super::ops::ratio(unknown, report.idle_ns));
            ("without recorded work", format!("; {share} of that is unknown: the device may have been busy"))
        }
    };
    let words = format!(
        "{} of {} {idle} ({}) in {} gaps{or_not}",
        units::time(report.idle_ns),
        units::time(report.wall_ns),
        units::percent(super::ops::ratio(report.idle_ns, report.wall_ns)),
        units::count(report.count),
    );
    let totals = GapsTotals { gaps: report.count, idle_ns: report.idle_ns, wall_ns: report.wall_ns };
    let about = |table: &str| match by {
        Some(by) if by == table => ask.rows.clone(),
        // Beside each other, only what has names can be filtered, and only what is long is cut.
        None if table == "culprit" || table == "gap" => ask.rows.clone(),
        _ => RowOptions::default(),
    };
    let few = if by.is_none() { DEFAULT_FEW } else { DEFAULT_TOP };
    let kinds = arrange(report.kinds, &about("kind"), None, 0, |r| r.kind.label())?;
    let culprits = arrange(report.culprits, &about("culprit"), None, few, |r| &r.culprit)?;
    let mut longest = arrange(report.gaps, &about("gap"), None, few, |r| r.culprit.as_deref().unwrap_or(""))?;
    if some || report.count as usize > most {
        longest.matched = report.count as usize;
        longest.all = longest.matched;
    }
    let streams = arrange(report.streams, &about("stream"), None, 0, |_| "")?;
    let shown = |key: &str| match by {
        Some("kind") => key == "kinds",
        Some("culprit") => key == "culprits",
        Some("gap") => key == "gaps",
        Some(_) => key == "streams",
        None => streams.all > 0 || key == "kinds",
    };
    let main = match by {
        Some("kind") => "kinds",
        Some("culprit") => "culprits",
        None | Some("gap") => "gaps",
        Some(_) => "streams",
    };
    let visible = ["kinds", "culprits", "gaps", "streams"].map(shown);
    let parts = [
        tables::kinds(kinds, words),
        tables::culprits(culprits, ask.full),
        tables::longest(longest, ask.full),
        tables::streams(streams, ask.steps.is_some()),
    ];
    let parts = parts.into_iter().zip(visible).map(|(part, shown)| part.shown(shown)).collect();
    let mut answer = Answer::new(parts).fact("totals", &totals).main(main);
    if report.count as usize > most && top == most {
        let [most, all] = [most as u64, report.count].map(units::count);
        answer.remarks.push(format!(
            "only the {most} longest of {all} gaps are listed one by one; use `--device` and `--step` to choose others"
        ));
    }
    Ok(answer)
}

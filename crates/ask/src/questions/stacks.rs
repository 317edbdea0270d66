//! Folded stacks by self time.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::AmountUnit;
use stepscope_analyse::tables::stacks::{self, FoldedRow, Options, Weight, profile_stacks};
use stepscope_ground::Problem;
use stepscope_model::{DocumentKind, Profile};

use super::DEFAULT_TOP;
use super::functions::{amount, amount_text, chosen_value};
use super::ops::share;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, PROFILES, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "stacks",
    about: "Folded stacks by host or device self time; for a profile, by what it measures.",
    examples: &["stacks TRACE --by device --top 20", "export --to folded TRACE | flamegraph.pl > flame.svg"],
    group: Group::Time,
    by: &["host", "device"],
    options: &["sort", "top", "filter", "step", "device", "value"],
    definitions: &[stacks::DEFINITIONS, stacks::FOLDED_DEFINITIONS],
    forms: &[
        Form {
            name: "StacksAnswer",
            about: TRACES,
            members: &[&[rows::<stacks::Row>("stacks"), fact::<Weight>("weight"), fact::<i64>("total_ns")]],
        },
        Form {
            name: "StacksOfProfile",
            about: PROFILES,
            members: &[&[rows::<FoldedRow>("stacks"), fact::<AmountUnit>("unit"), fact::<i64>("total")]],
        },
    ],
    answer,
    ..USUAL
};

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    if runs[0].kind() == DocumentKind::Profile {
        return of_profile(ask, runs[0].profile().unwrap_or(&Profile::default()));
    }
    ask.refuse(&["value"], "stacks of a trace", "--by host or --by device says which time counts")?;
    let asked = ask.part_of(&runs[0])?;
    let (weight, role, side) = match ask.grouped() {
        "device" => (Weight::DeviceSelf, Role::Device, "device self time"),
        _ => (Weight::HostSelf, Role::Host, "host self time"),
    };
    let options = Options { weight, selection: asked.selection.clone(), ..Options::default() };
    let report = stacks::analyze(asked.trace(), &options);
    let total = report.total_ns;
    let rows = arrange(report.rows, &ask.rows, Some("value_ns"), DEFAULT_TOP, |r| &r.stack)?;
    let left_out = rows.left_out();
    let part = Part::new("stacks", rows.rows, move |rows| {
        let largest = rows.iter().map(|r| r.value_ns).max().unwrap_or(0);
        let mut table = Columns::of(rows)
            .defined_by(QUESTION.definitions)
            .metric("value_ns", KEEP, |r| Cell::time(r.value_ns))
            .add(share_column(), |r| share(r.value_ns, total, largest).role(role))
            .metric("count", 60, |r| Cell::count(r.count))
            .add(stack_column(), |r| Cell::text(leaf_first(&r.stack)))
            .table()
            .title(format!("Stacks by {side}"), format!("{} of {side}", units::time(total)));
        table.notes(&left_out);
        table.note("`stepscope export --to folded|speedscope` writes them for flame graph tools");
        table
    });
    Ok(Answer::new(vec![part]).fact("weight", &report.weight).fact("total_ns", &total))
}

fn share_column() -> Column {
    Column::number("Share").priority(120)
}

fn stack_column() -> Column {
    Column::name("Stack, leaf first").flexible(24, end_ellipsis)
}

fn leaf_first(stack: &str) -> String {
    stack.rsplit(';').collect::<Vec<_>>().join(" < ")
}

fn of_profile(ask: &Ask, profile: &Profile) -> Result<Answer, Problem> {
    ask.refuse(&["by", "step", "device"], "a profile", "leave it out: a profile has no steps and no devices")?;
    let value = chosen_value(profile, ask)?;
    let unit = profile.values().get(value).map_or(AmountUnit::Samples, |kind| AmountUnit::from_unit(kind.unit));
    let rows = profile_stacks(profile, value);
    let total = rows.iter().map(|row| row.amount).fold(0, i64::saturating_add);
    let rows = arrange(rows, &ask.rows, Some("amount"), DEFAULT_TOP, |row| &row.stack)?;
    let none = "this profile has no stacks; `stepscope functions` shows what it has";
    let part = rows.into_part("stacks", none, move |rows: &[FoldedRow]| {
        let largest = rows.iter().map(|r| r.amount).max().unwrap_or(0);
        Columns::of(rows)
            .defined_by(QUESTION.definitions)
            .metric("amount", KEEP, |r| amount(r.amount, unit))
            .add(share_column(), |r| share(r.amount, total, largest).role(Role::Host))
            .add(stack_column(), |r| Cell::text(leaf_first(&r.stack)))
            .table()
            .title("Stacks", amount_text(total, unit))
    });
    Ok(Answer::new(vec![part]).fact("unit", &unit).fact("total", &total))
}

//! `stepscope what-if`: the run replayed with something changed; without a change, what would help most.

mod changes;

use std::io::Write;

use serde::Serialize;
use serde_json::json;
use stepscope_analyse::replay::what_if::{self, Change, WhatIf, what_if};
use stepscope_analyse::replay::{Replay, ReplayedStep};
use stepscope_analyse::scope::definition::Definition;

use super::ops::ratio;
use super::{TOP, refuse, wants_only_definitions};
use crate::args;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Format, Role, Table, units};
use crate::rows::{Arranged, arrange};
use crate::words::{Part, answer, only_definitions};

/// What the columns of our own mean.
const OWN: &[Definition] = &[
    Definition {
        field: "saves_ns",
        label: "Saves",
        text: "Measured less predicted time; below zero if it costs.",
    },
    Definition { field: "saves_share", label: "Of the step", text: "The same as a part of the measured time." },
    Definition {
        field: "device_slices_changed",
        label: "Work touched",
        text: "Kernels, copies and fills whose length the change sets.",
    },
];
/// A replay whose own error is larger than this says little.
const POOR: f64 = 0.05;

/// One replay.
#[derive(Clone, Debug, Serialize)]
struct Row {
    change: String,
    measured_ns: i64,
    predicted_ns: i64,
    saves_ns: i64,
    saves_share: f64,
    speedup: f64,
    replay_error: f64,
    device_slices_changed: u64,
}

impl Row {
    fn of(answer: &WhatIf) -> Row {
        let saves_ns = answer.measured_ns - answer.predicted_ns;
        Row {
            change: answer.changes.join(", "),
            measured_ns: answer.measured_ns,
            predicted_ns: answer.predicted_ns,
            saves_ns,
            saves_share: ratio(saves_ns, answer.measured_ns),
            speedup: answer.speedup,
            replay_error: answer.replay_error,
            device_slices_changed: answer.device_slices_changed,
        }
    }
}

pub(super) fn run(args: &args::WhatIf, out: &mut dyn Write) -> Result<(), Failure> {
    let common = &args.common;
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[what_if::DEFINITIONS, OWN]);
    }
    refuse(common, &["--by"], "what-if", "every change is replayed alone unless changes are given")?;
    let hint = "the replay is of the host and all devices; leave it out";
    refuse(common, &["--device"], "what-if", hint)?;
    let mut asked = changes::asked(args)?;
    if !asked.is_empty() || args.tensor_cores {
        refuse(
            common,
            &["--sort", "--top", "--filter"],
            "one replay",
            "without a change there is a table of many",
        )?;
    }
    let input = Input::load(common)?;
    if args.tensor_cores {
        asked.push(changes::on_tensor_cores(&input.trace)?);
    }
    let replay = Replay::new(&input.trace, &input.steps);
    let ask = |changes: &[Change]| {
        what_if(&input.trace, &replay, changes).map_err(|what| changes::unknown(&input.trace, what, changes))
    };
    let (rows, steps) = match asked.is_empty() {
        false => {
            let answer = ask(&asked)?;
            (vec![Row::of(&answer)], answer.steps)
        }
        true => {
            let mut rows = Vec::new();
            for change in changes::standard(&input.trace, &input.selection) {
                rows.push(Row::of(&ask(&[change])?));
            }
            (rows, Vec::new())
        }
    };
    let rows = arrange(rows, common, Some("saves_ns"), TOP, |r| &r.change)?;
    let mut parts = vec![Part::new("what_if", table(&rows, asked.is_empty()), json!(rows.rows))];
    if common.format == Format::Json || steps.len() > 1 {
        parts.push(Part::new("steps", steps_table(&steps), json!(steps)));
    }
    answer(out, common, parts, Vec::new(), &[what_if::DEFINITIONS, OWN])
}

fn table(rows: &Arranged<Row>, standard: bool) -> Table {
    let (measured, error) = rows.rows.first().map_or((0, 0.0), |r| (r.measured_ns, r.replay_error));
    let error_words = match error {
        0.0 => "exact".to_owned(),
        error => format!("{} off", units::percent(error)),
    };
    let title = if standard { "What would help most" } else { "What if" };
    let words = format!("{} a step; the replay without a change is {error_words}", units::time(measured));
    let mut table = Table::new(vec![
        Column::name("Change").flexible(36, crate::print::middle_ellipsis),
        Column::number("Predicted").keep(),
        Column::number("Saves").keep(),
        Column::number("Of the step").priority(150),
        Column::number("Speedup").priority(130),
        Column::number("Work touched").priority(60),
    ])
    .title(title, if rows.rows.is_empty() { String::new() } else { words })
    .when_empty(match rows.rows.is_empty() {
        true => rows.when_empty("nothing to replay: no steps in this trace"),
        false => "none of the changes below would save anything",
    });
    // What would not help is named below: many lines of nothing hide the others.
    let (idle, rest): (Vec<&Row>, Vec<&Row>) = rows.rows.iter().partition(|r| standard && r.saves_ns == 0);
    for r in rest {
        let role = if r.saves_ns < 0 { Role::Bad } else { Role::Good };
        table.row(vec![
            Cell::text(&r.change),
            Cell::time(r.predicted_ns),
            Cell::time(r.saves_ns),
            Cell::share(r.saves_share).role(role),
            Cell::text(format!("{:.2}x", r.speedup)),
            Cell::count(r.device_slices_changed),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    if !idle.is_empty() {
        const FASTER: &str = " 2x faster";
        let names = |faster: bool| -> String {
            let some = idle.iter().filter(|r| r.change.ends_with(FASTER) == faster);
            some.map(|r| r.change.trim_end_matches(FASTER)).collect::<Vec<_>>().join(", ")
        };
        for (what, names) in [("saves nothing", names(false)), ("saves nothing even 2x faster", names(true))] {
            if !names.is_empty() {
                table.note(format!("{what}: {names}"));
            }
        }
    }
    if !standard && rows.rows.iter().any(|r| r.saves_ns == 0) {
        table.note(
            "it saves nothing: other work takes at least as long meanwhile; `stepscope critical-path` shows which",
        );
    }
    if error > POOR {
        table.note("the replay does not reproduce this run well: take the predictions with care");
    }
    if standard && !rows.rows.is_empty() {
        table.note(
            "each change is replayed alone: savings do not add up. Estimates: the host makes the same calls in the same \
             order, and overlapping work does not slow down",
        );
    }
    table
}

fn steps_table(steps: &[ReplayedStep]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Step").keep(),
        Column::number("Measured").keep(),
        Column::number("Predicted").keep(),
        Column::number("Saves").keep(),
        Column::number("Of the step").priority(150),
    ])
    .title("Step by step", "");
    for s in steps {
        let name = if s.step >= 0 { s.step.to_string() } else { "all".to_owned() };
        let mark = if s.partial { " (partial)" } else { "" };
        let saves = s.measured_ns - s.replayed_ns;
        table.row(vec![
            Cell::text(format!("{name}{mark}")),
            Cell::time(s.measured_ns),
            Cell::time(s.replayed_ns),
            Cell::time(saves),
            Cell::share(ratio(saves, s.measured_ns)),
        ]);
    }
    table
}

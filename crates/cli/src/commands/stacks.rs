//! `stepscope stacks`: folded stacks by self time.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::tables::stacks::{self, Options, Weight};

use super::{TOP, by, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Role, Table, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// The options `--by host|device` and the selection stand for.
pub(super) fn options(common: &Common, input: &Input) -> Result<Options, Failure> {
    let weight = match by(common, &["host", "device"])? {
        "device" => Weight::DeviceSelf,
        _ => Weight::HostSelf,
    };
    Ok(Options { weight, selection: input.selection.clone(), ..Options::default() })
}

/// A weight in words.
pub(super) fn words(weight: Weight) -> &'static str {
    match weight {
        Weight::DeviceSelf => "device self time",
        Weight::HostSelf => "host self time",
    }
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[stacks::DEFINITIONS]);
    }
    let input = Input::load(common)?;
    let options = options(common, &input)?;
    let report = stacks::analyse(&input.trace, &options);
    let role = if options.weight == Weight::DeviceSelf { Role::Device } else { Role::Host };
    let side = words(options.weight);
    let total = report.total_ns;
    let subtitle = format!("{} of {side}", units::time(total));
    let extra = vec![("weight", json!(report.weight)), ("total_ns", json!(total))];
    let rows = arrange(report.rows, common, Some("value_ns"), TOP, |r| &r.stack)?;
    let mut table = Table::new(vec![
        Column::number("Self").keep(),
        Column::number("Share").priority(120),
        Column::number("Count").priority(60),
        Column::name("Stack, leaf first").flexible(24, crate::print::end_ellipsis),
    ])
    .title(format!("Stacks by {side}"), subtitle);
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    table.note("`stepscope export --to folded|speedscope` writes them for flame graph tools");
    let largest = rows.rows.iter().map(|r| r.value_ns).max().unwrap_or(0);
    for row in &rows.rows {
        let leaf_first: Vec<&str> = row.stack.rsplit(';').collect();
        table.row(vec![
            Cell::time(row.value_ns),
            super::ops::share(row.value_ns, total, largest).role(role),
            Cell::count(row.count),
            Cell::text(leaf_first.join(" < ")),
        ]);
    }
    answer(out, common, vec![Part::new("stacks", table, json!(rows.rows))], extra, &[stacks::DEFINITIONS])
}

//! `stepscope modules`: the nn.Module tree.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use serde_json::json;
use stepscope_analyse::modules::{self, Module};

use super::{by, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Role, Table, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// A class's modules together.
#[derive(Clone, Debug, Default, Serialize)]
struct ClassRow {
    name: String,
    modules: u64,
    occurrences: u64,
    host_self_ns: i64,
    device_self_ns: i64,
    backward_device_self_ns: i64,
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[modules::DEFINITIONS]);
    }
    let by = by(common, &["tree", "class"])?;
    let input = Input::load(common)?;
    let report = modules::analyse(&input.trace, &input.selection);
    let ledger = &report.ledger;
    let device = ledger.device_ns;
    let words = format!(
        "device {}: {} forward, {} backward under modules, {} outside",
        units::time(device),
        units::time(ledger.forward_device_ns),
        units::time(ledger.backward_device_ns),
        units::time(device - ledger.forward_device_ns - ledger.backward_device_ns),
    );
    let empty = "no modules in this trace: record with with_stack=True (or with_modules=True) to see them";
    let extra = vec![("ledger", json!(ledger)), ("origin", json!(report.origin))];
    let part = if by == "class" {
        let rows = arrange(classes(&report.modules), common, Some("device_self_ns"), 0, |r| &r.name)?;
        let table = class_table(&rows.rows).title("Modules by class", words).when_empty(empty);
        Part::new("modules", table, json!(rows.rows))
    } else {
        let rows = arrange(report.modules, common, None, 0, |r| &r.path)?;
        let tree = common.sort.is_none() && common.filter.is_none();
        let mut table = tree_table(&rows.rows, device, tree).title("Modules", words).when_empty(empty);
        if let Some(text) = rows.left_out() {
            table.note(text);
        }
        Part::new("modules", table, json!(rows.rows))
    };
    answer(out, common, vec![part], extra, &[modules::DEFINITIONS])
}

fn tree_table(rows: &[Module], device: i64, tree: bool) -> Table {
    let mut table = Table::new(vec![
        Column::name("Module"),
        Column::number("Calls").priority(110),
        Column::number("Ops").priority(60),
        Column::number("Device total").priority(150),
        Column::number("% device").priority(120),
        Column::number("Device self").priority(130),
        Column::number("Backward").priority(125),
        Column::number("Host total").priority(140),
        Column::number("Host self").priority(90),
    ]);
    let largest = rows.iter().map(|m| m.device_total_ns).max().unwrap_or(0);
    for (at, m) in rows.iter().enumerate() {
        let name = if tree { m.name.clone() } else { m.path.clone() };
        let mut first = Cell::text(name);
        if tree {
            first = first.prefix(branch(rows, at));
        }
        table.row(vec![
            first,
            Cell::maybe(m.occurrences, Cell::count),
            Cell::count(m.operators_total),
            Cell::time(m.device_total_ns),
            super::ops::share(m.device_total_ns, device, largest).role(Role::Device),
            Cell::time(m.device_self_ns),
            Cell::time(m.backward_device_ns),
            Cell::time(m.host_total_ns),
            Cell::time(m.host_self_ns),
        ]);
    }
    table
}

/// The lines that connect a module to its parent; the modules come in depth-first order.
fn branch(rows: &[Module], at: usize) -> String {
    let depth = rows[at].depth;
    if depth == 0 {
        return String::new();
    }
    let more_below =
        |level: u32| rows[at + 1..].iter().take_while(|m| m.depth >= level).any(|m| m.depth == level);
    let mut text = String::new();
    for level in 1..depth {
        text.push_str(if more_below(level) { "│ " } else { "  " });
    }
    text.push_str(if more_below(depth) { "├ " } else { "└ " });
    text
}

fn classes(rows: &[Module]) -> Vec<ClassRow> {
    let mut classes: BTreeMap<&str, ClassRow> = BTreeMap::new();
    for m in rows {
        let row = classes.entry(&m.class).or_default();
        row.name.clone_from(&m.class);
        row.modules += 1;
        row.occurrences += m.occurrences.unwrap_or(0);
        row.host_self_ns += m.host_self_ns;
        row.device_self_ns += m.device_self_ns;
        row.backward_device_self_ns += m.backward_device_self_ns;
    }
    classes.into_values().collect()
}

fn class_table(rows: &[ClassRow]) -> Table {
    let mut table = Table::new(vec![
        Column::name("Class"),
        Column::number("Modules"),
        Column::number("Calls"),
        Column::number("Device self").priority(150),
        Column::number("Backward self").priority(120),
        Column::number("Host self").priority(130),
    ]);
    for row in rows {
        table.row(vec![
            Cell::text(&row.name),
            Cell::count(row.modules),
            Cell::count(row.occurrences),
            Cell::time(row.device_self_ns),
            Cell::time(row.backward_device_self_ns),
            Cell::time(row.host_self_ns),
        ]);
    }
    table
}

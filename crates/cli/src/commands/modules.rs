//! `stepscope modules`: the nn.Module tree.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use serde_json::json;
use stepscope_analyse::tables::modules::{self, Module};

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
    let mut words = format!(
        "device {}: {} forward, {} backward under modules, {} outside",
        units::time(device),
        units::time(ledger.forward_device_ns),
        units::time(ledger.backward_device_ns),
        units::time(ledger.outside_device_ns),
    );
    if ledger.unlinked_device_ns > 0 {
        words.push_str(&format!(", {} without a known launch", units::time(ledger.unlinked_device_ns)));
    }
    let empty = "no modules in this trace: record with with_stack=True (or with_modules=True) to see them";
    let extra = vec![("ledger", json!(ledger)), ("origin", json!(report.origin))];
    let part = if by == "class" {
        let rows = arrange(classes(&report.modules), common, Some("device_self_ns"), 0, |r| &r.name)?;
        let mut table =
            class_table(&rows.rows).title("Modules by class", words).when_empty(rows.when_empty(empty));
        if let Some(text) = rows.left_out() {
            table.note(text);
        }
        Part::new("modules", table, json!(rows.rows))
    } else {
        let rows = arrange(report.modules, common, None, 0, |r| &r.path)?;
        let tree = common.sort.is_none() && common.filter.is_none();
        let mut table =
            tree_table(&rows.rows, device, tree).title("Modules", words).when_empty(rows.when_empty(empty));
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
    let branches = if tree { branches(rows) } else { Vec::new() };
    for (at, m) in rows.iter().enumerate() {
        let first = match branches.get(at) {
            Some(branch) => Cell::text(&m.name).prefix(branch),
            None => Cell::text(&m.path),
        };
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

/// The lines that connect each module to its parent; the modules come in depth-first order.
fn branches(rows: &[Module]) -> Vec<String> {
    // Of each level: whether a module of it follows below under the same parent. So the rows go backwards.
    let mut more_below: Vec<bool> = Vec::new();
    let mut branches: Vec<String> = rows
        .iter()
        .rev()
        .map(|row| {
            let depth = row.depth as usize;
            // Deeper modules below belong to this one, not to those above it.
            more_below.resize(depth + 1, false);
            let mut text = String::new();
            for &more in more_below.iter().take(depth).skip(1) {
                text.push_str(if more { "│ " } else { "  " });
            }
            if depth > 0 {
                text.push_str(if more_below[depth] { "├ " } else { "└ " });
            }
            more_below[depth] = true;
            text
        })
        .collect();
    branches.reverse();
    branches
}

fn classes(rows: &[Module]) -> Vec<ClassRow> {
    let mut classes: BTreeMap<&str, ClassRow> = BTreeMap::new();
    for m in rows {
        let row = classes.entry(&m.class).or_default();
        row.name.clone_from(&m.class);
        row.modules += 1;
        // Saturating: durations come from the file and may be anything.
        row.occurrences = row.occurrences.saturating_add(m.occurrences.unwrap_or(0));
        row.host_self_ns = row.host_self_ns.saturating_add(m.host_self_ns);
        row.device_self_ns = row.device_self_ns.saturating_add(m.device_self_ns);
        row.backward_device_self_ns = row.backward_device_self_ns.saturating_add(m.backward_device_self_ns);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn module(depth: u32) -> Module {
        Module {
            name: String::new(),
            class: "Linear".to_owned(),
            path: String::new(),
            depth,
            parent: None,
            occurrences: Some(u64::MAX),
            operators: 0,
            operators_total: 0,
            flops_total: 0,
            flops_self: 0,
            host_total_ns: 0,
            host_self_ns: i64::MAX,
            device_total_ns: 0,
            device_self_ns: i64::MIN,
            backward_host_ns: 0,
            backward_host_self_ns: 0,
            backward_device_ns: 0,
            backward_device_self_ns: i64::MAX,
        }
    }

    #[test]
    fn branches_join_neighbours_of_one_parent() {
        let rows: Vec<Module> = [0, 1, 2, 3, 2, 1, 2, 0, 1].into_iter().map(module).collect();
        assert_eq!(branches(&rows), ["", "├ ", "│ ├ ", "│ │ └ ", "│ └ ", "└ ", "  └ ", "", "└ "]);
    }

    #[test]
    fn sums_of_a_class_stop_at_the_ends() {
        let rows = classes(&[module(0), module(1)]);
        assert_eq!((rows.len(), rows[0].modules, rows[0].occurrences), (1, 2, u64::MAX));
        let row = &rows[0];
        assert_eq!(
            (row.host_self_ns, row.device_self_ns, row.backward_device_self_ns),
            (i64::MAX, i64::MIN, i64::MAX)
        );
    }
}

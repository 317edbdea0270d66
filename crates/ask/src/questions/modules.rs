//! The nn.Module tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::tables::modules::{self, Module};
use stepscope_ground::Problem;

use crate::answer::Answer;
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "modules",
    about: "The nn.Module tree with host and device time.",
    examples: &["modules TRACE  (record with with_stack=True or with_modules=True)"],
    group: Group::Time,
    by: &["tree", "class"],
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&["class"]),
    definitions: &[modules::DEFINITIONS, modules::LEDGER_DEFINITIONS, OWN_DEFINITIONS],
    forms: &[
        Form {
            name: "ModulesAnswer",
            about: TRACES,
            members: &[&[
                rows::<Module>("modules"),
                fact::<modules::ModulesLedger>("ledger"),
                fact::<modules::Origin>("origin"),
            ]],
        },
        Form {
            name: "ModulesByClass",
            about: TRACES,
            members: &[&[
                rows::<ClassRow>("modules"),
                fact::<modules::ModulesLedger>("ledger"),
                fact::<modules::Origin>("origin"),
            ]],
        },
    ],
    answer,
    page_parts: &["modules"],
    ..USUAL
};

const OWN_DEFINITIONS: &[Definition] = definitions! {
    "modules", "Modules" => "How many modules are of this class: instances, each once per place in the model.";
};

/// The modules of one class together.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ModuleClassRow")]
struct ClassRow {
    name: String,
    modules: u64,
    occurrences: u64,
    host_self_ns: i64,
    device_self_ns: i64,
    backward_device_self_ns: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = modules::analyze(asked.trace(), &asked.selection);
    let (ledger, origin) = (report.ledger.clone(), report.origin);
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
    let empty = "no modules in this trace; PyTorch records them with with_stack=True or with_modules=True";
    let part = if ask.grouped() == "class" {
        let rows = arrange(classes(&report.modules), &ask.rows, Some("device_self_ns"), 0, |r| &r.name)?;
        rows.into_part("modules", empty, move |rows| class_table(rows).title("Modules by class", &words))
    } else {
        let rows = arrange(report.modules, &ask.rows, None, 0, |r| &r.path)?;
        let tree = ask.rows.sort.is_none() && ask.rows.filter.is_none();
        rows.into_part("modules", empty, move |rows| tree_table(rows, device, tree).title("Modules", &words))
    };
    Ok(Answer::new(vec![part]).fact("ledger", &ledger).fact("origin", &origin))
}

fn tree_table(rows: &[Module], device: i64, tree: bool) -> Table {
    let largest = rows.iter().map(|m| m.device_total_ns).max().unwrap_or(0);
    let branches = if tree { branches(rows) } else { Vec::new() };
    Columns::of(rows.iter().enumerate())
        .defined_by(QUESTION.definitions)
        .add(Column::name("Module"), |(at, m)| match branches.get(at) {
            Some(branch) => Cell::text(&m.name).prefix(branch),
            None => Cell::text(&m.path),
        })
        .metric("occurrences", 110, |(_, m)| Cell::maybe(m.occurrences, Cell::count))
        .metric("operators_total", 60, |(_, m)| Cell::count(m.operators_total))
        .metric("device_total_ns", 150, |(_, m)| Cell::time(m.device_total_ns))
        .add(Column::number("% device").priority(120), |(_, m)| {
            super::ops::share(m.device_total_ns, device, largest).role(Role::Device)
        })
        .metric("device_self_ns", 130, |(_, m)| Cell::time(m.device_self_ns))
        .metric("backward_device_ns", 125, |(_, m)| Cell::time(m.backward_device_ns))
        .metric("host_total_ns", 140, |(_, m)| Cell::time(m.host_total_ns))
        .metric("host_self_ns", 90, |(_, m)| Cell::time(m.host_self_ns))
        .table()
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
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Class"), |r| Cell::text(&r.name))
        .metric("modules", 100, |r| Cell::count(r.modules))
        .metric("occurrences", 100, |r| Cell::count(r.occurrences))
        .metric("device_self_ns", 150, |r| Cell::time(r.device_self_ns))
        .metric("backward_device_self_ns", 120, |r| Cell::time(r.backward_device_self_ns))
        .metric("host_self_ns", 130, |r| Cell::time(r.host_self_ns))
        .table()
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
    fn branches_join_neighbors_of_one_parent() {
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

//! The tree of modules as a flame graph.

use stepscope_model::Trace;

use super::category::{OTHER, PYTHON};
use super::prune::Columns;
use super::{Clock, Flame, FlameQuery, drawn};
use crate::tables::modules::{self, Origin};
use crate::tables::stacks::Frame;
use crate::tables::stacks::tree::NONE;

/// Forward and backward time are never added up in one number, so the backward pass of a module is a node below it.
const BACKWARD_NAME: &str = "(backward)";
/// The optimizer, the loss, copies of the input.
const OUTSIDE_NAME: &str = "(outside modules)";

/// Nodes while they are collected.
#[derive(Default)]
struct Nodes {
    columns: Columns,
    labels: Vec<(String, u8)>,
}

impl Nodes {
    fn add(&mut self, parent: u32, label: (&str, u8), own_ns: i64, count: u64) -> u32 {
        self.columns.parent.push(parent);
        // Calls that overlap without nesting can push what is left for their parent below zero.
        self.columns.own.push(own_ns.max(0));
        self.columns.count.push(count);
        self.labels.push((label.0.to_owned(), label.1));
        self.labels.len() as u32 - 1
    }
}

/// Empty where the file names no modules.
pub(super) fn flame(trace: &Trace, query: &FlameQuery) -> Flame {
    let report = modules::analyze(trace, &query.selection);
    if report.origin == Origin::None {
        return Flame { weight: query.weight, ..Flame::default() };
    }
    let ledger = &report.ledger;
    let on_device = ledger.device_ns > 0;
    let mut nodes = Nodes::default();
    let mut places = Vec::with_capacity(report.modules.len());
    for module in &report.modules {
        let (own, backward) = match on_device {
            true => (module.device_self_ns, module.backward_device_self_ns),
            false => (module.host_self_ns, module.backward_host_self_ns),
        };
        let parent = module.parent.map_or(NONE, |parent| places[parent]);
        let place = nodes.add(parent, (&module.name, PYTHON), own, module.occurrences.unwrap_or(0));
        places.push(place);
        if backward > 0 {
            nodes.add(place, (BACKWARD_NAME, OTHER), backward, 0);
        }
    }
    for (name, ns) in
        [(OUTSIDE_NAME, ledger.outside_device_ns), (&*Frame::Unlinked.text(trace), ledger.unlinked_device_ns)]
    {
        if ns > 0 {
            nodes.add(NONE, (name, OTHER), ns, 0);
        }
    }
    let clock = if on_device { Clock::Device } else { Clock::Host };
    Flame { clock, ..drawn(&nodes.columns, query, |node| nodes.labels[node as usize].clone()) }
}

//! A flame graph: the stacks of a run merged into one tree, small enough to draw.
//!
//! Host and device time are those of [`crate::tables::stacks`], to the nanosecond; modules are those of
//! [`crate::tables::modules`]. What is too small to be seen is put together, never left out: every nanosecond of the total
//! is the own time of exactly one node.

mod by_module;
mod category;
mod profile_flame;
mod prune;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Trace;

use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;
use crate::tables::functions::AmountUnit;
use crate::tables::stacks::{self, Frame, Stacks};

pub use profile_flame::profile_flame;
use prune::{Columns, Item, prune};

/// What the flame graph is about.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlameWeight {
    /// Host time, by what was on the stack.
    #[default]
    Host,
    /// Device time, by the host stack that launched it.
    Device,
    /// The tree of modules, with device time; with host time where nothing ran on a device.
    Module,
}

/// Whose time is shown.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    #[default]
    Host,
    Device,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlameQuery {
    pub weight: FlameWeight,
    /// Whose time counts.
    pub selection: Selection,
    /// Nodes with less than this part of the total are put together.
    pub min_share: f64,
    /// Most nodes, the largest first; beside each may stand one for all that is smaller.
    pub max_nodes: usize,
    /// Most frames of a stack; the time of deeper ones counts in the last.
    pub max_depth: usize,
    /// Show all numbered steps as one frame, so that what is the same in each adds up.
    pub merge_steps: bool,
}

impl Default for FlameQuery {
    fn default() -> FlameQuery {
        FlameQuery {
            weight: FlameWeight::Host,
            selection: Selection::all(),
            min_share: 1.0 / 20_000.0,
            max_nodes: 20_000,
            // Python itself stops at a depth of 1,000 calls.
            max_depth: 2_000,
            merge_steps: true,
        }
    }
}

/// The answer: a tree in columns, one entry a node. Parents stand before their children; siblings are ordered by
/// falling total, with what is put together last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Flame {
    pub weight: FlameWeight,
    /// Whose time it is.
    pub clock: Clock,
    /// What times are: a profile may count samples or memory instead.
    pub unit: AmountUnit,
    /// Sum of the own time of all nodes.
    pub total_ns: i64,
    /// The names, each once.
    pub names: Vec<String>,
    /// By node: its name's place in `names`.
    pub name: Vec<u32>,
    /// By node: the node around it, or -1.
    pub parent: Vec<i32>,
    /// By node: its own time.
    pub self_ns: Vec<i64>,
    /// By node: its own time and that of all nodes below it.
    pub total_ns_of: Vec<i64>,
    /// By node: host: its calls; device: kernels, copies and memsets at or below it; module: its calls, 0 if not
    /// known.
    pub count: Vec<u64>,
    /// By node: what it is, as a number of the list that timelines use.
    pub category: Vec<u8>,
    /// Nodes that were put together with others.
    pub pruned_nodes: u64,
    /// Their own time, part of the total.
    pub pruned_ns: i64,
    /// Slices too deep for a node of their own; their time counts in the last frame that was not.
    pub deeper_slices: u64,
}

/// Every number of the flame graph.
pub const DEFINITIONS: &[Definition] = definitions! {
    "total_ns", "Total" =>
        "Sum of the own time of all nodes. Host: the time in which at least one slice was open, thread by thread. Device \
         and modules: the durations of all kernels, copies and memsets. Modules where nothing ran on a device: the host \
         time of the outermost modules and of their backward operators.";
    "self_ns", "Self" =>
        "Host: time during which this was the innermost slice of its thread. Device: duration of the device work itself, \
         under the stack of the call that launched it. Modules: device (or host) time of the module less that of its child \
         modules; its backward pass is listed below it as `(backward)`.";
    "total_ns_of", "Total of a node" => "Its own time and that of all nodes below it.";
    "count", "Count" =>
        "Host: how many calls. Device: kernels, copies and memsets at or below the node. Modules: calls of the module; 0 \
         where the file does not tell calls apart. Profiles: weighted stacks at or below the node.";
    "pruned_nodes", "Put together" =>
        "Nodes too small to be shown: below the smallest share of the total, or beyond the largest that fit. Those of one \
         parent stand together beside their siblings as `(N smaller)`, N being how many of its children that are.";
    "pruned_ns", "Time put together" => "The time of these nodes. It is part of the total.";
    "deeper_slices", "Too deep" => "Slices beyond the deepest frame shown. Their time counts in that frame.";
};

pub fn flame(trace: &Trace, query: &FlameQuery) -> Flame {
    match query.weight {
        FlameWeight::Host => of_stacks(trace, query, stacks::Weight::HostSelf),
        FlameWeight::Device => of_stacks(trace, query, stacks::Weight::DeviceSelf),
        FlameWeight::Module => by_module::flame(trace, query),
    }
}

fn of_stacks(trace: &Trace, query: &FlameQuery, weight: stacks::Weight) -> Flame {
    let options = stacks::Options {
        weight,
        selection: query.selection.clone(),
        max_depth: query.max_depth,
        merge_steps: query.merge_steps,
        ..stacks::Options::default()
    };
    let stacks = Stacks::build(trace, &options);
    let nodes = stacks.nodes();
    let columns = Columns {
        parent: nodes.iter().map(|n| n.parent).collect(),
        own: nodes.iter().map(|n| n.value.0).collect(),
        count: nodes.iter().map(|n| n.count).collect(),
        count_below: weight == stacks::Weight::DeviceSelf,
    };
    let label = |node: u32| {
        let node = &nodes[node as usize];
        let text = node.frame.text(trace).into_owned();
        let category = category::for_frame(node.kind, node.frame == Frame::Steps, &text);
        (text, category)
    };
    let clock = if columns.count_below { Clock::Device } else { Clock::Host };
    Flame { clock, deeper_slices: stacks.deeper(), ..drawn(&columns, query, label) }
}

/// The columns of what is kept. `label` gives a node's name and category.
fn drawn(columns: &Columns, query: &FlameQuery, label: impl Fn(u32) -> (String, u8)) -> Flame {
    let pruned = prune(columns, query.min_share, query.max_nodes);
    let mut flame = Flame {
        weight: query.weight,
        total_ns: pruned.total_ns,
        pruned_nodes: pruned.pruned_nodes,
        pruned_ns: pruned.pruned_ns,
        ..Flame::default()
    };
    let mut places: HashMap<String, u32, RandomState> = HashMap::default();
    for node in pruned.nodes {
        let (name, category) = match node.item {
            Item::Node(node) => label(node),
            Item::Smaller(children) => (format!("({children} smaller)"), category::OTHER),
        };
        let place = *places.entry_ref(name.as_str()).or_insert_with(|| {
            flame.names.push(name.clone());
            flame.names.len() as u32 - 1
        });
        flame.name.push(place);
        flame.parent.push(node.parent);
        flame.self_ns.push(node.self_ns);
        flame.total_ns_of.push(node.total_ns);
        flame.count.push(node.count);
        flame.category.push(category);
    }
    flame
}

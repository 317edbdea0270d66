//! Instructions of compiled programs: what each took, what it computed and moved, and where it comes from.
//!
//! On a device an instruction is the kernels, copies and memsets that run it. On a host it is what worker threads ran, less
//! what ran inside it: a loop holds its body. Time is never divided among what is fused into an instruction.

mod definitions;
mod fused;
mod sums;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Domain, Kind, LaneId, Order, SliceId, Trace};

use super::costs::op_costs_of;
use super::report::OverPeak;
use crate::programs::{InstructionAt, ProgramWork};
use crate::scope::selection::Selection;
pub use definitions::DEFINITIONS;
pub use fused::fused_text;
use sums::InstructionSums;

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum InstructionsBy {
    /// An instruction of a program.
    #[default]
    Instruction,
    /// What it is for the most part.
    Category,
    /// The line of source code it comes from.
    Line,
    /// Where the framework says it comes from.
    Path,
    Program,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionsQuery {
    /// The part of the trace that counts.
    pub selection: Selection,
    pub by: InstructionsBy,
    /// Only programs of these numbers; none is all of them.
    pub programs: Option<Vec<i64>>,
}

/// One instruction, or all of a category, line, path or program.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InstructionRow {
    /// The instruction, category, line, path or program.
    pub name: String,
    pub program: Option<String>,
    pub program_id: Option<i64>,
    /// The compiler's word for it.
    pub opcode: Option<String>,
    /// What it is for the most part.
    pub category: Option<&'static str>,
    /// Whether it ran on a device; otherwise on threads of the host.
    pub on_device: bool,
    pub calls: u64,
    /// Kernels, copies and memsets that ran it.
    pub kernels: u64,
    pub total_ns: i64,
    /// Its time without what ran inside it.
    pub self_ns: i64,
    /// Of all time of the device or the workers.
    pub share: f64,
    /// Its own time per call.
    pub mean_ns: f64,
    /// Floating-point operations, all calls together.
    pub flops: Option<u64>,
    /// Bytes read and written, all calls together.
    pub bytes: Option<u64>,
    pub tflops: Option<f64>,
    pub gbs: Option<f64>,
    /// That rate of operations / the device's peak.
    pub of_peak_flops: Option<f64>,
    /// That rate of bytes / the device's peak.
    pub of_peak_bandwidth: Option<f64>,
    /// Why it is above a peak.
    pub note: Option<OverPeak>,
    /// The shape of its result.
    pub shape: Option<String>,
    /// Where the framework says it comes from.
    pub op_path: Option<String>,
    /// Its line of source code, short.
    pub source: Option<String>,
    /// The file of that line.
    pub file: Option<String>,
    /// The line in that file.
    pub line: Option<u32>,
    pub fused: Option<String>,
    /// How many instructions the row represents.
    pub instructions: u64,
    /// Its own time that only the order of a captured graph ties to it.
    pub by_order_ns: i64,
    /// When it first ran.
    pub first_ns: i64,
    pub first_end_ns: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct InstructionsTotals {
    pub device_named_ns: i64,
    /// Device time that names none.
    pub device_unnamed_ns: i64,
    /// Of what names one, what only the order of captured graphs tells.
    pub device_by_order_ns: i64,
    /// Time of worker threads that names an instruction.
    pub host_named_ns: i64,
    /// Time of operators on those threads that name none.
    pub host_unnamed_ns: i64,
    /// How many programs the file describes.
    pub programs: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Instructions {
    /// The longest first.
    pub rows: Vec<InstructionRow>,
    pub totals: InstructionsTotals,
    /// What device work that names no instruction is, the longest first: name and time.
    pub unnamed: Vec<(String, i64)>,
}

/// What runs an instruction: the program's number, and its position there or, where the file does not describe it, the
/// name that the work gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum InstructionKey<'t> {
    Known(i64, u32),
    Named(Option<i64>, &'t str),
}

/// The instructions that ran.
pub fn instructions(trace: &Trace, query: &InstructionsQuery) -> Instructions {
    let programs = ProgramWork::new(trace);
    let mut found = InstructionTable {
        trace,
        programs: &programs,
        sums: Vec::new(),
        at: HashMap::default(),
        totals: InstructionsTotals::default(),
    };
    found.totals.programs = trace.programs().len() as u64;
    let unnamed = on_devices(&mut found, &query.selection);
    on_hosts(&mut found, &query.selection);
    let costs = op_costs_of(trace, &query.selection, &programs);
    if found.totals.device_named_ns > 0 {
        for op in &costs.ops {
            let kernels = costs.kernels_of(op);
            if let Some(which) = kernels.first().and_then(|&id| found.which(id)) {
                found.sums(which, true).cost(op);
            }
        }
    }
    let totals = found.totals;
    let mut sums = found.sums;
    if let Some(programs) = &query.programs {
        sums.retain(|sums| sums.program_id.is_some_and(|id| programs.contains(&id)));
    }
    Instructions { rows: sums::rows(sums, query.by, &totals), totals, unnamed }
}

/// What is known of each instruction so far.
struct InstructionTable<'t> {
    trace: &'t Trace,
    programs: &'t ProgramWork,
    sums: Vec<InstructionSums<'t>>,
    at: HashMap<(InstructionKey<'t>, bool), u32, RandomState>,
    totals: InstructionsTotals,
}

impl<'t> InstructionTable<'t> {
    fn sums(&mut self, which: InstructionKey<'t>, on_device: bool) -> &mut InstructionSums<'t> {
        let at = *self.at.entry((which, on_device)).or_insert_with(|| {
            self.sums.push(InstructionSums::new(self.trace, self.programs, which, on_device));
            (self.sums.len() - 1) as u32
        });
        &mut self.sums[at as usize]
    }

    /// The instruction of a piece of work, if it names one.
    fn which(&self, id: SliceId) -> Option<InstructionKey<'t>> {
        if let Some(InstructionAt { program, at, .. }) = self.programs.at(self.trace, id) {
            return Some(InstructionKey::Known(program.id, at));
        }
        let args = self.trace.args(id);
        // Work of a captured graph names the graph, which is not an instruction.
        let in_graph = args.int(Attr::GraphId).is_some_and(|graph| graph != 0);
        let name = args.text(Attr::Instruction).filter(|_| !in_graph)?;
        Some(InstructionKey::Named(args.int(Attr::Program), name))
    }
}

/// InstructionSums up the work of devices; what names no instruction comes back by its name.
fn on_devices(found: &mut InstructionTable<'_>, selection: &Selection) -> Vec<(String, i64)> {
    let trace = found.trace;
    let slices = trace.slices();
    let mut unnamed: HashMap<&str, i64, RandomState> = HashMap::default();
    // The instruction, the operator and the launch of the work before on its stream.
    let mut before: Option<(InstructionKey<'_>, LaneId, Option<SliceId>, Option<i64>)> = None;
    let lanes = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let works = trace.slices().ids().any(|id| found.which(id).is_some());
    for id in lanes.flat_map(|(lane, _)| slices.of_lane(lane)).filter(|_| works) {
        if !slices.kind(id).is_device_work() || !selection.contains(trace, id) {
            continue;
        }
        let ns = slices.dur(id).0;
        let Some(runs) = found.which(id) else {
            found.totals.device_unnamed_ns = found.totals.device_unnamed_ns.saturating_add(ns);
            let sum = unnamed.entry(trace.name(id)).or_default();
            *sum = sum.saturating_add(ns);
            before = None;
            continue;
        };
        let by_order = found.programs.at(trace, id).is_some_and(|at| at.by_order);
        let in_graph = trace.args(id).int(Attr::GraphId).is_some_and(|graph| graph != 0);
        let launch = trace.args(id).int(Attr::Correlation);
        let op = trace.links().op(id);
        // Kernels of one call follow each other: of a graph those of one launch, else those of one operator.
        let again = before.is_some_and(|(which, lane, with, call)| {
            let together = if in_graph { by_order && call == launch } else { with == op };
            which == runs && lane == slices.lane(id) && together
        });
        before = Some((runs, slices.lane(id), op, launch));
        found.totals.device_named_ns = found.totals.device_named_ns.saturating_add(ns);
        if by_order {
            found.totals.device_by_order_ns = found.totals.device_by_order_ns.saturating_add(ns);
        }
        let sums = found.sums(runs, true);
        sums.add(ns, ns, slices.start(id).0, !again);
        if by_order {
            sums.by_order_ns = sums.by_order_ns.saturating_add(ns);
        }
    }
    let mut unnamed: Vec<(String, i64)> = unnamed.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect();
    unnamed.order_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    unnamed
}

/// InstructionSums up what threads of the host ran.
fn on_hosts(found: &mut InstructionTable<'_>, selection: &Selection) {
    let trace = found.trace;
    let slices = trace.slices();
    let mut lanes: HashSet<LaneId, RandomState> = HashSet::default();
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::HostOp) {
        if trace.lanes().get(slices.lane(id)).key.domain == Domain::Host && found.which(id).is_some() {
            lanes.insert(slices.lane(id));
        }
    }
    let mut lanes: Vec<LaneId> = lanes.into_iter().collect();
    lanes.sort_unstable();
    for lane in lanes {
        // What is open: its end, its instruction, and the time of what ran in it so far.
        let mut open: Vec<(i64, Option<InstructionKey<'_>>, i64, i64)> = Vec::new();
        let ops = slices.of_lane(lane).filter(|&id| slices.kind(id) == Kind::HostOp);
        for id in ops.filter(|&id| selection.contains(trace, id)) {
            let (start, end) = (slices.start(id).0, slices.end(id).0);
            while open.last().is_some_and(|&(until, ..)| until <= start) {
                close(found, &mut open);
            }
            // What reaches beyond the one around it counts there as far as it lies in it.
            let inside = open.last().map_or(0, |&(until, ..)| end.min(until).saturating_sub(start));
            if let Some(around) = open.last_mut() {
                around.3 = around.3.saturating_add(inside);
            }
            open.push((end, found.which(id), start, 0));
        }
        while !open.is_empty() {
            close(found, &mut open);
        }
    }
}

fn close<'t>(found: &mut InstructionTable<'t>, open: &mut Vec<(i64, Option<InstructionKey<'t>>, i64, i64)>) {
    let Some((end, which, start, inside)) = open.pop() else { return };
    let total = end.saturating_sub(start);
    let own = total.saturating_sub(inside).max(0);
    match which {
        Some(which) => {
            found.totals.host_named_ns = found.totals.host_named_ns.saturating_add(own);
            let sums = found.sums(which, false);
            sums.add(total, own, start, true);
            sums.cost_of_one();
        }
        None => found.totals.host_unnamed_ns = found.totals.host_unnamed_ns.saturating_add(own),
    }
}

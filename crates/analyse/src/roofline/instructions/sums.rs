//! From what ran to rows.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{GraphNode, Order, Program, SourceLine, Trace};

use super::super::costs::OpCost;
use super::super::report::OverPeak;
use super::{InstructionKey, InstructionRow, InstructionsBy, InstructionsTotals, fused_text};
use crate::programs::{InstructionCost, ProgramWork};

/// What is known of an instruction, or of several.
#[derive(Clone, Debug)]
pub(super) struct InstructionSums<'t> {
    program: Option<&'t Program>,
    pub(super) program_id: Option<i64>,
    instruction: Option<(GraphNode<'t>, u32)>,
    cost: Option<InstructionCost>,
    name: &'t str,
    on_device: bool,
    calls: u64,
    kernels: u64,
    total_ns: i64,
    self_ns: i64,
    pub(super) by_order_ns: i64,
    first: Option<(i64, i64)>,
    /// What has a cost: its time, operations, bytes, and nanoseconds at the peaks where they are known.
    cost_ns: i64,
    flops: Option<u64>,
    bytes: Option<u64>,
    at_peak_flops_ns: Option<f64>,
    at_peak_bandwidth_ns: Option<f64>,
    last_own_ns: i64,
    members: u64,
}

impl<'t> InstructionSums<'t> {
    pub(super) fn new(
        trace: &'t Trace,
        programs: &ProgramWork,
        which: InstructionKey<'t>,
        on_device: bool,
    ) -> InstructionSums<'t> {
        let (program_id, program, at) = match which {
            InstructionKey::Known(id, at) => (Some(id), trace.programs().get(id), Some(at)),
            InstructionKey::Named(id, _) => (id, id.and_then(|id| trace.programs().get(id)), None),
        };
        let known = program.zip(at);
        let instruction =
            known.and_then(|(p, at)| Some((p.instruction(at)?, *p.scheduled().get(at as usize)?)));
        let name = match which {
            InstructionKey::Named(_, name) => name,
            InstructionKey::Known(..) => instruction.map_or("", |(instruction, _)| instruction.name),
        };
        InstructionSums {
            program,
            program_id,
            instruction,
            cost: known.and_then(|(program, at)| programs.cost(program, at)),
            name,
            on_device,
            calls: 0,
            kernels: 0,
            total_ns: 0,
            self_ns: 0,
            by_order_ns: 0,
            first: None,
            cost_ns: 0,
            flops: None,
            bytes: None,
            at_peak_flops_ns: Some(0.0),
            at_peak_bandwidth_ns: Some(0.0),
            last_own_ns: 0,
            members: 1,
        }
    }

    /// Adds a piece of work that begins a call or continues one.
    pub(super) fn add(&mut self, total: i64, own: i64, start: i64, is_new: bool) {
        self.calls += u64::from(is_new);
        self.kernels += u64::from(self.on_device);
        self.total_ns = self.total_ns.saturating_add(total);
        self.self_ns = self.self_ns.saturating_add(own);
        self.last_own_ns = own;
        if self.first.is_none_or(|(first, _)| start < first) {
            self.first = Some((start, start.saturating_add(total)));
        }
    }

    /// Adds the cost of the piece of work added last: a call of its own, on a host, whose peaks are not known.
    pub(super) fn cost_of_one(&mut self) {
        let Some((flops, bytes)) = self.cost.and_then(|cost| Some((cost.flops?, cost.bytes?))) else { return };
        self.costs(flops, bytes, self.last_own_ns);
        (self.at_peak_flops_ns, self.at_peak_bandwidth_ns) = (None, None);
    }

    /// Adds what a call on a device costs.
    pub(super) fn cost(&mut self, op: &OpCost) {
        let bytes = op.cost.read.saturating_add(op.cost.written);
        self.costs(op.cost.flops, bytes, op.device_ns);
        let peak = op.hardware.and_then(|hardware| hardware.peak_tflops(op.precision, op.cost.pipe));
        // A teraflop per second is a thousand operations per nanosecond; a gigabyte per second one byte.
        let at_flops = peak.map(|peak| op.cost.flops as f64 / (peak * 1e3));
        let at_bytes = op.hardware.map(|hardware| bytes as f64 / hardware.memory_gbs);
        self.at_peak_flops_ns = self.at_peak_flops_ns.zip(at_flops).map(|(sum, ns)| sum + ns);
        self.at_peak_bandwidth_ns = self.at_peak_bandwidth_ns.zip(at_bytes).map(|(sum, ns)| sum + ns);
    }

    fn costs(&mut self, flops: u64, bytes: u64, ns: i64) {
        self.flops = Some(self.flops.unwrap_or(0).saturating_add(flops));
        self.bytes = Some(self.bytes.unwrap_or(0).saturating_add(bytes));
        self.cost_ns = self.cost_ns.saturating_add(ns);
    }

    /// Adds all of another.
    fn merge(&mut self, other: &InstructionSums<'t>) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.calls += other.calls;
        self.kernels += other.kernels;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.by_order_ns = self.by_order_ns.saturating_add(other.by_order_ns);
        self.first = match (self.first, other.first) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.cost_ns = self.cost_ns.saturating_add(other.cost_ns);
        self.flops = sum(self.flops, other.flops);
        self.bytes = sum(self.bytes, other.bytes);
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        self.at_peak_flops_ns = both(self.at_peak_flops_ns, other.at_peak_flops_ns);
        self.at_peak_bandwidth_ns = both(self.at_peak_bandwidth_ns, other.at_peak_bandwidth_ns);
        self.members += other.members;
    }

    /// What the rows of a grouping are distinguished by, and what they are called.
    fn key(&self, by: InstructionsBy) -> String {
        let unknown = |what: &str| format!("(no {what})");
        match by {
            InstructionsBy::Instruction => String::new(),
            InstructionsBy::Category => self.category().unwrap_or("unknown").to_owned(),
            InstructionsBy::Line => match self.instruction.and_then(|(i, _)| i.source) {
                Some(source) => format!("{}:{}", source.file, source.line),
                None => unknown("source line"),
            },
            InstructionsBy::Path => match self.instruction.map(|(i, _)| i.op_path()) {
                Some(path) if !path.is_empty() => path.to_owned(),
                _ => unknown("path"),
            },
            // Programs compiled anew for other shapes share a name: each is one.
            InstructionsBy::Program => match (self.program, self.program_id) {
                (Some(program), _) => format!("{} ({})", program.name, program.id),
                (None, Some(id)) => id.to_string(),
                (None, None) => unknown("program"),
            },
        }
    }

    fn category(&self) -> Option<&'static str> {
        self.cost.map(|cost| cost.kind.label())
    }

    fn row(&self, name: String, by: InstructionsBy, totals: &InstructionsTotals) -> InstructionRow {
        let own = by == InstructionsBy::Instruction;
        let all = match self.on_device {
            true => totals.device_named_ns.saturating_add(totals.device_unnamed_ns),
            false => totals.host_named_ns.saturating_add(totals.host_unnamed_ns),
        };
        let cost_ns = (self.cost_ns > 0).then_some(self.cost_ns as f64);
        let share = |ns: Option<f64>| Some(ns? / cost_ns?).filter(|_| self.flops.is_some());
        let (flops, bandwidth) = (share(self.at_peak_flops_ns), share(self.at_peak_bandwidth_ns));
        let note = match (flops, bandwidth) {
            (Some(flops), _) if flops > 1.0 => Some(OverPeak::Arithmetic),
            (_, Some(bandwidth)) if bandwidth > 1.0 => Some(OverPeak::Cache),
            _ => None,
        };
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let instruction = self.instruction.map(|(instruction, _)| instruction);
        let source = instruction.and_then(|i| i.source).filter(|_| own || by == InstructionsBy::Line);
        let fused = || text(&fused_text(&self.program?.graph, self.instruction?.1));
        InstructionRow {
            name,
            program: self.program.map(|program| program.name.clone()).filter(|_| own),
            program_id: self.program_id.filter(|_| own || by == InstructionsBy::Program),
            opcode: instruction.map(|i| i.opcode.to_owned()).filter(|_| own),
            category: self.category().filter(|_| own || by == InstructionsBy::Category),
            on_device: self.on_device,
            calls: self.calls,
            kernels: self.kernels,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            share: if all > 0 { self.self_ns as f64 / all as f64 } else { 0.0 },
            mean_ns: if self.calls > 0 { self.self_ns as f64 / self.calls as f64 } else { 0.0 },
            flops: self.flops,
            bytes: self.bytes,
            tflops: self.flops.zip(cost_ns).map(|(flops, ns)| flops as f64 / ns / 1e3),
            gbs: self.bytes.zip(cost_ns).map(|(bytes, ns)| bytes as f64 / ns),
            of_peak_flops: flops,
            of_peak_bandwidth: bandwidth,
            note,
            shape: instruction.and_then(|i| text(&i.shape.text())).filter(|_| own),
            op_path: instruction.and_then(|i| text(i.op_path())).filter(|_| own || by == InstructionsBy::Path),
            source: source.map(SourceLine::short),
            file: source.map(|source| source.file.to_owned()),
            line: source.map(|source| source.line),
            fused: own.then(fused).flatten(),
            instructions: self.members,
            by_order_ns: self.by_order_ns,
            first_ns: self.first.map_or(0, |(start, _)| start),
            first_end_ns: self.first.map_or(0, |(_, end)| end),
        }
    }
}

/// The rows, the longest first.
pub(super) fn rows(
    sums: Vec<InstructionSums<'_>>,
    by: InstructionsBy,
    totals: &InstructionsTotals,
) -> Vec<InstructionRow> {
    let mut rows: Vec<InstructionRow> = match by {
        InstructionsBy::Instruction => {
            sums.iter().map(|sums| sums.row(sums.name.to_owned(), by, totals)).collect()
        }
        _ => {
            let mut grouped: Vec<(String, InstructionSums<'_>)> = Vec::new();
            let mut at: HashMap<(String, bool), usize, RandomState> = HashMap::default();
            for sums in &sums {
                let key = sums.key(by);
                match at.get(&(key.clone(), sums.on_device)) {
                    Some(&at) => grouped[at].1.merge(sums),
                    None => {
                        at.insert((key.clone(), sums.on_device), grouped.len());
                        grouped.push((key, sums.clone()));
                    }
                }
            }
            grouped.into_iter().map(|(key, sums)| sums.row(key, by, totals)).collect()
        }
    };
    rows.order_by(|a, b| {
        b.self_ns
            .cmp(&a.self_ns)
            .then_with(|| (&a.name, a.program_id, a.on_device).cmp(&(&b.name, b.program_id, b.on_device)))
    });
    rows
}

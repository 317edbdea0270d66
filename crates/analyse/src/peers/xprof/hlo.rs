//! XProf's table of XLA's instructions (`hlo_stats`): device time by instruction of a compiled program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Domain, GraphNode, Kind, Ns, Order, SliceId, Tag, Trace};

use super::category::category;
use super::groups::groups;
use super::op_name;
use super::recorded_name::recorded_name;
use super::saturating::add;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct XprofHloRow {
    /// The number of its program; 0 for an operator outside of any.
    pub program: i64,
    /// What sort of instruction it is.
    pub category: String,
    pub hlo: String,
    pub framework_op: String,
    /// How many pieces of device work it ran as.
    pub occurrences: u64,
    pub total_ns: i64,
    pub mean_ns: f64,
    /// Without instructions inside: the same on GPUs.
    pub self_ns: i64,
    /// Its share of the devices' time, idle time included.
    pub share: f64,
}

/// Sums of one instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceOp {
    pub(super) category: String,
    pub(super) framework_op: String,
    pub(super) occurrences: u64,
    pub(super) total_ns: i64,
}

/// What ran on devices, by program and instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceOps {
    pub(super) ops: BTreeMap<(i64, String), DeviceOp>,
    pub(super) busy_ns: i64,
    pub(super) idle_ns: i64,
    pub(super) devices: usize,
}

/// XProf's table, the most time first.
pub fn hlo(trace: &Trace) -> Vec<XprofHloRow> {
    let found = device_ops(trace);
    let whole = found.busy_ns.saturating_add(found.idle_ns);
    let mut rows: Vec<XprofHloRow> = found
        .ops
        .into_iter()
        .map(|((program, hlo), of)| XprofHloRow {
            program,
            category: of.category,
            hlo,
            framework_op: of.framework_op,
            occurrences: of.occurrences,
            total_ns: of.total_ns,
            mean_ns: of.total_ns as f64 / of.occurrences.max(1) as f64,
            self_ns: of.total_ns,
            share: if whole > 0 { of.total_ns as f64 / whole as f64 } else { 0.0 },
        })
        .collect();
    rows.order_by(|a, b| b.self_ns.cmp(&a.self_ns).then_with(|| a.hlo.cmp(&b.hlo)));
    rows
}

/// Sums up device work whose instruction the file describes, or that belongs to an operator of the framework's. Idle is
/// the time from a device's first event to its last in which none of that ran, as if nothing ran side by side.
pub(super) fn device_ops(trace: &Trace) -> DeviceOps {
    let slices = trace.slices();
    let groups = groups(trace);
    let mut found = DeviceOps::default();
    let mut devices: BTreeMap<i64, (Ns, Ns, i64)> = BTreeMap::new();
    for (lane, described) in trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device) {
        let Tag::Int(device) = described.key.process else { continue };
        let mut last = None;
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id) != Kind::DeviceAnnotation) {
            let (start, end) = (slices.start(id), slices.end(id));
            let of = devices.entry(device).or_insert((start, end, 0));
            (of.0, of.1) = (of.0.min(start), of.1.max(end));
            let dur = slices.dur(id).0;
            if found.take(trace, id, groups.group_of(id), &mut last) {
                add(&mut of.2, dur);
            }
        }
    }
    for (start, end, busy) in devices.into_values() {
        found.devices += 1;
        add(&mut found.busy_ns, busy);
        add(&mut found.idle_ns, (end - start).0.saturating_sub(busy).max(0));
    }
    found
}

/// The instruction that ran last on a stream: its program, its name and its step.
type Last<'t> = Option<(i64, &'t str, Option<usize>)>;

impl DeviceOps {
    /// Adds a piece of device work, and says whether it is one that counts. What follows work of the same name in the same
    /// step counts as that, even if it is of another program.
    fn take<'t>(&mut self, trace: &'t Trace, id: SliceId, group: Option<usize>, last: &mut Last<'t>) -> bool {
        let (args, dur) = (trace.args(id), trace.slices().dur(id).0);
        if let Some(hlo) = args.text(Attr::Instruction).filter(|hlo| !hlo.is_empty()) {
            let name = hlo.rsplit("::").next().unwrap_or_default();
            let own = args.int(Attr::Program);
            let Some((own, instruction)) = own.and_then(|own| Some((own, instruction(trace, own, name)?)))
            else {
                return false;
            };
            let program = match *last {
                Some((before, same, step)) if same == name && step == group && step.is_some() => before,
                _ => own,
            };
            *last = Some((program, name, group));
            let op = self.ops.entry((program, name.to_owned())).or_default();
            if op.occurrences == 0 {
                op.category = category(instruction);
                op.framework_op = framework_op(instruction);
            }
            op.occurrences += 1;
            add(&mut op.total_ns, dur);
            return true;
        }
        let Some(full) = args.text(Attr::FrameworkOp).filter(|full| !full.is_empty()) else { return false };
        *last = None;
        let (name, kind) = op_name::parse(full).map_or((full, ""), |op| (op.name, op.kind));
        let op = self.ops.entry((0, format!("{name}/{}", recorded_name(trace, id)))).or_default();
        op.category = if kind.is_empty() { "Unknown".to_owned() } else { kind.to_owned() };
        full.clone_into(&mut op.framework_op);
        op.occurrences += 1;
        add(&mut op.total_ns, dur);
        true
    }
}

/// The instruction of exactly this name.
pub(super) fn instruction<'t>(trace: &'t Trace, program: i64, name: &str) -> Option<GraphNode<'t>> {
    let program = trace.programs().get(program)?;
    program.instruction(program.position(name)?).filter(|found| found.name == name)
}

/// The framework's operator and its type, as the compiler received it (`jit(step)/mlp/dot_general:`), or empty.
pub(super) fn framework_op(instruction: GraphNode<'_>) -> String {
    match (instruction.op_name, instruction.op_type) {
        ("", "") => String::new(),
        (name, kind) => format!("{name}:{kind}"),
    }
}

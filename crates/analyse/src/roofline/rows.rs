//! From calls to rows.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Order, StrId, Trace};

use super::RooflineBy;
use super::cost::{Bound, Ideal};
use super::costs::{NoCost, OpCost, OpCosts};
use super::number::{Pipe, Precision};
use super::report::{OverPeak, RooflineRow, UnmodeledRow};
use crate::names::shapes::Shapes;
use crate::scope::share::known_share;

/// Sums of one row.
struct RooflineTotals {
    first: usize,
    precision: Option<Precision>,
    dtype: Option<Precision>,
    calls: u64,
    kernels: u64,
    device_ns: i64,
    flops: u64,
    bytes: u64,
    ideal: Ideal,
    /// The sum of the calls' roofline times, which is more than the longest of the sums.
    ideal_ns: f64,
    /// Whether every call has a roofline time.
    known: bool,
}

impl RooflineTotals {
    fn add(&mut self, op: &OpCost) {
        self.precision = self.precision.filter(|p| *p == op.precision);
        self.dtype = self.dtype.filter(|t| Some(*t) == dtype(op));
        self.calls += 1;
        self.kernels += u64::from(op.kernels);
        self.device_ns = self.device_ns.saturating_add(op.device_ns);
        self.flops = self.flops.saturating_add(op.cost.flops);
        self.bytes = self.bytes.saturating_add(op.cost.bytes());
        match op.ideal {
            None => self.known = false,
            Some(ideal) => {
                self.ideal.compute_ns += ideal.compute_ns;
                self.ideal.memory_ns += ideal.memory_ns;
                self.ideal.host_bus_ns += ideal.host_bus_ns;
                self.ideal_ns += ideal.ns();
            }
        }
    }
}

/// What products run in; for other work, what its tensors are.
fn dtype(op: &OpCost) -> Option<Precision> {
    match op.cost.pipe {
        Pipe::Matrix => Some(op.precision),
        Pipe::Vector => op.cost.data,
    }
}

/// Name, number of the shapes, types, arithmetic; all but the name empty where rows are by name.
type Key = (StrId, u32, Option<StrId>, Option<Precision>);

/// One row per name, or per name and shapes and types and arithmetic.
pub(super) fn rows(trace: &Trace, costs: &OpCosts, by: RooflineBy) -> Vec<RooflineRow> {
    let slices = trace.slices();
    let mut shapes = Shapes::new(trace, true);
    let types_of = |op: &OpCost| trace.args(op.slice).text_id(Attr::InputTypes);
    let mut numbers: HashMap<Key, usize, RandomState> = HashMap::default();
    let mut sums: Vec<RooflineTotals> = Vec::new();
    for (first, op) in costs.ops.iter().enumerate() {
        let name = slices.name(op.slice);
        let key = match by {
            RooflineBy::Name => (name, 0, None, None),
            RooflineBy::NameAndShape => (name, shapes.number(op.slice), types_of(op), Some(op.precision)),
        };
        let number = *numbers.entry(key).or_insert_with(|| {
            sums.push(RooflineTotals {
                first,
                precision: Some(op.precision),
                dtype: dtype(op),
                calls: 0,
                kernels: 0,
                device_ns: 0,
                flops: 0,
                bytes: 0,
                ideal: Ideal::default(),
                ideal_ns: 0.0,
                known: true,
            });
            sums.len() - 1
        });
        sums[number].add(op);
    }
    let mut rows: Vec<RooflineRow> = Vec::with_capacity(sums.len());
    for sums in &sums {
        let op = &costs.ops[sums.first];
        let by_shape = by == RooflineBy::NameAndShape;
        let number = shapes.number(op.slice);
        rows.push(RooflineRow {
            name: trace.name(op.slice).to_owned(),
            family: op.cost.family,
            input_shapes: by_shape.then(|| shapes.text(number).to_owned()),
            input_types: types_of(op).filter(|_| by_shape).map(|text| trace.text(text).to_owned()),
            ..row(sums, costs.device_ns)
        });
    }
    rows.order_by(|a, b| {
        b.device_ns
            .cmp(&a.device_ns)
            .then_with(|| (&a.name, &a.input_shapes).cmp(&(&b.name, &b.input_shapes)))
            .then_with(|| (&a.input_types, a.precision).cmp(&(&b.input_types, b.precision)))
    });
    rows
}

fn row(sums: &RooflineTotals, device_ns: i64) -> RooflineRow {
    let ns = (sums.device_ns > 0).then_some(sums.device_ns as f64);
    let part = |of: f64| ns.filter(|_| sums.known).map(|ns| of / ns);
    let of_roofline = part(sums.ideal_ns);
    let bound = sums.ideal.bound().filter(|_| sums.known);
    let note = of_roofline.filter(|share| *share > 1.0).and(bound).map(|bound| match bound {
        Bound::Compute => OverPeak::Arithmetic,
        Bound::Memory => OverPeak::Cache,
        Bound::HostBus => OverPeak::HostBus,
    });
    RooflineRow {
        name: String::new(),
        family: super::Family::Copy,
        input_shapes: None,
        input_types: None,
        precision: sums.precision,
        dtype: sums.dtype,
        calls: sums.calls,
        kernels: sums.kernels,
        device_ns: sums.device_ns,
        share: known_share(sums.device_ns, device_ns),
        flops: sums.flops,
        bytes: sums.bytes,
        tflops: ns.map(|ns| sums.flops as f64 / ns / 1e3),
        gbs: ns.map(|ns| sums.bytes as f64 / ns),
        intensity: (sums.bytes > 0).then(|| sums.flops as f64 / sums.bytes as f64),
        ideal_ns: sums.known.then_some(sums.ideal_ns.ceil() as i64),
        bound,
        of_roofline,
        of_compute_peak: part(sums.ideal.compute_ns),
        of_bandwidth: part(sums.ideal.memory_ns),
        note,
    }
}

/// Device work without a cost: by operator, and by its own name where no operator is known.
pub(super) fn unmodeled(trace: &Trace, costs: &OpCosts) -> Vec<UnmodeledRow> {
    let slices = trace.slices();
    let mut sums: HashMap<(StrId, NoCost), (u64, i64), RandomState> = HashMap::default();
    for &(id, op, reason) in &costs.without {
        let sum = sums.entry((slices.name(op.unwrap_or(id)), reason)).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(slices.dur(id).0));
    }
    let rows = sums.into_iter().map(|((name, reason), (kernels, device_ns))| UnmodeledRow {
        name: trace.text(name).to_owned(),
        reason,
        kernels,
        device_ns,
        share: known_share(device_ns, costs.device_ns),
    });
    let mut rows: Vec<UnmodeledRow> = rows.collect();
    rows.order_by(|a, b| {
        b.device_ns.cmp(&a.device_ns).then_with(|| (&a.name, a.reason).cmp(&(&b.name, b.reason)))
    });
    rows
}

//! The calls of one operator by all that was recorded of their inputs, so that they can be made again.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Kind, Order, SliceId, StrId, Trace};

use crate::names::nearest::nearest;
use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;
use crate::tables::ops::device::DeviceTimes;
use crate::tables::ops::names::Names;
use crate::tables::ops::tree::HostTree;
use crate::tables::ops::{Attribution, OpsQuery, StrayCalls};

/// Calls with the same inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow<'a> {
    pub calls: u64,
    /// Their device time and that of all they called, together.
    pub device_ns: i64,
    /// Their host time from start to end, together.
    pub host_ns: i64,
    /// The overload, where the file has it.
    pub overload: Option<&'a str>,
    /// Sizes of the inputs: a JSON list.
    pub shapes: &'a str,
    /// Types of the inputs: a JSON list of texts.
    pub types: Option<&'a str>,
    /// Strides of the inputs: a JSON list.
    pub strides: Option<&'a str>,
    /// Plain values among the inputs: a JSON list of texts.
    pub values: Option<&'a str>,
}

/// Why there are no calls to make again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCalls {
    /// The trace has no operator of this name; these are the nearest.
    Unknown(Vec<String>),
    /// The selection has no call of it.
    NotSelected,
    /// Its inputs were not recorded.
    NoShapes,
}

pub const DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" =>
        "Calls of the operator with these inputs; one that only calls itself under the same name counts once.";
    "device_ns", "Device" =>
        "Device time of the calls and of all they called: kernels, copies and memsets that carry the operator's id or \
         whose launching call lies inside it.";
    "host_ns", "Host" => "Host time of the calls from start to end.";
};

type Key = (Option<StrId>, StrId, Option<StrId>, Option<StrId>, Option<StrId>);

/// The calls of an operator, the most expensive inputs first: by device time, then host time.
pub fn calls_by_input<'a>(
    trace: &'a Trace,
    op: &str,
    selection: &Selection,
) -> Result<Vec<CallRow<'a>>, NoCalls> {
    let slices = trace.slices();
    let is_op = |&id: &SliceId| slices.kind(id) == Kind::HostOp && trace.name(id) == op;
    if !slices.ids().any(|id| is_op(&id)) {
        return Err(NoCalls::Unknown(near(trace, op)));
    }
    let mut names = Names::new(trace);
    let tree = HostTree::build(trace, &mut names, StrayCalls::OwnThread);
    let query = OpsQuery { attribution: Attribution::Launch, ..OpsQuery::default() };
    let device = DeviceTimes::new(trace, &tree, &mut names, &query);
    let mut rows: HashMap<Key, [i64; 3], RandomState> = HashMap::default();
    let mut without = false;
    for &id in tree.order.iter().filter(|id| is_op(id)) {
        if tree.shown(id) != Some(id) || !selection.contains(trace, id) {
            continue;
        }
        let args = trace.args(id);
        let Some(shapes) = args.text_id(Attr::InputShapes) else {
            without = true;
            continue;
        };
        let text = |attr: Attr| args.text_id(attr);
        let key = (
            text(Attr::Overload),
            shapes,
            text(Attr::InputTypes),
            text(Attr::InputStrides),
            text(Attr::ConcreteInputs),
        );
        let sums = rows.entry(key).or_default();
        let add = [1, device.total[id.index()][0], slices.dur(id).0];
        for (sum, add) in sums.iter_mut().zip(add) {
            *sum = sum.saturating_add(add);
        }
    }
    if rows.is_empty() {
        return Err(if without { NoCalls::NoShapes } else { NoCalls::NotSelected });
    }
    let text = |id: Option<StrId>| id.map(|id| trace.text(id)).filter(|text| !text.is_empty());
    let mut rows: Vec<CallRow<'a>> = rows
        .into_iter()
        .map(|((overload, shapes, types, strides, values), [calls, device_ns, host_ns])| CallRow {
            calls: calls as u64,
            device_ns,
            host_ns,
            overload: text(overload),
            shapes: trace.text(shapes),
            types: text(types),
            strides: text(strides),
            values: text(values),
        })
        .collect();
    rows.order_by(|a, b| {
        let inputs = |r: &CallRow<'a>| (r.shapes, r.types, r.strides, r.values, r.overload);
        (b.device_ns, b.host_ns).cmp(&(a.device_ns, a.host_ns)).then_with(|| inputs(a).cmp(&inputs(b)))
    });
    Ok(rows)
}

const MAX_COMPARED: usize = 2000;

/// Operators whose names resemble this one.
fn near(trace: &Trace, op: &str) -> Vec<String> {
    let slices = trace.slices();
    let mut known: Vec<StrId> =
        slices.ids().filter(|&id| slices.kind(id) == Kind::HostOp).map(|id| slices.name(id)).collect();
    known.sort_unstable();
    known.dedup();
    // A file can have a name for each operator; those that come first are enough for a hint.
    known.truncate(MAX_COMPARED);
    let found = nearest(op, known.iter().map(|&name| trace.text(name)), 3);
    found.into_iter().map(|name| name.to_owned()).collect()
}

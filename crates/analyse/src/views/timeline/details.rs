//! All about one slice or instant.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Kind, LaneId, Order, SliceId, Trace, shapes_text};

use super::args_text::args_text;
use super::category::Category;
use super::instants::Moment;
use super::labels::lane_label;
use super::python_stack::python;
use super::spans::drawn;
use super::{INSTANT, NO_SLICE, Timeline};
use crate::tables::flops::{Flops, formula};
use crate::tables::run_info::kind_code;

const MAX_PARENTS: usize = 64;
const MAX_CHILDREN: usize = 20;

/// Enough to show a slice and to go to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ref {
    /// Its number; an instant's has [`INSTANT`] set.
    pub id: u32,
    pub name: String,
    pub category: u8,
    pub row: u32,
    pub start_ns: i64,
    pub dur_ns: i64,
}

/// How a slice belongs to another.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    #[serde(rename = "launched by")]
    LaunchedBy,
    /// Device work that it launched.
    Launches,
    /// The operator it belongs to.
    Operator,
    /// Device work launched from inside it or for it.
    #[serde(rename = "device work")]
    DeviceWork,
    /// The forward operator whose gradient it is.
    Forward,
    /// The operators that compute its gradient.
    Backward,
}

/// A slice that belongs to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Link {
    pub relation: Relation,
    pub to: Ref,
}

/// What is directly inside a slice, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Child {
    pub name: String,
    pub count: u64,
    pub total_ns: i64,
}

/// All about one slice or instant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Details {
    /// Name, place and time.
    #[serde(flatten)]
    pub reference: Ref,
    pub kind: &'static str,
    /// Its category as the file spells it.
    pub cat: String,
    pub group: String,
    /// Its time less that of what is directly inside it.
    pub self_ns: i64,
    /// The step in which it starts.
    pub step: Option<i64>,
    /// Its arguments, values as JSON text.
    pub args: Vec<(String, String)>,
    /// Shapes of its inputs.
    pub shapes: Option<String>,
    /// Types of its inputs.
    pub types: Option<String>,
    /// Floating-point operations, where a formula is known.
    pub flops: Option<u64>,
    /// Python frames, the innermost first.
    pub stack: Vec<String>,
    /// What holds it, the nearest first.
    pub parents: Vec<Ref>,
    /// What is directly inside it, the most time first.
    pub children: Vec<Child>,
    /// What belongs to it elsewhere.
    pub links: Vec<Link>,
    pub links_more: u64,
    /// The operator whose row tells more.
    pub op: Option<String>,
    pub kernel: bool,
}

impl Timeline {
    /// All about the slice or instant of a number; `None` if there is none.
    pub fn details(&self, trace: &Trace, id: u32) -> Option<Details> {
        let reference = self.reference(trace, id)?;
        Some(match id & INSTANT {
            0 => self.of_slice(trace, SliceId::from_index(id as usize), reference),
            _ => self.of_instant(trace, Moment::drawn(trace, (id & !INSTANT) as usize)?, reference),
        })
    }

    /// What is needed to show a slice or an instant.
    pub(super) fn reference(&self, trace: &Trace, id: u32) -> Option<Ref> {
        let category = self.category_of_id(trace, id);
        if id & INSTANT != 0 {
            let moment = Moment::drawn(trace, (id & !INSTANT) as usize)?;
            let name = trace.text(moment.name(trace)).to_owned();
            let (row, start_ns) = (self.instants_row(moment.lane(trace)), drawn(moment.at(trace)));
            return Some(Ref { id, name, category, row, start_ns, dur_ns: 0 });
        }
        let slice = SliceId::from_index(id as usize);
        if slice.index() >= trace.slices().len() {
            return None;
        }
        let (start_ns, end) = self.times(trace, slice);
        let (name, row) = (trace.name(slice).to_owned(), self.row_of(trace, slice));
        Some(Ref { id, name, category, row, start_ns, dur_ns: end - start_ns })
    }

    pub(super) fn category_of_id(&self, trace: &Trace, id: u32) -> u8 {
        match id {
            NO_SLICE => Category::Step.number(),
            id if id & INSTANT != 0 || id as usize >= trace.slices().len() => Category::Other.number(),
            id => self.categories.category_of(trace, SliceId::from_index(id as usize)),
        }
    }

    /// The row of a lane's instants is its group's last.
    fn instants_row(&self, lane: LaneId) -> u32 {
        let group = self.built.group_of_lane.get(lane.index());
        let group = group.and_then(|&group| self.built.groups.get(group as usize));
        group.map_or(0, |group| group.rows.end.saturating_sub(1))
    }

    fn step_at(&self, at: i64) -> Option<i64> {
        let step = self.steps.partition_point(|step| step.start <= at).checked_sub(1)?;
        self.steps[step].number.filter(|_| at < self.steps[step].end)
    }

    fn references(&self, trace: &Trace, slices: &[SliceId]) -> Vec<Ref> {
        slices.iter().take(MAX_PARENTS).filter_map(|id| self.reference(trace, id.index() as u32)).collect()
    }

    fn of_slice(&self, trace: &Trace, id: SliceId, reference: Ref) -> Details {
        let slices = trace.slices();
        let args = trace.args(id);
        let kind = slices.kind(id);
        let around = self.ancestors(trace, id);
        let inside = self.inside(trace, id);
        let mut children: Vec<Child> = Vec::new();
        for sum in &inside.sums.sums {
            let name = self.name(trace, sum.name).to_owned();
            children.push(Child { name, count: sum.count, total_ns: sum.total });
        }
        children.order_by(|a, b| {
            (b.total_ns, b.count).cmp(&(a.total_ns, a.count)).then_with(|| a.name.cmp(&b.name))
        });
        children.truncate(MAX_CHILDREN);
        let (links, links_more) = self.links(trace, id);
        let counted = formula(trace.name(id)).filter(|_| kind == Kind::HostOp);
        Details {
            kind: kind_code(kind),
            cat: trace.category(slices.cat(id)).to_owned(),
            group: lane_label(trace, slices.lane(id)).0,
            self_ns: reference.dur_ns - inside.covered,
            step: self.step_at(reference.start_ns),
            args: args_text(args),
            shapes: args
                .text(Attr::InputShapes)
                .map(|text| args.input_shapes().map_or(text.to_owned(), |inputs| shapes_text(&inputs))),
            types: args.text(Attr::InputTypes).map(str::to_owned),
            flops: counted.map(|formula| Flops::new(trace).count_call(id, formula)).filter(|&flops| flops > 0),
            stack: self.python_stack(trace, id),
            parents: self.references(trace, &around),
            children,
            links,
            links_more,
            op: self.operator(trace, id, &around).map(|op| trace.name(op).to_owned()),
            kernel: kind == Kind::Kernel,
            reference,
        }
    }

    /// The operator a slice is, belongs to or is in.
    fn operator(&self, trace: &Trace, id: SliceId, around: &[SliceId]) -> Option<SliceId> {
        let is_op = |id: &SliceId| trace.slices().kind(*id) == Kind::HostOp;
        let links = trace.links();
        Some(id).filter(is_op).or_else(|| links.op(id).filter(is_op)).or_else(|| match links.launch(id) {
            Some(launch) => self.ancestors(trace, launch).into_iter().find(is_op),
            None => around.iter().copied().find(is_op),
        })
    }

    fn of_instant(&self, trace: &Trace, moment: Moment, reference: Ref) -> Details {
        let lane = moment.lane(trace);
        let around = self.open_at(trace, lane, reference.start_ns);
        let is_op = |id: &SliceId| trace.slices().kind(*id) == Kind::HostOp;
        Details {
            kind: "instant",
            cat: trace.category(moment.cat(trace)).to_owned(),
            group: lane_label(trace, lane).0,
            self_ns: 0,
            step: self.step_at(reference.start_ns),
            args: args_text(moment.args(trace)),
            shapes: None,
            types: None,
            flops: None,
            stack: python(trace, &around),
            parents: self.references(trace, &around),
            children: Vec::new(),
            links: Vec::new(),
            links_more: 0,
            op: around.into_iter().find(is_op).map(|op| trace.name(op).to_owned()),
            kernel: false,
            reference,
        }
    }
}

//! One walk over the host's slices finds each one's module; one over the device's adds its time.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, CallTree, Kind, SliceId, StrId, Trace};

use super::tree::{NodeId, Tree};
use super::{ModulesLedger, ModulesReport, Origin};
use crate::names::ranges::MODULE_CALL;
use crate::scope::selection::Selection;
use crate::tables::flops::{self, Flops};

#[derive(Copy, Clone, Default)]
struct ModulePlace {
    /// The module around it, or that it is.
    module: Option<NodeId>,
    /// The module whose forward operators the operator around it (or itself) is the backward of.
    backward: Option<NodeId>,
    /// An operator of the same module is around it.
    in_operator: bool,
    /// The call or operator that decided `module` or `backward` counts.
    counted: bool,
}

/// Says which slices are modules.
struct Namer {
    origin: Origin,
    /// Whether a name is a module's, by text; filled as names are met.
    is_call: Vec<Option<bool>>,
    by_text: HashMap<StrId, Option<NodeId>, RandomState>,
}

impl Namer {
    fn new(trace: &Trace) -> Namer {
        let is_call = vec![None; trace.strings().len()];
        let by_text = HashMap::default();
        let mut namer = Namer { origin: Origin::None, is_call, by_text };
        let slices = trace.slices();
        if slices.ids().any(|id| namer.is_module_call(trace, id)) {
            namer.origin = Origin::PythonCalls;
        } else if slices.ids().any(|id| namer.hierarchy(trace, id).is_some()) {
            namer.origin = Origin::HierarchyText;
        }
        namer
    }

    fn is_module_call(&mut self, trace: &Trace, id: SliceId) -> bool {
        if trace.slices().kind(id) != Kind::PythonFunction {
            return false;
        }
        let name = trace.slices().name(id);
        *self.is_call[name.index()].get_or_insert_with(|| trace.text(name).starts_with(MODULE_CALL))
    }

    fn hierarchy(&self, trace: &Trace, id: SliceId) -> Option<StrId> {
        if trace.slices().kind(id) != Kind::HostOp {
            return None;
        }
        trace.args(id).text_id(Attr::ModuleHierarchy).filter(|&text| text != StrId::EMPTY)
    }

    /// The module that a slice begins, if it begins one.
    fn begins(
        &mut self,
        trace: &Trace,
        tree: &mut Tree,
        id: SliceId,
        around: Option<NodeId>,
    ) -> Option<NodeId> {
        match self.origin {
            Origin::PythonCalls => {
                self.is_module_call(trace, id).then(|| tree.call(trace, around, trace.slices().name(id)))
            }
            Origin::HierarchyText => {
                let text = self.hierarchy(trace, id)?;
                *self.by_text.entry(text).or_insert_with(|| tree.path(trace.text(text)))
            }
            Origin::None => None,
        }
    }
}

/// The module of every host slice.
pub(super) struct ModulesOfSlices {
    places: Vec<ModulePlace>,
    pub(super) paths: Vec<String>,
}

impl ModulesOfSlices {
    pub(super) fn in_trace(trace: &Trace) -> ModulesOfSlices {
        let (mut namer, mut tree) = (Namer::new(trace), Tree::default());
        if namer.origin == Origin::None {
            return ModulesOfSlices { places: Vec::new(), paths: Vec::new() };
        }
        let calls = CallTree::build(trace, |kind| kind != Kind::Overhead);
        let mut places = modules(trace, &Selection::all(), &mut namer, &mut tree, &calls);
        backward(trace, &Selection::all(), &mut tree, &calls, &mut places);
        ModulesOfSlices { places, paths: tree.paths() }
    }

    /// The number of a host slice's module, and whether the slice is of its backward pass.
    pub(super) fn number(&self, host: SliceId) -> Option<(u32, bool)> {
        let place = self.places.get(host.index())?;
        let forward = place.module.map(|node| (node.number(), false));
        forward.or_else(|| place.backward.map(|node| (node.number(), true)))
    }
}

pub(super) fn report(trace: &Trace, selection: &Selection) -> ModulesReport {
    let mut namer = Namer::new(trace);
    let mut tree = Tree::default();
    let calls = CallTree::build(trace, |kind| kind != Kind::Overhead);
    let mut ledger = ModulesLedger { misnested: calls.misnested, ..ModulesLedger::default() };
    let places = match namer.origin {
        Origin::None => Vec::new(),
        _ => {
            let mut places = modules(trace, selection, &mut namer, &mut tree, &calls);
            backward(trace, selection, &mut tree, &calls, &mut places);
            places
        }
    };
    devices(trace, selection, &mut tree, &places, &mut ledger);
    let modules = tree.into_modules(namer.origin == Origin::PythonCalls);
    ModulesReport { origin: namer.origin, modules, ledger }
}

/// Finds the module of every host slice and adds up host time, operators and their floating-point operations.
fn modules(
    trace: &Trace,
    selection: &Selection,
    namer: &mut Namer,
    tree: &mut Tree,
    calls: &CallTree,
) -> Vec<ModulePlace> {
    let slices = trace.slices();
    let mut places = vec![ModulePlace::default(); slices.len()];
    let mut counts = Flops::new(trace);
    // Parents stand before their children in the columns.
    for id in slices.ids().filter(|&id| slices.kind(id).is_host()) {
        let parent = calls.parent(id);
        let around = parent.map_or(ModulePlace::default(), |p| places[p.index()]);
        let begun = namer.begins(trace, tree, id, around.module);
        let counted = selection.contains_time(slices.start(id));
        let is_operator = slices.kind(id) == Kind::HostOp;
        let inside = parent.is_some_and(|p| slices.kind(p) == Kind::HostOp) || around.in_operator;
        let mut place = around;
        place.in_operator = inside;
        if let Some(node) = begun {
            // Each nanosecond belongs to the innermost module; totals are summed up the tree afterwards.
            if counted {
                tree.own(node).calls += 1;
                tree.own(node).host += slices.dur(id);
                if let Some(outer) = around.module.filter(|_| around.counted) {
                    tree.own(outer).host -= slices.dur(id);
                }
            }
            place.module = Some(node);
            place.counted = counted;
            place.in_operator = is_operator && inside && around.module == begun;
        }
        if let Some(node) = place.module
            && is_operator
            && counted
        {
            let own = tree.own(node);
            own.operators += u64::from(!place.in_operator);
            if let Some(formula) = flops::formula(trace.name(id)) {
                own.flops = own.flops.saturating_add(counts.count_call(id, formula));
            }
        }
        places[id.index()] = place;
    }
    places
}

/// Gives operators outside of modules the module whose backward they are, and adds up their host time.
fn backward(
    trace: &Trace,
    selection: &Selection,
    tree: &mut Tree,
    calls: &CallTree,
    places: &mut [ModulePlace],
) {
    let slices = trace.slices();
    for id in slices.ids().filter(|&id| slices.kind(id).is_host()) {
        if places[id.index()].module.is_some() {
            continue;
        }
        let around = calls.parent(id).map_or(ModulePlace::default(), |p| places[p.index()]);
        let counted = selection.contains_time(slices.start(id));
        let own = match slices.kind(id) {
            Kind::HostOp => trace.links().forward_of(id).find_map(|forward| places[forward.index()].module),
            _ => None,
        };
        if let Some(node) = own.filter(|_| counted) {
            tree.own(node).backward_host += slices.dur(id);
            if let Some(outer) = around.backward.filter(|_| around.counted) {
                tree.own(outer).backward_host -= slices.dur(id);
            }
        }
        let place = &mut places[id.index()];
        place.backward = own.or(around.backward);
        place.counted = if own.is_some() { counted } else { around.counted };
    }
}

fn devices(
    trace: &Trace,
    selection: &Selection,
    tree: &mut Tree,
    places: &[ModulePlace],
    ledger: &mut ModulesLedger,
) {
    let slices = trace.slices();
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        if !selection.contains(trace, id) {
            continue;
        }
        let dur = slices.dur(id);
        ledger.device_ns = ledger.device_ns.saturating_add(dur.0);
        let (launch, op) = (trace.links().launch(id), trace.links().op(id));
        let of = |field: fn(&ModulePlace) -> Option<NodeId>| {
            [launch, op].into_iter().flatten().find_map(|host| field(places.get(host.index())?))
        };
        let part = if let Some(node) = of(|p| p.module) {
            tree.own(node).device += dur;
            &mut ledger.forward_device_ns
        } else if let Some(node) = of(|p| p.backward) {
            tree.own(node).backward_device += dur;
            &mut ledger.backward_device_ns
        } else if launch.is_some() || op.is_some() {
            &mut ledger.outside_device_ns
        } else {
            &mut ledger.unlinked_device_ns
        };
        *part = part.saturating_add(dur.0);
    }
}

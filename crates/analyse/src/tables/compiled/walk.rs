//! One pass over the host slices: which region, backward pass and compilation each is in.

use stepscope_model::{CallTree, Kind, SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::names::compiling::{
    CACHE_LOOKUP, CompileId, compiled_for, compiled_region, is_backward, is_compiled_code, is_compiler,
    is_operator,
};
use crate::scope::NONE;
use crate::scope::selection::Selection;

/// Inside of compiled code.
const IN_CODE: u8 = 1;
/// Inside of an operator.
const IN_OPERATOR: u8 = 2;

#[derive(Copy, Clone, PartialEq, Eq)]
enum NameRole {
    Region(Option<CompileId>),
    Backward,
    Code,
    Compiler,
    Lookup,
    About(CompileId),
    Operator,
    Nothing,
}

/// A call of a region.
pub(super) struct Call {
    pub(super) slice: SliceId,
    pub(super) id: Option<CompileId>,
    /// Whether it is inside of another.
    pub(super) nested: bool,
    /// Time of regions and compilations right inside of it.
    pub(super) inside_ns: i64,
    /// The Python call in it.
    pub(super) function: Option<StrId>,
}

/// A compiled backward pass.
pub(super) struct Backward {
    pub(super) slice: SliceId,
    /// Time of compilations right inside of it.
    pub(super) inside_ns: i64,
}

/// A compilation, the outermost of what the compiler does.
pub(super) struct Compilation {
    pub(super) slice: SliceId,
    pub(super) id: Option<CompileId>,
    /// Whether a frame is compiled, not its backward pass later.
    pub(super) of_frame: bool,
}

pub(super) struct Walk {
    pub(super) calls: Vec<Call>,
    pub(super) backwards: Vec<Backward>,
    pub(super) compilations: Vec<Compilation>,
    pub(super) lookups: Vec<SliceId>,
    /// Operators outside of compiled code, operators and the compiler: with whether they are inside of a region.
    pub(super) operators: Vec<(SliceId, bool)>,
    /// Whether anything runs compiled: with `backend="eager"` all operators would seem to be breaks.
    pub(super) has_code: bool,
    region: Vec<u32>,
    backward: Vec<u32>,
}

impl Walk {
    /// `None` if there is no sign of torch.compile.
    pub(super) fn new(trace: &Trace, selection: &Selection) -> Option<Walk> {
        let slices = trace.slices();
        let mut words = ByName::new(trace, word);
        let host = |id: &SliceId| matches!(slices.kind(*id), Kind::HostOp | Kind::HostAnnotation);
        let is_sign = |word| {
            matches!(word, NameRole::Region(_) | NameRole::Backward | NameRole::Code | NameRole::Compiler)
        };
        let mut with_regions = vec![false; trace.lanes().iter().count()];
        let mut any = false;
        for id in slices.ids().filter(host) {
            let word = words.get(slices.name(id));
            any |= is_sign(word);
            with_regions[slices.lane(id).index()] |= matches!(word, NameRole::Region(_));
        }
        if !any {
            return None;
        }
        let tree = CallTree::build(trace, |_| true);
        let mut walk = Walk {
            calls: Vec::new(),
            backwards: Vec::new(),
            compilations: Vec::new(),
            lookups: Vec::new(),
            operators: Vec::new(),
            has_code: false,
            region: vec![NONE; slices.len()],
            backward: vec![NONE; slices.len()],
        };
        let mut compilation = vec![NONE; slices.len()];
        let mut flags = vec![0_u8; slices.len()];
        for id in slices.ids() {
            let (at, kind) = (id.index(), slices.kind(id));
            if !kind.is_host() {
                continue;
            }
            let parent = tree.parent(id).map(SliceId::index);
            let (region, backward, inside, above) = match parent {
                Some(p) => (walk.region[p], walk.backward[p], compilation[p], flags[p]),
                None => (NONE, NONE, NONE, 0),
            };
            (walk.region[at], walk.backward[at], compilation[at], flags[at]) =
                (region, backward, inside, above);
            if kind == Kind::PythonFunction
                && let Some(call) = walk.calls.get_mut(region as usize)
                && parent == Some(call.slice.index())
            {
                call.function.get_or_insert(slices.name(id));
            }
            let word = if host(&id) { words.get(slices.name(id)) } else { NameRole::Nothing };
            if word == NameRole::Nothing {
                continue;
            }
            let (selected, dur) = (selection.contains(trace, id), slices.dur(id).0);
            match word {
                // What the compiler runs to see shapes is not part of the program.
                _ if inside != NONE => {
                    if let (NameRole::About(id), Some(of)) = (word, walk.compilations.get_mut(inside as usize))
                    {
                        of.id.get_or_insert(id);
                    }
                }
                NameRole::Region(id_of) if selected => {
                    if let Some(outer) = walk.calls.get_mut(region as usize) {
                        outer.inside_ns = outer.inside_ns.saturating_add(dur);
                    }
                    walk.region[at] = walk.calls.len() as u32;
                    let nested = region != NONE;
                    walk.calls.push(Call { slice: id, id: id_of, nested, inside_ns: 0, function: None });
                }
                NameRole::Backward if selected => {
                    walk.backward[at] = walk.backwards.len() as u32;
                    walk.backwards.push(Backward { slice: id, inside_ns: 0 });
                    flags[at] |= IN_CODE;
                    walk.has_code = true;
                }
                NameRole::Code => {
                    flags[at] |= IN_CODE;
                    walk.has_code = true;
                }
                NameRole::Compiler if selected => {
                    if let Some(around) = walk.backwards.get_mut(backward as usize) {
                        around.inside_ns = around.inside_ns.saturating_add(dur);
                    } else if let Some(around) = walk.calls.get_mut(region as usize) {
                        around.inside_ns = around.inside_ns.saturating_add(dur);
                    }
                    compilation[at] = walk.compilations.len() as u32;
                    // The backward pass is compiled when it first runs.
                    walk.compilations.push(Compilation { slice: id, id: None, of_frame: backward == NONE });
                }
                NameRole::Lookup if selected => walk.lookups.push(id),
                NameRole::Operator => {
                    flags[at] |= IN_OPERATOR;
                    let seen = with_regions[slices.lane(id).index()] && selected;
                    if above == 0 && seen && kind == Kind::HostOp {
                        walk.operators.push((id, region != NONE));
                    }
                }
                _ => {}
            }
        }
        Some(walk)
    }

    /// The call of a region that a host slice is in.
    pub(super) fn region(&self, id: SliceId) -> Option<usize> {
        let raw = self.region[id.index()];
        (raw != NONE).then_some(raw as usize)
    }

    /// The compiled backward pass that a host slice is in.
    pub(super) fn backward(&self, id: SliceId) -> Option<usize> {
        let raw = self.backward[id.index()];
        (raw != NONE).then_some(raw as usize)
    }
}

fn word(name: &str) -> NameRole {
    if let Some(id) = compiled_region(name) {
        return NameRole::Region(id);
    }
    match name {
        CACHE_LOOKUP => NameRole::Lookup,
        _ if is_backward(name) => NameRole::Backward,
        _ if is_compiled_code(name) => NameRole::Code,
        _ if is_compiler(name) => NameRole::Compiler,
        _ => match compiled_for(name) {
            Some(id) => NameRole::About(id),
            None if is_operator(name) => NameRole::Operator,
            None => NameRole::Nothing,
        },
    }
}

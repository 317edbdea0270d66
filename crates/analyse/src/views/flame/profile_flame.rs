//! The stacks of a profile as a flame graph: frames of one function are one, whatever line they were at.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Profile, StackId};

use super::prune::Columns;
use super::{Clock, Flame, FlameQuery, category, drawn};
use crate::names::python_frame::WAITING;
use crate::scope::NONE;
use crate::tables::functions::{AmountUnit, FunctionId, Names};

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum NodeKind {
    Part(usize),
    Function(FunctionId),
}

struct FlameBuilder<'a> {
    profile: &'a Profile,
    names: &'a Names<'a>,
    max_depth: usize,
    what: Vec<NodeKind>,
    depth: Vec<usize>,
    columns: Columns,
    known: HashMap<(u32, NodeKind), u32, RandomState>,
    places: HashMap<(usize, StackId), u32, RandomState>,
    deeper: u64,
}

/// Draws one of a profile's values.
pub fn profile_flame(profile: &Profile, value: usize, query: &FlameQuery) -> Flame {
    let names = Names::new(profile);
    let columns = Columns { parent: Vec::new(), own: Vec::new(), count: Vec::new(), count_below: true };
    let mut making = FlameBuilder {
        profile,
        names: &names,
        max_depth: query.max_depth,
        what: Vec::new(),
        depth: Vec::new(),
        columns,
        known: HashMap::default(),
        places: HashMap::default(),
        deeper: 0,
    };
    for sample in profile.samples().iter() {
        let amount = sample.amounts.get(value).copied().unwrap_or(0);
        if amount > 0 {
            let node = making.place(sample.part, sample.stack);
            if let Some(own) = making.columns.own.get_mut(node as usize) {
                *own = own.saturating_add(amount);
                making.columns.count[node as usize] += 1;
            }
        }
    }
    let what = making.what;
    let label = |node: u32| match what[node as usize] {
        NodeKind::Part(part) => {
            let name = profile.parts.get(part).filter(|name| !name.is_empty());
            (name.cloned().unwrap_or_else(|| "(no thread)".to_owned()), category::for_frame(None, false, ""))
        }
        NodeKind::Function(function) => {
            let name = names.name(function);
            let text = match names.place(function) {
                (Some(file), Some(line)) => format!("{file}({line}): {name}"),
                (Some(file), None) => format!("{file}: {name}"),
                _ => name.to_owned(),
            };
            let kind = if name == WAITING { None } else { Some(Kind::PythonFunction) };
            let category = category::for_frame(kind, false, &text);
            (text, category)
        }
    };
    let unit = profile.values().get(value).map_or(AmountUnit::Samples, |kind| AmountUnit::from_unit(kind.unit));
    let flame = drawn(&making.columns, query, label);
    Flame { clock: Clock::Host, unit, deeper_slices: making.deeper, ..flame }
}

impl FlameBuilder<'_> {
    /// The node of a stack. Every stack is placed once, however deep it is.
    fn place(&mut self, part: usize, stack: StackId) -> u32 {
        let part = if self.profile.parts.len() > 1 { part } else { 0 };
        let mut above = Vec::new();
        let mut at = stack;
        let mut node = loop {
            if let Some(&node) = self.places.get(&(part, at)) {
                break node;
            }
            match self.profile.stacks.pop(at) {
                Some((below, frame)) => {
                    above.push((at, frame));
                    at = below;
                }
                None if self.profile.parts.len() > 1 => break self.child(NONE, NodeKind::Part(part)),
                None => break NONE,
            }
        };
        for (stack, frame) in above.into_iter().rev() {
            let depth = self.depth.get(node as usize).map_or(0, |depth| depth + 1);
            if depth < self.max_depth {
                node = self.child(node, NodeKind::Function(self.names.function_of(frame)));
            } else {
                self.deeper += 1;
            }
            self.places.insert((part, stack), node);
        }
        node
    }

    fn child(&mut self, around: u32, what: NodeKind) -> u32 {
        let next = self.what.len() as u32;
        let node = *self.known.entry((around, what)).or_insert(next);
        if node == next {
            self.what.push(what);
            self.depth.push(self.depth.get(around as usize).map_or(0, |depth| depth + 1));
            self.columns.parent.push(around);
            self.columns.own.push(0);
            self.columns.count.push(0);
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Frame, Sample, ValueKind, ValueUnit};

    use super::*;

    #[test]
    fn stacks_become_one_tree() {
        let mut profile = Profile::new(vec![ValueKind { name: "weight".to_owned(), unit: ValueUnit::Plain }]);
        let mut frame = |name: &str, line| {
            let (name, file) = (profile.stacks.intern(name), profile.stacks.intern("a.py"));
            profile.stacks.frame(Frame { name, file, line })
        };
        let (main, early, late) = (frame("main", 1), frame("load", 3), frame("load", 4));
        let main = profile.stacks.push(StackId::EMPTY, main);
        let (early, late) = (profile.stacks.push(main, early), profile.stacks.push(main, late));
        for (stack, amount) in [(early, 3), (late, 5), (main, 2)] {
            profile.add(Sample::new(0, stack, &[amount]));
        }
        let flame = profile_flame(&profile, 0, &FlameQuery::default());
        assert_eq!(flame.names, ["a.py: main", "a.py: load"]);
        assert_eq!((flame.self_ns, flame.total_ns_of, flame.count), (vec![2, 8], vec![10, 8], vec![3, 2]));
        assert_eq!((flame.parent, flame.total_ns, flame.unit), (vec![-1, 0], 10, AmountUnit::Samples));
    }
}

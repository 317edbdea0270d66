//! The tree of module paths while it grows.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, StrId, Trace};

use super::Module;
use crate::names::ranges::MODULE_CALL;

/// Deeper modules count in their ancestor at this depth. No model is this deep; a file made to be would cost
/// the square of its depth in path texts.
const MAX_DEPTH: u32 = 100;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(u32);

impl NodeId {
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// What is counted at a node itself, without its children.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnTotals {
    pub(super) calls: u64,
    pub(super) operators: u64,
    pub(super) flops: u64,
    pub(super) host: Ns,
    pub(super) device: Ns,
    pub(super) backward_host: Ns,
    pub(super) backward_device: Ns,
}

struct Node {
    parent: Option<NodeId>,
    depth: u32,
    name: String,
    class: String,
    own: OwnTotals,
}

/// Grows as modules are met; a parent always comes before its children.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// By (parent, name as in the file).
    named: HashMap<(Option<NodeId>, String), NodeId, RandomState>,
    /// The same for interned names, which saves making the text for every call.
    seen: HashMap<(Option<NodeId>, StrId), NodeId, RandomState>,
}

impl Tree {
    /// The node for a call named `nn.Module: X_0` inside another.
    pub(super) fn call(&mut self, trace: &Trace, parent: Option<NodeId>, name: StrId) -> NodeId {
        if let Some(&node) = self.seen.get(&(parent, name)) {
            return node;
        }
        let text = trace.text(name);
        let instance = text.strip_prefix(MODULE_CALL).unwrap_or(text).trim();
        let node = self.child(parent, instance, class_of(instance));
        self.seen.insert((parent, name), node);
        node
    }

    /// The innermost node of a hierarchy text: `TOP(Net)::forward.layer(Linear)::forward.` Parts that call the
    /// module itself again (`SELF(Net)::helper`) and parts without a class (an operator's name) add nothing.
    pub(super) fn path(&mut self, text: &str) -> Option<NodeId> {
        let mut node = None;
        for part in text.split('.') {
            let Some((instance, rest)) = part.split_once('(') else { continue };
            let Some((class, _)) = rest.split_once(')') else { continue };
            if instance.eq_ignore_ascii_case("self") && node.is_some() {
                continue;
            }
            node = Some(self.child(node, instance, class));
        }
        node
    }

    pub(super) fn own(&mut self, node: NodeId) -> &mut OwnTotals {
        &mut self.nodes[node.0 as usize].own
    }

    fn child(&mut self, parent: Option<NodeId>, name: &str, class: &str) -> NodeId {
        let depth = parent.map_or(0, |p| self.nodes[p.0 as usize].depth + 1);
        if let Some(parent) = parent.filter(|_| depth >= MAX_DEPTH) {
            return parent;
        }
        let key = (parent, name.to_owned());
        let next = NodeId(self.nodes.len() as u32);
        let node = *self.named.entry(key).or_insert(next);
        if node == next {
            let (name, class) = (name.to_owned(), class.to_owned());
            self.nodes.push(Node { parent, depth, name, class, own: OwnTotals::default() });
        }
        node
    }

    /// The paths of all nodes, by number.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let around = node.parent.and_then(|parent| paths.get(parent.0 as usize));
            paths.push(around.map_or_else(|| node.name.clone(), |path| format!("{path}/{}", node.name)));
        }
        paths
    }

    /// The list in which a module comes after the one around it, with the totals.
    pub(super) fn into_modules(self, count_calls: bool) -> Vec<Module> {
        let mut total: Vec<OwnTotals> = self.nodes.iter().map(|n| n.own.clone()).collect();
        for i in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[i].parent {
                let from = total[i].clone();
                let to = &mut total[parent.0 as usize];
                to.operators += from.operators;
                to.flops = to.flops.saturating_add(from.flops);
                to.host += from.host;
                to.device += from.device;
                to.backward_host += from.backward_host;
                to.backward_device += from.backward_device;
            }
        }
        let mut modules: Vec<Module> = Vec::with_capacity(self.nodes.len());
        let mut place = vec![0usize; self.nodes.len()];
        for i in self.depth_first() {
            let (node, total) = (&self.nodes[i], &total[i]);
            place[i] = modules.len();
            let parent = node.parent.map(|p| place[p.0 as usize]);
            let around = parent.and_then(|p| modules.get(p));
            let path = around.map_or_else(|| node.name.clone(), |m| format!("{}/{}", m.path, node.name));
            modules.push(Module {
                name: node.name.clone(),
                class: node.class.clone(),
                path,
                depth: node.depth,
                parent,
                occurrences: count_calls.then_some(node.own.calls),
                operators: node.own.operators,
                operators_total: total.operators,
                flops_total: total.flops,
                flops_self: node.own.flops,
                host_total_ns: total.host.0,
                host_self_ns: node.own.host.0,
                device_total_ns: total.device.0,
                device_self_ns: node.own.device.0,
                backward_host_ns: total.backward_host.0,
                backward_host_self_ns: node.own.backward_host.0,
                backward_device_ns: total.backward_device.0,
                backward_device_self_ns: node.own.backward_device.0,
            });
        }
        modules
    }

    fn depth_first(&self) -> Vec<usize> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut open = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            match node.parent {
                Some(p) => children[p.0 as usize].push(i),
                None => open.push(i),
            }
        }
        open.reverse();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(i) = open.pop() {
            order.push(i);
            open.extend(children[i].iter().rev());
        }
        order
    }
}

/// `Linear` of `Linear_3`.
fn class_of(instance: &str) -> &str {
    match instance.rsplit_once('_') {
        Some((class, number)) if !class.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => class,
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_instance_without_its_number() {
        assert_eq!(class_of("Linear_3"), "Linear");
        assert_eq!(class_of("My_Layer_12"), "My_Layer");
        assert_eq!(class_of("plain"), "plain");
        assert_eq!(class_of("_3"), "_3");
    }

    #[test]
    fn hierarchy_texts_name_instances_and_skip_calls_to_self() {
        let mut tree = Tree::default();
        let inner = tree.path("TOP(C)::forward.A0(A)::forward.SELF(A)::forward_impl_.").unwrap();
        assert_eq!(tree.path("TOP(C)::forward.A0(A)::forward.aten::mul"), Some(inner));
        assert_ne!(tree.path("TOP(C)::forward."), Some(inner));
        assert_eq!(tree.path(""), None);
        assert_eq!(tree.path("no class here"), None);
        let modules = tree.into_modules(false);
        let paths: Vec<_> = modules.iter().map(|m| (m.path.as_str(), m.class.as_str(), m.parent)).collect();
        assert_eq!(paths, [("TOP", "C", None), ("TOP/A0", "A", Some(0))]);
    }
}

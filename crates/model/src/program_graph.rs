//! A program as a graph: every instruction, what it takes, who takes its result, and what it holds.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// An instruction of the graph, also one that never runs by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct GraphNode<'g> {
    /// Its name.
    pub name: &'g str,
    /// The compiler's word for what it does.
    pub opcode: &'g str,
    /// The shape of its result.
    pub shape: &'g str,
    /// Where the framework says it comes from, or empty.
    pub op_path: &'g str,
    /// The file it comes from, or empty.
    pub file: &'g str,
    /// The line there; 0 if unknown.
    pub line: u32,
    /// The computation it is in.
    pub computation: u32,
}

/// A computation to be added: its name, whether it is fused into an instruction, and the numbers of those it calls.
#[derive(Copy, Clone, Debug, Default)]
pub struct NewNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// The compiler's word for what it does.
    pub opcode: &'a str,
    /// The shape of its result.
    pub shape: &'a str,
    /// Where the framework says it comes from.
    pub op_path: &'a str,
    /// The file it comes from.
    pub file: &'a str,
    /// The line there.
    pub line: u32,
    /// The nodes whose results it takes.
    pub operands: &'a [u32],
    /// The computations it holds or calls.
    pub calls: &'a [u32],
}

#[derive(Copy, Clone, Debug)]
struct Node {
    name: u32,
    opcode: u32,
    shape: u32,
    op_path: u32,
    file: u32,
    line: u32,
    computation: u32,
    /// Where its operands and calls end; they begin where those of the node before end.
    operands_end: u32,
    calls_end: u32,
}

#[derive(Clone, Debug)]
struct Computation {
    name: u32,
    is_fused: bool,
    nodes: Range<u32>,
    /// The first instruction that calls it.
    caller: Option<u32>,
}

/// Every instruction of a program.
#[derive(Clone, Debug, Default)]
pub struct ProgramGraph {
    texts: Vec<Box<str>>,
    nodes: Vec<Node>,
    computations: Vec<Computation>,
    operands: Vec<u32>,
    calls: Vec<u32>,
    /// Who takes the result of each node, and where that list ends.
    users: Vec<u32>,
    users_end: Vec<u32>,
}

impl ProgramGraph {
    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// An instruction.
    pub fn node(&self, at: u32) -> Option<GraphNode<'_>> {
        let node = self.nodes.get(at as usize)?;
        Some(GraphNode {
            name: self.text(node.name),
            opcode: self.text(node.opcode),
            shape: self.text(node.shape),
            op_path: self.text(node.op_path),
            file: self.text(node.file),
            line: node.line,
            computation: node.computation,
        })
    }

    /// The instruction of this name: one that is not fused if there are several.
    pub fn find(&self, name: &str) -> Option<u32> {
        let named = |&at: &u32| self.node(at).is_some_and(|node| node.name == name);
        let mut all = (0..self.nodes.len() as u32).filter(named);
        let first = all.next()?;
        let is_fused = |at: u32| self.is_fused(self.nodes[at as usize].computation);
        Some(std::iter::once(first).chain(all).find(|&at| !is_fused(at)).unwrap_or(first))
    }

    /// The instructions whose results it takes, in order.
    pub fn operands(&self, at: u32) -> &[u32] {
        self.list(at, &self.operands, |node| node.operands_end)
    }

    /// The computations that it holds or calls.
    pub fn calls(&self, at: u32) -> &[u32] {
        self.list(at, &self.calls, |node| node.calls_end)
    }

    /// The instructions that take its result, each once.
    pub fn users(&self, at: u32) -> &[u32] {
        let end = |at: usize| self.users_end.get(at).map_or(0, |&end| end as usize);
        let start = (at as usize).checked_sub(1).map_or(0, end);
        self.users.get(start..end(at as usize)).unwrap_or_default()
    }

    /// The computation that nothing calls: where the program begins.
    pub fn entry(&self) -> Option<u32> {
        let at = self.computations.iter().position(|of| of.caller.is_none() && !of.is_fused)?;
        Some(at as u32)
    }

    /// The instructions of a computation.
    pub fn nodes_of(&self, computation: u32) -> Range<u32> {
        self.computations.get(computation as usize).map_or(0..0, |computation| computation.nodes.clone())
    }

    /// The name of a computation.
    pub fn computation_name(&self, computation: u32) -> &str {
        self.computations.get(computation as usize).map_or("", |computation| self.text(computation.name))
    }

    /// Whether a computation is fused into an instruction.
    pub fn is_fused(&self, computation: u32) -> bool {
        self.computations.get(computation as usize).is_some_and(|computation| computation.is_fused)
    }

    /// The first instruction that holds or calls a computation.
    pub fn caller(&self, computation: u32) -> Option<u32> {
        self.computations.get(computation as usize)?.caller
    }

    fn text(&self, at: u32) -> &str {
        self.texts.get(at as usize).map_or("", |text| text)
    }

    fn list<'g>(&self, at: u32, all: &'g [u32], end: impl Fn(&Node) -> u32) -> &'g [u32] {
        let Some(node) = self.nodes.get(at as usize) else { return &[] };
        let start = (at as usize).checked_sub(1).map_or(0, |before| end(&self.nodes[before]));
        all.get(start as usize..end(node) as usize).unwrap_or_default()
    }
}

/// Makes a graph. Each text is kept once.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    graph: ProgramGraph,
    known: HashMap<Box<str>, u32, RandomState>,
}

impl GraphBuilder {
    /// Begins a computation; the nodes added next are its.
    pub fn computation(&mut self, name: &str, is_fused: bool) {
        let (name, start) = (self.text(name), self.graph.nodes.len() as u32);
        self.graph.computations.push(Computation { name, is_fused, nodes: start..start, caller: None });
    }

    /// Adds a node to the last computation.
    pub fn node(&mut self, new: NewNode<'_>) {
        self.graph.operands.extend_from_slice(new.operands);
        self.graph.calls.extend_from_slice(new.calls);
        let node = Node {
            name: self.text(new.name),
            opcode: self.text(new.opcode),
            shape: self.text(new.shape),
            op_path: self.text(new.op_path),
            file: self.text(new.file),
            line: new.line,
            computation: (self.graph.computations.len() as u32).saturating_sub(1),
            operands_end: self.graph.operands.len() as u32,
            calls_end: self.graph.calls.len() as u32,
        };
        self.graph.nodes.push(node);
        if let Some(computation) = self.graph.computations.last_mut() {
            computation.nodes.end = self.graph.nodes.len() as u32;
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let at = self.graph.texts.len() as u32;
        self.graph.texts.push(text.into());
        self.known.insert(text.into(), at);
        at
    }

    /// The graph, with who uses what.
    pub fn finish(self) -> ProgramGraph {
        let mut graph = self.graph;
        let count = graph.nodes.len();
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(graph.operands.len());
        for at in 0..count as u32 {
            pairs.extend(graph.operands(at).iter().filter(|&&o| (o as usize) < count).map(|&o| (o, at)));
            for called in graph.calls(at).to_vec() {
                if let Some(computation) = graph.computations.get_mut(called as usize) {
                    computation.caller.get_or_insert(at);
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        graph.users_end = vec![0; count];
        for &(operand, _) in &pairs {
            graph.users_end[operand as usize] += 1;
        }
        let mut end = 0;
        for of_node in &mut graph.users_end {
            end += *of_node;
            *of_node = end;
        }
        graph.users = pairs.into_iter().map(|(_, user)| user).collect();
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_knows_both_ways() {
        let mut builder = GraphBuilder::default();
        builder.computation("fused", true);
        builder.node(NewNode { name: "x", opcode: "parameter", ..NewNode::default() });
        builder.node(NewNode { name: "t", opcode: "tanh", operands: &[0], ..NewNode::default() });
        builder.computation("main", false);
        builder.node(NewNode { name: "x", opcode: "parameter", ..NewNode::default() });
        builder.node(NewNode {
            name: "f",
            opcode: "fusion",
            operands: &[2],
            calls: &[0],
            ..NewNode::default()
        });
        builder.node(NewNode { name: "g", opcode: "dot", operands: &[3, 3, 99], ..NewNode::default() });
        let graph = builder.finish();
        assert_eq!(graph.len(), 5);
        assert_eq!(graph.find("x"), Some(2), "the one that is not fused");
        assert_eq!(graph.users(2), [3]);
        assert_eq!(graph.users(3), [4], "each once");
        assert_eq!(graph.operands(4), [3, 3, 99]);
        assert_eq!((graph.users(4), graph.users(77)), (&[][..], &[][..]));
        assert_eq!(graph.calls(3), [0]);
        assert_eq!((graph.caller(0), graph.caller(1)), (Some(3), None));
        assert_eq!(graph.nodes_of(0), 0..2);
        assert_eq!(graph.node(1).map(|node| (node.name, node.opcode)), Some(("t", "tanh")));
        assert!(graph.is_fused(0) && !graph.is_fused(1));
        assert!(graph.node(5).is_none());
    }
}

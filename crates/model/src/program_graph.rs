//! A program as a graph: every instruction, what it takes, who takes its result, and what it holds.

use std::ops::Range;

use crate::interned::Interned;
use crate::program_shape::ResultShape;
use crate::strings::{StrId, Strings};

/// An instruction of the graph, also one that never runs by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct GraphNode<'g> {
    pub name: &'g str,
    /// The compiler's word for what it does.
    pub opcode: &'g str,
    pub shape: &'g ResultShape,
    /// The framework's operator that it comes from (`jit(step)/mlp/dot_general`), or empty; of what was merged, all.
    pub op_name: &'g str,
    /// The type of that operator, or empty.
    pub op_type: &'g str,
    pub source: Option<SourceLine<'g>>,
    pub computation: u32,
    pub details: &'g InstructionDetails,
}

impl<'g> GraphNode<'g> {
    /// The framework's operator that it comes from; of what was merged, the first.
    pub fn op_path(self) -> &'g str {
        self.op_name.split(';').next().unwrap_or_default()
    }
}

/// A line of source code; the file is as the compiler received it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SourceLine<'g> {
    pub file: &'g str,
    pub line: u32,
}

impl SourceLine<'_> {
    /// `train.py:12`.
    pub fn short(self) -> String {
        format!("{}:{}", self.file.rsplit(['/', '\\']).next().unwrap_or(self.file), self.line)
    }
}

/// What only some instructions have, as the compiler wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InstructionDetails {
    pub parameter: u64,
    /// What a custom call calls.
    pub target: String,
    /// How a fusion is built (`kLoop`).
    pub fusion_kind: String,
    /// Dimensions of its first operand that a product sums over; none where that is not written.
    pub contracts: Option<Vec<u64>>,
    /// Whether its products must not be rounded to fewer bits than their elements have.
    pub is_precise: bool,
    /// Sizes of a window, by dimension.
    pub window: Vec<u64>,
    /// Whether its input has holes.
    pub is_base_dilated: bool,
    /// Whether its window has holes.
    pub is_window_dilated: bool,
    /// The dimension of a convolution's kernel that output features are in.
    pub kernel_output_feature: u64,
}

/// An instruction to be added.
#[derive(Clone, Debug, Default)]
pub struct NewNode<'a> {
    pub name: &'a str,
    pub opcode: &'a str,
    pub shape: ResultShape,
    pub op_name: &'a str,
    pub op_type: &'a str,
    pub source: Option<SourceLine<'a>>,
    pub details: InstructionDetails,
    /// The nodes whose results it takes.
    pub operands: &'a [u32],
    /// The computations it holds or calls.
    pub calls: &'a [u32],
}

#[derive(Copy, Clone, Debug)]
struct Node {
    name: StrId,
    opcode: StrId,
    shape: u32,
    op_name: StrId,
    op_type: StrId,
    file: StrId,
    /// 0 if unknown.
    line: u32,
    details: u32,
    computation: u32,
    /// Where its operands and calls end; they begin where those of the node before end.
    operands_end: u32,
    calls_end: u32,
}

#[derive(Clone, Debug)]
struct Computation {
    name: StrId,
    is_fused: bool,
    root: Option<u32>,
    nodes: Range<u32>,
    /// The first instruction that calls it.
    caller: Option<u32>,
}

/// Every instruction of a program.
#[derive(Clone, Debug, Default)]
pub struct ProgramGraph {
    texts: Strings,
    shapes: Interned<ResultShape>,
    details: Interned<InstructionDetails>,
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

    pub fn node(&self, at: u32) -> Option<GraphNode<'_>> {
        let node = self.nodes.get(at as usize)?;
        let text = |id: StrId| self.texts.get(id);
        Some(GraphNode {
            name: text(node.name),
            opcode: text(node.opcode),
            shape: self.shapes.values().get(node.shape as usize)?,
            op_name: text(node.op_name),
            op_type: text(node.op_type),
            source: (node.line > 0).then(|| SourceLine { file: text(node.file), line: node.line }),
            computation: node.computation,
            details: self.details.values().get(node.details as usize)?,
        })
    }

    /// The instruction of this name: one that is not fused if there are several.
    pub fn find(&self, name: &str) -> Option<u32> {
        let name = self.texts.find(name)?;
        let named = |&at: &u32| self.nodes[at as usize].name == name;
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

    pub fn computation_name(&self, computation: u32) -> &str {
        self.computations.get(computation as usize).map_or("", |computation| self.texts.get(computation.name))
    }

    /// The instruction whose result is that of its computation.
    pub fn root(&self, computation: u32) -> Option<u32> {
        self.computations.get(computation as usize)?.root
    }

    /// Whether a computation is fused into an instruction.
    pub fn is_fused(&self, computation: u32) -> bool {
        self.computations.get(computation as usize).is_some_and(|computation| computation.is_fused)
    }

    /// The first instruction that holds or calls a computation.
    pub fn caller(&self, computation: u32) -> Option<u32> {
        self.computations.get(computation as usize)?.caller
    }

    fn list<'g>(&self, at: u32, all: &'g [u32], end: impl Fn(&Node) -> u32) -> &'g [u32] {
        let Some(node) = self.nodes.get(at as usize) else { return &[] };
        let start = (at as usize).checked_sub(1).map_or(0, |before| end(&self.nodes[before]));
        all.get(start as usize..end(node) as usize).unwrap_or_default()
    }
}

/// Makes a graph. Each text and each shape is kept once.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    graph: ProgramGraph,
}

impl GraphBuilder {
    /// Begins a computation with the node that makes its result; the nodes added next are its.
    pub fn computation(&mut self, name: &str, is_fused: bool, root: Option<u32>) {
        let (name, start) = (self.graph.texts.intern(name), self.graph.nodes.len() as u32);
        self.graph.computations.push(Computation { name, is_fused, root, nodes: start..start, caller: None });
    }

    /// Adds a node to the last computation.
    pub fn node(&mut self, new: NewNode<'_>) {
        let graph = &mut self.graph;
        graph.operands.extend_from_slice(new.operands);
        graph.calls.extend_from_slice(new.calls);
        let node = Node {
            name: graph.texts.intern(new.name),
            opcode: graph.texts.intern(new.opcode),
            shape: graph.shapes.number(new.shape).unwrap_or(u32::MAX),
            op_name: graph.texts.intern(new.op_name),
            op_type: graph.texts.intern(new.op_type),
            file: graph.texts.intern(new.source.map_or("", |source| source.file)),
            line: new.source.map_or(0, |source| source.line),
            details: graph.details.number(new.details).unwrap_or(u32::MAX),
            computation: (graph.computations.len() as u32).saturating_sub(1),
            operands_end: graph.operands.len() as u32,
            calls_end: graph.calls.len() as u32,
        };
        graph.nodes.push(node);
        if let Some(computation) = graph.computations.last_mut() {
            computation.nodes.end = graph.nodes.len() as u32;
        }
    }

    /// The graph, with who uses what.
    pub fn finish(self) -> ProgramGraph {
        let mut graph = self.graph;
        graph.shapes.freeze();
        graph.details.freeze();
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
        builder.computation("fused", true, Some(1));
        builder.node(NewNode { name: "x", opcode: "parameter", ..NewNode::default() });
        builder.node(NewNode { name: "t", opcode: "tanh", operands: &[0], ..NewNode::default() });
        builder.computation("main", false, None);
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
        assert_eq!((graph.root(0), graph.root(1)), (Some(1), None));
        assert_eq!(graph.node(1).map(|node| (node.name, node.opcode)), Some(("t", "tanh")));
        assert!(graph.is_fused(0) && !graph.is_fused(1));
        assert!(graph.node(5).is_none());
    }
}

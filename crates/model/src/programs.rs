//! Programs that a compiler made, as far as the file describes them.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::program_buffers::BufferAssignment;
use crate::program_graph::{GraphNode, ProgramGraph};

#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its number, by which events name it.
    pub id: i64,
    /// Its name (`jit_train_step`).
    pub name: String,
    pub graph: ProgramGraph,
    /// Its memory, if the file says.
    pub buffers: Option<BufferAssignment>,
    scheduled: Vec<u32>,
    by_name: HashMap<String, u32, RandomState>,
}

impl Program {
    /// A program of which these instructions run by themselves, each computation in the order in which it runs.
    pub fn new(
        id: i64,
        name: String,
        graph: ProgramGraph,
        mut scheduled: Vec<u32>,
        buffers: Option<BufferAssignment>,
    ) -> Program {
        scheduled.retain(|&node| graph.node(node).is_some());
        let mut program = Program { id, name, graph, buffers, scheduled, by_name: HashMap::default() };
        let names: Vec<String> = program.instructions().map(|node| kernel_name(node.name)).collect();
        for (at, name) in names.into_iter().enumerate() {
            program.by_name.entry(name).or_insert(at as u32);
        }
        program
    }

    /// The nodes of the instructions that run by themselves, each computation in the order in which it runs.
    pub fn scheduled(&self) -> &[u32] {
        &self.scheduled
    }

    /// Those instructions; what is fused into one counts as it.
    pub fn instructions(&self) -> impl Iterator<Item = GraphNode<'_>> {
        self.scheduled.iter().filter_map(|&node| self.graph.node(node))
    }

    /// The instruction at a position of the schedule.
    pub fn instruction(&self, at: u32) -> Option<GraphNode<'_>> {
        self.graph.node(*self.scheduled.get(at as usize)?)
    }

    /// The position of the instruction of this name, or of the one that a kernel of this name was made for.
    pub fn position(&self, name: &str) -> Option<u32> {
        self.by_name.get(&kernel_name(name)).copied()
    }
}

/// An instruction's name as compilers write it for devices: with underscores for dots. AMD's kernels end in `.kd`.
pub fn kernel_name(name: &str) -> String {
    name.strip_suffix(".kd").unwrap_or(name).replace(['.', '-'], "_")
}

/// All programs that a file describes.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    programs: Vec<Program>,
    by_id: HashMap<i64, u32, RandomState>,
}

impl Programs {
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Every one, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter()
    }

    pub fn get(&self, id: i64) -> Option<&Program> {
        self.programs.get(*self.by_id.get(&id)? as usize)
    }

    /// Adds one; of two with the same number the first counts.
    pub(crate) fn add(&mut self, program: Program) {
        self.by_id.entry(program.id).or_insert(self.programs.len() as u32);
        self.programs.push(program);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program_graph::{GraphBuilder, NewNode};

    #[test]
    fn kernels_find_their_instruction() {
        let mut graph = GraphBuilder::default();
        graph.computation("main", false, None);
        for name in ["gemm_fusion_dot.9", "custom-call.1", "add"] {
            graph.node(NewNode { name, ..NewNode::default() });
        }
        let mut programs = Programs::default();
        programs.add(Program::new(7, "jit_f".to_owned(), graph.finish(), vec![0, 1, 2], None));
        let program = programs.get(7).unwrap();
        let found = |name: &str| program.instruction(program.position(name)?).map(|i| i.name);
        assert_eq!(found("gemm_fusion_dot.9"), Some("gemm_fusion_dot.9"));
        assert_eq!(found("gemm_fusion_dot_9.kd"), Some("gemm_fusion_dot.9"));
        assert_eq!(found("custom-call.1"), Some("custom-call.1"));
        assert_eq!(found("gemm_fusion_dot"), None);
        assert!(programs.get(8).is_none());
    }
}

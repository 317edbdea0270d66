//! Compiled programs: which instruction each piece of work runs, what that costs, and the memory that programs take.

mod cost;
mod graph_order;
mod memory;

use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, GraphNode, Program, SliceId, Trace};

pub(crate) use cost::computes_each_element;
pub use cost::{InstructionCost, InstructionKind};
pub use memory::{BufferUse, LiveBuffer, ProgramMemory, program_memory};

/// The instructions that the work of a trace runs. Costs are counted when a program is first asked about.
#[derive(Debug, Default)]
pub struct ProgramWork {
    /// Work of captured graphs whose instruction follows from the order in which it runs.
    by_order: HashMap<SliceId, u32, RandomState>,
    /// Of each instruction of a program, by the program's number.
    costs: HashMap<i64, OnceLock<Vec<InstructionCost>>, RandomState>,
}

/// The instruction that a piece of work runs.
#[derive(Copy, Clone, Debug)]
pub struct InstructionAt<'t> {
    pub program: &'t Program,
    /// Its position in the program's schedule.
    pub at: u32,
    /// The instruction itself.
    pub instruction: GraphNode<'t>,
    /// Whether that follows from the order of a captured graph; otherwise the work names it.
    pub by_order: bool,
}

impl ProgramWork {
    /// Of a trace whose file describes no program there is none.
    pub fn new(trace: &Trace) -> ProgramWork {
        let costs = trace.programs().iter().map(|program| (program.id, OnceLock::new())).collect();
        ProgramWork { by_order: graph_order::by_order(trace), costs }
    }

    /// The instruction that an operator or device work runs, if the file describes its program. Work of a captured graph
    /// names the graph as its instruction: there its own name tells.
    pub fn at<'t>(&self, trace: &'t Trace, id: SliceId) -> Option<InstructionAt<'t>> {
        if self.costs.is_empty() {
            return None;
        }
        let args = trace.args(id);
        let program = trace.programs().get(args.int(Attr::Program)?)?;
        let by_order = self.by_order.get(&id).copied();
        let by_name = || {
            let named = args.text(Attr::Instruction).and_then(|name| program.position(name));
            named.or_else(|| program.position(trace.name(id)))
        };
        let at = by_order.or_else(by_name)?;
        Some(InstructionAt { program, at, instruction: program.instruction(at)?, by_order: by_order.is_some() })
    }

    /// The same without its program.
    pub fn instruction<'t>(&self, trace: &'t Trace, id: SliceId) -> Option<GraphNode<'t>> {
        self.at(trace, id).map(|at| at.instruction)
    }

    /// What the instruction at a position of a program's schedule costs.
    pub fn cost(&self, program: &Program, at: u32) -> Option<InstructionCost> {
        let costs = self.costs.get(&program.id)?.get_or_init(|| cost::costs(program));
        costs.get(at as usize).copied()
    }

    /// What the instruction of a piece of work costs.
    pub fn cost_of(&self, trace: &Trace, id: SliceId) -> Option<InstructionCost> {
        let InstructionAt { program, at, .. } = self.at(trace, id)?;
        self.cost(program, at)
    }
}

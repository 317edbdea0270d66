//! Programs that a compiler made, as far as the file describes them: what each instruction is, costs and comes from.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::program_graph::ProgramGraph;
use crate::slices::SliceId;

/// A place in source code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as the compiler was told.
    pub file: String,
    /// The line.
    pub line: u32,
}

/// What an instruction is for the most part.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionKind {
    /// Matrix products.
    Matmul,
    /// Convolutions.
    Convolution,
    /// Reductions and windows.
    Reduction,
    /// Arithmetic on each element.
    Elementwise,
    /// Copies, transposes, gathers: nothing is computed.
    Movement,
    /// Communication between devices.
    Collective,
    /// A call of a library or of code that the compiler does not know.
    CustomCall,
    /// Loops, branches and calls, whose time is that of what they hold.
    Control,
    /// Anything else.
    Other,
}

impl InstructionKind {
    /// What tables call it.
    pub fn label(self) -> &'static str {
        match self {
            InstructionKind::Matmul => "matmul",
            InstructionKind::Convolution => "convolution",
            InstructionKind::Reduction => "reduction",
            InstructionKind::Elementwise => "elementwise",
            InstructionKind::Movement => "data movement",
            InstructionKind::Collective => "collective",
            InstructionKind::CustomCall => "custom call",
            InstructionKind::Control => "control flow",
            InstructionKind::Other => "other",
        }
    }
}

/// One instruction that runs by itself; what is fused into it counts as it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its name, unique in its program.
    pub name: String,
    /// The compiler's word for what it does (`fusion`, `dot`).
    pub opcode: String,
    /// What it is for the most part.
    pub kind: InstructionKind,
    /// Where the framework says it comes from (`jit(step)/mlp/dot_general`), or empty.
    pub op_path: String,
    /// The line of source code it comes from.
    pub source: Option<SourceLine>,
    /// Floating-point operations that it needs; none where that cannot be told.
    pub flops: Option<u64>,
    /// Bytes it reads and writes at the least; none where that cannot be told.
    pub bytes: Option<u64>,
    /// The type of the elements that matrix products and convolutions multiply, else of the result (`bf16`).
    pub element: &'static str,
    /// Whether its products may be rounded to fewer bits than their elements have, as devices do by default.
    pub rounded: bool,
    /// The shape of the result (`bf16[8,512]`).
    pub shape: String,
    /// Which instruction of the program's graph it is.
    pub node: u32,
    /// The computation it is in.
    pub computation: u32,
    /// The compiler's word for what sort of instruction it is (`loop fusion`, `data formatting`).
    pub category: String,
    /// The framework's operator and its type, as the compiler was told (`jit(step)/mlp/dot_general:`), or empty.
    pub framework_op: String,
}

/// What a buffer of a program is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferUse {
    /// An argument.
    Argument,
    /// A result, with memory of its own.
    Result,
    /// A constant.
    Constant,
    /// What lives only while the program runs.
    Temporary,
}

impl BufferUse {
    /// What tables call it.
    pub fn label(self) -> &'static str {
        match self {
            BufferUse::Argument => "argument",
            BufferUse::Result => "result",
            BufferUse::Constant => "constant",
            BufferUse::Temporary => "temporary",
        }
    }
}

/// A buffer that is live when a program needs most memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveBuffer {
    /// The instruction that fills it, in the program's graph.
    pub node: u32,
    /// Its shape: that of the result, or of one of several.
    pub shape: String,
    /// Its size.
    pub bytes: u64,
    /// What it is for.
    pub is: BufferUse,
}

/// Memory that a program was given when it was compiled, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramMemory {
    /// For its arguments.
    pub arguments: u64,
    /// For results that have memory of their own.
    pub results: u64,
    /// Of its arguments, what results take over: donated.
    pub aliased: u64,
    /// For constants.
    pub constants: u64,
    /// For what lives only while it runs.
    pub temporary: u64,
    /// The most that is live at one time; none if the file does not say when buffers live.
    pub peak: Option<u64>,
    /// The instruction at which that is, in the program's graph.
    pub peak_node: Option<u32>,
    /// The largest buffers that are live then, the largest first.
    pub live: Vec<LiveBuffer>,
    /// How many are live then, those that are not kept included.
    pub live_count: u64,
}

impl ProgramMemory {
    /// All memory that it was given.
    pub fn total(&self) -> u64 {
        [self.arguments, self.results, self.constants, self.temporary].into_iter().fold(0, u64::saturating_add)
    }
}

/// One program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its number, by which events name it.
    pub id: i64,
    /// Its name (`jit_train_step`).
    pub name: String,
    /// Its instructions that run by themselves, each computation in the order in which it runs.
    pub instructions: Vec<Instruction>,
    /// All its instructions.
    pub graph: ProgramGraph,
    /// The memory it was given, if the file says.
    pub memory: Option<ProgramMemory>,
    by_name: HashMap<String, u32, RandomState>,
}

impl Program {
    /// A program of these instructions.
    pub fn new(
        id: i64,
        name: String,
        instructions: Vec<Instruction>,
        graph: ProgramGraph,
        memory: Option<ProgramMemory>,
    ) -> Program {
        let mut program = Program { id, name, graph, memory, ..Program::default() };
        for (at, instruction) in instructions.iter().enumerate() {
            program.by_name.entry(plain(&instruction.name)).or_insert(at as u32);
        }
        program.instructions = instructions;
        program
    }

    /// The instruction of this name, or the one that a kernel of this name was made for: kernels are named like their
    /// instruction, with underscores for dots.
    pub fn instruction(&self, name: &str) -> Option<&Instruction> {
        self.instructions.get(self.position(name)? as usize)
    }

    /// Where that instruction is among the program's.
    pub fn position(&self, name: &str) -> Option<u32> {
        self.by_name.get(&plain(name)).copied()
    }
}

/// A name as compilers write it for devices. AMD's kernels end in `.kd`.
pub(crate) fn plain(name: &str) -> String {
    name.strip_suffix(".kd").unwrap_or(name).replace(['.', '-'], "_")
}

/// All programs that a file describes.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    programs: Vec<Program>,
    by_id: HashMap<i64, u32, RandomState>,
    /// Work of captured graphs whose instruction follows from the order in which it runs.
    pub(crate) by_order: HashMap<SliceId, u32, RandomState>,
}

/// The instruction that a piece of work runs.
#[derive(Copy, Clone, Debug)]
pub struct InstructionAt<'t> {
    /// Its program.
    pub program: &'t Program,
    /// Where it is among the program's instructions.
    pub at: u32,
    /// Whether that follows from the order of a captured graph; otherwise the work names it.
    pub by_order: bool,
}

impl<'t> InstructionAt<'t> {
    /// The instruction itself.
    pub fn instruction(self) -> &'t Instruction {
        &self.program.instructions[self.at as usize]
    }
}

impl Programs {
    /// How many there are.
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

    /// The program of a number.
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

    #[test]
    fn kernels_find_their_instruction() {
        let instruction = |name: &str| Instruction {
            name: name.to_owned(),
            opcode: "fusion".to_owned(),
            kind: InstructionKind::Other,
            op_path: String::new(),
            source: None,
            flops: None,
            bytes: None,
            element: "f32",
            rounded: false,
            shape: String::new(),
            node: 0,
            computation: 0,
            category: String::new(),
            framework_op: String::new(),
        };
        let list = vec![instruction("gemm_fusion_dot.9"), instruction("custom-call.1"), instruction("add")];
        let mut programs = Programs::default();
        programs.add(Program::new(7, "jit_f".to_owned(), list, ProgramGraph::default(), None));
        let program = programs.get(7).unwrap();
        let found = |name: &str| program.instruction(name).map(|i| i.name.as_str());
        assert_eq!(found("gemm_fusion_dot.9"), Some("gemm_fusion_dot.9"));
        assert_eq!(found("gemm_fusion_dot_9.kd"), Some("gemm_fusion_dot.9"));
        assert_eq!(found("custom-call.1"), Some("custom-call.1"));
        assert_eq!(found("gemm_fusion_dot"), None);
        assert!(programs.get(8).is_none());
    }
}

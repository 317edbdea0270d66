//! What an instruction costs: the arithmetic that it needs, and the bytes that have to move at the least.
//!
//! Arithmetic is that of the mathematics: a product of matrices takes two operations per multiplication, an operator on
//! elements one per element, whatever it is. Bytes are those of operands and results; what is fused stays in registers.
//! Of an operand from which only slices are taken, the slices count.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{GraphNode, Program, ProgramGraph, ResultShape};

/// What an instruction is for the most part.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionKind {
    /// Matrix products.
    Matmul,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionCost {
    /// What it is for the most part.
    pub kind: InstructionKind,
    /// Floating-point operations that it needs; none where that cannot be known.
    pub flops: Option<u64>,
    /// Bytes it reads and writes at the least; none where that cannot be known.
    pub bytes: Option<u64>,
    /// The type of the elements that matrix products and convolutions multiply, else of the result (`bf16`).
    pub element: &'static str,
    /// Whether its products may be rounded to fewer bits than their elements have, as devices do by default.
    pub rounded: bool,
}

/// The cost of each instruction of a program that runs by itself, in the order of its schedule.
pub(super) fn costs(program: &Program) -> Vec<InstructionCost> {
    let costs = GraphCosts { graph: &program.graph, fused: RefCell::default() };
    let nodes = program.scheduled().iter();
    nodes.filter_map(|&at| Some(costs.cost(at, program.graph.node(at)?))).collect()
}

/// Fusions in fusions beyond this are not looked into.
const MAX_FUSION_DEPTH: usize = 4;

/// Counts the costs of a program's instructions.
struct GraphCosts<'g> {
    graph: &'g ProgramGraph,
    /// What is known of computations that are fused; many fusions may share one.
    fused: RefCell<HashMap<u32, Rc<FusedCosts>, RandomState>>,
}

/// A computation that is fused into one instruction.
#[derive(Debug, Default)]
struct FusedCosts {
    operations: Operations,
    /// Bytes of the slices taken from a parameter, by its number, if nothing else is taken of it.
    sliced: HashMap<u64, u64, RandomState>,
    /// Bytes written where it ends in an update of a buffer in place.
    updated: Option<u64>,
}

/// What is in an instruction: operations of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Operations {
    matmul: u64,
    convolution: u64,
    reduction: u64,
    elementwise: u64,
    unknown: bool,
    element: Option<&'static str>,
    rounded: bool,
}

impl Operations {
    const UNKNOWN: Operations = Operations {
        matmul: 0,
        convolution: 0,
        reduction: 0,
        elementwise: 0,
        unknown: true,
        element: None,
        rounded: false,
    };

    fn total(self) -> u64 {
        [self.matmul, self.convolution, self.reduction, self.elementwise]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    fn add(&mut self, other: Operations) {
        self.matmul = self.matmul.saturating_add(other.matmul);
        self.convolution = self.convolution.saturating_add(other.convolution);
        self.reduction = self.reduction.saturating_add(other.reduction);
        self.elementwise = self.elementwise.saturating_add(other.elementwise);
        self.unknown |= other.unknown;
        self.element = self.element.or(other.element);
        self.rounded |= other.rounded;
    }

    fn kind(self) -> InstructionKind {
        match self {
            Operations { matmul: 1.., .. } => InstructionKind::Matmul,
            Operations { convolution: 1.., .. } => InstructionKind::Convolution,
            Operations { reduction: 1.., .. } => InstructionKind::Reduction,
            Operations { elementwise: 1.., .. } => InstructionKind::Elementwise,
            _ => InstructionKind::Movement,
        }
    }
}

impl<'g> GraphCosts<'g> {
    /// The shape of what an instruction takes.
    fn operand(&self, at: u32, which: usize) -> Option<&'g ResultShape> {
        self.graph.node(*self.graph.operands(at).get(which)?).map(|operand| operand.shape)
    }

    /// What is known of the computation that an instruction fuses.
    fn fused(&self, at: u32, depth: usize) -> Option<Rc<FusedCosts>> {
        let computation = *self.graph.calls(at).first()?;
        if let Some(known) = self.fused.borrow().get(&computation) {
            return Some(known.clone());
        }
        let mut fused = FusedCosts { updated: self.updated(computation), ..FusedCosts::default() };
        for inner in self.graph.nodes_of(computation) {
            match self.graph.node(inner) {
                Some(node) if depth > 0 => fused.operations.add(self.arithmetic(inner, node, depth - 1)),
                _ => fused.operations.unknown = true,
            }
        }
        fused.sliced = self.sliced(computation);
        let fused = Rc::new(fused);
        self.fused.borrow_mut().insert(computation, fused.clone());
        Some(fused)
    }

    /// The cost of an instruction that runs by itself.
    fn cost(&self, at: u32, node: GraphNode<'g>) -> InstructionCost {
        let element = node.shape.first().element.name;
        let nothing = |kind| InstructionCost { kind, flops: None, bytes: None, element, rounded: false };
        match node.opcode {
            opcode if is_control(opcode) => return nothing(InstructionKind::Control),
            opcode if is_collective(opcode) => {
                let bytes = Some(node.shape.bytes());
                return InstructionCost { bytes, ..nothing(InstructionKind::Collective) };
            }
            _ => {}
        }
        let operations = self.arithmetic(at, node, MAX_FUSION_DEPTH);
        let is_opaque = node.opcode == "custom-call" && operations.unknown;
        InstructionCost {
            kind: if is_opaque { InstructionKind::CustomCall } else { operations.kind() },
            flops: (!operations.unknown).then(|| operations.total()),
            bytes: (!is_opaque).then(|| self.bytes(at, node)),
            element: operations.element.unwrap_or(element),
            rounded: operations.rounded,
        }
    }

    fn arithmetic(&self, at: u32, node: GraphNode<'g>, depth: usize) -> Operations {
        let mut operations = Operations::default();
        let elements = node.shape.first().elements();
        let operand = |which: usize| self.operand(at, which);
        match node.opcode {
            "fusion" => return self.fused(at, depth).map_or(Operations::UNKNOWN, |fused| fused.operations),
            "dot" => return self.product(at, node, node.details.contracts.as_deref().unwrap_or_default()),
            "convolution" => return self.convolution(at, node),
            "custom-call" => return self.custom_call(at, node),
            "reduce" => {
                // The second half of the operands are where sums begin.
                let arrays = self.graph.operands(at).len() / 2;
                let read = (0..arrays).filter_map(operand).map(ResultShape::elements).sum::<u64>();
                operations.reduction = read.saturating_sub(elements);
            }
            "reduce-window" | "select-and-scatter" => {
                let window = node.details.window.iter().map(|&size| size.max(1)).fold(1, u64::saturating_mul);
                operations.reduction = elements.saturating_mul(window);
            }
            "scatter" => operations.elementwise = operand(2).map_or(0, ResultShape::elements),
            opcode if computes_each_element(opcode) => operations.elementwise = elements,
            "sort" | "fft" | "cholesky" | "triangular-solve" | "rng" | "rng-bit-generator" => {
                operations.unknown = true
            }
            _ => {}
        }
        operations
    }

    /// A product of matrices that sums over these dimensions of its first operand.
    fn product(&self, at: u32, node: GraphNode<'g>, contracts: &[u64]) -> Operations {
        let Some(first) = self.operand(at, 0) else { return Operations::UNKNOWN };
        let summed = sizes(&first.dims, contracts);
        Operations {
            matmul: node.shape.first().elements().saturating_mul(summed).saturating_mul(2),
            rounded: !node.details.is_precise,
            element: Some(first.element.name),
            ..Operations::default()
        }
    }

    /// Each element of the result takes a product with each element of the kernel that is not of another output feature.
    fn convolution(&self, at: u32, node: GraphNode<'g>) -> Operations {
        let Some((input, kernel)) = self.operand(at, 0).zip(self.operand(at, 1)) else {
            return Operations::UNKNOWN;
        };
        let features = sizes(&kernel.dims, &[node.details.kernel_output_feature]).max(1);
        let products = node.shape.first().elements().saturating_mul(kernel.elements() / features);
        Operations {
            convolution: products.saturating_mul(2),
            rounded: !node.details.is_precise,
            element: Some(input.element.name),
            ..Operations::default()
        }
    }

    /// Libraries that multiply matrices and convolve say what they do; the rest is unknown.
    fn custom_call(&self, at: u32, node: GraphNode<'g>) -> Operations {
        let target = node.details.target.as_str();
        if target.starts_with("__cudnn$conv") && !target.contains("Backward") {
            return self.convolution(at, node);
        }
        let is_product = target.starts_with("__cublas") || target.starts_with("__onednn$matmul");
        match &node.details.contracts {
            Some(contracts) if is_product => self.product(at, node, contracts),
            _ => Operations::UNKNOWN,
        }
    }

    /// Bytes of operands and results.
    fn bytes(&self, at: u32, node: GraphNode<'g>) -> u64 {
        let fused = if node.opcode == "fusion" { self.fused(at, MAX_FUSION_DEPTH) } else { None };
        let mut sum = 0u64;
        for which in 0..self.graph.operands(at).len() {
            let whole = self.operand(at, which).map_or(0, ResultShape::bytes);
            let read = match (&fused, node.opcode) {
                (Some(fused), _) => {
                    fused.sliced.get(&(which as u64)).map_or(whole, |&slices| slices.min(whole))
                }
                (None, "slice" | "dynamic-slice" | "gather") if which == 0 => node.shape.bytes(),
                (None, "dynamic-update-slice") if which == 0 => 0,
                _ => whole,
            };
            sum = sum.saturating_add(read);
        }
        let written = match (&fused, node.opcode) {
            (Some(fused), _) => fused.updated,
            (None, "dynamic-update-slice") => self.operand(at, 1).map(ResultShape::bytes),
            _ => None,
        };
        sum.saturating_add(written.unwrap_or_else(|| node.shape.bytes()))
    }

    /// Bytes of the slices taken from each parameter of which nothing else is taken.
    fn sliced(&self, computation: u32) -> HashMap<u64, u64, RandomState> {
        let nodes = || self.graph.nodes_of(computation).filter_map(|at| Some((at, self.graph.node(at)?)));
        // None: all of it is read.
        let mut taken: HashMap<u32, Option<u64>, RandomState> = HashMap::default();
        for (at, user) in nodes() {
            for (which, &operand) in self.graph.operands(at).iter().enumerate() {
                let bytes = match user.opcode {
                    "slice" | "dynamic-slice" | "gather" if which == 0 => Some(user.shape.bytes()),
                    // A buffer that is updated in place is not read.
                    "dynamic-update-slice" if which == 0 => Some(0),
                    _ => None,
                };
                let sum = taken.entry(operand).or_insert(Some(0));
                *sum = sum.zip(bytes).map(|(sum, bytes): (u64, u64)| sum.saturating_add(bytes));
            }
        }
        let parameters = nodes().filter(|(_, node)| node.opcode == "parameter");
        parameters.filter_map(|(at, node)| Some((node.details.parameter, (*taken.get(&at)?)?))).collect()
    }

    /// Bytes that a fusion writes if it ends in an update of a buffer in place.
    fn updated(&self, computation: u32) -> Option<u64> {
        let root = self.graph.root(computation)?;
        self.graph.node(root).filter(|node| node.opcode == "dynamic-update-slice")?;
        self.operand(root, 1).map(ResultShape::bytes)
    }
}

/// Sizes of these dimensions, multiplied.
fn sizes(dims: &[u64], which: &[u64]) -> u64 {
    let size = |&dim: &u64| usize::try_from(dim).ok().and_then(|dim| dims.get(dim)).copied().unwrap_or(1);
    which.iter().map(size).fold(1, u64::saturating_mul)
}

/// Whether the time of an instruction is that of what it holds.
pub(super) fn is_control(opcode: &str) -> bool {
    matches!(opcode, "while" | "conditional" | "call")
}

fn is_collective(opcode: &str) -> bool {
    const COLLECTIVES: [&str; 6] =
        ["all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-", "ragged-all-to-all"];
    COLLECTIVES.iter().any(|beginning| opcode.starts_with(beginning))
}

/// Whether each element of the result is computed from the elements at its place.
pub(crate) fn computes_each_element(opcode: &str) -> bool {
    const OPCODES: [&str; 44] = [
        "abs",
        "add",
        "and",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "complex",
        "cosine",
        "count-leading-zeros",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "floor",
        "imag",
        "is-finite",
        "log",
        "log-plus-one",
        "logistic",
        "map",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "popcnt",
        "power",
        "real",
        "remainder",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "select",
        "sign",
        "sine",
        "sqrt",
        "stochastic-convert",
        "subtract",
        "tan",
        "tanh",
        "xor",
    ];
    OPCODES.binary_search(&opcode).is_ok() || opcode.starts_with("shift-")
}

#[cfg(test)]
mod tests {
    use stepscope_model::{ElementType, GraphBuilder, InstructionDetails, NewNode};

    use super::*;

    fn f32s(dims: &[u64]) -> ResultShape {
        let element = ElementType { name: "f32", bits: 32 };
        ResultShape { element, dims: dims.to_vec(), parts: Vec::new() }
    }

    /// A fusion that multiplies f32[4,8] with f32[8,16].
    #[test]
    fn a_fusion_costs_what_is_in_it() {
        let mut graph = GraphBuilder::default();
        for name in ["fused", "main"] {
            graph.computation(name, name == "fused", None);
            for (parameter, dims) in [(0, [4, 8]), (1, [8, 16])] {
                let details = InstructionDetails { parameter, ..Default::default() };
                graph.node(NewNode { opcode: "parameter", shape: f32s(&dims), details, ..NewNode::default() });
            }
            if name == "fused" {
                let details = InstructionDetails { contracts: Some(vec![1]), ..Default::default() };
                let (opcode, shape, operands) = ("dot", f32s(&[4, 16]), &[0, 1][..]);
                graph.node(NewNode { opcode, shape, details, operands, ..NewNode::default() });
            }
        }
        let (opcode, shape, operands, calls) = ("fusion", f32s(&[4, 16]), &[3, 4][..], &[0][..]);
        graph.node(NewNode { opcode, shape, operands, calls, ..NewNode::default() });
        let program = Program::new(1, "jit_f".to_owned(), graph.finish(), vec![5], None);
        let cost = InstructionCost {
            kind: InstructionKind::Matmul,
            flops: Some(2 * 4 * 16 * 8),
            bytes: Some(4 * (32 + 128 + 64)),
            element: "f32",
            rounded: true,
        };
        assert_eq!(costs(&program), [cost]);
    }
}

//! What an instruction costs: the arithmetic that it needs, and the bytes that have to move at the least.
//!
//! Arithmetic is that of the mathematics: a product of matrices takes two operations per multiplication, an operator on
//! elements one per element, whatever it is. Bytes are those of operands and results; what is fused stays in registers.
//! Of an operand from which only slices are taken, the slices count.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::InstructionKind;

use super::module::{Computation, Instruction, Module};
use super::shape::Shape;

/// What an instruction costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) kind: InstructionKind,
    pub(super) flops: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) element: &'static str,
    pub(super) rounded: bool,
}

/// Fusions in fusions beyond this are not looked into.
const MAX_DEPTH: usize = 4;

/// Counts the costs of a module's instructions.
pub(super) struct Costs<'m> {
    module: &'m Module<'m>,
    /// What is known of computations that are fused; many fusions may share one.
    fused: RefCell<HashMap<u64, Rc<Fused>, RandomState>>,
}

/// A computation that is fused into one instruction.
#[derive(Debug, Default)]
struct Fused {
    sums: Sums,
    /// Bytes of the slices taken from a parameter, by its number, if nothing else is taken of it.
    sliced: HashMap<u64, u64, RandomState>,
    /// Bytes written where it ends in an update of a buffer in place.
    updated: Option<u64>,
}

/// What is in an instruction: operations of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    matmul: u64,
    convolution: u64,
    reduction: u64,
    elementwise: u64,
    unknown: bool,
    element: Option<&'static str>,
    rounded: bool,
}

impl Sums {
    fn total(self) -> u64 {
        [self.matmul, self.convolution, self.reduction, self.elementwise]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    fn add(&mut self, other: Sums) {
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
            Sums { matmul: 1.., .. } => InstructionKind::Matmul,
            Sums { convolution: 1.., .. } => InstructionKind::Convolution,
            Sums { reduction: 1.., .. } => InstructionKind::Reduction,
            Sums { elementwise: 1.., .. } => InstructionKind::Elementwise,
            _ => InstructionKind::Movement,
        }
    }
}

impl<'m> Costs<'m> {
    pub(super) fn new(module: &'m Module<'m>) -> Costs<'m> {
        Costs { module, fused: RefCell::default() }
    }

    /// What is known of the computation that an instruction fuses.
    fn fused(&self, instruction: &Instruction<'m>, depth: usize) -> Option<Rc<Fused>> {
        let computation = self.module.computation(*instruction.calls.first()?)?;
        if let Some(known) = self.fused.borrow().get(&computation.id) {
            return Some(known.clone());
        }
        let mut fused = Fused { updated: updated(computation), ..Fused::default() };
        for inner in &computation.instructions {
            match depth {
                0 => fused.sums.unknown = true,
                _ => fused.sums.add(self.arithmetic(computation, inner, depth - 1)),
            }
        }
        fused.sliced = sliced(computation);
        let fused = Rc::new(fused);
        self.fused.borrow_mut().insert(computation.id, fused.clone());
        Some(fused)
    }

    /// The cost of an instruction that runs by itself.
    pub(super) fn of(&self, computation: &Computation<'m>, instruction: &Instruction<'m>) -> Cost {
        let element = instruction.shape.first().element_name();
        let nothing = |kind| Cost { kind, flops: None, bytes: None, element, rounded: false };
        match instruction.opcode {
            "while" | "conditional" | "call" => return nothing(InstructionKind::Control),
            opcode if is_collective(opcode) => {
                return Cost { bytes: Some(instruction.shape.bytes()), ..nothing(InstructionKind::Collective) };
            }
            _ => {}
        }
        let sums = self.arithmetic(computation, instruction, MAX_DEPTH);
        let kind = match instruction.opcode {
            "custom-call" if sums.unknown => InstructionKind::CustomCall,
            _ => sums.kind(),
        };
        Cost {
            kind,
            flops: (!sums.unknown).then(|| sums.total()),
            bytes: (instruction.opcode != "custom-call" || !sums.unknown)
                .then(|| self.bytes(computation, instruction)),
            element: sums.element.unwrap_or(element),
            rounded: sums.rounded,
        }
    }

    fn arithmetic(&self, within: &Computation<'m>, instruction: &Instruction<'m>, depth: usize) -> Sums {
        let mut sums = Sums::default();
        let elements = instruction.shape.first().elements();
        let operand = |at: usize| within.get(*instruction.operands.get(at)?).map(|operand| &operand.shape);
        match instruction.opcode {
            "fusion" => {
                let unknown = || Sums { unknown: true, ..sums };
                return self.fused(instruction, depth).map_or_else(unknown, |fused| fused.sums);
            }
            "dot" => {
                let Some(first) = operand(0) else { return Sums { unknown: true, ..sums } };
                let summed = product(first.dims.as_slice(), &instruction.contracts);
                sums.matmul = elements.saturating_mul(summed).saturating_mul(2);
                sums.element = Some(first.element_name());
                sums.rounded = !instruction.is_precise;
            }
            "convolution" => return convolution(operand(0), operand(1), instruction, elements),
            "custom-call" => return self.custom_call(within, instruction, elements),
            "reduce" => {
                // The second half of the operands are where sums begin.
                let arrays = instruction.operands.len() / 2;
                let read = (0..arrays).filter_map(operand).map(|shape| shape.elements()).sum::<u64>();
                sums.reduction = read.saturating_sub(elements);
            }
            "reduce-window" | "select-and-scatter" => {
                let window = instruction
                    .window
                    .iter()
                    .fold(1, |product: u64, &size| product.saturating_mul(size.max(1)));
                sums.reduction = elements.saturating_mul(window);
            }
            "scatter" => sums.elementwise = operand(2).map_or(0, |updates| updates.elements()),
            opcode if is_elementwise(opcode) => sums.elementwise = elements,
            "sort" | "fft" | "cholesky" | "triangular-solve" | "rng" | "rng-bit-generator" => {
                sums.unknown = true
            }
            _ => {}
        }
        sums
    }

    /// Libraries that multiply matrices and convolve say what they do in their configuration; the rest is unknown.
    fn custom_call(&self, within: &Computation<'m>, instruction: &Instruction<'m>, elements: u64) -> Sums {
        let unknown = Sums { unknown: true, ..Sums::default() };
        let operand = |at: usize| within.get(*instruction.operands.get(at)?).map(|operand| &operand.shape);
        let target = instruction.target;
        if target.starts_with("__cudnn$conv") && !target.contains("Backward") {
            return convolution(operand(0), operand(1), instruction, elements);
        }
        if !target.starts_with("__cublas") && !target.starts_with("__onednn$matmul") {
            return unknown;
        }
        let Some((first, (contracts, is_precise))) = operand(0).zip(contracting(instruction.config)) else {
            return unknown;
        };
        let summed = product(first.dims.as_slice(), &contracts);
        let matmul = elements.saturating_mul(summed).saturating_mul(2);
        let rounded = !instruction.is_precise && !is_precise;
        Sums { matmul, rounded, element: Some(first.element_name()), ..Sums::default() }
    }

    /// Bytes of operands and results.
    fn bytes(&self, within: &Computation<'m>, instruction: &Instruction<'m>) -> u64 {
        let fused = Some(instruction.opcode).filter(|&opcode| opcode == "fusion");
        let fused = fused.and_then(|_| self.fused(instruction, MAX_DEPTH));
        let shape = |id: u64| within.get(id).map(|operand| operand.shape.bytes());
        let mut sum = 0u64;
        for (at, &operand) in instruction.operands.iter().enumerate() {
            let whole = shape(operand).unwrap_or(0);
            let read = match (&fused, instruction.opcode) {
                (Some(fused), _) => fused.sliced.get(&(at as u64)).map_or(whole, |&slices| slices.min(whole)),
                (None, "slice" | "dynamic-slice" | "gather") if at == 0 => instruction.shape.bytes(),
                (None, "dynamic-update-slice") if at == 0 => 0,
                _ => whole,
            };
            sum = sum.saturating_add(read);
        }
        let whole = instruction.shape.bytes();
        let written = match (&fused, instruction.opcode) {
            (Some(fused), _) => fused.updated.unwrap_or(whole),
            (None, "dynamic-update-slice") => {
                instruction.operands.get(1).and_then(|&id| shape(id)).unwrap_or(whole)
            }
            _ => whole,
        };
        sum.saturating_add(written)
    }
}

/// Sizes of these dimensions, multiplied.
fn product(dims: &[u64], which: &[u64]) -> u64 {
    let size = |&dim: &u64| usize::try_from(dim).ok().and_then(|dim| dims.get(dim)).copied().unwrap_or(1);
    which.iter().map(size).fold(1, u64::saturating_mul)
}

/// Each element of the result takes a product with each element of the kernel that is not of another output feature.
fn convolution(
    input: Option<&Shape>,
    kernel: Option<&Shape>,
    instruction: &Instruction<'_>,
    elements: u64,
) -> Sums {
    let Some((input, kernel)) = input.zip(kernel) else { return Sums { unknown: true, ..Sums::default() } };
    let features = product(&kernel.dims, &[instruction.kernel_output_feature]).max(1);
    let convolution = elements.saturating_mul(kernel.elements() / features).saturating_mul(2);
    let rounded = !instruction.is_precise;
    Sums { convolution, rounded, element: Some(input.element_name()), ..Sums::default() }
}

/// The dimensions of its first operand that a library's matrix product sums over, and whether it must not round.
fn contracting(config: &[u8]) -> Option<(Vec<u64>, bool)> {
    /// No configuration is longer.
    const MAX_CONFIG: usize = 1 << 20;
    if config.len() > MAX_CONFIG {
        return None;
    }
    let config: serde_json::Value = serde_json::from_slice(config).ok()?;
    let inner = ["gemm_backend_config", "onednn_matmul_config"].iter().find_map(|key| config.get(key));
    let inner = inner.unwrap_or(&config);
    let dims = inner.get("dot_dimension_numbers")?.get("lhs_contracting_dimensions")?;
    let precision = inner.get("precision_config").and_then(|precision| precision.get("operand_precision"));
    let is_precise = precision.and_then(|p| p.as_array()).is_some_and(|p| p.iter().any(|p| p == "HIGHEST"));
    let number = |value: &serde_json::Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    Some((dims.as_array()?.iter().map(number).collect::<Option<_>>()?, is_precise))
}

/// Bytes of the slices taken from each parameter of which nothing else is taken.
fn sliced(fused: &Computation<'_>) -> HashMap<u64, u64, RandomState> {
    let parameters = fused.instructions.iter().filter(|i| i.opcode == "parameter");
    // None: all of it is read.
    let mut taken: HashMap<u64, Option<u64>, RandomState> = HashMap::default();
    for user in &fused.instructions {
        for (at, &operand) in user.operands.iter().enumerate() {
            let bytes = match user.opcode {
                "slice" | "dynamic-slice" | "gather" if at == 0 => Some(user.shape.bytes()),
                // A buffer that is updated in place is not read.
                "dynamic-update-slice" if at == 0 => Some(0),
                _ => None,
            };
            let sum = taken.entry(operand).or_insert(Some(0));
            *sum = sum.zip(bytes).map(|(sum, bytes): (u64, u64)| sum.saturating_add(bytes));
        }
    }
    parameters.filter_map(|i| Some((i.parameter, (*taken.get(&i.id)?)?))).collect()
}

/// Bytes that a fusion writes if it ends in an update of a buffer in place.
fn updated(fused: &Computation<'_>) -> Option<u64> {
    let root = fused.get(fused.root).filter(|root| root.opcode == "dynamic-update-slice")?;
    Some(fused.get(*root.operands.get(1)?)?.shape.bytes())
}

fn is_collective(opcode: &str) -> bool {
    const BEGINNINGS: [&str; 6] =
        ["all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-", "ragged-all-to-all"];
    BEGINNINGS.iter().any(|beginning| opcode.starts_with(beginning))
}

fn is_elementwise(opcode: &str) -> bool {
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

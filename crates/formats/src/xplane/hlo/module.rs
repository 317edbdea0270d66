//! A module: its computations and their instructions, as far as analyses need them.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_ground::protobuf::{Field, Fields, numbers};
use stepscope_model::{InstructionDetails, ResultShape, SourceLine};

use super::shape::shape;

#[derive(Debug, Default)]
pub(super) struct Instruction<'m> {
    pub(super) name: &'m str,
    pub(super) opcode: &'m str,
    pub(super) id: u64,
    pub(super) shape: ResultShape,
    pub(super) operands: Vec<u64>,
    pub(super) calls: Vec<u64>,
    pub(super) op_name: &'m str,
    pub(super) op_type: &'m str,
    pub(super) details: InstructionDetails,
    file: &'m str,
    line: u64,
    frame: u64,
}

impl Instruction<'_> {
    /// Whether it never runs: it only names something.
    pub(super) fn is_free(&self) -> bool {
        matches!(
            self.opcode,
            "parameter"
                | "constant"
                | "tuple"
                | "get-tuple-element"
                | "bitcast"
                | "after-all"
                | "partition-id"
                | "replica-id"
        )
    }
}

#[derive(Debug, Default)]
pub(super) struct Computation<'m> {
    pub(super) name: &'m str,
    pub(super) id: u64,
    pub(super) root: u64,
    pub(super) is_fused: bool,
    pub(super) instructions: Vec<Instruction<'m>>,
    by_id: HashMap<u64, usize, RandomState>,
}

impl<'m> Computation<'m> {
    /// Where the instruction with an id is.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }
}

#[derive(Debug, Default)]
pub(super) struct Module<'m> {
    pub(super) name: &'m str,
    pub(super) id: i64,
    pub(super) computations: Vec<Computation<'m>>,
    by_id: HashMap<u64, usize, RandomState>,
    /// The ids of a computation's instructions in the order in which they run, by its id.
    schedules: HashMap<u64, Vec<u64>, RandomState>,
    /// Computations that others apply to elements or fuse.
    applied: HashSet<u64, RandomState>,
    files: Vec<&'m str>,
    /// File and line.
    locations: Vec<(u64, u64)>,
    /// Location, by frame.
    frames: Vec<u64>,
}

impl<'m> Module<'m> {
    pub(super) fn read(message: &'m [u8]) -> Module<'m> {
        let mut module = Module::default();
        for field in Fields::new(message).flatten() {
            match field {
                (1, Field::Bytes(name)) => module.name = text(name),
                (3, Field::Bytes(bytes)) => {
                    let computation = computation(bytes);
                    module.by_id.insert(computation.id, module.computations.len());
                    module.computations.push(computation);
                }
                (5, Field::Number(id)) => module.id = id as i64,
                (7, Field::Bytes(schedule)) => module.schedule(schedule),
                (17, Field::Bytes(frames)) => module.stack_frames(frames),
                _ => {}
            }
        }
        for instruction in module.computations.iter().flat_map(|c| &c.instructions) {
            if !matches!(instruction.opcode, "while" | "conditional" | "call" | "async-start") {
                module.applied.extend(&instruction.calls);
            }
        }
        module
    }

    /// Where the computation with an id is.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The positions of a computation's instructions in the order in which they run; without a schedule, as they are.
    pub(super) fn order(&self, computation: &Computation<'m>) -> Vec<usize> {
        let mut all: Vec<usize> = (0..computation.instructions.len()).collect();
        if let Some(schedule) = self.schedules.get(&computation.id) {
            let turns: HashMap<u64, usize, RandomState> =
                schedule.iter().enumerate().map(|(turn, &id)| (id, turn)).collect();
            let turn = |&at: &usize| turns.get(&computation.instructions[at].id).copied();
            all.sort_by_key(|at| turn(at).unwrap_or(usize::MAX));
        }
        all
    }

    /// Whether a computation is part of an instruction, not run by itself.
    pub(super) fn is_applied(&self, computation: u64) -> bool {
        self.applied.contains(&computation)
    }

    /// The line of source code that an instruction comes from.
    pub(super) fn source(&self, instruction: &Instruction<'m>) -> Option<SourceLine<'m>> {
        let (file, line) = match instruction.file {
            "" => self.frame(instruction.frame)?,
            file => (file, instruction.line),
        };
        let line = u32::try_from(line).ok().filter(|&line| line > 0)?;
        Some(SourceLine { file, line })
    }

    /// Frames, locations and files are counted from 1.
    fn frame(&self, frame: u64) -> Option<(&'m str, u64)> {
        let at = |number: u64| usize::try_from(number).ok()?.checked_sub(1);
        let location = *self.frames.get(at(frame)?)?;
        let (file, line) = *self.locations.get(at(location)?)?;
        Some((*self.files.get(at(file)?)?, line))
    }

    fn schedule(&mut self, message: &[u8]) {
        for field in Fields::new(message).flatten() {
            let (1, Field::Bytes(entry)) = field else { continue };
            let mut order = Vec::new();
            for field in Fields::new(entry).flatten() {
                if let (2, Field::Bytes(sequence)) = field {
                    for (field, list) in Fields::new(sequence).flatten() {
                        if field == 1 {
                            add(list, &mut order);
                        }
                    }
                }
            }
            self.schedules.insert(number(entry, 1), order);
        }
    }

    fn stack_frames(&mut self, message: &'m [u8]) {
        for field in Fields::new(message).flatten() {
            match field {
                (1, Field::Bytes(file)) => self.files.push(text(file)),
                (3, Field::Bytes(location)) => self.locations.push((number(location, 1), number(location, 3))),
                (4, Field::Bytes(frame)) => self.frames.push(number(frame, 1)),
                _ => {}
            }
        }
    }
}

/// Adds the numbers of a list, as far as it can be read.
fn add(list: Field<'_>, to: &mut Vec<u64>) {
    // What came before the damage counts.
    let _ = numbers(list, to);
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("(not UTF-8)")
}

/// The value of a field that is a number; 0 if it is missing.
fn number(message: &[u8], field: u64) -> u64 {
    let found = Fields::new(message).flatten().find_map(|(number, value)| match value {
        Field::Number(value) if number == field => Some(value),
        _ => None,
    });
    found.unwrap_or(0)
}

fn computation(message: &[u8]) -> Computation<'_> {
    let mut computation = Computation::default();
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(name)) => computation.name = text(name),
            (2, Field::Bytes(bytes)) => {
                let instruction = instruction(bytes);
                computation.by_id.insert(instruction.id, computation.instructions.len());
                computation.instructions.push(instruction);
            }
            (5, Field::Number(id)) => computation.id = id,
            (6, Field::Number(root)) => computation.root = root,
            (7, Field::Number(fused)) => computation.is_fused = fused != 0,
            _ => {}
        }
    }
    computation
}

fn instruction(message: &[u8]) -> Instruction<'_> {
    let mut found = Instruction::default();
    let mut config: &[u8] = &[];
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(name)) => found.name = text(name),
            (2, Field::Bytes(opcode)) => found.opcode = text(opcode),
            (3, Field::Bytes(bytes)) => found.shape = shape(bytes),
            (7, Field::Bytes(metadata)) => origin(metadata, &mut found),
            (9, Field::Number(parameter)) => found.details.parameter = parameter,
            (11, Field::Bytes(kind)) => text(kind).clone_into(&mut found.details.fusion_kind),
            (15, Field::Bytes(window)) => {
                for field in Fields::new(window).flatten() {
                    if let (1, Field::Bytes(dim)) = field {
                        found.details.window.push(number(dim, 1));
                        found.details.is_base_dilated |= number(dim, 6) > 1;
                        found.details.is_window_dilated |= number(dim, 5) > 1;
                    }
                }
            }
            (16, Field::Bytes(dims)) => found.details.kernel_output_feature = number(dims, 4),
            (28, Field::Bytes(target)) => text(target).clone_into(&mut found.details.target),
            (30, Field::Bytes(dims)) => {
                let contracts = found.details.contracts.get_or_insert_default();
                for field in Fields::new(dims).flatten() {
                    if let (1, list) = field {
                        add(list, contracts);
                    }
                }
            }
            (35, Field::Number(id)) => found.id = id,
            (36, list) => add(list, &mut found.operands),
            (38, list) => add(list, &mut found.calls),
            (43, Field::Bytes(bytes)) => config = bytes,
            (51, Field::Bytes(precision)) => {
                let mut wanted = Vec::new();
                for field in Fields::new(precision).flatten() {
                    if let (1, list) = field {
                        add(list, &mut wanted);
                    }
                }
                // 0 is the default, 1 high, 2 highest.
                found.details.is_precise = wanted.iter().any(|&precision| precision >= 2);
            }
            _ => {}
        }
    }
    // Libraries that multiply matrices say what they do in their configuration.
    let details = &mut found.details;
    if details.target.starts_with("__cublas") || details.target.starts_with("__onednn$matmul") {
        let read = contracting(config);
        details.is_precise |= read.as_ref().is_some_and(|(_, is_precise)| *is_precise);
        details.contracts = read.map(|(contracts, _)| contracts);
    }
    found
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

fn origin<'m>(metadata: &'m [u8], found: &mut Instruction<'m>) {
    for field in Fields::new(metadata).flatten() {
        match field {
            (1, Field::Bytes(kind)) => found.op_type = text(kind),
            (2, Field::Bytes(name)) => found.op_name = text(name),
            (3, Field::Bytes(file)) => found.file = text(file),
            (4, Field::Number(line)) => found.line = line,
            (15, Field::Number(frame)) => found.frame = frame,
            _ => {}
        }
    }
}

//! A module: its computations and their instructions, as far as costs and names need them.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::SourceLine;

use super::shape::Shape;
use stepscope_ground::protobuf::{Field, Fields, numbers};

/// One instruction.
#[derive(Debug, Default)]
pub(super) struct Instruction<'m> {
    pub(super) name: &'m str,
    pub(super) opcode: &'m str,
    pub(super) id: u64,
    pub(super) shape: Shape,
    pub(super) operands: Vec<u64>,
    pub(super) calls: Vec<u64>,
    pub(super) op_path: &'m str,
    /// The framework's operator, whole: of what was merged, all.
    pub(super) op_name: &'m str,
    /// The type of that operator.
    pub(super) op_type: &'m str,
    /// How a fusion is built (`kLoop`).
    pub(super) fusion_kind: &'m str,
    pub(super) parameter: u64,
    pub(super) target: &'m str,
    pub(super) config: &'m [u8],
    /// Sizes of a window, by dimension.
    pub(super) window: Vec<u64>,
    /// Whether its input or its window has holes.
    pub(super) is_dilated: (bool, bool),
    pub(super) kernel_output_feature: u64,
    /// Dimensions that a product sums over, of its first operand.
    pub(super) contracts: Vec<u64>,
    /// Whether its products must not be rounded to fewer bits than their elements have.
    pub(super) is_precise: bool,
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

/// One computation.
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
    pub(super) fn get(&self, id: u64) -> Option<&Instruction<'m>> {
        self.instructions.get(self.position(id)?)
    }

    /// Where the instruction with an id is.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }
}

/// One module.
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

    pub(super) fn computation(&self, id: u64) -> Option<&Computation<'m>> {
        self.computations.get(self.position(id)?)
    }

    /// Where the computation with an id is.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The instruction with an id, wherever it is.
    pub(super) fn instruction(&self, id: u64) -> Option<&Instruction<'m>> {
        self.computations.iter().find_map(|computation| computation.get(id))
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
    pub(super) fn source(&self, instruction: &Instruction<'m>) -> Option<SourceLine> {
        let (file, line) = match instruction.file {
            "" => self.frame(instruction.frame)?,
            file => (file, instruction.line),
        };
        let line = u32::try_from(line).ok().filter(|&line| line > 0)?;
        Some(SourceLine { file: file.to_owned(), line })
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
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(name)) => found.name = text(name),
            (2, Field::Bytes(opcode)) => found.opcode = text(opcode),
            (3, Field::Bytes(shape)) => found.shape = Shape::read(shape),
            (7, Field::Bytes(metadata)) => origin(metadata, &mut found),
            (9, Field::Number(parameter)) => found.parameter = parameter,
            (11, Field::Bytes(kind)) => found.fusion_kind = text(kind),
            (15, Field::Bytes(window)) => {
                for field in Fields::new(window).flatten() {
                    if let (1, Field::Bytes(dim)) = field {
                        found.window.push(number(dim, 1));
                        found.is_dilated.0 |= number(dim, 6) > 1;
                        found.is_dilated.1 |= number(dim, 5) > 1;
                    }
                }
            }
            (16, Field::Bytes(dims)) => found.kernel_output_feature = number(dims, 4),
            (28, Field::Bytes(target)) => found.target = text(target),
            (30, Field::Bytes(dims)) => {
                for field in Fields::new(dims).flatten() {
                    if let (1, list) = field {
                        add(list, &mut found.contracts);
                    }
                }
            }
            (35, Field::Number(id)) => found.id = id,
            (36, list) => add(list, &mut found.operands),
            (38, list) => add(list, &mut found.calls),
            (43, Field::Bytes(config)) => found.config = config,
            (51, Field::Bytes(precision)) => {
                let mut wanted = Vec::new();
                for field in Fields::new(precision).flatten() {
                    if let (1, list) = field {
                        add(list, &mut wanted);
                    }
                }
                // 0 is the default, 1 high, 2 highest.
                found.is_precise = wanted.iter().any(|&precision| precision >= 2);
            }
            _ => {}
        }
    }
    found
}

/// Where an instruction comes from.
fn origin<'m>(metadata: &'m [u8], found: &mut Instruction<'m>) {
    for field in Fields::new(metadata).flatten() {
        match field {
            (1, Field::Bytes(kind)) => found.op_type = text(kind),
            // Of what was merged, the first.
            (2, Field::Bytes(path)) => {
                found.op_name = text(path);
                found.op_path = found.op_name.split(';').next().unwrap_or_default();
            }
            (3, Field::Bytes(file)) => found.file = text(file),
            (4, Field::Number(line)) => found.line = line,
            (15, Field::Number(frame)) => found.frame = frame,
            _ => {}
        }
    }
}

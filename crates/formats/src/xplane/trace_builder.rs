//! The trace while it is made: the builder, what was seen, and the ledger of events.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use stepscope_model::{CatId, Kind, NewAllocation, NewFlow, NewSlice, NoteKind, TraceBuilder};

use super::keys::Keys;
use super::line::{Line, line};
use super::names::NameKind;
use super::notes;
use super::plane_names::EventDescription;
use crate::OpenOptions;

/// How steps were marked, by how many events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepsBy {
    /// With `step_num`.
    pub(super) number: u64,
    /// As Keras's `Profiled batch`.
    pub(super) batch: u64,
    /// As a root without a number.
    pub(super) root: u64,
}

/// Which of the frameworks' marks were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameworkMarks {
    pub(super) jax: bool,
    pub(super) tensorflow: bool,
    pub(super) python: bool,
    pub(super) memory: bool,
}

/// How events are read that are written among those of another recording of the same process.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// The process, which the file does not name.
    pub process: i64,
    /// Whether the other one marks the steps: then marks of steps in here are ranges.
    pub marks_steps: bool,
}

/// A compiled program as it is in the file.
pub(crate) struct RawProgram {
    pub(crate) number: Option<i64>,
    pub(crate) name: String,
    pub(crate) message: Vec<u8>,
}

pub(super) struct XplaneBuilder<'o> {
    pub(super) builder: TraceBuilder,
    pub(super) keys: Keys,
    pub(super) memory: CatId,
    pub(super) steps_by: StepsBy,
    pub(super) seen: FrameworkMarks,
    /// Where the plane that is being read begins in the file.
    pub(super) at: u64,
    categories: Vec<(Kind, CatId)>,
    /// Devices that are described.
    pub(super) devices: HashSet<i64, RandomState>,
    operators: i64,
    pub(super) beside: Option<Beside>,
    /// Kept for whoever writes what is read here.
    pub(super) raw_programs: Vec<RawProgram>,
    options: &'o OpenOptions,
}

/// Operators of another profiler, in the same file, count from 1.
const FIRST_BESIDE: i64 = 1 << 40;

/// Categories as Chrome traces write them, so that a trace can be written as one and read again.
const CATEGORIES: [(Kind, &str); 11] = [
    (Kind::HostOp, "cpu_op"),
    (Kind::HostAnnotation, "user_annotation"),
    (Kind::FrameworkCall, "framework_call"),
    (Kind::PythonFunction, "python_function"),
    (Kind::Runtime, "cuda_runtime"),
    (Kind::Overhead, "overhead"),
    (Kind::Kernel, "kernel"),
    (Kind::Memcpy, "gpu_memcpy"),
    (Kind::Memset, "gpu_memset"),
    (Kind::DeviceAnnotation, "gpu_user_annotation"),
    (Kind::Other, "other"),
];

impl<'o> XplaneBuilder<'o> {
    pub(super) fn new(options: &'o OpenOptions) -> XplaneBuilder<'o> {
        let mut builder = TraceBuilder::new();
        builder.inherit_operators();
        let keys = Keys::declare(&mut builder);
        let categories = CATEGORIES.map(|(kind, text)| (kind, builder.category(text))).to_vec();
        let memory = builder.category("cpu_instant_event");
        XplaneBuilder {
            builder,
            keys,
            memory,
            steps_by: StepsBy::default(),
            seen: FrameworkMarks::default(),
            at: 0,
            categories,
            devices: HashSet::default(),
            operators: 0,
            beside: None,
            raw_programs: Vec::new(),
            options,
        }
    }

    /// As [`XplaneBuilder::new`], for events that are written into another file.
    pub(super) fn beside(options: &'o OpenOptions, beside: Beside) -> XplaneBuilder<'o> {
        XplaneBuilder { beside: Some(beside), operators: FIRST_BESIDE, ..XplaneBuilder::new(options) }
    }

    /// How many more events are taken.
    pub(super) fn events_left(&mut self) -> u64 {
        self.options.max_events.saturating_sub(self.builder.meta().events_in_file)
    }

    /// Takes a line apart and notes what is wrong with it.
    pub(super) fn line(&mut self, message: &[u8]) -> Line {
        let left = self.events_left();
        let line = line(message, left);
        let at = self.at;
        let notes = self.builder.notes();
        if let Some(why) = line.damage {
            notes.add_with(notes::DAMAGED_MESSAGE, at, why);
        }
        if left == 0 || line.events.len() as u64 == left {
            notes.add_with(NoteKind::LIMIT_REACHED, at, "more events than are taken");
        }
        notes.add_count(notes::SUB_NANOSECOND, line.rounded);
        notes.add_count(notes::NEGATIVE_DURATION, line.negative);
        notes.add_count(notes::TIME_OUT_OF_RANGE, line.out_of_range);
        let meta = self.builder.meta();
        meta.events_in_file += line.out_of_range;
        meta.events_set_aside += line.out_of_range;
        line
    }

    pub(super) fn category(&self, kind: Kind) -> CatId {
        self.categories.iter().find(|(of, _)| *of == kind).map_or_else(CatId::default, |(_, cat)| *cat)
    }

    /// The category of arrows of this kind, by the number that XLA gives it.
    pub(super) fn arrow_category(&mut self, kind: i64) -> CatId {
        let text = match kind {
            0 => "generic",
            1 => "legacy",
            2 => "TensorFlow executor",
            5 => "PjRt",
            9 => "launch",
            14 => "PjRt library call",
            15 => "thread pool",
            _ => "other arrow",
        };
        self.builder.category(text)
    }

    /// A number for another operator.
    pub(super) fn next_operator(&mut self) -> i64 {
        self.operators += 1;
        self.operators
    }

    /// Remembers what an event says about who recorded it.
    pub(super) fn saw(&mut self, kind: Kind, described: &EventDescription<'_>) {
        self.seen.python |= kind == Kind::PythonFunction;
        self.seen.tensorflow |= described.named == NameKind::Operator;
        if described.named == NameKind::Framework {
            let name = self.builder.text(described.name);
            self.seen.jax |= name.starts_with("PjitFunction(") || name.starts_with("PjRt");
            self.seen.tensorflow |= name.starts_with("TFE_") || name.starts_with("EagerExecute");
        }
    }

    pub(super) fn slice(&mut self, slice: NewSlice) {
        self.builder.slice(slice);
        self.builder.meta().events_in_file += 1;
    }

    pub(super) fn flow(&mut self, flow: NewFlow) {
        self.builder.flow(flow);
        self.builder.meta().events_in_file += 1;
    }

    pub(super) fn allocation(&mut self, allocation: NewAllocation) {
        let name = self.builder.intern("[memory]");
        self.builder.allocation(name, allocation);
        self.seen.memory = true;
        self.builder.meta().events_in_file += 1;
    }

    /// An event that is not kept.
    pub(super) fn set_aside(&mut self, why: &'static NoteKind) {
        self.builder.discard_args();
        self.builder.notes().add_count(why, 1);
        let meta = self.builder.meta();
        meta.events_in_file += 1;
        meta.events_set_aside += 1;
    }
}

//! Which line of the program each stack of a snapshot is charged to, and a color for it that is the same in every file.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Frame, Profile, Snapshot, StackId, ValueKind, ValueUnit};

use crate::memory::places::{NO_PYTHON, python_alone};
use crate::scope::users_frames::users_frames;

/// A line of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MemoryPlace")]
pub struct Place {
    /// The function.
    pub function: String,
    /// Its file; empty where there is none.
    pub file: String,
    /// The line, or 0.
    pub line: u32,
    /// A number from the text of all that: the same in every file.
    pub hash: u32,
}

impl Place {
    fn new(function: &str, file: &str, line: u32) -> Place {
        // Folders differ between machines.
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let number = line.to_le_bytes();
        let bytes = function.bytes().chain([0]).chain(name.bytes()).chain([0]).chain(number);
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Place { function: function.to_owned(), file: file.to_owned(), line, hash }
    }
}

/// The lines of a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The Python stacks alone, as [`crate::tables::heap`] reads them.
    pub(super) python: Profile,
    /// By stack of the snapshot: the stack of Python alone.
    pub(super) stacks: Vec<StackId>,
    /// By stack of the snapshot: the line, a place in `all`.
    of: Vec<u32>,
    all: Vec<Place>,
}

impl Places {
    pub(super) fn new(snapshot: &Snapshot) -> Places {
        let mut python = Profile::new(vec![ValueKind { name: "live".to_owned(), unit: ValueUnit::Bytes }]);
        let mut stacks = python_alone(&snapshot.stacks, &mut python.stacks);
        // A stack without Python has a frame that says so: a flame graph shows all bytes.
        let name = python.stacks.intern(NO_PYTHON);
        let none = python.stacks.frame(Frame { name, ..Frame::default() });
        let none = python.stacks.push(StackId::EMPTY, none);
        stacks.iter_mut().filter(|stack| **stack == StackId::EMPTY).for_each(|stack| *stack = none);
        let (frames, _) = users_frames(&python.stacks);
        let mut all = Vec::new();
        let mut number_of = vec![u32::MAX; python.stacks.frames().len()];
        let mut number = |stack: StackId| {
            let Some(id) = frames[stack.index()] else { return 0 };
            if number_of[id.index()] == u32::MAX {
                let frame = python.stacks.get(id);
                number_of[id.index()] = all.len() as u32;
                all.push(Place::new(python.stacks.name(id), python.stacks.text(frame.file), frame.line));
            }
            number_of[id.index()]
        };
        number(none);
        let of = stacks.iter().map(|&stack| number(stack)).collect();
        Places { python, stacks, of, all }
    }

    /// The number of a stack's line.
    pub(super) fn number(&self, stack: StackId) -> u32 {
        self.of.get(stack.index()).copied().unwrap_or(0)
    }

    pub(super) fn place(&self, number: u32) -> &Place {
        &self.all[number as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

//! Which line of the program each stack of a snapshot is drawn as, and a color for it that is the same in every file.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::StackId;

use crate::memory::places::{NO_PYTHON, Places};

/// A line of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryPlace {
    pub function: String,
    /// Its file; empty where there is none.
    pub file: String,
    /// The line, or 0.
    pub line: u32,
    /// A number from the text of all that: the same in every file.
    pub hash: u32,
}

impl MemoryPlace {
    fn new(function: &str, file: &str, line: u32) -> MemoryPlace {
        // Folders differ between machines.
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let number = line.to_le_bytes();
        let bytes = function.bytes().chain([0]).chain(name.bytes()).chain([0]).chain(number);
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        MemoryPlace { function: function.to_owned(), file: file.to_owned(), line, hash }
    }
}

/// The lines of a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// By stack of the snapshot: the line, a place in `all`.
    of: Vec<u32>,
    all: Vec<MemoryPlace>,
}

impl Lines {
    pub(super) fn new(places: &Places) -> Lines {
        let mut all = vec![MemoryPlace::new(NO_PYTHON, "", 0)];
        let mut number_of = vec![u32::MAX; places.stacks().frames().len()];
        let of = places.charged().map(|frame| {
            let Some(id) = frame else { return 0 };
            if number_of[id.index()] == u32::MAX {
                let line = places.line_of(id);
                number_of[id.index()] = all.len() as u32;
                all.push(MemoryPlace::new(&line.function, &line.file, line.line));
            }
            number_of[id.index()]
        });
        Lines { of: of.collect(), all }
    }

    /// The number of a stack's line.
    pub(super) fn number(&self, stack: StackId) -> u32 {
        self.of.get(stack.index()).copied().unwrap_or(0)
    }

    pub(super) fn place(&self, number: u32) -> &MemoryPlace {
        &self.all[number as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let text: usize = self.all.iter().map(|place| place.function.len() + place.file.len()).sum();
        self.of.len() * 4 + self.all.len() * size_of::<MemoryPlace>() + text
    }
}

//! Which frames of a stack are the program's, and what they are called.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Code, CodeId, Frame, Spy};

/// Frames kept of one stack, counted from its outermost: a runaway recursion must not fill the memory.
const MAX_FRAMES: usize = 500;

/// A function, by what its code object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePlace {
    pub file: String,
    pub name: String,
    /// The line it starts at.
    pub first_line: u32,
}

impl CodePlace {
    fn is(&self, code: &Code) -> bool {
        self.file == code.file && self.name == code.name && self.first_line == code.first_line
    }
}

/// How frames are named, and which are the program's.
#[derive(Clone, Debug, Default)]
pub struct OwnNames {
    /// Folders below which files are named, the longest first.
    pub roots: Vec<String>,
    /// Time in files below here is their caller's: the profiler's own.
    pub own_folder: String,
    /// A file whose frames are between a function and its caller, and count for neither.
    pub between: String,
    /// A stack begins after this function.
    pub root: Option<CodePlace>,
    /// A stack that comes from this function and not through the root is none of the program's.
    pub launcher: Option<CodePlace>,
}

impl OwnNames {
    /// A file by its place below the folders that Python imports from.
    pub(crate) fn file<'a>(&self, file: &'a str) -> &'a str {
        self.roots.iter().find_map(|root| file.strip_prefix(root.as_str())).unwrap_or(file)
    }

    fn part(&self, code: &Code, number: impl FnOnce(&OwnNames, &Code) -> u32) -> CodeRole {
        if self.root.as_ref().is_some_and(|root| root.is(code)) {
            CodeRole::Root
        } else if self.launcher.as_ref().is_some_and(|launcher| launcher.is(code)) {
            CodeRole::Launcher
        } else if !self.own_folder.is_empty() && code.file.starts_with(&self.own_folder) {
            CodeRole::Own
        } else if code.file == self.between {
            CodeRole::Between
        } else {
            CodeRole::Frame(number(self, code))
        }
    }
}

/// What a code object is for a stack.
#[derive(Copy, Clone, Debug)]
enum CodeRole {
    Root,
    Launcher,
    Own,
    Between,
    Frame(u32),
}

/// The code objects of one process, each judged once.
#[derive(Debug, Default)]
pub(crate) struct ProgramCode {
    known: HashMap<CodeId, CodeRole, RandomState>,
}

impl ProgramCode {
    /// The program's frames, the innermost first, with the line each is at. `number` gives a function its number.
    pub(crate) fn of_program(
        &mut self,
        spy: &Spy,
        names: &OwnNames,
        frames: &[Frame],
        mut number: impl FnMut(&OwnNames, &Code) -> u32,
    ) -> Vec<(u32, u32)> {
        let mut found = Vec::with_capacity(frames.len());
        for frame in frames {
            let part = match self.known.get(&frame.code) {
                Some(part) => *part,
                None => {
                    let Some(code) = spy.code(frame.code) else { continue };
                    let part = names.part(code, &mut number);
                    self.known.insert(frame.code, part);
                    part
                }
            };
            match part {
                CodeRole::Root => break,
                CodeRole::Launcher => return Vec::new(),
                CodeRole::Own => found.clear(),
                CodeRole::Between => {}
                CodeRole::Frame(number) => found.push((number, frame.line)),
            }
        }
        let inner = found.len().saturating_sub(MAX_FRAMES);
        found.drain(..inner);
        if inner > 0
            && let Some(innermost) = found.first_mut()
        {
            // It called what was left out: no time of its lines is its own.
            innermost.1 = 0;
        }
        found
    }
}

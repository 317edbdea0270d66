//! Where a snapshot's memory was asked for: its stacks with their frames of Python alone, and the line that each is
//! charged to.

use stepscope_model::{Frame, FrameId, Snapshot, StackId, StackTable};

use crate::names::users_frames::users_frames;

/// What stacks say where the engine of the backward pass ran without Python.
pub(crate) const BACKWARD: &str = "(backward pass)";
/// What stacks say where no Python was running, or none was recorded.
pub(crate) const NO_PYTHON: &str = "<no Python>";

/// The stacks of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Stacks of Python alone.
    pub(super) python: StackTable,
    /// By stack of the snapshot, the one of Python alone.
    alone: Vec<StackId>,
    /// By stack of Python, the line it is charged to.
    lines: Vec<Option<FrameId>>,
}

/// A line of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub function: String,
    pub file: String,
    /// The line; 0 where there is none.
    pub line: u32,
}

impl Line {
    /// `file:line`, or what there is.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.function.clone(),
            line => format!("{}:{line}", self.file),
        }
    }
}

impl Places {
    /// Looks at the stacks of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Places {
        let mut python = StackTable::default();
        let alone = python_alone(&snapshot.stacks, &mut python);
        let (lines, _) = users_frames(&python);
        Places { python, alone, lines }
    }

    /// The stack of Python alone.
    pub fn python(&self, stack: StackId) -> StackId {
        self.alone.get(stack.index()).copied().unwrap_or(StackId::EMPTY)
    }

    /// The frame that a stack of the snapshot is charged to: the innermost one of the user's.
    pub(super) fn frame(&self, stack: StackId) -> Option<FrameId> {
        self.lines.get(self.python(stack).index()).copied().flatten()
    }

    /// The line that a stack of the snapshot is charged to.
    pub fn line(&self, stack: StackId) -> Line {
        match self.frame(stack) {
            Some(frame) => self.line_of(frame),
            None => Line { function: NO_PYTHON.to_owned(), ..Line::default() },
        }
    }

    /// By stack of the snapshot, the frame that it is charged to.
    pub(crate) fn charged(&self) -> impl Iterator<Item = Option<FrameId>> + '_ {
        self.alone.iter().map(|stack| self.lines.get(stack.index()).copied().flatten())
    }

    /// The stacks of Python alone.
    pub(crate) fn stacks(&self) -> &StackTable {
        &self.python
    }

    pub(crate) fn line_of(&self, id: FrameId) -> Line {
        let frame = self.python.get(id);
        Line {
            function: self.python.name(id).to_owned(),
            file: self.python.text(frame.file).to_owned(),
            line: frame.line,
        }
    }

    /// The innermost frames of a stack of the snapshot, as `file(line): name`.
    pub fn frames(&self, stack: StackId, most: usize) -> Vec<String> {
        let mut found = Vec::new();
        let mut at = self.python(stack);
        while found.len() < most
            && let Some((below, frame)) = self.python.pop(at)
        {
            found.push(in_words(&self.line_of(frame)));
            at = below;
        }
        if found.is_empty() && most > 0 {
            found.push(NO_PYTHON.to_owned());
        }
        found
    }
}

/// `file(line): function`, or the function alone.
pub(crate) fn in_words(line: &Line) -> String {
    match line.file.is_empty() {
        true => line.function.clone(),
        false => format!("{}({}): {}", line.file, line.line, line.function),
    }
}

/// The stacks with their frames of Python alone, by the number they have in the snapshot: those of C++ say the same in many
/// words.
fn python_alone(stacks: &StackTable, python: &mut StackTable) -> Vec<StackId> {
    let name = python.intern(BACKWARD);
    let backward = python.frame(Frame { name, ..Frame::default() });
    let backward = python.push(StackId::EMPTY, backward);
    let mut alone = vec![StackId::EMPTY; stacks.len()];
    let mut in_backward = vec![false; stacks.len()];
    // There are many more stacks than frames.
    let of_frame = |(_, Frame { name, file, line }): (FrameId, Frame)| {
        let (name, file) = (stacks.text(name), stacks.text(file));
        let own = is_python(file).then(|| {
            let (name, file) = (python.intern(name), python.intern(file));
            python.frame(Frame { name, file, line })
        });
        (own, name.starts_with("torch::autograd::Engine"))
    };
    let frames: Vec<(Option<FrameId>, bool)> = stacks.frames().map(of_frame).collect();
    for (stack, below, frame) in stacks.nodes() {
        let (own, is_engine) = frames[frame.index()];
        in_backward[stack.index()] = in_backward[below.index()] || is_engine;
        let below = alone[below.index()];
        alone[stack.index()] = own.map_or(below, |frame| python.push(below, frame));
    }
    for (alone, in_backward) in alone.iter_mut().zip(in_backward) {
        if *alone == StackId::EMPTY && in_backward {
            *alone = backward;
        }
    }
    alone
}

/// Whether a file is Python's: frames of libraries have sources of C++, or none.
pub(crate) fn is_python(file: &str) -> bool {
    const OTHERS: [&str; 6] = [".cpp", ".cc", ".c", ".cu", ".h", ".so"];
    !file.is_empty() && file != "??" && !OTHERS.iter().any(|ending| file.ends_with(ending))
}

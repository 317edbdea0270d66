//! Which task of `asyncio` a thread runs, read from memory.
//!
//! While a task runs, its thread's stack has `Handle._run` in it, called by the loop's `_run_once`, whose first local variable is the
//! loop. `asyncio` keeps a dictionary from loops to the tasks they run. A loop written in C, such as uvloop's, has no such frames,
//! and its tasks are not seen.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::error::Unreadable;
use super::layout::{Layout, flags};
use super::memory::Memory;
use super::numbers::word;
use super::{CodeId, Frame, Spy, objects};

/// Tasks that are distinguished; later ones are known by their coroutine only.
const MAX_NAMED: usize = 10_000;
/// No structure of a task is larger.
const MAX_TASK: usize = 1024;
const MAX_NAME: usize = 128;
/// Loops that run at once.
const MAX_LOOPS: usize = 1024;

/// What a function is for a loop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum LoopRole {
    /// `BaseEventLoop._run_once`.
    Turn,
    /// `Handle._run`.
    Handle,
    Other,
}

/// The tasks of one process.
#[derive(Debug, Default)]
pub(crate) struct Asyncio {
    parts: HashMap<CodeId, LoopRole, RandomState>,
    /// The dictionary from loops to tasks.
    current: Option<u64>,
    /// By type: where its structure has the task's name; none if that is an attribute.
    name_at: HashMap<u64, Option<usize>, RandomState>,
    /// By task, its name and its coroutine's frame: what it is called.
    names: HashMap<(u64, u64, CodeId), String, RandomState>,
}

impl Asyncio {
    /// What the task is called that runs in this stack, the innermost frame first: `Task-3 (download)`.
    pub(crate) fn task(&mut self, spy: &mut Spy, frames: &[Frame]) -> Option<String> {
        let turn = frames.iter().position(|frame| self.part(spy, frame.code) == LoopRole::Turn)?;
        let handle = frames[..turn].iter().position(|frame| self.part(spy, frame.code) == LoopRole::Handle)?;
        let coroutine = frames.get(handle.checked_sub(1)?)?.code;
        let layout = spy.python.layout.clone();
        let running = memory_of(spy).word(frames[turn].at.wrapping_add(layout.frame_locals as u64)).ok()?;
        let current = match self.current {
            Some(current) => current,
            None => *self.current.insert(spy.global("asyncio.tasks", "_current_tasks")?),
        };
        let all = objects::dict(memory_of(spy), &layout, current, MAX_LOOPS).ok()?;
        let task = all.iter().find(|(key, _)| *key == running)?.1;
        let name = self.name(memory_of(spy), &layout, task).ok()?;
        let key = (task, name, coroutine);
        if let Some(known) = self.names.get(&key) {
            return Some(known.clone());
        }
        let function = spy.code(coroutine)?.name.clone();
        let text = match self.names.len() < MAX_NAMED {
            true => name_text(memory_of(spy), &layout, name),
            false => return Some(format!("other tasks ({function})")),
        };
        let text = format!("{} ({function})", text.as_deref().unwrap_or("task"));
        self.names.insert(key, text.clone());
        Some(text)
    }

    fn part(&mut self, spy: &Spy, code: CodeId) -> LoopRole {
        *self.parts.entry(code).or_insert_with(|| match spy.code(code) {
            Some(code) if code.name == "_run_once" && code.file.ends_with("asyncio/base_events.py") => {
                LoopRole::Turn
            }
            Some(code) if code.name == "_run" && code.file.ends_with("asyncio/events.py") => LoopRole::Handle,
            _ => LoopRole::Other,
        })
    }

    fn name(&mut self, memory: &mut Memory, layout: &Layout, task: u64) -> Result<u64, Unreadable> {
        let kind = memory.word(task.wrapping_add(layout.object_type as u64))?;
        let known = self.name_at.get(&kind).copied();
        let at = match known {
            Some(at) => at,
            None => {
                let at = name_at(memory, layout, kind, task)?;
                self.name_at.insert(kind, at);
                at
            }
        };
        match at {
            Some(at) => memory.word(task.wrapping_add(at as u64)),
            None => objects::attribute(memory, layout, task, "_name")?.ok_or(Unreadable::Nonsense),
        }
    }
}

fn memory_of(spy: &mut Spy) -> &mut Memory {
    &mut spy.pages.memory
}

/// Where tasks of a type have their name. The structure of CPython's own is nowhere published: a task that runs has one pointer to
/// a text or, as long as it has no name, to a number; a cancellation may put another text before it.
fn name_at(memory: &mut Memory, layout: &Layout, kind: u64, task: u64) -> Result<Option<usize>, Unreadable> {
    let size = memory.word(kind.wrapping_add(layout.type_basicsize as u64))? as usize;
    let bytes = memory.bytes(task, size.min(MAX_TASK))?;
    let mut found = None;
    for at in (layout.var_size..bytes.len().saturating_sub(7)).step_by(8) {
        let pointer = word(&bytes, at);
        if pointer < 4096 || !pointer.is_multiple_of(8) {
            continue;
        }
        let is_name = memory
            .word(pointer.wrapping_add(layout.object_type as u64))
            .and_then(|kind| memory.word(kind.wrapping_add(layout.type_flags as u64)))
            .is_ok_and(|bits| bits & (flags::STR | flags::INT) != 0);
        if is_name && name_text(memory, layout, pointer).is_some() {
            found = Some(at);
        }
    }
    Ok(found)
}

fn name_text(memory: &mut Memory, layout: &Layout, name: u64) -> Option<String> {
    let kind = memory.word(name.wrapping_add(layout.object_type as u64)).ok()?;
    let bits = memory.word(kind.wrapping_add(layout.type_flags as u64)).ok()?;
    match bits & flags::STR != 0 {
        true => objects::text(memory, layout, name, MAX_NAME).ok(),
        false => Some(format!("Task-{}", objects::whole(memory, layout, name).ok()?.ok()?)),
    }
}

//! One sample of all threads of a process: their states, one after the other, and the frames of each.

use std::time::Instant;

use super::call_sites::{CallLayout, CallSites};
use super::codes::{CodeId, Codes};
use super::error::Unreadable;
use super::find::Python;
use super::layout::{Gil, Position, TopFrame};
use super::memory::Pages;
use super::numbers::{int, word};

/// Lists longer than these go in a circle.
const MAX_INTERPRETERS: usize = 256;
const MAX_THREADS: usize = 16_384;
/// Frames of one stack; the innermost are kept.
pub const MAX_FRAMES: usize = 8_192;
/// A stack read while it changes may go in a circle, of which no frame is kept: marks, and what a function that executes has
/// left behind.
const MAX_STEPS: usize = 4 * MAX_FRAMES;
/// How often a stack that changed while it was read is read again.
const MAX_ATTEMPTS: usize = 8;
/// How many times in a row the same stack must be read to count as still. Of a program that changes its stack every 50 ns, one read in forty is
/// wrong, and half of those in the same way: five in a row are one in a billion.
const MIN_EQUAL_READS: usize = 5;
/// From this owner on a frame only marks where C called Python.
const FIRST_MARK: u8 = 3;
/// No header of a frame is longer.
const HEADER_BYTES: usize = 128;

/// A place in a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub code: CodeId,
    pub line: u32,
    /// Where the frame is in the memory of the process; 0 for a native one.
    pub(super) at: u64,
    /// Whether C called the interpreter for it, and where on the native stack that is marked; 0 where nothing marks it.
    pub(super) called_by_c: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct ThreadSample {
    pub ident: u64,
    /// The system's number of it, where Python knows that.
    pub native_id: Option<u32>,
    /// Whether it held the interpreter's lock.
    pub holds_gil: bool,
    /// Where that lock is in the memory of the process; 0 where it was not found.
    pub(super) lock_at: u64,
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
    /// Whether outer frames were left out.
    pub cut: bool,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Samples of all threads.
    pub samples: u64,
    /// Stacks that were read.
    pub stacks: u64,
    /// System calls that read memory.
    pub reads: u64,
    /// Stacks that were read again, because they changed meanwhile.
    pub again: u64,
    /// Stacks that made no sense however often they were read; these are left out.
    pub torn: u64,
    /// How often threads were stopped for a sample.
    pub stops: u64,
    /// For how long, over all samples.
    pub stopped_ns: u64,
}

pub(super) struct Walk<'a> {
    pub(super) python: &'a Python,
    pub(super) pages: &'a mut Pages,
    pub(super) codes: &'a mut Codes,
    pub(super) sites: &'a mut CallSites,
    pub(super) stats: &'a mut Stats,
    pub(super) now: Instant,
    /// Whether calls of the interpreter are looked for on the native stack.
    pub(super) native: bool,
    /// Where the innermost frame of each thread is named: compared before and after.
    pub(super) tops: Vec<u64>,
    /// Where the interpreters' locks are.
    pub(super) gils: Vec<u64>,
    /// Where frames of the stack that was just read call something else than what is above them.
    pub(super) doubts: Vec<u64>,
    /// Codes and positions of that stack.
    pub(super) trail: Vec<(u64, u64)>,
}

struct ThreadFields {
    at: u64,
    next: u64,
    ident: u64,
    native_id: Option<u32>,
}

impl Walk<'_> {
    /// All threads of all interpreters.
    pub(super) fn threads(&mut self) -> Result<Vec<ThreadSample>, Unreadable> {
        let layout = &self.python.layout;
        let mut found = Vec::new();
        let mut interp = self.pages.word(self.python.runtime + layout.runtime_interpreters_head as u64)?;
        for _ in 0..MAX_INTERPRETERS {
            if interp == 0 {
                break;
            }
            let (lock_at, holder) = self.lock(interp).unwrap_or((0, 0));
            let mut at = self.pages.word(off(interp, layout.interp_threads_head))?;
            while at != 0 && found.len() < MAX_THREADS {
                let state = self.state(at, interp)?;
                at = state.next;
                let holds_gil = state.at == holder;
                found.push(ThreadSample { lock_at, ..self.thread(&state, holds_gil)? });
            }
            interp = self.pages.word(off(interp, layout.interp_next))?;
        }
        Ok(found)
    }

    /// Where the interpreter's lock is, and the thread that holds it.
    fn lock(&mut self, interp: u64) -> Result<(u64, u64), Unreadable> {
        let layout = &self.python.layout;
        let gil = match layout.gil {
            Gil::OfRuntime { at } => off(self.python.runtime, at),
            Gil::OfInterpreter { pointer } => self.pages.word(off(interp, pointer))?,
        };
        self.gils.push(gil);
        let locked = u32::from_le_bytes(self.pages.array(off(gil, layout.gil_locked))?);
        if locked != 1 {
            return Ok((gil, 0));
        }
        Ok((gil, self.pages.word(off(gil, layout.gil_last_holder))?))
    }

    fn state(&mut self, at: u64, interp: u64) -> Result<ThreadFields, Unreadable> {
        let layout = &self.python.layout;
        // A state that is not of this interpreter has been freed, or is none.
        if self.pages.word(off(at, layout.thread_interp))? != interp {
            return Err(Unreadable::Nonsense);
        }
        let native_id = match layout.thread_native_id {
            Some(field) => u32::try_from(self.pages.word(off(at, field))?).ok().filter(|id| *id > 0),
            None => None,
        };
        Ok(ThreadFields {
            at,
            next: self.pages.word(off(at, layout.thread_next))?,
            ident: self.pages.word(off(at, layout.thread_id))?,
            native_id,
        })
    }

    fn thread(&mut self, state: &ThreadFields, holds_gil: bool) -> Result<ThreadSample, Unreadable> {
        let mut seen = ThreadSample {
            ident: state.ident,
            native_id: state.native_id,
            holds_gil,
            lock_at: 0,
            frames: Vec::new(),
            cut: false,
        };
        self.stats.stacks += 1;
        self.pages.take_touched();
        let mut made_sense = false;
        let (mut before, mut same) = (Vec::new(), 0);
        for attempt in 0..MAX_ATTEMPTS {
            let top_at = match self.top_at(state.at) {
                Ok(at) => at,
                Err(Unreadable::Address(_)) if attempt + 1 < MAX_ATTEMPTS => {
                    let pages = self.pages.take_touched();
                    self.pages.again(&pages, state.at)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let walked = self.pages.word(top_at).and_then(|top| self.frames(top, &mut seen).map(|()| top));
            let settled = match walked {
                Ok(_) if !self.doubts.is_empty() => {
                    // A stack that is the same again and again is still: the call leads to several functions, and notes one
                    // of them. Twice proves nothing: a program that only calls is often at the same places.
                    same = if before == self.trail { same + 1 } else { 1 };
                    before = std::mem::take(&mut self.trail);
                    made_sense = same >= MIN_EQUAL_READS;
                    if made_sense {
                        self.sites.trust(&self.doubts, self.now);
                    }
                    made_sense
                }
                Ok(top) => {
                    made_sense = true;
                    // A frame that says whether it executes needs no witness. A thread that is new was not watched; one without
                    // frames has none to mix up.
                    self.python.layout.frame_stack_top.is_some()
                        || self.pages.witness(top_at).is_none_or(|both| both == [top, top])
                        || seen.frames.is_empty()
                }
                Err(error @ (Unreadable::Gone | Unreadable::Denied)) => return Err(error),
                Err(_) => {
                    made_sense = false;
                    false
                }
            };
            if settled || attempt + 1 == MAX_ATTEMPTS {
                self.tops.push(top_at);
                break;
            }
            self.stats.again += 1;
            let pages = self.pages.take_touched();
            self.pages.again(&pages, top_at)?;
        }
        if !made_sense {
            self.stats.torn += 1;
            seen.frames.clear();
        }
        if self.native {
            self.mark_calls(state.at, &mut seen)?;
        }
        Ok(seen)
    }

    /// Where the thread's innermost frame is named.
    fn top_at(&mut self, thread: u64) -> Result<u64, Unreadable> {
        match self.python.layout.top_frame {
            TopFrame::Direct(at) => Ok(off(thread, at)),
            TopFrame::ThroughCFrame { cframe, current } => {
                Ok(off(self.pages.word(off(thread, cframe))?, current))
            }
        }
    }

    /// 3.11 marks each call of the interpreter on the native stack by a structure of its own.
    pub(super) fn mark_calls(&mut self, thread: u64, seen: &mut ThreadSample) -> Result<(), Unreadable> {
        let layout = &self.python.layout;
        let TopFrame::ThroughCFrame { cframe, current } = layout.top_frame else { return Ok(()) };
        if layout.frame_is_entry.is_none() {
            return Ok(());
        }
        let mut at = self.pages.word(off(thread, cframe))?;
        for frame in seen.frames.iter_mut().filter(|frame| frame.called_by_c.is_some()) {
            if at == 0 {
                break;
            }
            frame.called_by_c = Some(at);
            at = self.pages.word(off(at, current + 8))?;
        }
        Ok(())
    }

    /// Walks a stack from its innermost frame.
    ///
    /// What names that frame and the frames themselves are not read at the same instant, but each part of the stack that frames lie
    /// on is, or nearly so. A frame that has returned meanwhile leaves its bytes behind, and its caller, or another function that was
    /// called in its caller's place, executes. Such a function says so itself, and everything inside of it is left over.
    fn frames(&mut self, top: u64, seen: &mut ThreadSample) -> Result<(), Unreadable> {
        seen.frames.clear();
        seen.cut = false;
        self.doubts.clear();
        self.trail.clear();
        let layout = &self.python.layout;
        let position = match layout.frame_position {
            Position::Offset(at) | Position::Index(at) => at + 4,
            Position::Instruction(at) => at + 8,
        };
        let needed = [
            position,
            layout.frame_code + 8,
            layout.frame_previous + 8,
            layout.frame_owner.unwrap_or(0) + 1,
            layout.frame_stack_top.unwrap_or(0) + 4,
            layout.frame_is_entry.unwrap_or(0) + 1,
            layout.calls.map_or(0, |calls| calls.frame_function + 8),
        ];
        let length = needed.into_iter().max().unwrap_or(HEADER_BYTES).min(HEADER_BYTES);
        let mut buffer = [0; HEADER_BYTES];
        let header = &mut buffer[..length];
        let mut at = top;
        let mut called_by_c = true;
        // The function of the frame before, if Python called it.
        let mut callee = None;
        for _ in 0..MAX_STEPS {
            if at == 0 {
                return Ok(());
            }
            if seen.frames.len() >= MAX_FRAMES {
                seen.cut = true;
                return Ok(());
            }
            self.pages.read(at, header)?;
            let previous = word(header, layout.frame_previous);
            let marks = layout.frame_owner.is_some_and(|field| header[field] >= FIRST_MARK);
            if marks {
                called_by_c = true;
                callee = None;
                if let Some(last) = seen.frames.last_mut() {
                    last.called_by_c = Some(at);
                }
            } else {
                let executes = layout.frame_stack_top.is_some_and(|field| int(header, field) as i32 == -1);
                if executes && !called_by_c {
                    seen.frames.clear();
                    self.doubts.clear();
                    self.trail.clear();
                    callee = None;
                }
                called_by_c = layout.frame_is_entry.is_some_and(|field| header[field] != 0);
                let code = word(header, layout.frame_code);
                let memory = &mut self.pages.memory;
                let id = self.codes.at(memory, layout, self.python.code_type, code, self.now)?;
                let offset = match layout.frame_position {
                    Position::Offset(field) => i64::from(int(header, field) as i32),
                    Position::Index(field) => i64::from(int(header, field) as i32) * 2,
                    Position::Instruction(field) => {
                        let start = off(code, layout.code_start.unwrap_or(0));
                        word(header, field).wrapping_sub(start) as i64
                    }
                };
                // A position outside of its function is another function's.
                let length = self.codes.get(id).and_then(|code| code.length);
                if length.is_some_and(|length| offset > length || offset < -2) {
                    return Err(Unreadable::Nonsense);
                }
                if let (Some(calls), Position::Instruction(field)) = (&layout.calls, layout.frame_position) {
                    let (position, function) = (word(header, field), word(header, calls.frame_function));
                    let start = off(code, layout.code_start.unwrap_or(0));
                    let places = CallLayout { calls, function_type: self.python.function_type };
                    let memory = &mut self.pages.memory;
                    let whole = self.sites.belong(memory, places, function, code);
                    let called =
                        |callee: u64| self.sites.fits(memory, places, start, position, callee, self.now);
                    if !whole || !callee.is_none_or(called) {
                        self.doubts.push(position);
                    }
                    self.trail.push((code, position));
                    callee = (!called_by_c).then_some(function);
                }
                let line = self.codes.get(id).map_or(0, |code| code.lines.line(offset));
                // Before 3.11 every frame is a call of C's.
                let alone = layout.frame_owner.is_none() && layout.frame_is_entry.is_none();
                seen.frames.push(Frame {
                    code: id,
                    line,
                    at,
                    called_by_c: (alone || called_by_c).then_some(0),
                });
            }
            if previous == at {
                return Err(Unreadable::Nonsense);
            }
            at = previous;
        }
        Err(Unreadable::Nonsense)
    }
}

fn off(at: u64, by: usize) -> u64 {
    at.wrapping_add(by as u64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::layouts::LAYOUTS;
    use super::super::memory::Memory;
    use super::*;

    #[test]
    fn a_stack_that_goes_in_a_circle_is_nonsense() {
        // Python of this very process: two frames that only mark calls, each before the other.
        let layout = LAYOUTS.last().unwrap().clone();
        let mut frames = [[0u64; HEADER_BYTES / 8]; 2];
        let at = frames.each_ref().map(|frame| frame.as_ptr() as u64);
        for (number, frame) in frames.iter_mut().enumerate() {
            let owner = layout.frame_owner.unwrap();
            frame[layout.frame_previous / 8] = at[1 - number];
            frame[owner / 8] |= u64::from(FIRST_MARK) << (owner % 8 * 8);
        }
        let python = Python {
            runtime: 0,
            code_type: 0,
            function_type: 0,
            layout,
            path: String::new(),
            version: String::new(),
        };
        let mut walk = Walk {
            python: &python,
            pages: &mut Pages::new(Memory::new(std::process::id())),
            codes: &mut Codes::default(),
            sites: &mut CallSites::default(),
            stats: &mut Stats::default(),
            now: Instant::now(),
            native: false,
            tops: Vec::new(),
            gils: Vec::new(),
            doubts: Vec::new(),
            trail: Vec::new(),
        };
        let mut seen = ThreadSample {
            ident: 1,
            native_id: None,
            holds_gil: false,
            lock_at: 0,
            frames: Vec::new(),
            cut: false,
        };
        assert_eq!(walk.frames(at[0], &mut seen), Err(Unreadable::Nonsense));
        assert_eq!(std::hint::black_box(&frames)[0][walk.python.layout.frame_previous / 8], at[1]);
    }
}

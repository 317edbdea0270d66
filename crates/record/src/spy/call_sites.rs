//! Whether a function can have been called where its caller is.
//!
//! The frames of a stack lie one after the other in memory that is used again at once. A program that calls another function every
//! 50 ns can be halfway through the next call while its stack is read: then one function's frame is above another's. But where
//! calls are that frequent, the interpreter has noted at each call which function it leads to. What is noted there and what the frame
//! above says must be the same.

use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::layout::Calls;
use super::memory::Memory;
use super::numbers::{int, word};

const NOT_NOTED: u32 = 0;
const NO_CALL: u32 = u32::MAX - 1;
/// Where a call leads to several functions, whatever is noted.
const MANY_TARGETS: u32 = u32::MAX;
/// How long to believe that nothing is noted.
const NOT_NOTED_FOR: Duration = Duration::from_secs(1);
/// Entries that are kept of each table; then it begins anew.
const MAX_ENTRIES: usize = 100_000;
/// An instruction for a call and what is noted behind it: itself, its argument, a counter (two bytes), the function's version.
const NOTE_BYTES: usize = 8;
const VERSION_AT: usize = 4;
/// Functions longer than this are not checked.
const MAX_CODE: u64 = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct CallSites {
    /// By position: the version of the function that is called there.
    leads_to: HashMap<u64, (u32, Instant), RandomState>,
    /// By address of a function object.
    functions: HashMap<u64, Function, RandomState>,
}

/// What a function object says. What is not a function has no code.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Function {
    version: u32,
    code: u64,
}

/// Where a process keeps what is compared.
#[derive(Copy, Clone, Debug)]
pub(super) struct CallLayout<'a> {
    pub(super) calls: &'a Calls,
    /// The type of function objects.
    pub(super) function_type: u64,
}

impl CallSites {
    /// Whether a frame's function and its code belong together; they lie apart, and may be read at different times.
    pub(super) fn belong(
        &mut self,
        memory: &mut Memory,
        layout: CallLayout<'_>,
        function: u64,
        code: u64,
    ) -> bool {
        let fits = |known: &Function| known.code == 0 || known.code == code;
        self.functions.get(&function).is_some_and(fits)
            || self.read_function(memory, layout, function).as_ref().is_some_and(fits)
    }

    /// Whether `function` may be what was called at `position`, where a frame says it is. `start` is where the caller's
    /// instructions begin.
    pub(super) fn fits(
        &mut self,
        memory: &mut Memory,
        layout: CallLayout<'_>,
        start: u64,
        position: u64,
        function: u64,
        now: Instant,
    ) -> bool {
        let version = self.functions.get(&function).map(|known| known.version);
        match self.leads_to.get(&position) {
            Some((MANY_TARGETS, _)) => return true,
            // The interpreter notes a function once a call has led there a few times.
            Some((NOT_NOTED, at)) if now.saturating_duration_since(*at) < NOT_NOTED_FOR => return true,
            Some((noted, _)) if version == Some(*noted) => return true,
            _ => {}
        }
        // New, or not as it was: an object may have taken another's place, and an interpreter notes another function.
        let Some(known) = self.read_function(memory, layout, function) else { return false };
        let noted = leads_to(memory, layout.calls, start, position);
        self.leads_to.insert(position, (noted, now));
        noted == NOT_NOTED || (noted != NO_CALL && (noted == known.version || known.code == 0))
    }

    /// None where there is nothing at that address.
    fn read_function(
        &mut self,
        memory: &mut Memory,
        layout: CallLayout<'_>,
        function: u64,
    ) -> Option<Function> {
        if self.leads_to.len().max(self.functions.len()) >= MAX_ENTRIES {
            (self.leads_to, self.functions) = (HashMap::default(), HashMap::default());
        }
        let calls = layout.calls;
        let bytes = match function {
            // The interpreter's own frames have no function, or an object that is none.
            0 => Vec::new(),
            at => memory.bytes(at, calls.function_version + 4).ok()?,
        };
        let is_function = word(&bytes, calls.object_type) == layout.function_type;
        let known = match is_function {
            true => Function {
                version: int(&bytes, calls.function_version),
                code: word(&bytes, calls.function_code),
            },
            false => Function { version: NOT_NOTED, code: 0 },
        };
        self.functions.insert(function, known);
        Some(known)
    }

    /// Calls at these positions lead to several functions: what they note says nothing.
    pub(super) fn trust(&mut self, positions: &[u64], now: Instant) {
        self.leads_to.extend(positions.iter().map(|position| (*position, (MANY_TARGETS, now))));
    }
}

/// The version of the function that is called at a position; `NOT_NOTED` where that is not noted, `NO_CALL` where nothing is called.
fn leads_to(memory: &mut Memory, calls: &Calls, start: u64, position: u64) -> u32 {
    let Some(length) = position.checked_sub(start).filter(|length| *length <= MAX_CODE) else { return NO_CALL };
    // With the instruction there, and its notes if they come after it.
    let Ok(code) = memory.bytes(start, length as usize + if calls.behind == 0 { NOTE_BYTES } else { 2 }) else {
        return NOT_NOTED;
    };
    let (mut at, length) = (0, length as usize);
    while at <= length {
        let Some(&instruction) = code.get(at) else { return NOT_NOTED };
        // This code is monitored, or it was compiled: instructions are not what they were.
        if instruction >= calls.opaque_from || instruction == calls.compiled {
            return NOT_NOTED;
        }
        let notes = calls.notes.iter().find(|(_, codes)| codes.contains(&instruction));
        let next = at + 2 + 2 * notes.map_or(0, |(units, _)| usize::from(*units));
        // A position is that of the instruction, or of the last of its notes.
        let reached = if calls.behind == 0 { at == length } else { next == length + 2 };
        if reached && calls.callers.contains(&instruction) {
            let noted = calls.instructions.contains(&instruction);
            return if noted { int(&code, at + VERSION_AT) } else { NOT_NOTED };
        }
        at = next;
    }
    NO_CALL
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_call_leads_to_the_function_that_is_noted() {
        let calls = Calls {
            frame_function: 0,
            object_type: 0,
            function_code: 8,
            function_version: 16,
            instructions: [23, 24],
            behind: 6,
            callers: &[23, 60],
            notes: &[(3, &[23]), (1, &[60])],
            opaque_from: 200,
            compiled: 199,
        };
        let layout = CallLayout { calls: &calls, function_type: 1000 };
        // A call of version 77 with three notes, one that notes nothing with one, and something else.
        let mut code: Vec<u8> = vec![9, 0, 23, 1, 9, 9, 77, 0, 0, 0, 60, 1, 23, 1, 9, 1, 201, 0, 9, 0];
        let start = code.as_ptr() as u64;
        // Type, code, version.
        let function = |version: u64| vec![1000u64, 5000, version];
        let (right, wrong, none) = (function(77), function(78), vec![1001u64, 0, 79]);
        let at = |words: &Vec<u64>| words.as_ptr() as u64;
        let mut memory = Memory::new(std::process::id());
        let mut sites = CallSites::default();
        let now = Instant::now();
        let position = start + 8;
        let fits = |sites: &mut CallSites, memory: &mut Memory, position: u64, function: u64| {
            sites.fits(memory, layout, start, position, function, now)
        };
        assert!(fits(&mut sites, &mut memory, position, at(&right)));
        assert!(!fits(&mut sites, &mut memory, position, at(&wrong)));
        // What is known is not read again.
        let before = memory.calls;
        assert!(fits(&mut sites, &mut memory, position, at(&right)));
        assert_eq!(memory.calls, before);
        // A call that notes nothing may lead anywhere.
        assert!(fits(&mut sites, &mut memory, start + 12, at(&wrong)));
        // Nothing is called at an instruction that does not call, nor while one that does has only begun.
        for nowhere in [0, 2, 4, 6, 10, 14] {
            assert!(!fits(&mut sites, &mut memory, start + nowhere, at(&right)), "{nowhere}");
        }
        assert!(!fits(&mut sites, &mut memory, start - 2, at(&right)));
        // Behind an instruction that replaces another nothing is known.
        assert!(fits(&mut sites, &mut memory, start + 18, at(&right)));
        // What is not a function may be called by anything; what is nowhere may not.
        assert!(fits(&mut sites, &mut memory, position, at(&none)));
        assert!(fits(&mut sites, &mut memory, position, 0));
        assert!(!fits(&mut sites, &mut memory, position, 8));
        // The interpreter notes another function.
        code[6] = 78;
        assert!(fits(&mut sites, &mut memory, position, at(&wrong)));
        assert!(!fits(&mut sites, &mut memory, position, at(&right)));
        sites.trust(&[position], now);
        assert!(fits(&mut sites, &mut memory, position, at(&right)));
        // A function and another's code.
        assert!(sites.belong(&mut memory, layout, at(&right), 5000));
        assert!(!sites.belong(&mut memory, layout, at(&right), 5001));
        assert!(sites.belong(&mut memory, layout, at(&none), 5001));
        assert!(sites.belong(&mut memory, layout, 0, 5001) && !sites.belong(&mut memory, layout, 8, 5001));
    }
}

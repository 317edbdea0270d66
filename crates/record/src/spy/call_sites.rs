//! Whether a function can have been called where its caller stands.
//!
//! The frames of a stack lie one after the other in memory that is used again at once. A program that calls another function every
//! 50 ns can be halfway through the next call while its stack is read: then one function's frame stands above another's. But where
//! calls are that frequent, the interpreter has noted at each call which function it leads to. What is noted there and what the frame
//! above says must be the same.

use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::layout::Calls;
use super::memory::Memory;
use super::numbers::int;

/// Where nothing is noted.
const NONE: u32 = 0;
/// Where a call leads to several functions, whatever is noted.
const SEVERAL: u32 = u32::MAX;
/// How long to believe that nothing is noted.
const NOTED_SOON: Duration = Duration::from_secs(1);
/// Entries that are kept of each table; then it begins anew.
const MAX_KNOWN: usize = 100_000;
/// An instruction for a call and what is noted behind it: itself, its argument, a counter (two bytes), the function's version.
const NOTE: usize = 8;
const VERSION_AT: usize = 4;
/// Functions longer than this are not checked.
const MAX_CODE: u64 = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct CallSites {
    /// By address of an instruction: the version of the function that it calls.
    leads_to: HashMap<u64, (u32, Instant), RandomState>,
    /// By address of a function object.
    versions: HashMap<u64, u32, RandomState>,
}

impl CallSites {
    /// Whether `function` may be what was called at `position`, where a frame says it is. `start` is where the caller's
    /// instructions begin.
    pub(super) fn fits(
        &mut self,
        memory: &mut Memory,
        calls: &Calls,
        start: u64,
        position: u64,
        function: u64,
        now: Instant,
    ) -> bool {
        let site = position.wrapping_sub(calls.behind as u64);
        match self.leads_to.get(&site) {
            Some((SEVERAL, _)) => return true,
            // The interpreter notes a function once a call has led there a few times.
            Some((NONE, at)) if now.saturating_duration_since(*at) < NOTED_SOON => return true,
            Some((noted, _)) if self.versions.get(&function) == Some(noted) => return true,
            _ => {}
        }
        // New, or not as it was: an object may have taken another's place, and an interpreter notes another function.
        if self.leads_to.len().max(self.versions.len()) >= MAX_KNOWN {
            (self.leads_to, self.versions) = (HashMap::default(), HashMap::default());
        }
        let version_at = function.wrapping_add(calls.function_version as u64);
        let bytes = memory.pieces(&[(site, NOTE), (version_at, 4)]);
        if bytes.len() < NOTE + 4 {
            return false;
        }
        let mut noted = if calls.instructions.contains(&bytes[0]) { int(&bytes, VERSION_AT) } else { NONE };
        let version = int(&bytes, NOTE);
        // Other instructions call too, and have shorter notes: what looks like a call may be the end of something else.
        if noted != NONE && noted != version && !is_instruction(memory, calls, start, site) {
            noted = NONE;
        }
        self.leads_to.insert(site, (noted, now));
        self.versions.insert(function, version);
        noted == NONE || noted == version
    }

    /// Calls at these positions lead to several functions: what they note says nothing.
    pub(super) fn trust(&mut self, calls: Option<&Calls>, positions: &[u64], now: Instant) {
        for position in positions {
            let site = position.wrapping_sub(calls.map_or(0, |calls| calls.behind as u64));
            self.leads_to.insert(site, (SEVERAL, now));
        }
    }
}

/// Whether an instruction begins at this address; the one before has its notes in between.
fn is_instruction(memory: &mut Memory, calls: &Calls, start: u64, site: u64) -> bool {
    let Some(length) = site.checked_sub(start).filter(|length| *length <= MAX_CODE) else { return false };
    let Ok(code) = memory.bytes(start, length as usize) else { return false };
    let mut at = 0;
    while let Some(instruction) = code.get(at) {
        let notes = calls.notes.iter().find(|(code, _)| code == instruction);
        at += 2 + 2 * notes.map_or(0, |(_, units)| usize::from(*units));
    }
    at == code.len()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_call_leads_to_the_function_that_is_noted() {
        let calls = Calls {
            frame_function: 0,
            function_version: 8,
            instructions: [23, 24],
            behind: 2,
            notes: &[(23, 3)],
        };
        // A call of version 77, an instruction that notes nothing, and one with a 23 in its argument's place.
        let mut code: Vec<u8> =
            vec![0, 0, 23, 1, 9, 9, 77, 0, 0, 0, 50, 1, 0, 0, 23, 1, 23, 1, 5, 0, 9, 0, 0, 0];
        let start = code.as_ptr() as u64;
        let function = |version: u64| vec![0u64, version];
        let (right, wrong) = (function(77), function(78));
        let at = |words: &Vec<u64>| words.as_ptr() as u64;
        let mut memory = Memory::new(std::process::id());
        let mut sites = CallSites::default();
        let now = Instant::now();
        let position = start + 4;
        assert!(sites.fits(&mut memory, &calls, start, position, at(&right), now));
        assert!(!sites.fits(&mut memory, &calls, start, position, at(&wrong), now));
        // What is known is not read again.
        let before = memory.calls;
        assert!(sites.fits(&mut memory, &calls, start, position, at(&right), now));
        assert_eq!(memory.calls, before);
        // An instruction that notes nothing may call anything.
        assert!(sites.fits(&mut memory, &calls, start, position + 8, at(&wrong), now));
        // So does one that begins inside of another's notes.
        assert!(sites.fits(&mut memory, &calls, start, start + 18, at(&wrong), now));
        // The interpreter notes another function.
        code[6] = 78;
        assert!(sites.fits(&mut memory, &calls, start, position, at(&wrong), now));
        assert!(!sites.fits(&mut memory, &calls, start, position, at(&right), now));
        sites.trust(Some(&calls), &[position], now);
        assert!(sites.fits(&mut memory, &calls, start, position, at(&right), now));
    }
}

//! Another process's memory, read without stopping it.
//!
//! What one sample needs is nearly the same as what the sample before it needed. So the pages that were used last time are read
//! first, all with one system call, and only what turns out to be missing is read by itself. A stack that does not move
//! costs one call, however deep it is and however many threads there are.

use std::io;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::error::Unreadable;
use super::system::{Piece, read_memory};

pub(super) const PAGE_BYTES: u64 = 4096;
/// How many pieces one call may read, by the system's own limit.
const MAX_PIECES: usize = 1024;
/// Pages that one sample may use: a list that never ends must not fill our memory.
const MAX_PAGES: usize = 1 << 15;

/// What a call may take, and more for each page; the usual is a fifth of that.
const QUICK_READ: Duration = Duration::from_micros(20);
const QUICK_EACH: Duration = Duration::from_micros(2);
/// How often a call that took longer is made again.
const MAX_SLOW: usize = 2;

/// A process whose memory can be read.
#[derive(Debug)]
pub(super) struct Memory {
    pid: u32,
    /// System calls so far.
    pub(super) calls: u64,
}

impl Memory {
    pub(super) fn new(pid: u32) -> Memory {
        Memory { pid, calls: 0 }
    }

    /// Reads all of it or fails.
    pub(super) fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let wanted = into.len();
        match self.gather(&[(at, wanted)], into) {
            Ok(read) if read == wanted => Ok(()),
            Ok(_) => Err(Unreadable::Address(at)),
            Err(error) => Err(Unreadable::from_error(&error, at)),
        }
    }

    pub(super) fn bytes(&mut self, at: u64, length: usize) -> Result<Vec<u8>, Unreadable> {
        let mut bytes = vec![0; length];
        self.read(at, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Unreadable> {
        let mut bytes = [0; N];
        self.read(at, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn word(&mut self, at: u64) -> Result<u64, Unreadable> {
        Ok(u64::from_le_bytes(self.array(at)?))
    }

    /// Pieces, one after the other, with one call; what comes after one that is not there is missing.
    pub(super) fn pieces(&mut self, pieces: &[Piece]) -> Vec<u8> {
        let mut bytes = vec![0; pieces.iter().map(|piece| piece.1).sum()];
        let read = self.gather(pieces, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Reads pieces into one buffer with one call: how many bytes, up to the first piece that is not there.
    fn gather(&mut self, pieces: &[Piece], into: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        read_memory(self.pid, pieces, into)
    }
}

/// Which part of a page to read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PagePart {
    page: u64,
    from: usize,
    to: usize,
}

/// The pages of one sample.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) memory: Memory,
    /// By page number: what of it was read.
    pages: HashMap<u64, PageCopy, RandomState>,
    bytes: Vec<u8>,
    round: u32,
    /// Pages that were used since the last call.
    touched: Vec<u64>,
    /// Words that are read before and after everything else, with their values then.
    witnesses: HashMap<u64, [u64; 2], RandomState>,
}

/// A part of a page: reading no more than is used keeps the time short in which it may change.
#[derive(Copy, Clone, Debug)]
struct PageCopy {
    at: usize,
    /// Which bytes of the page these are.
    from: usize,
    to: usize,
    low: usize,
    high: usize,
    /// The sample in which it was read.
    fresh: u32,
}

impl PageCopy {
    /// What to read of it in the next sample: what was used, and room for a stack that grows.
    fn wanted(&self) -> Option<(usize, usize)> {
        let high = (self.high + STACK_GROWTH_BYTES).next_multiple_of(CACHE_LINE_BYTES).min(PAGE_BYTES as usize);
        (self.high > self.low).then_some((self.low / CACHE_LINE_BYTES * CACHE_LINE_BYTES, high))
    }
}

/// What a processor reads at once.
const CACHE_LINE_BYTES: usize = 64;
/// What a stack may grow by between two samples and still be read with one call.
const STACK_GROWTH_BYTES: usize = 512;

impl Pages {
    pub(super) fn new(memory: Memory) -> Pages {
        Pages {
            memory,
            pages: HashMap::default(),
            bytes: Vec::new(),
            round: 0,
            touched: Vec::new(),
            witnesses: HashMap::default(),
        }
    }

    /// Begins a sample: reads what the last one used.
    pub(super) fn begin(&mut self, witnesses: &[u64]) -> Result<(), Unreadable> {
        self.round = self.round.wrapping_add(1);
        let used = self.pages.iter().filter_map(|(page, slot)| Some((*page, slot.wanted()?)));
        let mut plan: Vec<PagePart> = used.map(|(page, (from, to))| PagePart { page, from, to }).collect();
        plan.sort_unstable();
        self.pages.clear();
        self.bytes.clear();
        self.touched.clear();
        self.witnesses.clear();
        // A call that took long was interrupted in the middle, and what it read first is older than what it read last.
        for _ in 0..MAX_SLOW {
            let began = Instant::now();
            self.fetch(&plan, witnesses)?;
            let limit = QUICK_READ + QUICK_EACH * u32::try_from(plan.len()).unwrap_or(u32::MAX);
            if began.elapsed() <= limit {
                break;
            }
        }
        Ok(())
    }

    /// Reads pages again, because what they hold did not fit together.
    pub(super) fn again(&mut self, pages: &[u64], witness: u64) -> Result<(), Unreadable> {
        let mut numbers = pages.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let mut plan = Vec::new();
        for page in numbers {
            let wanted = self.pages.remove(&page).and_then(|slot| slot.wanted());
            let (from, to) = wanted.unwrap_or((0, PAGE_BYTES as usize));
            plan.push(PagePart { page, from, to });
        }
        self.fetch(&plan, &[witness])
    }

    /// The pages used since the last call.
    pub(super) fn take_touched(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.touched)
    }

    /// What a word was before and after everything else was read.
    pub(super) fn witness(&self, at: u64) -> Option<[u64; 2]> {
        self.witnesses.get(&at).copied()
    }

    fn fetch(&mut self, plan: &[PagePart], witnesses: &[u64]) -> Result<(), Unreadable> {
        // The witnesses twice, around the pages.
        let witnesses = &witnesses[..witnesses.len().min(MAX_PIECES / 4)];
        let mut left = plan;
        let mut watched = witnesses;
        while !watched.is_empty() || !left.is_empty() {
            let taken = left.len().min(MAX_PIECES - 2 * watched.len());
            let done = self.fetch_parts(&left[..taken], watched)?;
            watched = &[];
            // A page that is gone: the rest is read without it.
            left = &left[if done < taken { done + 1 } else { taken }..];
        }
        Ok(())
    }

    /// Reads with one call; how many of the parts were there.
    fn fetch_parts(&mut self, parts: &[PagePart], watched: &[u64]) -> Result<usize, Unreadable> {
        let words = || watched.iter().map(|&at| (at, 8));
        let pages = parts.iter().map(|part| (part.page * PAGE_BYTES + part.from as u64, part.to - part.from));
        let pieces: Vec<Piece> = words().chain(pages).chain(words()).collect();
        let Some(&(first, _)) = pieces.first() else { return Ok(0) };
        let total: usize = pieces.iter().map(|piece| piece.1).sum();
        let start = self.bytes.len();
        self.bytes.resize(start + total, 0);
        let read = match self.memory.gather(&pieces, &mut self.bytes[start..]) {
            Ok(read) => read,
            Err(error) => match Unreadable::from_error(&error, first) {
                Unreadable::Address(_) => 0,
                other => return Err(other),
            },
        };
        let head = watched.len() * 8;
        // A witness that is gone: the pages are tried without any.
        if read < head && !parts.is_empty() {
            return self.fetch_parts(parts, &[]);
        }
        let (mut done, mut at) = (0, start + head);
        for part in parts {
            let length = part.to - part.from;
            if at + length > start + read {
                break;
            }
            let slot = PageCopy {
                at,
                from: part.from,
                to: part.to,
                low: PAGE_BYTES as usize,
                high: 0,
                fresh: self.round,
            };
            self.pages.insert(part.page, slot);
            at += length;
            done += 1;
        }
        if read == total {
            let word = |bytes: &[u8], at: usize| {
                bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
            };
            for (number, &address) in watched.iter().enumerate() {
                let both = [word(&self.bytes, start + number * 8), word(&self.bytes, at + number * 8)];
                self.witnesses.insert(address, both);
            }
        }
        Ok(done)
    }

    /// Bytes at an address, from the pages at hand or by a call of their own.
    pub(super) fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let mut done = 0;
        while done < into.len() {
            let here = at.checked_add(done as u64).ok_or(Unreadable::Address(at))?;
            let inside = (here % PAGE_BYTES) as usize;
            let many = (into.len() - done).min(PAGE_BYTES as usize - inside);
            let from = self.page(here / PAGE_BYTES, inside, inside + many)?;
            into[done..done + many].copy_from_slice(&self.bytes[from..from + many]);
            done += many;
        }
        Ok(())
    }

    pub(super) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Unreadable> {
        let mut found = [0; N];
        self.read(at, &mut found)?;
        Ok(found)
    }

    pub(super) fn word(&mut self, at: u64) -> Result<u64, Unreadable> {
        Ok(u64::from_le_bytes(self.array(at)?))
    }

    /// Where these bytes of a page are.
    fn page(&mut self, page: u64, from: usize, to: usize) -> Result<usize, Unreadable> {
        let round = self.round;
        let known = self.pages.get_mut(&page).filter(|slot| slot.fresh == round);
        if let Some(slot) = known.filter(|slot| slot.from <= from && to <= slot.to) {
            (slot.low, slot.high) = (slot.low.min(from), slot.high.max(to));
            if self.touched.last() != Some(&page) {
                self.touched.push(page);
            }
            return Ok(slot.at + from - slot.from);
        }
        // Addresses near the ends are not pointers, and reading too much is not a stack.
        if page == 0 || page >= 1 << 51 || self.pages.len() >= MAX_PAGES {
            return Err(Unreadable::Address(page.wrapping_mul(PAGE_BYTES)));
        }
        let at = self.bytes.len();
        self.bytes.resize(at + PAGE_BYTES as usize, 0);
        self.memory.read(page * PAGE_BYTES, &mut self.bytes[at..])?;
        let before = self.pages.get(&page).filter(|slot| slot.fresh == round);
        let (low, high) = before.map_or((from, to), |slot| (slot.low.min(from), slot.high.max(to)));
        self.pages.insert(page, PageCopy { at, from: 0, to: PAGE_BYTES as usize, low, high, fresh: round });
        self.touched.push(page);
        Ok(at + from)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// This process reads itself.
    fn own() -> Pages {
        Pages::new(Memory::new(std::process::id()))
    }

    #[test]
    fn what_was_used_before_is_read_with_one_call() {
        let values: Vec<u64> = (0..4096).collect();
        let at = |index: usize| values.as_ptr() as u64 + 8 * index as u64;
        let mut pages = own();
        pages.begin(&[]).unwrap();
        let before = pages.memory.calls;
        for index in [0, 1000, 2000, 4095] {
            assert_eq!(pages.word(at(index)).unwrap(), index as u64);
        }
        assert_eq!(pages.memory.calls - before, 4);
        // A sample that the scheduler interrupts is taken again: one of many is not.
        let with_one_call = (0..1000).any(|_| {
            let before = pages.memory.calls;
            pages.begin(&[at(7)]).unwrap();
            for index in [0, 1000, 2000, 4095] {
                assert_eq!(pages.word(at(index)).unwrap(), index as u64);
            }
            pages.memory.calls - before == 1
        });
        assert!(with_one_call);
        assert_eq!(pages.witness(at(7)), Some([7, 7]));
        // What was not used is not read again.
        pages.begin(&[]).unwrap();
        let before = pages.memory.calls;
        pages.begin(&[]).unwrap();
        assert_eq!(pages.memory.calls - before, 0);
    }

    #[test]
    fn words_may_lie_across_pages() {
        let bytes: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
        let start = bytes.as_ptr() as u64;
        let edge = (start / PAGE_BYTES + 1) * PAGE_BYTES - 3;
        let mut pages = own();
        pages.begin(&[]).unwrap();
        let found: [u8; 8] = pages.array(edge).unwrap();
        let from = (edge - start) as usize;
        assert_eq!(found, bytes[from..from + 8]);
    }

    #[test]
    fn an_address_that_is_nowhere_is_said_so() {
        let mut pages = own();
        pages.begin(&[8]).unwrap();
        assert!(matches!(pages.word(8), Err(Unreadable::Address(_))));
        assert!(matches!(pages.word(u64::MAX - 3), Err(Unreadable::Address(_))));
        assert!(matches!(Memory::new(u32::MAX).word(4096), Err(Unreadable::Gone)));
    }
}

//! Another process's memory, read without stopping it.
//!
//! What one look needs is nearly the same as what the look before it needed. So the pages that were used last time are read
//! first, all with one system call, and only what turns out to be missing is read by itself. A stack that does not move
//! costs one call, however deep it is and however many threads there are.

use std::io;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::error::Unreadable;

pub(super) const PAGE: u64 = 4096;
/// How many pieces one call may read.
const MAX_PIECES: usize = 1024;
/// Pages that one look may use: a list that never ends must not fill our memory.
const MAX_PAGES: usize = 1 << 15;

/// A process whose memory can be read.
#[derive(Debug)]
pub(super) struct Memory {
    pid: u32,
    /// System calls so far.
    pub(super) calls: u64,
}

/// An address and a length.
pub(super) type Piece = (u64, usize);

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
            Err(error) => Err(Unreadable::of(&error, at)),
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
        super::system::read_memory(self.pid, pieces, into)
    }
}

/// The pages of one look.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) memory: Memory,
    /// By page number: where its bytes are, and the look it was last used in.
    pages: HashMap<u64, Slot, RandomState>,
    bytes: Vec<u8>,
    look: u32,
    /// Pages that were used since somebody last asked.
    touched: Vec<u64>,
    /// Words that are read before and after everything else, with their values then.
    witnesses: HashMap<u64, [u64; 2], RandomState>,
}

#[derive(Copy, Clone, Debug)]
struct Slot {
    at: usize,
    used: u32,
    /// Whether it was read in this look.
    fresh: u32,
}

impl Pages {
    pub(super) fn new(memory: Memory) -> Pages {
        Pages {
            memory,
            pages: HashMap::default(),
            bytes: Vec::new(),
            look: 0,
            touched: Vec::new(),
            witnesses: HashMap::default(),
        }
    }

    /// Begins a look: reads what the last one used.
    pub(super) fn begin(&mut self, witnesses: &[u64]) -> Result<(), Unreadable> {
        let before = self.look;
        self.look = self.look.wrapping_add(1);
        let mut plan: Vec<u64> =
            self.pages.iter().filter(|(_, slot)| slot.used == before).map(|(page, _)| *page).collect();
        plan.sort_unstable();
        self.pages.clear();
        self.bytes.clear();
        self.touched.clear();
        self.witnesses.clear();
        self.fetch(&plan, witnesses)
    }

    /// Reads pages again, because what they hold did not fit together.
    pub(super) fn again(&mut self, pages: &[u64], witness: u64) -> Result<(), Unreadable> {
        let mut plan = pages.to_vec();
        plan.sort_unstable();
        plan.dedup();
        for page in &plan {
            self.pages.remove(page);
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

    fn fetch(&mut self, plan: &[u64], witnesses: &[u64]) -> Result<(), Unreadable> {
        // The witnesses twice, around the pages, and neighbors as one piece.
        let room = MAX_PIECES / 4;
        let witnesses = &witnesses[..witnesses.len().min(room)];
        let mut left = plan;
        let mut first = true;
        while first || !left.is_empty() {
            let watched: &[u64] = if first { witnesses } else { &[] };
            first = false;
            let mut pieces: Vec<Piece> = watched.iter().map(|&at| (at, 8)).collect();
            let mut taken = 0;
            let limit = MAX_PIECES - 2 * watched.len();
            let mut runs = 0;
            for (at, &page) in left.iter().enumerate() {
                let goes_on = at > 0 && left[at - 1] + 1 == page;
                if !goes_on && runs == limit {
                    break;
                }
                match pieces.last_mut() {
                    Some(last) if goes_on => last.1 += PAGE as usize,
                    _ => {
                        pieces.push((page * PAGE, PAGE as usize));
                        runs += 1;
                    }
                }
                taken = at + 1;
            }
            pieces.extend(watched.iter().map(|&at| (at, 8)));
            if pieces.is_empty() {
                return Ok(());
            }
            let done = self.fetch_pieces(&pieces, watched, &left[..taken])?;
            // A page that is gone: the rest is read without it.
            left = &left[taken.min(done)..];
            if done < taken {
                left = &left[1..];
            }
        }
        Ok(())
    }

    /// How many of the pages were read.
    fn fetch_pieces(&mut self, pieces: &[Piece], watched: &[u64], pages: &[u64]) -> Result<usize, Unreadable> {
        let total: usize = pieces.iter().map(|piece| piece.1).sum();
        let start = self.bytes.len();
        self.bytes.resize(start + total, 0);
        let read = match self.memory.gather(pieces, &mut self.bytes[start..]) {
            Ok(read) => read,
            Err(error) => match Unreadable::of(&error, pieces[0].0) {
                Unreadable::Address(_) => 0,
                other => return Err(other),
            },
        };
        let whole = read == total;
        let head = watched.len() * 8;
        let (mut done, mut at) = (0, start + head);
        for &page in pages {
            if at + PAGE as usize > start + read {
                break;
            }
            self.pages.insert(page, Slot { at, used: self.look.wrapping_sub(1), fresh: self.look });
            at += PAGE as usize;
            done += 1;
        }
        if whole {
            let word = |bytes: &[u8], at: usize| {
                bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
            };
            for (number, &address) in watched.iter().enumerate() {
                let both = [word(&self.bytes, start + number * 8), word(&self.bytes, at + number * 8)];
                self.witnesses.insert(address, both);
            }
        }
        // A witness that is gone counts as nothing read; the pages must be tried without it.
        if read < head && !pages.is_empty() {
            let pieces = &pieces[watched.len()..pieces.len() - watched.len()];
            return self.fetch_pieces(pieces, &[], pages);
        }
        Ok(done)
    }

    /// Bytes at an address, from the pages at hand or by a call of their own.
    pub(super) fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let mut done = 0;
        while done < into.len() {
            let here = at.checked_add(done as u64).ok_or(Unreadable::Address(at))?;
            let inside = (here % PAGE) as usize;
            let many = (into.len() - done).min(PAGE as usize - inside);
            let from = self.page(here / PAGE)? + inside;
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

    /// Where a page's bytes are.
    fn page(&mut self, page: u64) -> Result<usize, Unreadable> {
        let look = self.look;
        if let Some(slot) = self.pages.get_mut(&page).filter(|slot| slot.fresh == look) {
            slot.used = look;
            if self.touched.last() != Some(&page) {
                self.touched.push(page);
            }
            return Ok(slot.at);
        }
        // Addresses near the ends are no pointers, and reading too much is no stack.
        if page == 0 || page >= 1 << 51 || self.pages.len() >= MAX_PAGES {
            return Err(Unreadable::Address(page.wrapping_mul(PAGE)));
        }
        let at = self.bytes.len();
        self.bytes.resize(at + PAGE as usize, 0);
        self.memory.read(page * PAGE, &mut self.bytes[at..])?;
        self.pages.insert(page, Slot { at, used: look, fresh: look });
        self.touched.push(page);
        Ok(at)
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
        let before = pages.memory.calls;
        pages.begin(&[at(7)]).unwrap();
        for index in [0, 1000, 2000, 4095] {
            assert_eq!(pages.word(at(index)).unwrap(), index as u64);
        }
        assert_eq!(pages.memory.calls - before, 1);
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
        let edge = (start / PAGE + 1) * PAGE - 3;
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

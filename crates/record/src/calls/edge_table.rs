//! Finds the edge from a caller to what it calls. It is used once per call, so it is one array and one multiplication.

/// Slots of a new table.
const MIN_SLOTS: usize = 64;
const EMPTY_EDGE: u32 = u32::MAX;

#[derive(Copy, Clone)]
struct Slot {
    key: usize,
    caller: u32,
    edge: u32,
}

const FREE_SLOT: Slot = Slot { key: 0, caller: 0, edge: EMPTY_EDGE };

/// An open hash table, at most half full. Keys are addresses of this process, not input.
#[derive(Clone)]
pub(super) struct EdgeTable {
    slots: Vec<Slot>,
    used: usize,
    shift: u32,
}

impl Default for EdgeTable {
    fn default() -> EdgeTable {
        EdgeTable { slots: vec![FREE_SLOT; MIN_SLOTS], used: 0, shift: 64 - MIN_SLOTS.trailing_zeros() }
    }
}

impl EdgeTable {
    #[inline]
    pub(super) fn find(&self, caller: u32, key: usize) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = self.place(caller, key);
        loop {
            let slot = self.slots[at & mask];
            if slot.key == key && slot.caller == caller && slot.edge != EMPTY_EDGE {
                return Some(slot.edge);
            }
            if slot.edge == EMPTY_EDGE {
                return None;
            }
            at += 1;
        }
    }

    /// Adds an edge that is not there yet.
    pub(super) fn insert(&mut self, caller: u32, key: usize, edge: u32) {
        if 2 * (self.used + 1) > self.slots.len() {
            let larger = vec![FREE_SLOT; 2 * self.slots.len()];
            let old = std::mem::replace(&mut self.slots, larger);
            self.shift -= 1;
            for slot in old.into_iter().filter(|slot| slot.edge != EMPTY_EDGE) {
                self.put(slot);
            }
        }
        self.used += 1;
        self.put(Slot { key, caller, edge });
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = self.place(slot.caller, slot.key);
        while self.slots[at & mask].edge != EMPTY_EDGE {
            at += 1;
        }
        self.slots[at & mask] = slot;
    }

    #[inline]
    fn place(&self, caller: u32, key: usize) -> usize {
        let mixed = (key as u64 >> 4) ^ u64::from(caller).rotate_left(32);
        let spread = (mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> self.shift) as usize
    }
}

//! Where a freed address may be one that is tracked: most are not, and need not wait for the lock.

use std::sync::atomic::{AtomicU8, Ordering};

const FILTER_BITS: u32 = 16;

/// Counts of addresses that fall on the same place. It may say that an address is there which is not, never the other way
/// around. Only whoever holds the lock changes it.
pub(super) struct Filter([AtomicU8; 1 << FILTER_BITS]);

impl Filter {
    pub(super) const fn new() -> Filter {
        Filter([const { AtomicU8::new(0) }; 1 << FILTER_BITS])
    }

    #[inline]
    fn slot(&self, address: usize) -> &AtomicU8 {
        let spread = (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.0[(spread >> (64 - FILTER_BITS)) as usize]
    }

    /// Whether this address may be one of those that were added.
    #[inline]
    pub(super) fn may_have(&self, address: usize) -> bool {
        self.slot(address).load(Ordering::Relaxed) != 0
    }

    /// A place that is full stays so.
    pub(super) fn add(&self, address: usize) {
        let slot = self.slot(address);
        let count = slot.load(Ordering::Relaxed);
        if count < u8::MAX {
            slot.store(count + 1, Ordering::Relaxed);
        }
    }

    /// Takes back one `add`.
    pub(super) fn remove(&self, address: usize) {
        let slot = self.slot(address);
        let count = slot.load(Ordering::Relaxed);
        if count > 0 && count < u8::MAX {
            slot.store(count - 1, Ordering::Relaxed);
        }
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
    }
}

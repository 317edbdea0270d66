//! How many of a multiprocessor's warps a launch can keep resident: the estimate that the profiler writes beside a
//! kernel, and the same estimate made here where the profiler's is wrong.
//!
//! The profiler assumes that no block may have more than 48 KiB of shared memory. A kernel can ask for more, and every
//! fast matrix product of the last years does; for those it writes 0, which is not a measurement but the answer to "how
//! many such blocks fit under that limit". The rule below is the profiler's with the limit lifted; without lifting it,
//! it gives every value that profilers have written into the fixtures and the peers' files (a test compares them).

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Device, Trace};

use crate::devices::kernel_form::KernelForm;

/// Shared memory that a block may have without asking for more: what the profiler takes for the most.
pub const DEFAULT_SHARED_BYTES: i64 = 48 << 10;

/// Registers are handed out to warps in portions of this size.
const REGISTERS_AT_ONCE: i64 = 256;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    multiprocessors: Option<i64>,
    warp: i64,
    threads: i64,
    blocks: i64,
    registers: i64,
    /// Parts of a multiprocessor with registers of their own: a warp lives in one of them.
    partitions: i64,
    shared_bytes: i64,
    /// What the system takes of the shared memory for each block.
    reserved_bytes: i64,
    /// Shared memory is handed out in portions of this size.
    shared_at_once: i64,
}

/// What a launch asks for.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Launch {
    /// Threads of a block.
    pub threads: i64,
    /// Registers of a thread.
    pub registers: i64,
    /// Shared memory of a block in bytes.
    pub shared_bytes: i64,
    /// Blocks of the grid / multiprocessors.
    pub blocks_per_sm: f64,
}

impl Limits {
    /// The limits of a described device; what its description leaves out is that of its compute capability. `None` for
    /// anything but NVIDIA's: others record no registers, and their rules are others.
    pub fn for_device(device: &Device) -> Option<Limits> {
        let capability = (device.compute_major?, device.compute_minor?);
        if device.warp_size.is_some_and(|warp| warp != 32) {
            return None;
        }
        let known = by_capability(capability)?;
        let or = |described: Option<i64>, known: i64| described.filter(|&n| n > 0).unwrap_or(known);
        Some(Limits {
            multiprocessors: device.sms.filter(|&n| n > 0),
            threads: or(device.max_threads_per_sm, known.threads),
            registers: or(device.registers_per_sm, known.registers),
            shared_bytes: or(device.shared_memory_per_sm_bytes, known.shared_bytes),
            ..known
        })
    }

    /// Blocks of this form that one multiprocessor holds at a time; 0 if not even one fits.
    pub fn resident_blocks(&self, launch: &Launch) -> i64 {
        let warps = up(launch.threads, self.warp) / self.warp;
        if warps <= 0 || launch.registers < 0 || launch.shared_bytes < 0 {
            return 0;
        }
        let mut blocks = self.blocks.min(self.threads / self.warp / warps);
        if launch.registers > 0 {
            let of_warp = up(launch.registers.saturating_mul(self.warp), REGISTERS_AT_ONCE);
            let in_part = self.registers / self.partitions / of_warp.max(1);
            blocks = blocks.min(in_part * self.partitions / warps);
        }
        let shared = up(launch.shared_bytes.saturating_add(self.reserved_bytes), self.shared_at_once);
        if shared > 0 {
            blocks = blocks.min(self.shared_bytes / shared);
        }
        blocks
    }

    /// Warps that are resident on average over the multiprocessors / the most they hold, in percent: never more blocks
    /// than the grid has for each. `None` if the launch does not fit at all, so something about it is not as recorded.
    pub fn percent(&self, launch: &Launch) -> Option<f64> {
        let resident = self.resident_blocks(launch);
        if resident == 0 || !launch.blocks_per_sm.is_finite() || launch.blocks_per_sm <= 0.0 {
            return None;
        }
        let threads = launch.blocks_per_sm.min(resident as f64) * launch.threads as f64;
        Some((threads / self.threads.max(1) as f64 * 100.0).min(100.0))
    }
}

/// The next multiple.
fn up(n: i64, of: i64) -> i64 {
    n.max(0).saturating_add(of - 1) / of * of
}

/// What the CUDA programming guide's table of compute capabilities says.
fn by_capability(capability: (i64, i64)) -> Option<Limits> {
    let (threads, blocks, shared_kib) = match capability {
        (5, 0) => (2048, 32, 64),
        (5, 2) => (2048, 32, 96),
        (5, 3) => (2048, 32, 64),
        (6, 0) => (2048, 32, 64),
        (6, 1) => (2048, 32, 96),
        (6, 2) => (2048, 32, 64),
        (7, 0 | 2) => (2048, 32, 96),
        (7, 5) => (1024, 16, 64),
        (8, 0) => (2048, 32, 164),
        (8, 6) => (1536, 16, 100),
        (8, 7) => (1536, 16, 164),
        (8, 9) => (1536, 24, 100),
        (9, 0) | (10, 0 | 1 | 3) => (2048, 32, 228),
        (11, 0) => (1536, 24, 228),
        (12, 0 | 1) => (1536, 24, 100),
        _ => return None,
    };
    let ampere = capability.0 >= 8;
    Some(Limits {
        multiprocessors: None,
        warp: 32,
        threads,
        blocks,
        registers: if capability == (5, 3) { 32 << 10 } else { 64 << 10 },
        partitions: if capability == (6, 0) { 2 } else { 4 },
        shared_bytes: shared_kib << 10,
        reserved_bytes: if ampere { 1 << 10 } else { 0 },
        shared_at_once: if ampere { 128 } else { 256 },
    })
}

/// The occupancy of a trace's kernels.
pub(crate) struct Occupancy {
    described: HashMap<i64, Option<Limits>, RandomState>,
    /// What all described devices have in common; see [`stepscope_model::Meta::device_name`].
    alike: Option<Limits>,
}

impl Occupancy {
    pub(crate) fn new(trace: &Trace) -> Occupancy {
        let devices = &trace.meta().devices;
        let described: HashMap<_, _, _> = devices.iter().map(|d| (d.index, Limits::for_device(d))).collect();
        let first = devices.first().and_then(Limits::for_device);
        let alike = first.filter(|first| described.values().all(|limits| limits.as_ref() == Some(first)));
        Occupancy { described, alike }
    }

    /// A kernel's occupancy in percent: as recorded, or made here where that is 0 because the block has more shared
    /// memory than the profiler thinks possible. `None` if it is neither recorded nor can be made.
    pub(crate) fn percent(&self, device: Option<i64>, form: &KernelForm<'_>) -> Option<f64> {
        let beyond = form.shared_memory.is_some_and(|bytes| bytes > DEFAULT_SHARED_BYTES);
        match form.occupancy.filter(|p| p.is_finite() && *p >= 0.0) {
            Some(recorded) if recorded > 0.0 || !beyond => Some(recorded),
            _ => self.estimate(device, form),
        }
    }

    fn estimate(&self, device: Option<i64>, form: &KernelForm<'_>) -> Option<f64> {
        let described = device.and_then(|device| self.described.get(&device));
        let limits = match described {
            Some(limits) => limits.as_ref()?,
            None => self.alike.as_ref()?,
        };
        let counted = || Some(product(form.grid?)? as f64 / limits.multiprocessors? as f64);
        let launch = Launch {
            threads: product(form.block?)?,
            registers: form.registers?,
            shared_bytes: form.shared_memory?,
            blocks_per_sm: form.blocks_per_sm.filter(|blocks| *blocks > 0.0).or_else(counted)?,
        };
        limits.percent(&launch)
    }
}

/// `[16, 8, 1]` as 128.
fn product(list: &str) -> Option<i64> {
    let inner = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    inner.split(',').try_fold(1i64, |all, n| all.checked_mul(n.trim().parse().ok()?)).filter(|&n| n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(capability: (i64, i64)) -> Device {
        let (compute_major, compute_minor) = (Some(capability.0), Some(capability.1));
        Device { compute_major, compute_minor, ..Device::default() }
    }

    #[test]
    fn a_matrix_product_of_an_h200_worked_by_hand() {
        let h200 = Limits::for_device(&device((9, 0))).unwrap();
        // nvjet: 168 registers x 32 = 5376 for a warp; 16,384 of a partition hold 3 of them, so 12 of 64 warps.
        let nvjet = Launch { threads: 384, registers: 168, shared_bytes: 200 << 10, blocks_per_sm: 3.0 };
        assert_eq!(h200.resident_blocks(&nvjet), 1);
        assert_eq!(h200.percent(&nvjet), Some(18.75));
        // A grid of 66 blocks fills half of 132 multiprocessors.
        assert_eq!(h200.percent(&Launch { blocks_per_sm: 0.5, ..nvjet }), Some(9.375));
        // 100 KiB and one reserved: two of them in 228.
        let two = Launch { threads: 128, registers: 32, shared_bytes: 100 << 10, blocks_per_sm: 8.0 };
        assert_eq!((h200.resident_blocks(&two), h200.percent(&two)), (2, Some(12.5)));
        // More than a multiprocessor has: not as recorded.
        assert_eq!(h200.percent(&Launch { shared_bytes: 228 << 10, ..two }), None);
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        assert_eq!(Limits::for_device(&Device::default()), None);
        assert_eq!(Limits::for_device(&device((42, 0))), None);
        // AMD's gfx90a calls itself 9.0 as well.
        assert_eq!(Limits::for_device(&Device { warp_size: Some(64), ..device((9, 0)) }), None);
        assert_eq!(
            (product("[16, 8, 1]"), product("[16,8]"), product("[0, 1, 1]")),
            (Some(128), Some(128), None)
        );
        assert_eq!((product(""), product("[9000000000, 9000000000, 9]")), (None, None));
        let h200 = Limits::for_device(&device((9, 0))).unwrap();
        for (threads, registers, shared_bytes) in
            [(0, 1, 1), (-5, 1, 1), (1, i64::MAX, 1), (1, 1, i64::MAX), (1, -1, -1)]
        {
            let launch = Launch { threads, registers, shared_bytes, blocks_per_sm: 1.0 };
            assert_eq!(h200.percent(&launch), None, "{launch:?}");
        }
    }
}

//! The profiler's estimates beside each kernel, gathered into numbers of a device.

use rayon::prelude::*;
use stepscope_model::{Ns, SliceId, Trace};

use crate::devices::kernel_form::KernelForm;
use crate::devices::occupancy::Occupancy;
use crate::scope::selection::device_of;

/// One whole: a multiprocessor filled with blocks, or full occupancy.
pub(crate) const WHOLE: i64 = 1_000_000_000;

/// A kernel and the part of its time that counts.
pub(crate) type Clipped = (SliceId, Ns, Ns);

/// The numbers of one device.
#[derive(Default)]
pub(crate) struct Estimates {
    pub(crate) sm_efficiency: Option<f64>,
    pub(crate) occupancy: Option<f64>,
    /// Kernel time that the SM efficiency rests on.
    pub(crate) sm_known: Ns,
    /// Kernel time that the occupancy rests on.
    pub(crate) occupancy_known: Ns,
}

impl Estimates {
    /// The numbers of these kernels over a window of this length.
    pub(crate) fn for_kernels(
        trace: &Trace,
        occupancy: &Occupancy,
        kernels: &[Clipped],
        window: Ns,
    ) -> Estimates {
        // Unpacking arguments is nearly all of the work here, and each kernel's stand alone.
        let both = |kernel: SliceId| {
            let form = KernelForm::read(trace, kernel);
            let percent = occupancy.percent(device_of(trace, kernel), &form);
            (filling(&form), percent.map(|percent| level(percent / 100.0)))
        };
        let levels: Vec<_> = kernels.par_iter().with_min_len(4096).map(|k| both(k.0)).collect();
        let mut estimates = Estimates::default();
        // Where the sum of blocks per SM rises or falls. Integers, so that what rose falls back to zero exactly.
        let mut changes: Vec<(Ns, i64)> = Vec::new();
        let mut occupancy_time = 0i128;
        for (&(_, start, end), (blocks, occupancy)) in kernels.iter().zip(levels) {
            if let Some(level) = blocks {
                changes.extend([(start, level), (end, -level)]);
                estimates.sm_known += end - start;
            }
            if let Some(level) = occupancy {
                occupancy_time += i128::from(level) * i128::from((end - start).0);
                estimates.occupancy_known += end - start;
            }
        }
        if estimates.sm_known > Ns::ZERO && window > Ns::ZERO {
            estimates.sm_efficiency = Some(share(filled(changes), window));
        }
        if estimates.occupancy_known > Ns::ZERO {
            estimates.occupancy = Some(share(occupancy_time, estimates.occupancy_known));
        }
        estimates
    }
}

/// How far a kernel's blocks fill the multiprocessors, in parts of [`WHOLE`].
pub(crate) fn blocks_level(trace: &Trace, kernel: SliceId) -> Option<i64> {
    filling(&KernelForm::read(trace, kernel))
}

/// One kernel alone may fill its multiprocessors many times over; more than once does not count.
fn filling(form: &KernelForm<'_>) -> Option<i64> {
    form.blocks_per_sm.filter(|&blocks| blocks > 0.0).map(level)
}

fn level(share: f64) -> i64 {
    (share.min(1.0) * WHOLE as f64).round() as i64
}

/// The integral over time of a sum that rises and falls, at most [`WHOLE`] of it.
fn filled(mut changes: Vec<(Ns, i64)>) -> i128 {
    // One stream without overlaps is sorted already; several are a few sorted runs.
    changes.sort_by_key(|change| change.0);
    let (mut level, mut since, mut filled) = (0i64, Ns::ZERO, 0i128);
    for (at, change) in changes {
        filled += i128::from(level.min(WHOLE)) * i128::from((at - since).0);
        level += change;
        since = at;
    }
    filled
}

fn share(filled: i128, of: Ns) -> f64 {
    filled as f64 / (i128::from(of.0) * i128::from(WHOLE)) as f64
}

//! What is asked of a run as one number: samples per step, utilization, energy.

use super::Run;
use crate::devices::energy::power_w;
use crate::roofline::RooflineBy;
use crate::steps::samples::{Samples, samples};

impl Run {
    /// The samples of its steps; none if the program did not say.
    pub fn samples(&self) -> Option<Samples> {
        samples(self.trace(), self.steps())
    }

    /// The share of the devices' peak arithmetic that its steps use; none without steps or device work.
    pub fn mfu(&self) -> Option<f64> {
        let launched = self.steps().steps.iter().any(|step| step.device_slices > 0);
        if self.steps().synthetic || !launched {
            return None;
        }
        self.roofline(RooflineBy::default()).mean.mfu
    }

    /// The energy of all devices per step, in joules; none if no monitor read it.
    pub fn energy_j_per_step(&self) -> Option<f64> {
        let watts = power_w(self.trace(), self.steps().window()?)?;
        Some(watts * self.step_ns() as f64 / 1e9)
    }
}

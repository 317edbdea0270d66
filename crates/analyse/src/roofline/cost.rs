//! What one call of an operator costs at the least, and how long a device would take for that.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Ns;

use super::hardware::Hardware;
use super::number::{Pipe, Precision};

/// What kind of work an operator does.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Gemm,
    /// Convolutions and their gradients.
    Convolution,
    /// Fused attention and its gradient.
    Attention,
    /// Layer, batch, group and RMS normalization.
    Normalization,
    /// Softmax and its logarithm.
    Softmax,
    Loss,
    /// One result for each element.
    Elementwise,
    /// Moving elements without arithmetic: copies, casts, concatenation, fills.
    Copy,
    /// Many elements to one.
    Reduction,
    /// Reading or writing at places that an index tensor names.
    Indexing,
    /// Updates of parameters, lists of tensors at a time.
    Optimizer,
    Pooling,
    /// Whatever a compiler fused into one kernel.
    Compiled,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Family::Gemm => "gemm",
            Family::Convolution => "convolution",
            Family::Attention => "attention",
            Family::Normalization => "normalization",
            Family::Softmax => "softmax",
            Family::Loss => "loss",
            Family::Elementwise => "elementwise",
            Family::Copy => "copy",
            Family::Reduction => "reduction",
            Family::Indexing => "indexing",
            Family::Optimizer => "optimizer",
            Family::Pooling => "pooling",
            Family::Compiled => "compiled",
        }
    }
}

/// The least that one call must do: every input read once, every output written once, and the arithmetic that
/// its definition asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cost {
    /// What kind of work it is.
    pub family: Family,
    /// Floating-point operations; a multiplication with an addition counts as two.
    pub flops: u64,
    /// Those of them that repeat work of the forward pass because the kernel kept no copy of its result (fused
    /// attention backwards): done by the device, but no part of the model's arithmetic.
    pub recomputed: u64,
    pub read: u64,
    pub written: u64,
    /// The arithmetic, as far as the inputs' type tells.
    pub precision: Precision,
    /// The type of its tensors; `None` for integers and types that matrix products do not use.
    pub data: Option<Precision>,
    /// Which part of the device does it.
    pub pipe: Pipe,
}

impl Cost {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.read.saturating_add(self.written)
    }

    /// Floating-point operations per byte; `None` without bytes.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes() > 0).then(|| self.flops as f64 / self.bytes() as f64)
    }
}

/// What limits a call on a device that wastes nothing.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Arithmetic takes longer than moving the bytes.
    Compute,
    /// Moving the bytes takes longer than the arithmetic.
    Memory,
    /// The bytes cross the bus between host and device.
    HostBus,
}

impl Bound {
    pub fn name(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
            Bound::HostBus => "host_bus",
        }
    }
}

/// How long a call takes at a device's peaks, in nanoseconds, by what limits it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Ideal {
    pub compute_ns: f64,
    /// Moving the bytes to and from the device's memory alone.
    pub memory_ns: f64,
    /// Moving the bytes over the host's bus alone; zero for anything but copies between host and device.
    pub host_bus_ns: f64,
}

impl Ideal {
    /// The roofline time: the parts overlap perfectly, so the longest of them.
    pub fn ns(&self) -> f64 {
        self.compute_ns.max(self.memory_ns).max(self.host_bus_ns)
    }

    /// The longest part; `None` if there is nothing to do.
    pub fn bound(&self) -> Option<Bound> {
        if self.ns() <= 0.0 {
            None
        } else if self.host_bus_ns >= self.compute_ns.max(self.memory_ns) {
            Some(Bound::HostBus)
        } else if self.compute_ns > self.memory_ns {
            Some(Bound::Compute)
        } else {
            Some(Bound::Memory)
        }
    }
}

/// The roofline time of a cost by its parts. `precision` is what the arithmetic really ran in, which a kernel's
/// name may know better than the inputs' type ([`Precision::Tf32`]). `None` if the device has no peak for it:
/// work without arithmetic needs none.
pub fn ideal(cost: &Cost, hardware: &Hardware, precision: Precision) -> Option<Ideal> {
    let compute_ns = match cost.flops {
        0 => 0.0,
        // 1 TFLOP/s is a thousand operations a nanosecond.
        flops => flops as f64 / (hardware.peak_tflops(precision, cost.pipe)? * 1e3),
    };
    // 1 GB/s is a byte a nanosecond.
    Some(Ideal { compute_ns, memory_ns: cost.bytes() as f64 / hardware.memory_gbs, host_bus_ns: 0.0 })
}

/// The roofline time of a cost, rounded up to whole nanoseconds; see [`ideal`].
pub fn ideal_ns(cost: &Cost, hardware: &Hardware, precision: Precision) -> Option<Ns> {
    // Casts from floats saturate, so a wild cost is a long time and not a wrong one.
    ideal(cost, hardware, precision).map(|ideal| Ns(ideal.ns().ceil() as i64))
}

/// The time of a copy between host and device: the bytes cross the bus once, whatever is read and written.
pub(super) fn ideal_over_host_bus(cost: &Cost, hardware: &Hardware) -> Ideal {
    Ideal { host_bus_ns: cost.written as f64 / hardware.host_bus_gbs, ..Ideal::default() }
}

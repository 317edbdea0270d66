//! What devices can do at most, by the numbers of their makers.
//!
//! All rates are dense: makers like to print the rate for matrices of which every other element is zero, which
//! is twice as high and which PyTorch does not reach. Rates hold at the boost clock of the data sheet; a device
//! that clocks higher for a while may pass them by a few percent. A device whose name is not in the table has the
//! peaks of the one there with its compute capability, multiprocessors and memory; without such a one it has none.

mod amd;
mod capability;
mod geforce;
mod nvidia;
mod row;
mod table;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Device, Trace};

use super::number::{Pipe, Precision};

/// How a device's peaks were found.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeaksBy {
    /// The table has its name.
    Name,
    /// The table has a device of its compute capability, multiprocessors and memory.
    Capability,
}

/// One device's peaks. Rates in TFLOP/s (for `int8`: tera-operations) and GB/s, both decimal.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hardware {
    pub name: &'static str,
    /// `double`.
    pub fp64: Option<f64>,
    /// `double` in matrix products, where that is faster.
    pub fp64_matrix: Option<f64>,
    /// `float`.
    pub fp32: f64,
    /// `float` in matrix products without rounding, where that is faster.
    pub fp32_matrix: Option<f64>,
    /// `float` in matrix products, rounded.
    pub tf32: Option<f64>,
    /// `half` in matrix products that are summed in `float`, as PyTorch asks for.
    pub fp16: Option<f64>,
    /// The same for `bfloat16`.
    pub bf16: Option<f64>,
    /// The same for 8-bit floats.
    pub fp8: Option<f64>,
    /// 8-bit integers.
    pub int8: Option<f64>,
    /// 4-bit floats.
    pub fp4: Option<f64>,
    pub memory_gbs: f64,
    /// Memory in GB (decimal, as sold).
    pub memory_gb: u32,
    /// Streaming multiprocessors or compute units.
    pub units: u32,
    /// The bus to the host, one direction.
    pub host_bus_gbs: f64,
    /// All links to other devices together, one direction.
    pub link_gbs: Option<f64>,
}

impl Hardware {
    /// The entry of a device by its product name as the driver gives it (`NVIDIA H100 80GB HBM3`).
    pub fn find(name: &str) -> Option<&'static Hardware> {
        table::find(name)
    }

    /// The entry of a described device: by its name, else by its compute capability, multiprocessors and memory.
    pub fn for_device(device: &Device) -> Option<(&'static Hardware, PeaksBy)> {
        let named = Hardware::find(&device.name).map(|hardware| (hardware, PeaksBy::Name));
        named.or_else(|| Some((capability::find(device)?, PeaksBy::Capability)))
    }

    /// The peak rate of some arithmetic; `None` if the device does not have it or its maker does not say.
    pub fn peak_tflops(&self, precision: Precision, pipe: Pipe) -> Option<f64> {
        match (pipe, precision) {
            (Pipe::Vector, Precision::Fp64) => self.fp64,
            (Pipe::Vector, _) => Some(self.fp32),
            (Pipe::Matrix, Precision::Fp64) => self.fp64_matrix.or(self.fp64),
            (Pipe::Matrix, Precision::Fp32) => Some(self.fp32_matrix.unwrap_or(self.fp32)),
            (Pipe::Matrix, Precision::Tf32) => self.tf32,
            (Pipe::Matrix, Precision::Fp16) => self.fp16,
            (Pipe::Matrix, Precision::Bf16) => self.bf16,
            (Pipe::Matrix, Precision::Fp8) => self.fp8,
            (Pipe::Matrix, Precision::Int8) => self.int8,
            (Pipe::Matrix, Precision::Fp4) => self.fp4,
        }
    }
}

/// Every device of the table.
pub fn known() -> impl Iterator<Item = &'static Hardware> {
    table::all()
}

/// The entries of a trace's devices, each looked up once.
pub(super) struct Devices<'a> {
    trace: &'a Trace,
    found: Vec<(Option<i64>, Option<&'static Hardware>)>,
}

impl<'a> Devices<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Devices { trace, found: Vec::new() }
    }

    pub(super) fn get(&mut self, device: Option<i64>) -> Option<&'static Hardware> {
        if let Some(&(_, hardware)) = self.found.iter().find(|(known, _)| *known == device) {
            return hardware;
        }
        let hardware =
            self.trace.meta().described(device).and_then(Hardware::for_device).map(|(hardware, _)| hardware);
        self.found.push((device, hardware));
        hardware
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_names_find_their_device() {
        let name = |text: &str| Hardware::find(text).map(|h| h.name);
        for (text, expected) in [
            ("NVIDIA H200", "H200 SXM"),
            ("NVIDIA H200 NVL", "H200 NVL"),
            ("NVIDIA H100 80GB HBM3", "H100 SXM"),
            ("NVIDIA H100 PCIe", "H100 PCIe"),
            ("NVIDIA H100 NVL", "H100 NVL"),
            ("NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB"),
            ("NVIDIA A100-SXM4-40GB", "A100 SXM 40 GB"),
            ("A100-SXM4-40GB", "A100 SXM 40 GB"),
            ("NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB"),
            ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40 GB"),
            ("Tesla V100-SXM2-32GB", "V100 SXM2"),
            ("Tesla V100-DGXS-32GB", "V100 SXM2"),
            ("Tesla V100-PCIE-16GB", "V100 PCIe"),
            ("Tesla V100S-PCIE-32GB", "V100S PCIe"),
            ("Tesla T4", "T4"),
            ("NVIDIA A10", "A10"),
            ("NVIDIA A10G", "A10G"),
            ("NVIDIA L4", "L4"),
            ("NVIDIA L40", "L40"),
            ("NVIDIA L40S", "L40S"),
            ("NVIDIA B200", "B200"),
            ("NVIDIA GB200", "GB200"),
            ("NVIDIA GH200 480GB", "GH200 96 GB"),
            ("AMD Instinct MI300X", "MI300X"),
            ("AMD Instinct MI300X OAM", "MI300X"),
            ("AMD Instinct MI250X", "MI250X (one die)"),
            ("AMD Instinct MI250X/MI250", "MI250X (one die)"),
            ("AMD Instinct MI250", "MI250 (one die)"),
            ("AMD Instinct MI355X", "MI355X"),
            ("NVIDIA GeForce RTX 3090", "RTX 3090"),
            ("NVIDIA GeForce RTX 3090 Ti", "RTX 3090 Ti"),
            ("NVIDIA GeForce RTX 4080 SUPER", "RTX 4080 SUPER"),
            ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti SUPER"),
            ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ] {
            assert_eq!(name(text), Some(expected), "{text}");
        }
        // Of a slower kind, of no kind yet, or a part of a device.
        for text in [
            "",
            "NVIDIA",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "NVIDIA GeForce RTX 5090 D",
            "NVIDIA H20",
            "NVIDIA H800",
            "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
            "AMD Radeon RX 7900 XTX",
            "cpu",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }

    #[test]
    fn the_table_holds_together() {
        for device in known() {
            let name = device.name;
            let rates = [device.fp32, device.memory_gbs, device.host_bus_gbs];
            assert!(rates.iter().all(|r| r.is_finite() && *r > 0.0), "{name}");
            assert!(device.memory_gb > 0 && device.units > 0, "{name}");
            // Halving the width never slows a product down, and sparse rates have slipped in nowhere: the step
            // from one width to the next is two, or four on parts whose `float` has no tensor cores.
            let steps = [(device.tf32, device.bf16), (device.bf16, device.fp8), (device.fp8, device.fp4)];
            for (wide, narrow) in steps {
                if let (Some(wide), Some(narrow)) = (wide, narrow) {
                    assert!((1.9..4.1).contains(&(narrow / wide)), "{name}: {wide} {narrow}");
                }
            }
            if let (Some(fp16), Some(bf16)) = (device.fp16, device.bf16) {
                assert!((0.9..2.1).contains(&(fp16 / bf16)), "{name}");
            }
        }
    }

    #[test]
    fn peaks_by_precision_and_pipe() {
        let h200 = Hardware::find("NVIDIA H200").unwrap();
        assert_eq!(h200.peak_tflops(Precision::Bf16, Pipe::Matrix), Some(989.4));
        assert_eq!(h200.peak_tflops(Precision::Bf16, Pipe::Vector), Some(66.9));
        assert_eq!(h200.peak_tflops(Precision::Fp32, Pipe::Matrix), Some(66.9));
        assert_eq!(h200.peak_tflops(Precision::Tf32, Pipe::Matrix), Some(494.7));
        assert_eq!(h200.peak_tflops(Precision::Fp64, Pipe::Matrix), Some(66.9));
        let t4 = Hardware::find("Tesla T4").unwrap();
        assert_eq!(t4.peak_tflops(Precision::Bf16, Pipe::Matrix), None);
    }
}

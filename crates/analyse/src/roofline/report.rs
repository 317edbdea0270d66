//! The rows and totals of a roofline report.

use schemars::JsonSchema;
use serde::Serialize;

use super::cost::{Bound, Family};
use super::costs::NoCost;
use super::hardware::{Hardware, PeaksBy};
use super::mfu::{MeanUse, StepUse};
use super::number::Precision;

/// Why a row is faster than its roofline.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverPeak {
    /// Its bytes moved faster than memory can.
    Cache,
    /// Its arithmetic ran faster than the peak.
    Arithmetic,
    /// A copy outran the bus that the table has for the device.
    HostBus,
}

impl OverPeak {
    /// A sentence for the reader.
    pub fn sentence(self) -> &'static str {
        match self {
            OverPeak::Cache => {
                "faster than memory allows: some of the bytes never left the cache (they were written just before, or \
                 an index names few rows), or fewer were needed than the shapes say"
            }
            OverPeak::Arithmetic => {
                "faster than the peak allows: the device clocks above its data sheet, the arithmetic is narrower than \
                 the inputs' type, or less is computed than the formula counts (a mask, zeros)"
            }
            OverPeak::HostBus => {
                "faster than the table's bus: the host has a faster one, or nothing was copied"
            }
        }
    }
}

/// One operator, or one operator with one set of shapes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RooflineRow {
    pub name: String,
    /// What kind of work it does.
    pub family: Family,
    /// Sizes of its inputs, if rows are by shape.
    pub input_shapes: Option<String>,
    /// Types of its inputs, if rows are by shape.
    pub input_types: Option<String>,
    /// What products run in; `None` if its calls differ.
    pub precision: Option<Precision>,
    /// What products run in; for other work, the type of its tensors. `None` if its calls differ.
    pub dtype: Option<Precision>,
    pub calls: u64,
    /// Kernels, copies and memsets.
    pub kernels: u64,
    pub device_ns: i64,
    /// Device time / all device time.
    pub share: Option<f64>,
    pub flops: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// FLOPs / device time.
    pub tflops: Option<f64>,
    /// Bytes / device time.
    pub gbs: Option<f64>,
    pub intensity: Option<f64>,
    /// The roofline time; `None` if the device is not known.
    pub ideal_ns: Option<i64>,
    /// What takes most of it.
    pub bound: Option<Bound>,
    /// Ideal / device time.
    pub of_roofline: Option<f64>,
    /// Time of the FLOPs at peak / device time.
    pub of_compute_peak: Option<f64>,
    /// Time of the bytes at peak / device time.
    pub of_bandwidth: Option<f64>,
    /// What to think of it where it is faster than its roofline.
    pub note: Option<OverPeak>,
}

/// Device work without a cost, by the operator that launched it (by its own name where none did).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnmodeledRow {
    /// The operator, or the kernel.
    pub name: String,
    /// Why it has none.
    pub reason: NoCost,
    /// Kernels, copies and memsets.
    pub kernels: u64,
    pub device_ns: i64,
    /// Device time / all device time.
    pub share: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Roofline {
    /// The devices that ran anything with a cost, by number, with what is known of them.
    pub devices: Vec<RooflineDevice>,
    /// Operators with a cost, the longest device time first.
    pub rows: Vec<RooflineRow>,
    /// Device work without, likewise.
    pub unmodeled: Vec<UnmodeledRow>,
    /// The summed durations of all selected device work: that of the rows and of the unmodeled.
    pub device_ns: i64,
    /// The part of it with a cost.
    pub modeled_ns: i64,
    /// The same as a fraction; `None` without any device work.
    pub modeled_share: Option<f64>,
    /// FLOPs of all rows.
    pub flops: u64,
    /// Bytes of all rows.
    pub bytes: u64,
    /// The roofline time of all rows whose device is known.
    pub ideal_ns: Option<i64>,
    /// Bytes of all rows / their device time.
    pub modeled_gbs: Option<f64>,
    /// How well each step that is selected whole uses the devices.
    pub steps: Vec<StepUse>,
    /// Over the steps that are not partial.
    pub mean: MeanUse,
}

/// A device and its peaks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RooflineDevice {
    pub device: Option<i64>,
    /// Its product name, if the file says.
    pub name: Option<String>,
    /// Its peaks, if the table has it or one like it.
    pub hardware: Option<&'static Hardware>,
    /// How its peaks were found.
    pub peaks_by: Option<PeaksBy>,
}

//! What every row of the hardware tables has in common.

use super::Hardware;

/// The words that must stand in a name, and the device. The first row that fits counts.
pub(super) type Row = (&'static [&'static str], Hardware);

/// Everything a row leaves out.
pub(super) const NONE: Hardware = Hardware {
    name: "",
    fp64: None,
    fp64_matrix: None,
    fp32: 0.0,
    fp32_matrix: None,
    tf32: None,
    fp16: None,
    bf16: None,
    fp8: None,
    int8: None,
    fp4: None,
    memory_gbs: 0.0,
    memory_gb: 0,
    units: 0,
    host_bus_gbs: PCIE4,
    link_gbs: None,
};

/// Sixteen lanes, one direction.
pub(super) const PCIE3: f64 = 16.0;
pub(super) const PCIE4: f64 = 32.0;
pub(super) const PCIE5: f64 = 64.0;

/// A device like another, but for what is listed.
macro_rules! device {
    ($base:ident) => { $base };
    ($base:ident { $($field:ident: $value:expr),* }) => { Hardware { $($field: $value,)* ..$base } };
}

/// Words of a name, and the device.
macro_rules! rows {
    ($([$($word:literal),+] $base:ident $({ $($different:tt)* })?;)*) => {
        &[$((&[$($word),+], $crate::roofline::hardware::row::device!($base $({ $($different)* })?))),*]
    };
}

pub(super) use {device, rows};

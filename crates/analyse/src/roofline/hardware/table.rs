//! Finding a device by its name, and what every row of the table has in common.
//!
//! Figures are those of the makers' documents named above each group. A link's rate is half of what the maker
//! prints, which counts both directions.

use super::{Hardware, amd, geforce, nvidia};

/// The words that must stand in a name, and the device. The first row that fits counts.
pub(super) type Row = (&'static [&'static str], Hardware);

pub(super) fn all() -> impl Iterator<Item = &'static Hardware> {
    rows().map(|(_, hardware)| hardware)
}

fn rows() -> impl Iterator<Item = &'static Row> {
    nvidia::ROWS.iter().chain(amd::ROWS).chain(geforce::ROWS)
}

pub(super) fn find(name: &str) -> Option<&'static Hardware> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    // A part of a device, a device of a laptop or for one country has other figures than its namesake.
    if words.iter().any(|word| matches!(*word, "mig" | "laptop" | "max" | "d" | "mobile")) {
        return None;
    }
    let has = |word: &&str| words.contains(word);
    rows().find(|(with, _)| with.iter().all(has)).map(|(_, hardware)| hardware)
}

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

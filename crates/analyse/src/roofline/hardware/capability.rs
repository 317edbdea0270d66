//! Finding the peaks of a device whose name the table does not know.
//!
//! Makers sell one chip under several names: a V100-DGXS is a V100, an A100-PG509 an A100, and virtual machines rename
//! what they pass through. Compute capability (AMD: the `gfx` number), multiprocessors and memory tell which chip it
//! is. Nothing is scaled: a chip with another number of multiprocessors runs at another clock too, so it has no peaks
//! here rather than wrong ones.

use stepscope_model::Device;

use super::Hardware;
use super::table::{is_less, rows};

/// Threads of a warp, and the compute capability.
type Chip = (i64, i64, i64);

/// By the first word of a row's name: the chip. AMD's numbers are those of ROCm (`gfx90a` is 9.0, `gfx942` 9.4).
const CHIPS: &[(&[&str], Chip)] = &[
    (&["v100", "v100s"], (32, 7, 0)),
    (&["t4"], (32, 7, 5)),
    (&["a100", "a30"], (32, 8, 0)),
    (&["a10", "a10g", "a40", "a6000", "3090", "3080", "3070", "3060"], (32, 8, 6)),
    (&["l4", "l40", "l40s", "ada", "4090", "4080", "4070", "4060"], (32, 8, 9)),
    (&["h100", "h200", "gh200"], (32, 9, 0)),
    (&["b200", "gb200"], (32, 10, 0)),
    (&["5090", "5080", "5070", "5060"], (32, 12, 0)),
    (&["mi210", "mi250", "mi250x"], (64, 9, 0)),
    (&["mi300a", "mi300x", "mi325x"], (64, 9, 4)),
    (&["mi350x", "mi355x"], (64, 9, 5)),
];

/// Of the devices in the table with this chip and as many multiprocessors, the one whose memory is nearest; of equals
/// the fastest, which no kernel should pass.
pub(super) fn find(device: &Device) -> Option<&'static Hardware> {
    let name = device.name.to_ascii_lowercase();
    if name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_less) {
        return None;
    }
    let chip = (device.warp_size.unwrap_or(32), device.compute_major?, device.compute_minor?);
    let (words, _) = CHIPS.iter().find(|(_, known)| *known == chip)?;
    let units = device.sms?;
    let same = rows().filter(|(row, hardware)| {
        row.iter().any(|word| words.contains(word)) && i64::from(hardware.units) == units
    });
    let off = |hardware: &Hardware| {
        let bytes = device.total_memory_bytes.unwrap_or(0) as f64;
        let gb = f64::from(hardware.memory_gb);
        // Sold by the gigabyte, built by the gibibyte; the driver keeps a little for itself.
        if bytes > 0.0 { ((bytes / 1_073_741_824.0 - gb).abs() / gb * 100.0) as i64 } else { 0 }
    };
    let order = |hardware: &Hardware| {
        let rates = [hardware.bf16.or(hardware.fp16).unwrap_or(hardware.fp32), hardware.memory_gbs];
        (off(hardware), rates.map(|rate| std::cmp::Reverse((rate * 10.0) as i64)))
    };
    same.map(|(_, hardware)| hardware).min_by_key(|hardware| order(hardware))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::PeaksBy;

    fn device(name: &str, warp: i64, capability: (i64, i64), sms: i64, bytes: i64) -> Device {
        Device {
            name: name.to_owned(),
            warp_size: Some(warp),
            compute_major: Some(capability.0),
            compute_minor: Some(capability.1),
            sms: Some(sms),
            total_memory_bytes: Some(bytes),
            ..Device::default()
        }
    }

    #[test]
    fn one_chip_under_several_names() {
        // Descriptions as profilers wrote them.
        for (device, expected) in [
            (device("NVIDIA A100-PG509-200", 32, (8, 0), 108, 42_297_524_224), "A100 SXM 40 GB"),
            // Of an MI250; the MI210 has the same die and rates.
            (device("AMD Radeon Graphics", 64, (9, 0), 104, 68_702_699_520), "MI210"),
            (device("", 64, (9, 4), 304, 206_141_652_992), "MI300X"),
            (device("", 32, (9, 0), 132, 85_018_279_936), "H100 SXM"),
            (device("", 32, (9, 0), 132, 150_121_545_728), "H200 SXM"),
            (device("NVIDIA H800", 32, (9, 0), 132, 85_018_279_936), "H100 SXM"),
            (device("", 32, (10, 0), 148, 191_503_138_816), "B200"),
        ] {
            let (found, by) = Hardware::for_device(&device).unwrap();
            assert_eq!((found.name, by), (expected, PeaksBy::Capability), "{device:?}");
        }
        // A name in the table comes first, whatever else is said.
        let named = device("Tesla V100-SXM2-32GB", 32, (7, 0), 80, 34_079_637_504);
        assert_eq!(
            Hardware::for_device(&named).map(|(h, by)| (h.name, by)),
            Some(("V100 SXM2", PeaksBy::Name))
        );
    }

    #[test]
    fn another_chip_has_no_peaks() {
        for device in [
            Device::default(),
            device("NVIDIA H20", 32, (9, 0), 78, 102_000_000_000),
            device("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 32, (8, 0), 108, 5_000_000_000),
            device("NVIDIA GeForce RTX 4090 Laptop GPU", 32, (8, 9), 128, 16_000_000_000),
            device("NVIDIA from the future", 32, (42, 0), 132, 80_000_000_000),
            device("negative", 32, (9, 0), -132, i64::MIN),
        ] {
            assert_eq!(Hardware::for_device(&device), None, "{device:?}");
        }
    }
}

//! Which device a memory mark speaks of.

use crate::scope::selection::Selection;

/// A device as the marks name it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DeviceKey {
    /// PyTorch's device type number.
    pub(super) kind: Option<i64>,
    pub(super) id: Option<i64>,
    /// Everything past the limit on devices.
    pub(super) rest: bool,
}

impl DeviceKey {
    /// The one that represents all devices past the limit.
    pub(super) const REST: DeviceKey = DeviceKey { kind: None, id: None, rest: true };

    pub(super) fn label(self) -> String {
        if self.rest { "other devices".to_owned() } else { device_label(self.kind, self.id) }
    }

    /// Whether marks of this device are asked for.
    pub(super) fn counts(self, selection: &Selection) -> bool {
        // Of the devices past the limit the numbers are forgotten.
        if self.rest { selection.device.is_none() } else { device_counts(self.kind, self.id, selection) }
    }
}

/// Whether marks of a device are asked for: all of the host's, else by the device's number.
pub(crate) fn device_counts(kind: Option<i64>, id: Option<i64>, selection: &Selection) -> bool {
    is_host(kind) || selection.device.is_none_or(|wanted| id == Some(wanted))
}

/// Whether PyTorch's number of a device type means host memory: CPU, MKLDNN or IDEEP, or none given.
pub(crate) fn is_host(kind: Option<i64>) -> bool {
    matches!(kind, None | Some(0 | 2 | 5))
}

/// What a device is called: `CPU`, `CUDA 0`, `HIP 1`. The numbers are PyTorch's `c10::DeviceType`.
pub fn device_label(kind: Option<i64>, id: Option<i64>) -> String {
    let name = match kind {
        Some(0) => "CPU",
        Some(1) => "CUDA",
        Some(2) => "MKLDNN",
        Some(3) => "OpenGL",
        Some(4) => "OpenCL",
        Some(5) => "IDEEP",
        Some(6) => "HIP",
        Some(7) => "FPGA",
        Some(8) => "MAIA",
        Some(9) => "XLA",
        Some(10) => "Vulkan",
        Some(11) => "Metal",
        Some(12) => "XPU",
        Some(13) => "MPS",
        Some(14) => "Meta",
        Some(15) => "HPU",
        Some(16) => "VE",
        Some(17) => "Lazy",
        Some(18) => "IPU",
        Some(19) => "MTIA",
        Some(20) => "PrivateUse1",
        Some(other) => return label(&format!("device type {other}"), id),
        None => return label("unknown device", id),
    };
    label(name, id)
}

fn label(name: &str, id: Option<i64>) -> String {
    // The host's number is −1, which says nothing.
    match id {
        Some(id) if id >= 0 => format!("{name} {id}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_asked_for_by_number_and_the_host_always() {
        let one = Selection { device: Some(1), ..Selection::all() };
        for kind in [None, Some(0), Some(2), Some(5)] {
            assert!(device_counts(kind, Some(0), &one), "{kind:?}");
        }
        assert!(device_counts(Some(1), Some(1), &one) && device_counts(Some(1), None, &Selection::all()));
        assert!(!device_counts(Some(1), Some(0), &one) && !device_counts(Some(6), None, &one));
        assert!(!DeviceKey::REST.counts(&one) && DeviceKey::REST.counts(&Selection::all()));
    }

    #[test]
    fn devices_have_the_names_people_use() {
        assert_eq!(device_label(Some(0), Some(-1)), "CPU");
        assert_eq!(device_label(Some(1), Some(3)), "CUDA 3");
        assert_eq!(device_label(Some(6), Some(0)), "HIP 0");
        assert_eq!(device_label(Some(99), Some(0)), "device type 99 0");
        assert_eq!(device_label(None, None), "unknown device");
    }
}

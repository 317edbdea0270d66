//! The texts in which a kernel's launch and a copy are described: `regs:32 grid:8,1,1 block:128,1,1`.

/// No device gives a thread more registers; files that claim more hold garbage (seen: 2,191,500,840).
const MAX_REGISTERS: i64 = 1024;

/// How a kernel was launched. What the text does not say, or says impossibly, is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Launch {
    pub(super) grid: Option<[i64; 3]>,
    pub(super) block: Option<[i64; 3]>,
    pub(super) registers: Option<i64>,
    pub(super) shared_bytes: Option<i64>,
    /// Memory of a thread, which AMD calls private.
    pub(super) private_bytes: Option<i64>,
    /// The most warps that its resources allow, in percent; AMD's profiler writes 0 where it does not know.
    pub(super) occupancy: Option<f64>,
    /// Whether the registers are more than there can be.
    pub(super) impossible: bool,
}

/// Reads `kernel_details`, as CUDA (`regs: static_shared: dynamic_shared: grid: block: occ_pct:`) and ROCm (`grid: block:
/// private_mem: group_mem: occ_pct:`) write them.
pub(super) fn launch(text: &str) -> Launch {
    let mut launch = Launch::default();
    let (mut shared, mut any_shared) = (0i64, false);
    for (key, value) in pairs(text) {
        let number = || value.parse::<i64>().ok().filter(|&number| number >= 0);
        match key {
            "grid" => launch.grid = three(value),
            "block" => launch.block = three(value),
            "regs" => launch.registers = number(),
            "static_shared" | "dynamic_shared" | "group_mem" => {
                if let Some(bytes) = number() {
                    shared = shared.saturating_add(bytes);
                    any_shared = true;
                }
            }
            "private_mem" => launch.private_bytes = number(),
            "occ_pct" => {
                launch.occupancy =
                    value.parse().ok().filter(|&percent: &f64| percent > 0.0 && percent <= 100.0);
            }
            _ => {}
        }
    }
    launch.shared_bytes = any_shared.then_some(shared);
    if launch.registers.is_some_and(|registers| registers > MAX_REGISTERS) {
        launch.impossible = true;
        (launch.registers, launch.shared_bytes) = (None, None);
    }
    launch
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Copy<'a> {
    pub(super) from: Option<&'a str>,
    pub(super) to: Option<&'a str>,
    pub(super) bytes: Option<i64>,
    pub(super) asynchronous: bool,
}

/// Reads `memcpy_details` and `memset_details`.
pub(super) fn copy(text: &str) -> Copy<'_> {
    let mut copy = Copy::default();
    for (key, value) in pairs(text) {
        match key {
            "kind_src" => copy.from = known(value),
            "kind_dst" | "kind" => copy.to = known(value),
            // ROCm writes 0 where it does not know.
            "size" | "num_bytes" => copy.bytes = value.parse().ok().filter(|&bytes: &i64| bytes > 0),
            "async" => copy.asynchronous = value == "1",
            _ => {}
        }
    }
    copy
}

fn known(memory: &str) -> Option<&str> {
    Some(memory).filter(|memory| !memory.is_empty() && !memory.eq_ignore_ascii_case("unknown"))
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_ascii_whitespace().filter_map(|word| word.split_once(':'))
}

fn three(text: &str) -> Option<[i64; 3]> {
    let mut numbers = text.split(',').map(|number| number.parse().ok().filter(|&number: &i64| number >= 0));
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The name of a copy as other traces write it: `Memcpy HtoD (Pinned -> Device)`. None if the name says no direction.
pub(super) fn copy_name(name: &str, details: Copy<'_>) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let any = |words: [&str; 3]| words.iter().any(|word| lower.contains(word));
    let (short, from, to) = if any(["h2d", "htod", "hosttodevice"]) {
        ("HtoD", details.from.unwrap_or("Host"), details.to.unwrap_or("Device"))
    } else if any(["d2h", "dtoh", "devicetohost"]) {
        ("DtoH", details.from.unwrap_or("Device"), details.to.unwrap_or("Host"))
    } else if any(["p2p", "ptop", "peer"]) {
        ("PtoP", details.from.unwrap_or("Device"), details.to.unwrap_or("Device"))
    } else if any(["d2d", "dtod", "devicetodevice"]) {
        ("DtoD", details.from.unwrap_or("Device"), details.to.unwrap_or("Device"))
    } else {
        return None;
    };
    Some(format!("Memcpy {short} ({} -> {})", capitalized(from), capitalized(to)))
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_both_vendors_are_read() {
        let cuda =
            launch("regs:167 static_shared:16 dynamic_shared:147456 grid:128,2,1 block:128,1,1 occ_pct:6.25");
        assert_eq!((cuda.grid, cuda.block), (Some([128, 2, 1]), Some([128, 1, 1])));
        assert_eq!((cuda.registers, cuda.shared_bytes, cuda.impossible), (Some(167), Some(147_472), false));
        assert_eq!(cuda.occupancy, Some(6.25));
        let rocm = launch(" grid:11,16,2 block:256,1,1 private_mem:128 group_mem:98304 occ_pct:0");
        assert_eq!((rocm.registers, rocm.shared_bytes, rocm.private_bytes), (None, Some(98_304), Some(128)));
        assert_eq!(rocm.occupancy, None);
    }

    #[test]
    fn impossible_registers_are_unknown() {
        let text =
            "regs:2191500840 static_shared:32462 dynamic_shared:0 grid:69840,1,1 block:256,1,1 occ_pct:0";
        let launch = launch(text);
        assert_eq!((launch.registers, launch.shared_bytes), (None, None));
        assert!(launch.impossible);
        assert_eq!(launch.grid, Some([69_840, 1, 1]));
    }

    #[test]
    fn copies_get_the_names_that_other_traces_have() {
        let details = copy("kind_src:pinned kind_dst:device size:2097152 dest:0 async:1");
        assert_eq!((details.bytes, details.asynchronous), (Some(2_097_152), true));
        assert_eq!(copy_name("MemcpyH2D", details).as_deref(), Some("Memcpy HtoD (Pinned -> Device)"));
        let unknown = copy("kind:Unknown size:0 dest:2 async:1");
        assert_eq!(unknown.bytes, None);
        assert_eq!(copy_name("CopyDeviceToDevice", unknown).as_deref(), Some("Memcpy DtoD (Device -> Device)"));
        assert_eq!(copy_name("MemcpyOther", unknown), None);
    }
}

//! Numbers as the titles say them.

pub(in crate::findings) use crate::scope::share::percent;

/// A time with three digits: `3.25 ms`.
pub(in crate::findings) fn time(ns: i64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns.abs() {
        n if n >= 1e9 => (ns / 1e9, "s"),
        n if n >= 1e6 => (ns / 1e6, "ms"),
        n if n >= 1e3 => (ns / 1e3, "µs"),
        _ => return format!("{ns:.0} ns"),
    };
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

/// A size with one digit after the point: `1.5 GiB`.
pub(super) fn size(bytes: i64) -> String {
    let bytes = bytes as f64;
    match bytes.abs() {
        b if b >= 1_073_741_824.0 => format!("{:.1} GiB", bytes / 1_073_741_824.0),
        b if b >= 1_048_576.0 => format!("{:.1} MiB", bytes / 1_048_576.0),
        b if b >= 1_024.0 => format!("{:.1} KiB", bytes / 1_024.0),
        _ => format!("{bytes:.0} bytes"),
    }
}

/// `one step`, `3 steps`.
pub(super) fn steps(count: usize) -> String {
    if count == 1 { "one step".to_owned() } else { format!("{count} steps") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units() {
        assert_eq!(
            [time(12), time(3_250), time(31_540_000), time(2_000_000_000)],
            ["12 ns", "3.25 µs", "31.5 ms", "2.00 s"]
        );
        assert_eq!(
            [size(12), size(2048), size(3 << 19), size(3 << 30)],
            ["12 bytes", "2.0 KiB", "1.5 MiB", "3.0 GiB"]
        );
    }
}

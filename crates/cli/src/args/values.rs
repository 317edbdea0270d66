//! Values of options that several commands have.

use std::time::Duration;

use stepscope_ground::units;

/// `10`, `10s`, `500ms`, `2m`: seconds without a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let ns = units::nanoseconds(text, "s").filter(|ns| (1..MAX_DURATION_NS).contains(ns));
    ns.map(|ns| Duration::from_nanos(ns as u64))
        .ok_or_else(|| "a duration is a number of seconds, or one with ms, s, m, h or d: 10s".to_owned())
}

/// Three years.
const MAX_DURATION_NS: i64 = 100_000_000_000_000_000;

/// `20MB`, `20MiB`, `500k` or a number of bytes.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let bytes = units::bytes(text).filter(|bytes| (1..MAX_SIZE_BYTES).contains(bytes));
    bytes
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| "a size is a number of bytes, or one with k, MB, GB, MiB or GiB: 20MB".to_owned())
}

/// More than a file or a page may ever have.
const MAX_SIZE_BYTES: u64 = 1_000_000_000_000;

/// A rate from 1 to 10,000 samples per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let found = text.trim().parse::<f64>().ok().filter(|rate| (0.1..=10_000.0).contains(rate));
    found.ok_or_else(|| "a rate is a number of samples per second, up to 10000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let of = |text| duration(text).map(|d| d.as_millis());
        assert_eq!(of("10"), Ok(10_000));
        assert_eq!(of("500ms"), Ok(500));
        assert_eq!(of("1.5 s"), Ok(1500));
        assert_eq!(of("2m"), Ok(120_000));
        assert!(of("0").is_err() && of("-1").is_err() && of("soon").is_err() && of("1e99").is_err());
        assert!(rate("1000").is_ok() && rate("0").is_err() && rate("nan").is_err());
    }

    #[test]
    fn sizes_have_units_of_ten_and_of_two() {
        let of = |text| size(text).ok();
        assert_eq!(of("20MB"), Some(20_000_000));
        assert_eq!(of("20m"), Some(20_000_000));
        assert_eq!(of("20MiB"), Some(20 << 20));
        assert_eq!(of("20Mi"), Some(20 << 20));
        assert_eq!(of("500k"), Some(500_000));
        assert_eq!(of("1.5 GB"), Some(1_500_000_000));
        assert_eq!(of("2GiB"), Some(2 << 30));
        assert_eq!(of("4096"), Some(4096));
        for wrong in ["", "0", "-1", "MB", "20 parsecs", "1TB", "1e99"] {
            assert!(size(wrong).is_err_and(|hint| hint.contains("20MB")), "{wrong}");
        }
    }
}

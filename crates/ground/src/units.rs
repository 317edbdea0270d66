//! Times and sizes as people write them: `12ms`, `1.5 h`, `24GiB`.

/// Nanoseconds of a unit of time, in any case.
pub fn time_unit(unit: &str) -> Option<u64> {
    Some(match unit.trim().to_lowercase().as_str() {
        "ns" => 1,
        // The sign for micro, and the Greek letter.
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        "w" | "week" | "weeks" => 604_800_000_000_000,
        _ => return None,
    })
}

/// Bytes of a unit of size, in any case: MB is 10^6, MiB is 2^20.
pub fn byte_unit(unit: &str) -> Option<u64> {
    Some(match unit.trim().to_lowercase().as_str() {
        "b" | "byte" | "bytes" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "ti" | "tib" => 1 << 40,
        _ => return None,
    })
}

/// A time in nanoseconds. Without a unit it is in `bare`. Without a float on the way: what is not a whole number of
/// nanoseconds is not a time.
pub fn nanoseconds(text: &str, bare: &str) -> Option<i64> {
    let (number, unit) = split(text);
    let unit = time_unit(if unit.is_empty() { bare } else { unit })?;
    i64::try_from(whole(number, unit)?).ok()
}

/// A size in bytes; half a byte is left out.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let unit = byte_unit(if unit.is_empty() { "b" } else { unit })?;
    let (digits, scale) = decimal(number)?;
    u64::try_from(digits.checked_mul(unit.into())? / scale).ok()
}

/// The number in front, and what follows it.
pub fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// So many units, if that is a whole number.
fn whole(number: &str, unit: u64) -> Option<u128> {
    let (digits, scale) = decimal(number)?;
    let product = digits.checked_mul(unit.into())?;
    (product % scale == 0).then_some(product / scale)
}

/// A number as digits divided by a power of ten.
fn decimal(number: &str) -> Option<(u128, u128)> {
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let after = after.trim_end_matches('0');
    if before.is_empty() && number.len() < 2 {
        return None;
    }
    let digits = format!("0{before}{after}").parse().ok()?;
    Some((digits, 10_u128.checked_pow(u32::try_from(after.len()).ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("0", 0),
            ("12345", 12_345),
            ("12ms", 12_000_000),
            ("1.5s", 1_500_000_000),
            (".5 ms", 500_000),
            ("0.000000001s", 1),
            ("300us", 300_000),
            ("7.25µs", 7_250),
            ("2.000", 2),
            ("9007199254740993", 9_007_199_254_740_993),
            ("5 minutes", 300_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("2D", 172_800_000_000_000),
        ] {
            assert_eq!(nanoseconds(text, "ns"), Some(ns), "{text}");
        }
        assert_eq!(nanoseconds("1.5", "s"), Some(1_500_000_000));
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in
            ["", ".", "ms", "-5ms", "1.5", "0.0000000001s", "1e3", "1.2.3s", "99999999999s", "+3", "3 y"]
        {
            assert_eq!(nanoseconds(text, "ns"), None, "{text}");
        }
        let long = format!("0.{}1s", "0".repeat(1_000_000));
        assert_eq!(nanoseconds(&long, "ns"), None);
    }

    #[test]
    fn sizes_have_units() {
        let expected = [
            ("24GiB", 24 << 30),
            ("80 GB", 80_000_000_000),
            ("1.5gib", 3 << 29),
            ("512", 512),
            ("0.1kib", 102),
            ("2Gi", 2 << 30),
        ];
        for (text, size) in expected {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for wrong in ["", "GiB", "-1GiB", "1XB", "1e30GB", "99999999TB"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}

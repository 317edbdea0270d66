//! Values of options as people write them: numbers, lists of steps and batches, times, sizes.

use crate::refusal::Refusal;

pub(super) fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T, Refusal> {
    let wrong = || Refusal::new(format!("--{option} is not a number: '{value}'"), "give a whole number");
    value.trim().parse().map_err(|_| wrong())
}

/// `7`, `3,5`, `2-4` as numbers.
pub(super) fn steps(text: &str) -> Result<Vec<i64>, Refusal> {
    const MOST: i64 = 1_000_000;
    let bad =
        || Refusal::new(format!("--step '{text}' is not a list of step numbers"), "write it as 7, 3,5 or 2-4");
    let mut steps = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('-').filter(|(first, _)| !first.is_empty()) {
            Some((first, last)) => {
                let (first, last): (i64, i64) =
                    (first.trim().parse().map_err(|_| bad())?, last.trim().parse().map_err(|_| bad())?);
                if last < first || last.saturating_sub(first) > MOST {
                    return Err(bad());
                }
                steps.extend(first..=last);
            }
            None => steps.push(part.parse().map_err(|_| bad())?),
        }
    }
    Ok(steps)
}

/// `16,64` or `small=16,large=64`.
pub(super) fn batches(text: &str) -> Result<Vec<(Option<String>, u64)>, Refusal> {
    let wrong = || {
        Refusal::new(
            format!("--batch '{text}' is not a list of batches"),
            "write samples per step in the order of the files, 16,64, or by name: small=16,large=64",
        )
    };
    let one = |part: &str| {
        let (name, number) = match part.rsplit_once('=') {
            Some((name, number)) => (Some(name.trim().to_owned()), number),
            None => (None, part),
        };
        let number = number.trim().parse().ok().filter(|&number: &u64| (1..1 << 40).contains(&number));
        number.map(|number| (name, number))
    };
    let parts: Option<Vec<_>> = text.split(',').map(one).collect();
    let parts = parts.ok_or_else(wrong)?;
    let named = parts.iter().filter(|(name, _)| name.is_some()).count();
    if named == 0 || named == parts.len() { Ok(parts) } else { Err(wrong()) }
}

/// A size as people write it.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let times = match unit.trim().to_lowercase().as_str() {
        "" | "b" => 1.0,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "mib" => f64::from(1 << 20),
        "gib" => f64::from(1 << 30),
        "tib" => (1u64 << 40) as f64,
        _ => return None,
    };
    let size = number.parse::<f64>().ok()? * times;
    (1.0..1e18).contains(&size).then_some(size as u64)
}

pub(super) fn time(option: &str, text: &str) -> Result<i64, Refusal> {
    nanoseconds(text).ok_or_else(|| {
        Refusal::new(
            format!("--{option} '{text}' is not a time"),
            "write a time since the start of the trace: 12ms, 1.5s, 300us or a number of nanoseconds",
        )
    })
}

/// A time as people write it, to the nanosecond; no float on the way.
pub(super) fn nanoseconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let places = match unit.trim() {
        "" | "ns" => 0,
        "us" | "µs" | "μs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.trim_end_matches('0');
    if part.len() > places || (whole.is_empty() && number.len() < 2) {
        return None;
    }
    let digits = format!("{whole}{part}{}", "0".repeat(places - part.len()));
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_lists_and_ranges() {
        assert_eq!(steps("7").unwrap(), [7]);
        assert_eq!(steps("3, 5").unwrap(), [3, 5]);
        assert_eq!(steps("2-4,9").unwrap(), [2, 3, 4, 9]);
        for wrong in ["a", "4-2", "", "0-9223372036854775807", "-9223372036854775808-5"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn batches_are_lists_with_or_without_names() {
        assert_eq!(batches("16, 64").unwrap(), [(None, 16), (None, 64)]);
        let named = batches("small=16,runs/b=3.pickle=64").unwrap();
        assert_eq!(named, [(Some("small".to_owned()), 16), (Some("runs/b=3.pickle".to_owned()), 64)]);
        for wrong in ["", "0", "-1", "a", "16,", "a=16,64", "1e3", "9999999999999"] {
            assert!(batches(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, size) in [("24GiB", 24 << 30), ("80 GB", 80_000_000_000), ("1.5gib", 3 << 29), ("512", 512)]
        {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for wrong in ["", "GiB", "-1GiB", "0", "1XB", "1e30GB", "99999999TB"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

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
        ] {
            assert_eq!(nanoseconds(text), Some(ns), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in
            ["", ".", "ms", "-5ms", "1.5", "0.0000000001s", "1e3", "5 minutes", "1.2.3s", "99999999999s", "+3"]
        {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}

//! Values of options as people write them: numbers, lists of steps and batches, times, sizes.

use stepscope_ground::{Problem, units};

pub(super) fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T, Problem> {
    let wrong = || Problem::new(format!("--{option} is not a number: '{value}'"), "give a whole number");
    value.trim().parse().map_err(|_| wrong())
}

/// `7`, `3,5`, `2-4` as numbers.
pub(super) fn steps(text: &str) -> Result<Vec<i64>, Problem> {
    const MAX_NUMBERS: i64 = 1_000_000;
    let bad =
        || Problem::new(format!("--step '{text}' is not a list of step numbers"), "write it as 7, 3,5 or 2-4");
    let mut steps = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('-').filter(|(first, _)| !first.is_empty()) {
            Some((first, last)) => {
                let (first, last): (i64, i64) =
                    (first.trim().parse().map_err(|_| bad())?, last.trim().parse().map_err(|_| bad())?);
                if last < first || last.saturating_sub(first) > MAX_NUMBERS {
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
pub(super) fn batches(text: &str) -> Result<Vec<(Option<String>, u64)>, Problem> {
    let wrong = || {
        Problem::new(
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

/// A size of at least one byte, as people write it.
pub(super) fn bytes(text: &str) -> Option<u64> {
    units::bytes(text).filter(|bytes| (1..1_000_000_000_000_000_000).contains(bytes))
}

pub(super) fn time(option: &str, text: &str) -> Result<i64, Problem> {
    units::nanoseconds(text, "ns").ok_or_else(|| {
        Problem::new(
            format!("--{option} '{text}' is not a time"),
            "write a time since the start of the trace: 12ms, 1.5s, 300us or a number of nanoseconds",
        )
    })
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
}

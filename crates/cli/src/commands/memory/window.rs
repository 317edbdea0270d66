//! `--from` and `--to`: a part of the trace by time.

use stepscope_model::{Ns, Trace};

use crate::args::Memory;
use crate::failure::Failure;

const WRITTEN: &str = "write a time since the start of the trace, as in 12ms, 1.5s, 300us or a number of nanoseconds, \
                       or @ and a time of the JSON output";

/// The window asked for, since the trace's first event. What is left out is where the trace begins or ends.
pub(super) fn window(args: &Memory, trace: &Trace) -> Result<Option<(Ns, Ns)>, Failure> {
    if args.from.is_none() && args.to.is_none() {
        return Ok(None);
    }
    let (points, allocations) = (trace.points(), trace.allocations());
    let marks = points.ids().map(|id| points.at(id)).chain(allocations.ids().map(|id| allocations.at(id)));
    let (start, end) = trace.extent().unwrap_or_default();
    let (first, last) = marks.fold((start, end), |(first, last), at| (first.min(at), last.max(at)));
    let at = |option: &str, text: &str| -> Result<Ns, Failure> {
        let at = match text.trim().strip_prefix('@') {
            Some(since_base) => since_base.parse().ok().map(Ns),
            None => nanoseconds(text).map(|since| start + Ns(since)),
        };
        at.ok_or_else(|| Failure::wrong_use(format!("{option} '{text}' is not a time"), WRITTEN))
    };
    let from = args.from.as_deref().map_or(Ok(first), |text| at("--from", text))?;
    let to = args.to.as_deref().map_or(Ok(last + Ns(1)), |text| at("--to", text))?;
    if from >= to {
        let length = crate::print::units::time((end - start).0);
        return Err(Failure::wrong_use(
            "--from is not before --to",
            format!("times count from the start of the trace, which is {length} long"),
        ));
    }
    Ok(Some((from, to)))
}

/// A time as people write it, to the nanosecond; no float on the way.
fn nanoseconds(text: &str) -> Option<i64> {
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

//! Numbers as people read them: a few significant digits and a unit that fits the size.

/// What replaces a number that is not one (NaN, infinity).
const NOT_A_NUMBER: &str = "n/a";

/// Nanoseconds from which minutes are easier to read than seconds.
const MINUTES_ABOVE: u64 = 120_000_000_000;

/// A duration in four significant digits: `812 ns`, `12.35 µs`, `1.234 ms`, `3.456 s`, `3 m 12 s`, `2 h 05 m`.
pub fn time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", time_of(ns.unsigned_abs()))
}

fn time_of(ns: u64) -> String {
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    if ns > MINUTES_ABOVE {
        return clock(ns);
    }
    for (unit, name) in [(1_000_u128, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")] {
        for (decimals, scale) in [(3, 1_000_u128), (2, 100), (1, 10)] {
            // Rounding comes before the choice of unit, so that 999,999 ns becomes 1.000 ms and not 1000.0 µs.
            let digits = (u128::from(ns) * scale + unit / 2) / unit;
            if digits < 10_000 {
                let (whole, part) = (digits / scale, digits % scale);
                return format!("{whole}.{part:0decimals$} {name}");
            }
        }
    }
    clock(ns)
}

/// A duration that is only an estimate, in two digits, or three that begin with a 1: `25 ms`, `1.34 s`, `810 ns`.
pub fn about(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let digits = size.max(1).ilog10();
    let leads_with_one = size / 10_u64.pow(digits) == 1;
    let step = 10_u64.pow(digits.saturating_sub(if leads_with_one { 2 } else { 1 }));
    let rounded = size.saturating_add(step / 2) / step * step;
    if rounded > MINUTES_ABOVE {
        return time(ns);
    }
    let sign = if ns < 0 { "-" } else { "" };
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let (unit, name) = units.into_iter().find(|unit| rounded >= unit.0).unwrap_or((1, "ns"));
    let decimals = (0..3).find(|&decimals| step.saturating_mul(10_u64.pow(decimals)) >= unit).unwrap_or(3);
    format!("{sign}{:.*} {name}", decimals as usize, rounded as f64 / unit as f64)
}

/// Two such durations as a range, with the unit once if it is the same: `147 to 158 ms`, `950 µs to 1.10 ms`.
pub fn about_range(low: i64, high: i64) -> String {
    let (low, high) = (about(low), about(high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

fn clock(ns: u64) -> String {
    let seconds = (ns / 1_000_000_000) + u64::from(ns % 1_000_000_000 >= 500_000_000);
    if seconds < 3_600 {
        return format!("{} m {:02} s", seconds / 60, seconds % 60);
    }
    let minutes = (seconds + 30) / 60;
    format!("{} h {:02} m", count(minutes / 60), minutes % 60)
}

/// A size in binary units with three significant digits: `812 B`, `1.88 GiB`.
pub fn bytes(bytes: i64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let sign = if bytes < 0 { "-" } else { "" };
    let size = bytes.unsigned_abs();
    if size < 1_024 {
        return format!("{sign}{size} B");
    }
    let mut value = size as f64 / 1_024.0;
    for (step, unit) in UNITS.iter().enumerate() {
        // 1023.5 would be written as 1024, which is 1.00 of the next unit.
        if value < 1_023.5 || step + 1 == UNITS.len() {
            return format!("{sign}{} {unit}", three_digits(value));
        }
        value /= 1_024.0;
    }
    String::new()
}

/// A whole number with thousands separators: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 step`, `1,234 steps`, `2 launches`.
pub fn counted(n: u64, one: &str) -> String {
    let end = match (n, one.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {one}{end}", count(n))
}

/// A fraction as a percentage: `12.3%`.
///
/// What is neither nothing nor everything never reads so: `<0.1%`, `>99.9%`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let size = fraction.abs();
    let sign = if fraction < 0.0 { "-" } else { "" };
    // Sums of shares miss one by a few bits; that is not "almost all".
    let almost_all = (0.9995..1.0 - 1e-9).contains(&size);
    match size {
        0.0 => "0.0%".to_owned(),
        _ if size < 0.0005 && fraction > 0.0 => "<0.1%".to_owned(),
        _ if size < 0.0005 => ">-0.1%".to_owned(),
        _ if almost_all && fraction > 0.0 => ">99.9%".to_owned(),
        _ if size >= 9.9995 => format!("{sign}{}%", count((size * 100.0).round() as u64)),
        _ => format!("{sign}{:.1}%", size * 100.0),
    }
}

/// A fraction that is at least this: `>= 12.3%`. Rounded down, so that it stays true.
pub fn at_least(fraction: f64) -> String {
    if !fraction.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    format!(">= {:.1}%", ((fraction * 1000.0 + 1e-6).floor() / 10.0).max(0.0))
}

/// An amount of arithmetic: `1.23 TFLOP`.
pub fn flops(flop: f64) -> String {
    decimal(flop, "FLOP")
}

/// A rate of arithmetic: `1.23 TFLOP/s`.
pub fn rate_flops(flop_per_s: f64) -> String {
    decimal(flop_per_s, "FLOP/s")
}

/// A bandwidth in decimal units, as buses and memories are sold: `1.23 TB/s`.
pub fn rate_bytes(bytes_per_s: f64) -> String {
    decimal(bytes_per_s, "B/s")
}

/// A difference of durations, its sign always written: `+1.234 ms`, `-812 ns`, `0 ns`.
pub fn delta_time(ns: i64) -> String {
    signed(ns > 0, time(ns))
}

/// A difference of sizes, its sign always written: `+1.88 GiB`.
pub fn delta_bytes(size: i64) -> String {
    signed(size > 0, bytes(size))
}

/// A relative difference, its sign always written: `+12.3%`.
pub fn delta_percent(fraction: f64) -> String {
    let size = fraction.abs();
    if fraction > 0.0 && (0.9995..1.0).contains(&size) {
        // "Almost all" means nothing for a growth.
        return "+100.0%".to_owned();
    }
    let tiny = size < 0.0005;
    signed(fraction > 0.0 && fraction.is_finite() && !tiny, percent(fraction))
}

fn signed(positive: bool, text: String) -> String {
    if positive { format!("+{text}") } else { text }
}

fn decimal(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    if !value.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let mut size = value.abs();
    if size == 0.0 {
        return format!("0 {unit}");
    }
    for (step, prefix) in PREFIXES.iter().enumerate() {
        if size < 999.5 || step + 1 == PREFIXES.len() {
            let whole = step == 0 && size.fract() == 0.0;
            let digits = if whole { format!("{size:.0}") } else { three_digits(size) };
            return format!("{sign}{digits} {prefix}{unit}");
        }
        size /= 1_000.0;
    }
    String::new()
}

/// Three digits of a number: `1.23`, `12.3`, `123`.
pub fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A number of things that need not be whole: `64`, `62.5`, `1,234`.
pub fn number(value: f64) -> String {
    match value {
        v if v.fract() == 0.0 && (0.0..1e15).contains(&v) => count(v as u64),
        v if (1000.0..1e15).contains(&v) => count(v.round() as u64),
        v => digits(v),
    }
}

/// Things per second: `5,120/s`, `12.34/s`.
pub fn rate(value: f64) -> String {
    if (1000.0..1e15).contains(&value) {
        format!("{}/s", count(value.round() as u64))
    } else {
        format!("{}/s", digits(value))
    }
}

/// Energy: `12.34 J`.
pub fn joules(value: f64) -> String {
    format!("{} J", digits(value))
}

/// Four digits of a number.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (3 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_two_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (7, "7 ns"),
            (814, "810 ns"),
            (1_234, "1.23 µs"),
            (2_345, "2.3 µs"),
            (9_960_000, "10.0 ms"),
            (24_600_000, "25 ms"),
            (123_400_000, "123 ms"),
            (243_700_000, "240 ms"),
            (1_340_000_000, "1.34 s"),
            (-24_600_000, "-25 ms"),
            (600_000_000_000, "10 m 00 s"),
        ] {
            assert_eq!(about(ns), text);
        }
        assert_eq!(about_range(147_100_000, 157_900_000), "147 to 158 ms");
        assert_eq!(about_range(950_000, 1_100_000), "950 µs to 1.10 ms");
    }

    #[test]
    fn time_keeps_four_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (812, "812 ns"),
            (999, "999 ns"),
            (1_000, "1.000 µs"),
            (12_345, "12.35 µs"),
            (123_456, "123.5 µs"),
            (999_949, "999.9 µs"),
            (999_950, "1.000 ms"),
            (999_999, "1.000 ms"),
            (1_234_499, "1.234 ms"),
            (3_456_000_000, "3.456 s"),
            (120_000_000_000, "120.0 s"),
            (120_000_000_001, "2 m 00 s"),
            (192_000_000_000, "3 m 12 s"),
            (3_599_600_000_000, "1 h 00 m"),
            (7_500_000_000_000, "2 h 05 m"),
            (-1_234_000, "-1.234 ms"),
            (i64::MAX, "2,562,047 h 47 m"),
            (i64::MIN, "-2,562,047 h 47 m"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn bytes_are_binary() {
        for (size, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.00 KiB"),
            (2_018_634_629, "1.88 GiB"),
            (20_186_346_291, "18.8 GiB"),
            (1_048_575, "1.00 MiB"),
            (1_047_552, "1023 KiB"),
            (-1_048_576, "-1.00 MiB"),
            (i64::MAX, "8192 PiB"),
            (i64::MIN, "-8192 PiB"),
        ] {
            assert_eq!(bytes(size), text, "{size}");
        }
    }

    #[test]
    fn counts_are_grouped() {
        for (n, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(n), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn percentages_never_hide_a_remainder() {
        for (fraction, text) in [
            (0.0, "0.0%"),
            (-0.0, "0.0%"),
            (1e-9, "<0.1%"),
            (-1e-9, ">-0.1%"),
            (0.0006, "0.1%"),
            (0.123, "12.3%"),
            (0.99999, ">99.9%"),
            (1.0 - 1e-15, "100.0%"),
            (1.0, "100.0%"),
            (-0.5, "-50.0%"),
            (12.345, "1,235%"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
        ] {
            assert_eq!(percent(fraction), text, "{fraction}");
        }
    }

    #[test]
    fn lower_bounds_stay_true() {
        for (fraction, text) in [
            (0.0, ">= 0.0%"),
            (0.115, ">= 11.5%"),
            (0.11599, ">= 11.5%"),
            (0.99999, ">= 99.9%"),
            (1.0, ">= 100.0%"),
        ] {
            assert_eq!(at_least(fraction), text);
        }
        assert_eq!(at_least(f64::NAN), "n/a");
    }

    #[test]
    fn rates_and_work_are_decimal() {
        assert_eq!(flops(1.234e12), "1.23 TFLOP");
        assert_eq!(flops(0.0), "0 FLOP");
        assert_eq!(flops(12.0), "12 FLOP");
        assert_eq!(flops(0.5), "0.50 FLOP");
        assert_eq!(flops(999.6), "1.00 kFLOP");
        assert_eq!(rate_flops(989e12), "989 TFLOP/s");
        assert_eq!(rate_bytes(1.234e12), "1.23 TB/s");
        assert_eq!(rate_bytes(-25.6e9), "-25.6 GB/s");
        assert_eq!(rate_bytes(1e30), "1000000000000 EB/s");
        assert_eq!(rate_bytes(f64::NAN), "n/a");
    }

    #[test]
    fn differences_carry_their_sign() {
        assert_eq!(delta_time(1_234_000), "+1.234 ms");
        assert_eq!(delta_time(-812), "-812 ns");
        assert_eq!(delta_time(0), "0 ns");
        assert_eq!(delta_bytes(1_024), "+1.00 KiB");
        assert_eq!(delta_percent(0.123), "+12.3%");
        assert_eq!(delta_percent(-0.123), "-12.3%");
        assert_eq!(delta_percent(0.99999), "+100.0%");
        assert_eq!(delta_percent(1e-6), "<0.1%");
        assert_eq!(delta_percent(f64::INFINITY), "n/a");
    }

    #[test]
    fn numbers_and_rates_have_four_digits() {
        assert_eq!([number(64.0), number(62.5), number(1234.5)], ["64", "62.50", "1,235"]);
        assert_eq!([rate(5120.4), rate(12.3456), rate(0.5)], ["5,120/s", "12.35/s", "0.5000/s"]);
        assert_eq!([joules(123.456), joules(0.0)], ["123.5 J", "0 J"]);
    }
}

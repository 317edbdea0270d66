//! Decimal microseconds to integer nanoseconds, exactly.

use stepscope_model::{Decimal, Ns};

use super::scan::Number;

/// A time read from text.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// Exact.
    Exact(Ns),
    /// Finer than a nanosecond: rounded to the nearest.
    Rounded(Ns),
    /// Beyond 64-bit nanoseconds.
    OutOfRange,
    /// No number.
    Nothing,
}

/// Microseconds as written to nanoseconds. Floats are never involved: a double loses digits of today's date.
pub(super) fn from_micros(number: Number, text: &[u8]) -> Time {
    match number {
        Number::Int(us) => us.checked_mul(1000).map_or(Time::OutOfRange, |ns| Time::Exact(Ns(ns))),
        Number::Decimal(Decimal { mantissa, scale: 3 }) => Time::Exact(Ns(mantissa)),
        Number::Decimal(Decimal { mantissa, scale }) => scaled(i128::from(mantissa), 3 - i32::from(scale)),
        Number::Odd => odd(text),
    }
}

/// `mantissa * 10^power` nanoseconds.
fn scaled(mantissa: i128, power: i32) -> Time {
    let exact = |ns: Option<i128>| match ns.and_then(|ns| i64::try_from(ns).ok()) {
        Some(ns) => Time::Exact(Ns(ns)),
        None => Time::OutOfRange,
    };
    if mantissa == 0 {
        return Time::Exact(Ns::ZERO);
    }
    if power >= 0 {
        return exact(10i128.checked_pow(power as u32).and_then(|p| mantissa.checked_mul(p)));
    }
    let Some(divisor) = 10i128.checked_pow(power.unsigned_abs()) else {
        return Time::Rounded(Ns::ZERO);
    };
    let half = if mantissa < 0 { -divisor / 2 } else { divisor / 2 };
    match exact(mantissa.checked_add(half).map(|sum| sum / divisor)) {
        Time::Exact(ns) if mantissa % divisor != 0 => Time::Rounded(ns),
        other => other,
    }
}

/// Exponents, leading zeros and overlong digits.
fn odd(text: &[u8]) -> Time {
    let Ok(text) = std::str::from_utf8(text) else { return Time::Nothing };
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent) => (number, exponent.clamp(-1000, 1000)),
            Err(_) => return Time::OutOfRange,
        },
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // 30 digits hold every time in range with room for rounding; what is cut is far below a nanosecond.
    let whole = whole.strip_prefix('-').unwrap_or(whole).trim_start_matches('0');
    let fraction = &fraction[..fraction.len().min(30usize.saturating_sub(whole.len()))];
    match format!("{whole}{fraction}").parse::<i128>() {
        Ok(mantissa) => {
            let mantissa = if text.starts_with('-') { -mantissa } else { mantissa };
            scaled(mantissa, exponent + 3 - fraction.len() as i32)
        }
        Err(_) if whole.is_empty() && fraction.is_empty() => Time::Exact(Ns::ZERO),
        Err(_) => Time::OutOfRange,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::Cursor;
    use super::*;

    fn time(text: &str) -> Time {
        let text = format!("{text} ");
        let (number, raw) = Cursor { buf: text.as_bytes(), pos: 0 }.number().unwrap();
        from_micros(number, raw)
    }

    #[test]
    fn microseconds_become_nanoseconds_without_floats() {
        assert_eq!(time("3845607497116.795"), Time::Exact(Ns(3_845_607_497_116_795)));
        assert_eq!(time("1712193098337452.105"), Time::Exact(Ns(1_712_193_098_337_452_105)));
        assert_eq!(time("12"), Time::Exact(Ns(12_000)));
        assert_eq!(time("12.5"), Time::Exact(Ns(12_500)));
        assert_eq!(time("-0.001"), Time::Exact(Ns(-1)));
        assert_eq!(time("0.0005"), Time::Rounded(Ns(1)));
        assert_eq!(time("-0.0005"), Time::Rounded(Ns(-1)));
        assert_eq!(time("1.0000"), Time::Exact(Ns(1000)));
        assert_eq!(time("1.5e3"), Time::Exact(Ns(1_500_000)));
        assert_eq!(time("25e-4"), Time::Rounded(Ns(3)));
        assert_eq!(time("0e99999"), Time::Exact(Ns(0)));
        assert_eq!(time("1e400"), Time::OutOfRange);
        assert_eq!(time("99999999999999999999"), Time::OutOfRange);
        assert_eq!(time("170141183460469231731687303715884105727e-38"), Time::OutOfRange);
        assert_eq!(time("007.000"), Time::Exact(Ns(7000)));
        assert_eq!(time("0.00000000000000000000000000000000000000001"), Time::Rounded(Ns(0)));
    }
}

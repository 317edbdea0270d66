//! Decimal numbers as written to whole numbers of a unit, exactly: no float is involved.

/// A number read from text.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    Exact(i64),
    /// Finer than the unit: rounded to the nearest.
    Rounded(i64),
    /// Beyond 64 bits.
    OutOfRange,
    /// No number.
    Nothing,
}

/// `mantissa * 10^power`.
pub(crate) fn scaled(mantissa: i128, power: i32) -> Whole {
    let exact = |value: Option<i128>| match value.and_then(|value| i64::try_from(value).ok()) {
        Some(value) => Whole::Exact(value),
        None => Whole::OutOfRange,
    };
    if mantissa == 0 {
        return Whole::Exact(0);
    }
    if power >= 0 {
        return exact(10i128.checked_pow(power as u32).and_then(|p| mantissa.checked_mul(p)));
    }
    let Some(divisor) = 10i128.checked_pow(power.unsigned_abs()) else {
        return Whole::Rounded(0);
    };
    let half = if mantissa < 0 { -divisor / 2 } else { divisor / 2 };
    match exact(mantissa.checked_add(half).map(|sum| sum / divisor)) {
        Whole::Exact(value) if mantissa % divisor != 0 => Whole::Rounded(value),
        other => other,
    }
}

/// A number as text, exponents and any number of digits included, times `10^power`.
pub(crate) fn parse(text: &[u8], power: i32) -> Whole {
    let Ok(text) = std::str::from_utf8(text) else { return Whole::Nothing };
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent) => (number, exponent.clamp(-1000, 1000)),
            Err(_) => return Whole::OutOfRange,
        },
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // 30 digits hold every number in range with room for rounding; what is cut is far below the unit.
    let whole = whole.strip_prefix('-').unwrap_or(whole).trim_start_matches('0');
    let fraction = &fraction[..fraction.len().min(30usize.saturating_sub(whole.len()))];
    match format!("{whole}{fraction}").parse::<i128>() {
        Ok(mantissa) => {
            let mantissa = if text.starts_with('-') { -mantissa } else { mantissa };
            scaled(mantissa, exponent + power - fraction.len() as i32)
        }
        Err(_) if whole.is_empty() && fraction.is_empty() => Whole::Exact(0),
        Err(_) => Whole::OutOfRange,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_every_digit_the_unit_has() {
        let seconds = |text: &str| parse(text.as_bytes(), 9);
        assert_eq!(seconds("1700000000.123456789"), Whole::Exact(1_700_000_000_123_456_789));
        assert_eq!(seconds("0.0000000005"), Whole::Rounded(1));
        assert_eq!(seconds("-0.5"), Whole::Exact(-500_000_000));
        assert_eq!(seconds("1e-3"), Whole::Exact(1_000_000));
        assert_eq!(seconds("1e10"), Whole::OutOfRange);
        assert_eq!(parse(b"007", 0), Whole::Exact(7));
        assert_eq!(parse(b"0.5", 0), Whole::Rounded(1));
        assert_eq!(parse(b"\xff", 0), Whole::Nothing);
    }
}

//! Decimal microseconds to integer nanoseconds, exactly.

use stepscope_model::{Decimal, Ns};

use super::scan::Number;
use crate::decimal::{self, Whole};

/// A time read from text.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Time {
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
        Number::Decimal(Decimal { mantissa, scale }) => {
            decimal::scaled(i128::from(mantissa), 3 - i32::from(scale)).into()
        }
        // Exponents, leading zeros and overlong digits.
        Number::Odd => decimal::parse(text, 3).into(),
    }
}

impl From<Whole> for Time {
    fn from(ns: Whole) -> Time {
        match ns {
            Whole::Exact(ns) => Time::Exact(Ns(ns)),
            Whole::Rounded(ns) => Time::Rounded(Ns(ns)),
            Whole::OutOfRange => Time::OutOfRange,
            Whole::Nothing => Time::Nothing,
        }
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

//! Moments and days as text, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::Date;

/// Nanoseconds of a minute.
pub const MINUTE_NS: i64 = 60_000_000_000;
/// Nanoseconds of an hour.
pub const HOUR_NS: i64 = 60 * MINUTE_NS;
const HOURS_PER_DAY: i64 = 24;

/// Nanoseconds since 1970. A clock set before that gives 0.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Seconds since 1970 in this form of `strftime`. What is further away than calendars reach is shown as their end.
fn text(seconds: i64, form: &str) -> String {
    let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(seconds).unwrap_or(end).strftime(form).to_string()
}

/// `2026-11-17T01:05:09Z`, which sorts, of seconds since 1970.
pub fn second_text(seconds: i64) -> String {
    text(seconds, "%Y-%m-%dT%H:%M:%SZ")
}

/// `2026-11-17T01:05Z` of minutes since 1970.
pub fn minute_text(minute: i64) -> String {
    text(minute.saturating_mul(60), "%Y-%m-%dT%H:%MZ")
}

/// `02:07` of minutes since 1970; where another minute is not of the same day, `Nov 17, 02:07`.
pub fn clock_text(minute: i64, near: i64) -> String {
    let same_day = minute.div_euclid(1_440) == near.div_euclid(1_440);
    text(minute.saturating_mul(60), if same_day { "%H:%M" } else { "%b %-d, %H:%M" })
}

/// `2026-11-17T01:05:09.250Z` of nanoseconds since 1970.
pub fn moment_text(ns: i64) -> String {
    Timestamp::from_nanosecond(ns.into())
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// `2026_11_17_01_05_09`, as TensorBoard names its folders, of seconds since 1970.
pub fn folder_name(seconds: i64) -> String {
    text(seconds, "%Y_%m_%d_%H_%M_%S")
}

/// `20261117T01`, which sorts, of hours since 1970.
pub fn compact_hour(hour: i64) -> String {
    text(hour.saturating_mul(3_600), "%Y%m%dT%H")
}

/// Hours since 1970 of `20261117T01`.
pub fn parse_compact_hour(text: &str) -> Option<i64> {
    let (day, hour) = text.split_once('T')?;
    let is_number = |text: &str, digits| text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(day, 8) || !is_number(hour, 2) {
        return None;
    }
    let day = Date::strptime("%Y%m%d", day).ok()?;
    let hour = hour.parse::<i64>().ok().filter(|hour| *hour < HOURS_PER_DAY)?;
    Some(days_since_1970(day) * HOURS_PER_DAY + hour)
}

/// The day since 1970 of `2026-11-17`.
pub fn parse_day(text: &str) -> Option<i64> {
    Some(days_since_1970(Date::strptime("%Y-%m-%d", text).ok()?))
}

fn days_since_1970(day: Date) -> i64 {
    (day - Date::constant(1970, 1, 1)).get_days().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_date() {
        // date -u -d @SECONDS +%FT%TZ
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_763_315_045, "2025-11-16T17:44:05Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(second_text(seconds), text);
        }
        assert_eq!(moment_text(951_782_399_250_000_000), "2000-02-28T23:59:59.250Z");
        assert_eq!(moment_text(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(minute_text(951_782_400 / 60), "2000-02-29T00:00Z");
        let leap_day = 951_782_400 / 60;
        assert_eq!(clock_text(leap_day + 127, leap_day + 1_439), "02:07");
        assert_eq!(clock_text(leap_day + 127, leap_day + 1_440), "Feb 29, 02:07");
        assert_eq!(folder_name(1_798_761_599), "2026_12_31_23_59_59");
        // Where calendars end.
        assert_eq!(second_text(i64::MAX), "9999-12-30T22:00:00Z");
    }

    #[test]
    fn hours_and_days_are_read() {
        assert_eq!(compact_hour(4_107_542_400 / 3_600), "21000301T00");
        for hour in [-1, 0, 1, 264_384, 496_297, 1_140_984] {
            let text = compact_hour(hour);
            assert_eq!(parse_compact_hour(&text), Some(hour), "{text}");
        }
        for wrong in ["20260230T01", "20260203T24", "2026-2-3T01", "20260203", "+2026203T01"] {
            assert_eq!(parse_compact_hour(wrong), None, "{wrong}");
        }
        assert_eq!((parse_day("1970-01-02"), parse_day("2000-02-29")), (Some(1), Some(11_016)));
        for wrong in ["2025-13-01", "2025-02-30", "yesterday", ""] {
            assert_eq!(parse_day(wrong), None, "{wrong}");
        }
    }
}

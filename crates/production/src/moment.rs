//! Moments and stretches of time as text, in UTC: `2026-11-17T01`, `2026-11-17`, `24h`.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::ProductionError;

/// Nanoseconds since 1970.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Year, month and day of a day since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    // Years are counted from March 1, 0000, so that a leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// The day since 1970 of a date, if there is one.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let (shifted, years) = if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let (era, of_era) = (years.div_euclid(400), years.rem_euclid(400));
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    ((1..=12).contains(&month) && date(days) == (year, month, day)).then_some(days)
}

/// `20261117T01`, which sorts.
pub(crate) fn compact_hour(hour: i64) -> String {
    let (year, month, day) = date(hour.div_euclid(24));
    format!("{year:04}{month:02}{day:02}T{:02}", hour.rem_euclid(24))
}

pub(crate) fn parse_compact_hour(text: &str) -> Option<i64> {
    let (day, hour) = text.split_once('T')?;
    if day.len() != 8 || hour.len() != 2 || !text.bytes().all(|b| b.is_ascii_digit() || b == b'T') {
        return None;
    }
    let number = |text: &str| text.parse::<i64>().ok();
    let hour = number(hour).filter(|hour| *hour < 24)?;
    Some(day_of(number(&day[..4])?, number(&day[4..6])?, number(&day[6..])?)? * 24 + hour)
}

/// `2026-11-17T01:05Z`.
pub fn minute_text(minute: i64) -> String {
    let (year, month, day) = date(minute.div_euclid(1_440));
    let of_day = minute.rem_euclid(1_440);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}Z", of_day / 60, of_day % 60)
}

/// `2026-11-17T01:05:09.250Z`.
pub fn moment_text(ns: i64) -> String {
    let seconds = ns.div_euclid(1_000_000_000);
    let minute = minute_text(seconds.div_euclid(60));
    let millis = ns.rem_euclid(1_000_000_000) / 1_000_000;
    format!("{}:{:02}.{millis:03}Z", minute.trim_end_matches('Z'), seconds.rem_euclid(60))
}

/// A stretch of time in whole minutes since 1970: from the first one, up to and without the last one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first minute.
    pub from: i64,
    /// The minute after the last one.
    pub until: i64,
}

impl Period {
    /// The last minutes before a moment, the minute of that moment included.
    pub fn last(minutes: i64, now_ns: i64) -> Self {
        let until = now_ns.div_euclid(60_000_000_000) + 1;
        Self { from: until.saturating_sub(minutes.max(1)), until }
    }

    /// Reads `30m`, `24h` or `7d` before a moment, an hour (`2026-11-17T01`) or a day (`2026-11-17`), in UTC.
    pub fn parse(text: &str, now_ns: i64) -> Result<Self, ProductionError> {
        Self::read(text.trim(), now_ns).ok_or_else(|| {
            let text: String = text.chars().take(60).collect();
            ProductionError::new(
                format!("this is no stretch of time: '{text}'"),
                "write 30m, 24h or 7d, an hour such as 2026-11-17T01, or a day such as 2026-11-17 (UTC)",
            )
        })
    }

    fn read(text: &str, now_ns: i64) -> Option<Self> {
        for (unit, minutes) in [("m", 1), ("h", 60), ("d", 1_440), ("w", 10_080)] {
            if let Some(count) = text.strip_suffix(unit).and_then(|digits| digits.parse::<i64>().ok()) {
                return (1..=100_000).contains(&count).then(|| Self::last(count * minutes, now_ns));
            }
        }
        let (day, hour) = match text.trim_end_matches('Z').split_once('T') {
            Some((day, hour)) => (day, Some(hour)),
            None => (text, None),
        };
        let parts: Vec<i64> = day.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [year, month, day] = parts.try_into().ok()?;
        let day = day_of(year, month, day)?;
        match hour {
            None => Some(Self { from: day * 1_440, until: (day + 1) * 1_440 }),
            Some(hour) => {
                let hour: i64 = hour.split(':').next()?.parse().ok().filter(|h| (0..24).contains(h))?;
                let from = day * 1_440 + hour * 60;
                Some(Self { from, until: from + 60 })
            }
        }
    }

    /// How many minutes.
    pub fn minutes(&self) -> i64 {
        self.until - self.from
    }

    /// Whether a minute is in it.
    pub fn contains(&self, minute: i64) -> bool {
        self.from <= minute && minute < self.until
    }

    /// Whether all of another stretch is in it.
    pub fn covers(&self, other: Period) -> bool {
        self.from <= other.from && other.until <= self.until
    }

    /// Whether any minute is in both.
    pub fn meets(&self, other: Period) -> bool {
        self.from < other.until && other.from < self.until
    }

    /// The same stretch so many minutes earlier.
    pub fn earlier(&self, minutes: i64) -> Self {
        Self { from: self.from - minutes, until: self.until - minutes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_date() {
        // date -u -d @SECONDS +%FT%TZ
        assert_eq!(moment_text(951_782_399_250_000_000), "2000-02-28T23:59:59.250Z");
        assert_eq!(minute_text(951_782_400 / 60), "2000-02-29T00:00Z");
        assert_eq!(compact_hour(4_107_542_400 / 3_600), "21000301T00");
        for hour in [-1, 0, 1, 264_384, 496_297, 1_140_984] {
            let text = compact_hour(hour);
            assert_eq!(parse_compact_hour(&text), Some(hour), "{text}");
        }
        assert_eq!(parse_compact_hour("20260230T01"), None);
    }

    #[test]
    fn stretches_of_time_are_read() {
        let now = 1_763_315_045_000_000_000; // 2025-11-16T17:44:05Z
        let hour = Period::parse("1h", now).unwrap();
        assert_eq!(
            (minute_text(hour.from), minute_text(hour.until)),
            ("2025-11-16T16:45Z".into(), "2025-11-16T17:45Z".into())
        );
        let day = Period::parse("2025-11-16", now).unwrap();
        assert_eq!((minute_text(day.from), day.minutes()), ("2025-11-16T00:00Z".into(), 1_440));
        let one = Period::parse("2025-11-16T17", now).unwrap();
        assert_eq!((minute_text(one.from), one.minutes()), ("2025-11-16T17:00Z".into(), 60));
        assert_eq!(minute_text(one.earlier(1_440).from), "2025-11-15T17:00Z");
        for wrong in
            ["", "h", "0h", "-1h", "1y", "2025-13-01", "2025-02-30", "2025-11-16T24", "yesterday", "9999999h"]
        {
            assert!(Period::parse(wrong, now).is_err(), "{wrong}");
        }
    }
}

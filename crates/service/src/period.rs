//! Stretches of time as text, in UTC: `2026-11-17T01`, `2026-11-17`, `24h`.

use stepscope_ground::utc::{MINUTE_NS, parse_day};
use stepscope_ground::{Problem, units};

/// Nearly two hundred years.
const MAX_MINUTES: i64 = 100_000_000;

/// A stretch of time in whole minutes since 1970: from the first one, up to and without the last one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Period {
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
    pub fn parse(text: &str, now_ns: i64) -> Result<Self, Problem> {
        Self::read(text.trim(), now_ns).ok_or_else(|| {
            let text: String = text.chars().take(60).collect();
            Problem::new(
                format!("not a time range: '{text}'"),
                "write 30m, 24h or 7d, an hour such as 2026-11-17T01, or a day such as 2026-11-17 (UTC)",
            )
        })
    }

    fn read(text: &str, now_ns: i64) -> Option<Self> {
        if let Some(ns) = units::nanoseconds(text, "") {
            let minutes = ns.div_euclid(MINUTE_NS);
            return (ns % MINUTE_NS == 0 && (1..=MAX_MINUTES).contains(&minutes))
                .then(|| Self::last(minutes, now_ns));
        }
        let (day, hour) = match text.trim_end_matches('Z').split_once('T') {
            Some((day, hour)) => (day, Some(hour)),
            None => (text, None),
        };
        let day = parse_day(day)?;
        match hour {
            None => Some(Self { from: day * 1_440, until: (day + 1) * 1_440 }),
            Some(hour) => {
                let hour: i64 = hour.split(':').next()?.parse().ok().filter(|h| (0..24).contains(h))?;
                let from = day * 1_440 + hour * 60;
                Some(Self { from, until: from + 60 })
            }
        }
    }

    pub fn minutes(&self) -> i64 {
        self.until - self.from
    }

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
    use stepscope_ground::utc::minute_text;

    use super::*;

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

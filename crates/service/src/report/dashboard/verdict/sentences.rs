//! Sentences about times: in UTC as text, and in pieces for readers in another zone.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ask::print::units;
use stepscope_ground::utc::clock_text;

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "SentencePiece")]
pub enum Piece {
    Text(String),
    /// A time, which the reader's clock may show in another zone.
    When(When),
}

/// A moment, or a stretch of time, in minutes since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SentenceTime")]
pub struct When {
    /// The moment, or where the stretch begins.
    pub from: i64,
    pub until: Option<i64>,
    /// The day of this minute goes without saying.
    pub near: i64,
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl When {
    /// `02:07 UTC`, `10:20 to 11:05 UTC`, with the day where it is another one.
    fn text(&self) -> String {
        let from = clock_text(self.from, self.near);
        match self.until {
            Some(until) => format!("{from} to {} UTC", clock_text(until, self.from)),
            None => format!("{from} UTC"),
        }
    }
}

pub(super) fn sentence(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::When(when) => when.text(),
    };
    pieces.iter().map(text).collect()
}

/// `53 minutes`, `7 hours`, `3 days`.
pub(super) fn span(minutes: i64) -> String {
    let (size, name) = match minutes {
        ..120 => (1, "minute"),
        120..2_880 => (60, "hour"),
        _ => (1_440, "day"),
    };
    let many = (minutes + size / 2) / size;
    format!("{many} {name}{}", if many == 1 { "" } else { "s" })
}

/// `+12.3%`, `-4.0%`, or `2.99×` where percents are hard to read.
pub(crate) fn change(before_ns: u64, after_ns: u64) -> String {
    let times = after_ns as f64 / before_ns.max(1) as f64;
    if times >= 2.5 { format!("{}×", units::three_digits(times)) } else { units::delta_percent(times - 1.0) }
}

/// Requests per second: `41.2`, `0.03`, `1,204`.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        ..0.01 => "<0.01".to_owned(),
        1_000.0.. => units::count(per_second.round() as u64),
        _ => units::three_digits(per_second),
    }
}

/// A latency that is only roughly meant.
pub(crate) fn about(ns: u64) -> String {
    units::about(i64::try_from(ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_say_them() {
        assert_eq!([0.0, 0.004, 0.5, 41.23, 1_204.4].map(rate), ["0", "<0.01", "0.50", "41.2", "1,204"]);
        assert_eq!((change(1_000, 1_123), change(100, 96)), ("+12.3%".to_owned(), "-4.0%".to_owned()));
        assert_eq!((change(100, 299), change(0, 5)), ("2.99×".to_owned(), "5.00×".to_owned()));
        let minutes = [1, 53, 119, 120, 420, 2_880, 10_080];
        let spans = ["1 minute", "53 minutes", "119 minutes", "2 hours", "7 hours", "2 days", "7 days"];
        assert_eq!(minutes.map(span), spans);
    }

    #[test]
    fn a_day_is_named_where_it_is_another_one() {
        let day = 20_774 * 1_440; // 2026-11-17
        let when = |from, until, near| When { from, until, near }.text();
        assert_eq!(when(day + 127, None, day + 180), "02:07 UTC");
        assert_eq!(when(day - 30, Some(day + 5), day + 180), "Nov 16, 23:30 to Nov 17, 00:05 UTC");
    }
}

//! A line: a thread's or a stream's events, with their times in picoseconds made nanoseconds.

use std::ops::Range;

use stepscope_model::Ns;

use stepscope_ground::protobuf::{Field, Fields};

/// What a line says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) events: Vec<Event>,
    /// Why its end is missing.
    pub(super) damage: Option<&'static str>,
    /// Events whose times are finer than a nanosecond.
    pub(super) rounded: u64,
    /// Events with a length below zero.
    pub(super) negative: u64,
    /// Events with a time that 64-bit nanoseconds cannot hold.
    pub(super) out_of_range: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Since the profiler started.
    pub(super) start: Ns,
    pub(super) dur: Ns,
    /// The number of its description.
    pub(super) is: u64,
    /// Its message inside the line's.
    pub(super) message: Range<usize>,
}

impl Event {
    pub(super) fn end(&self) -> Ns {
        self.start + self.dur
    }
}

/// Takes a line apart; its events come in order of their starts, an outer one before those in it. At most `most` events.
pub(super) fn line(message: &[u8], most: u64) -> Line {
    let mut line = Line::default();
    let mut timestamp_ns = 0i64;
    // The time that events count from may stand behind them.
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Number(id)) => line.id = id as i64,
            (2, Field::Bytes(name)) if line.name.is_empty() => {
                line.name = String::from_utf8_lossy(name).into_owned();
            }
            (11, Field::Bytes(name)) => line.name = String::from_utf8_lossy(name).into_owned(),
            (3, Field::Number(ns)) => timestamp_ns = ns as i64,
            _ => {}
        }
    }
    for field in Fields::new(message) {
        let bytes = match field {
            Ok((4, Field::Bytes(bytes))) => bytes,
            Ok(_) => continue,
            Err(why) => {
                line.damage = Some(why);
                break;
            }
        };
        if line.events.len() as u64 >= most {
            break;
        }
        let (mut is, mut offset_ps, mut dur_ps) = (0, 0i64, 0i64);
        for field in Fields::new(bytes) {
            match field {
                Ok((1, Field::Number(number))) => is = number,
                Ok((2, Field::Number(ps))) => offset_ps = ps as i64,
                Ok((3, Field::Number(ps))) => dur_ps = ps as i64,
                Ok(_) => {}
                Err(why) => line.damage = Some(why),
            }
        }
        line.negative += u64::from(dur_ps < 0);
        line.rounded += u64::from(offset_ps % 1000 != 0 || dur_ps % 1000 != 0);
        let start = to_ns(offset_ps).checked_add(timestamp_ns);
        let end = offset_ps.checked_add(dur_ps.max(0)).and_then(|end| to_ns(end).checked_add(timestamp_ns));
        let Some((start, end)) = start.zip(end) else {
            line.out_of_range += 1;
            continue;
        };
        let from = bytes.as_ptr() as usize - message.as_ptr() as usize;
        // Ends are rounded as starts are, so that what lies inside stays inside.
        line.events.push(Event {
            start: Ns(start),
            dur: Ns(end.saturating_sub(start)),
            is,
            message: from..from + bytes.len(),
        });
    }
    let key = |event: &Event| (event.start, std::cmp::Reverse(event.end()));
    if !line.events.is_sorted_by_key(key) {
        line.events.sort_by_key(key);
    }
    line
}

/// Picoseconds to the nearest nanosecond.
fn to_ns(ps: i64) -> i64 {
    ps.div_euclid(1000) + i64::from(ps.rem_euclid(1000) >= 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_ground::protobuf::Put;

    fn message(timestamp_ns: u64, events: &[(u64, u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        for &(offset, dur) in events {
            let mut event = Vec::new();
            event.nonzero(1, 7);
            event.nonzero(2, offset);
            event.nonzero(3, dur);
            out.bytes(4, &event);
        }
        out.nonzero(3, timestamp_ns);
        out
    }

    #[test]
    fn picoseconds_become_nanoseconds_and_stay_nested() {
        let found = line(&message(1_000, &[(2_500, 4_600), (2_500, 9_400), (100, 0)]), 10);
        let times: Vec<_> = found.events.iter().map(|e| (e.start.0, e.dur.0)).collect();
        // 2.5 ns is 3, 7.1 ns is 7, 11.9 ns is 12.
        assert_eq!(times, [(1_000, 0), (1_003, 9), (1_003, 4)]);
        assert_eq!((found.rounded, found.out_of_range), (3, 0));
        assert!(found.events.iter().all(|e| e.is == 7));
    }

    #[test]
    fn impossible_times_are_counted() {
        let found = line(&message(i64::MAX as u64, &[(5_000, 1), (0, u64::MAX)]), 10);
        assert_eq!((found.events.len(), found.out_of_range, found.negative), (1, 1, 1));
    }
}

//! The level of memory over time: at first every 10 ms, and in longer runs as often as fits.

/// Points that are kept at most.
const MAX_POINTS: usize = 2_000;
const FIRST_EVERY_NS: u64 = 10_000_000;

/// What memory was at one time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CurvePoint {
    /// When, since the start.
    pub at_ns: u64,
    /// The most bytes that were alive since the point before.
    pub live_bytes: u64,
    /// What of the process is in memory; none if the system does not say.
    pub rss_bytes: Option<u64>,
}

#[derive(Debug)]
pub struct Curve {
    points: Vec<CurvePoint>,
    every_ns: u64,
    next_ns: u64,
    most: u64,
    now: u64,
}

impl Default for Curve {
    fn default() -> Curve {
        Curve { points: Vec::new(), every_ns: FIRST_EVERY_NS, next_ns: 0, most: 0, now: 0 }
    }
}

impl Curve {
    #[inline]
    pub(super) fn level(&mut self, bytes: u64) {
        self.now = bytes;
        self.most = self.most.max(bytes);
    }

    #[inline]
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Adds a point.
    pub fn add(&mut self, at_ns: u64, rss_bytes: Option<u64>) {
        self.points.push(CurvePoint { at_ns, live_bytes: self.most, rss_bytes });
        self.most = self.now;
        if self.points.len() >= MAX_POINTS {
            // Of two points the higher numbers stay, so that no peak is lost.
            let halves = self.points.chunks(2).map(|two| CurvePoint {
                at_ns: two[0].at_ns,
                live_bytes: two.iter().map(|point| point.live_bytes).max().unwrap_or(0),
                rss_bytes: two.iter().filter_map(|point| point.rss_bytes).max(),
            });
            self.points = halves.collect();
            self.every_ns *= 2;
        }
        self.next_ns = at_ns + self.every_ns;
    }

    pub fn points(&self) -> &[CurvePoint] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_peak_and_its_size() {
        let mut curve = Curve::default();
        for at in 0..100_000u64 {
            curve.level(if at == 777 { 5_000 } else { 10 });
            if curve.is_due(at * 10_000_000) {
                curve.add(at * 10_000_000, Some(at));
            }
        }
        assert!(curve.points().len() < MAX_POINTS);
        assert_eq!(curve.points().iter().map(|point| point.live_bytes).max(), Some(5_000));
        assert!(curve.points().windows(2).all(|two| two[0].at_ns < two[1].at_ns));
        assert!(curve.points().last().unwrap().at_ns > 900_000_000_000);
    }
}

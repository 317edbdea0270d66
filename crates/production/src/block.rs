//! What one process knows about one minute, and how that is written: numbers of variable length, names once.

use std::collections::BTreeMap;

use crate::exemplar::{Exemplar, KeptSpan};
use crate::sketch::{Parts, Sketch};
use crate::stats::{RegionStats, RouteStats, TargetCount};

/// Names, regions or examples in a block at most: more is damage.
const MAX_ITEMS: u64 = 100_000;

/// What the process itself did in that minute.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// How long it was watched.
    pub watched_ns: u64,
    /// Processor time that it used.
    pub cpu_ns: u64,
    /// The most memory that it held.
    pub max_rss_bytes: u64,
    /// Requests of earlier minutes that could not be written.
    pub lost_requests: u64,
    /// How often the clock was set.
    pub clock_jumps: u64,
}

impl Gauges {
    /// Adds another stretch of time.
    pub fn merge(&mut self, other: &Gauges) {
        self.watched_ns = self.watched_ns.saturating_add(other.watched_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.max_rss_bytes = self.max_rss_bytes.max(other.max_rss_bytes);
        self.lost_requests = self.lost_requests.saturating_add(other.lost_requests);
        self.clock_jumps = self.clock_jumps.saturating_add(other.clock_jumps);
    }
}

/// One minute of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Minutes since 1970.
    pub minute: i64,
    /// Blocks of a process are numbered: what is still open and what was closed are told apart by it.
    pub sequence: u64,
    /// The process itself.
    pub gauges: Gauges,
    /// Its requests by route.
    pub routes: BTreeMap<String, RouteStats>,
    /// Examples.
    pub exemplars: Vec<Exemplar>,
}

impl Block {
    /// How many requests it counts.
    pub fn requests(&self) -> u64 {
        self.routes.values().map(RouteStats::requests).sum()
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        signed(&mut out, self.minute);
        let gauges = &self.gauges;
        for value in [
            self.sequence,
            gauges.watched_ns,
            gauges.cpu_ns,
            gauges.max_rss_bytes,
            gauges.lost_requests,
            gauges.clock_jumps,
            self.routes.len() as u64,
        ] {
            number(&mut out, value);
        }
        for (name, stats) in &self.routes {
            text(&mut out, name);
            route(&mut out, stats);
        }
        number(&mut out, self.exemplars.len() as u64);
        for exemplar in &self.exemplars {
            example(&mut out, exemplar);
        }
        out
    }

    /// From bytes; `None` where they are not a block.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Bytes { rest: bytes };
        let minute = from.signed()?;
        let sequence = from.number()?;
        let gauges = Gauges {
            watched_ns: from.number()?,
            cpu_ns: from.number()?,
            max_rss_bytes: from.number()?,
            lost_requests: from.number()?,
            clock_jumps: from.number()?,
        };
        let mut routes = BTreeMap::new();
        for _ in 0..from.items()? {
            routes.insert(from.text()?, from.route()?);
        }
        let mut exemplars = Vec::new();
        for _ in 0..from.items()? {
            exemplars.push(from.example(sequence)?);
        }
        from.rest.is_empty().then_some(Self { minute, sequence, gauges, routes, exemplars })
    }
}

/// A number in as few bytes as it needs.
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn signed(out: &mut Vec<u8>, value: i64) {
    number(out, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn route(out: &mut Vec<u8>, stats: &RouteStats) {
    for value in [
        stats.errors,
        stats.samples,
        stats.tokens,
        stats.cpu_ns,
        stats.cpu_requests,
        stats.gpu_ns,
        stats.gpu_requests,
        stats.max_rss_bytes,
        stats.regions_left_out,
    ] {
        number(out, value);
    }
    sketch(out, &stats.latency);
    number(out, stats.regions.len() as u64);
    for (name, region) in &stats.regions {
        text(out, name);
        number(out, region.self_ns);
        sketch(out, &region.duration);
    }
    number(out, stats.targets.len() as u64);
    for (name, count) in &stats.targets {
        text(out, name);
        number(out, count.requests);
        number(out, count.missed);
    }
}

/// Only buckets that hold something: how many are skipped, and the count.
fn sketch(out: &mut Vec<u8>, sketch: &Sketch) {
    let (offset, counts) = sketch.buckets();
    let used: Vec<(usize, u64)> = counts.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect();
    let first = used.first().map_or(0, |(at, _)| *at);
    signed(out, i64::from(sketch.scale()));
    for value in [sketch.zeros(), sketch.sum(), sketch.min().unwrap_or(0), sketch.max().unwrap_or(0)] {
        number(out, value);
    }
    signed(out, i64::from(offset) + first as i64);
    number(out, used.len() as u64);
    let mut next = first;
    for (at, count) in used {
        number(out, (at - next) as u64);
        number(out, count);
        next = at + 1;
    }
}

fn example(out: &mut Vec<u8>, exemplar: &Exemplar) {
    text(out, &exemplar.route);
    text(out, &exemplar.id);
    signed(out, exemplar.ended_ns);
    for value in [
        exemplar.latency_ns,
        u64::from(exemplar.failed) | u64::from(exemplar.slow) << 1,
        exemplar.samples,
        u64::from(exemplar.process),
        exemplar.key,
        exemplar.spans.len() as u64,
    ] {
        number(out, value);
    }
    for span in &exemplar.spans {
        text(out, &span.name);
        number(out, span.parent.map_or(0, |parent| u64::from(parent) + 1));
        number(out, span.start_ns);
        number(out, span.duration_ns);
    }
    number(out, exemplar.stack.len() as u64);
    exemplar.stack.iter().for_each(|frame| text(out, frame));
    text(out, exemplar.profile.as_deref().unwrap_or_default());
}

/// What is left to be read.
pub(crate) struct Bytes<'a> {
    pub rest: &'a [u8],
}

impl Bytes<'_> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for at in 0..10 {
            let byte = *self.rest.get(at)?;
            value |= u64::from(byte & 0x7f).checked_shl(7 * at as u32)?;
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of things; each takes a byte at least.
    pub(crate) fn items(&mut self) -> Option<u64> {
        self.number().filter(|n| *n <= MAX_ITEMS && *n <= self.rest.len() as u64)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn sketch(&mut self) -> Option<Sketch> {
        let scale = i8::try_from(self.signed()?).ok()?;
        let (zeros, sum, min, max) = (self.number()?, self.number()?, self.number()?, self.number()?);
        let offset = i32::try_from(self.signed()?).ok()?;
        let mut counts = Vec::new();
        for _ in 0..self.items()? {
            let skipped = usize::try_from(self.number()?).ok()?;
            if skipped.saturating_add(counts.len()) >= crate::sketch::MAX_BUCKETS {
                return None;
            }
            counts.resize(counts.len() + skipped, 0);
            counts.push(self.number()?);
        }
        Sketch::from_parts(Parts { scale, offset, counts, zeros, sum, min, max })
    }

    fn route(&mut self) -> Option<RouteStats> {
        let mut stats = RouteStats {
            errors: self.number()?,
            samples: self.number()?,
            tokens: self.number()?,
            cpu_ns: self.number()?,
            cpu_requests: self.number()?,
            gpu_ns: self.number()?,
            gpu_requests: self.number()?,
            max_rss_bytes: self.number()?,
            regions_left_out: self.number()?,
            latency: self.sketch()?,
            ..RouteStats::default()
        };
        for _ in 0..self.items()? {
            let name = self.text()?;
            let self_ns = self.number()?;
            stats.regions.insert(name, RegionStats { self_ns, duration: self.sketch()? });
        }
        for _ in 0..self.items()? {
            let name = self.text()?;
            stats.targets.insert(name, TargetCount { requests: self.number()?, missed: self.number()? });
        }
        Some(stats)
    }

    fn example(&mut self, block: u64) -> Option<Exemplar> {
        let (route, id, ended_ns) = (self.text()?, self.text()?, self.signed()?);
        let (latency_ns, flags, samples) = (self.number()?, self.number()?, self.number()?);
        let (process, key) = (u32::try_from(self.number()?).ok()?, self.number()?);
        let mut spans: Vec<KeptSpan> = Vec::new();
        for at in 0..self.items()? {
            let name = self.text()?;
            let parent = self.number()?;
            // Each region stands behind the one it lies in: no circle, whatever the bytes say.
            if parent > at {
                return None;
            }
            let parent = u32::try_from(parent).ok()?.checked_sub(1);
            spans.push(KeptSpan { name, parent, start_ns: self.number()?, duration_ns: self.number()? });
        }
        let mut stack = Vec::new();
        for _ in 0..self.items()? {
            stack.push(self.text()?);
        }
        let profile = Some(self.text()?).filter(|name| !name.is_empty());
        let (failed, slow) = (flags & 1 == 1, flags & 2 == 2);
        Some(Exemplar {
            route,
            id,
            ended_ns,
            latency_ns,
            failed,
            samples,
            process,
            spans,
            stack,
            profile,
            slow,
            key,
            block,
        })
    }
}

#[cfg(test)]
mod tests;

//! Idle time of devices: every gap, cut into pieces that each have one cause.
//!
//! A gap is a stretch of a step in which a device ran no kernel, copy or fill on any stream. It ends when the next
//! work begins, and the reason is looked for there. As long as that work was not launched, the host was late,
//! and what the host did then is the cause. From the launch on it is latency, or, if the launch was long ago, a
//! queue that did not move on.

use std::ops::Range;

use stepscope_model::{Ns, SliceId, Tag, Trace};

use crate::causes::cause::Cause;
use crate::devices::streams::{QUEUED_LIMIT, Stream, Work, launch_latency};
use crate::threads::host_time::HostTime;

/// The class of a gap as a whole.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// The next work was launched after the device had run dry.
    HostLate,
    /// The next work was on its way.
    LaunchLatency,
    /// The next work was queued right behind what had just ended.
    QueuedGap,
    /// The next work waited for another stream, an event or another device.
    Dependency,
    /// The next work, if any, belongs to a later step.
    EndOfStep,
    /// The call that launched the next work was not recorded.
    Unlinked,
}

/// One gap of a device.
#[derive(Clone, Debug)]
pub struct Gap {
    /// The device.
    pub device: Tag,
    /// Which window it lies in.
    pub window: usize,
    /// Where the device ran dry.
    pub start: Ns,
    /// Where it went on.
    pub end: Ns,
    /// Its class.
    pub kind: GapKind,
    /// What ran next.
    pub next: Option<SliceId>,
    parts: Range<usize>,
}

/// A piece of a gap.
#[derive(Copy, Clone, Debug)]
pub struct GapPart {
    /// Where it begins.
    pub start: Ns,
    /// Where it ends.
    pub end: Ns,
    /// Why.
    pub cause: Cause,
    /// The host slice responsible, if there is one.
    pub slice: Option<SliceId>,
}

/// All gaps of all devices.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    /// The gaps, devices by number, in order of time.
    pub gaps: Vec<Gap>,
    parts: Vec<GapPart>,
}

impl Idle {
    /// The pieces of a gap: they cover it without overlap.
    pub fn parts(&self, gap: &Gap) -> &[GapPart] {
        &self.parts[gap.parts.clone()]
    }

    /// The gaps of one device.
    pub fn of_device(&self, device: Tag) -> &[Gap] {
        let from = self.gaps.partition_point(|g| g.device < device);
        let count = self.gaps[from..].partition_point(|g| g.device == device);
        &self.gaps[from..from + count]
    }
}

/// The gaps inside some windows, which are sorted and do not overlap.
pub(crate) fn idle(trace: &Trace, host: &HostTime, streams: &[Stream], windows: &[(Ns, Ns)]) -> Idle {
    let mut found = Idle::default();
    let latency = launch_latency(streams);
    for of_device in streams.chunk_by(|a, b| a.device == b.device) {
        let work = merged(of_device);
        let finder = Finder { trace, host, streams: of_device, latency, device: of_device[0].device };
        let mut next = 0;
        let mut done = Ns::MIN;
        for (window, &(from, to)) in windows.iter().enumerate() {
            while next < work.len() && work[next].0.start < from {
                done = done.max(work[next].0.end);
                next += 1;
            }
            let mut at = from.max(done);
            while at < to {
                let upcoming = work.get(next);
                let until = upcoming.map_or(to, |w| w.0.start.min(to));
                if at < until {
                    let in_window = upcoming.filter(|w| w.0.start < to);
                    finder.gap(&mut found, window, (at, until), upcoming, in_window.is_some());
                }
                let Some((w, _)) = upcoming.filter(|w| w.0.start < to) else { break };
                done = done.max(w.end);
                at = at.max(until).max(done);
                next += 1;
            }
        }
    }
    found
}

/// A device's work by start, with its stream's position.
fn merged(streams: &[Stream]) -> Vec<(Work, usize)> {
    let mut all: Vec<(Work, usize)> = Vec::with_capacity(streams.iter().map(|s| s.work.len()).sum());
    for (i, stream) in streams.iter().enumerate() {
        all.extend(stream.work.iter().map(|&w| (w, i)));
    }
    if streams.len() > 1 {
        all.sort_by_key(|w| w.0.start);
    }
    all
}

struct Finder<'a> {
    trace: &'a Trace,
    host: &'a HostTime,
    streams: &'a [Stream],
    latency: Ns,
    device: Tag,
}

impl Finder<'_> {
    fn gap(
        &self,
        found: &mut Idle,
        window: usize,
        (start, end): (Ns, Ns),
        next: Option<&(Work, usize)>,
        in_window: bool,
    ) {
        let from = found.parts.len();
        let mut add = |start: Ns, end: Ns, cause: Cause, slice: Option<SliceId>| {
            if start < end {
                found.parts.push(GapPart { start, end, cause, slice });
            }
        };
        let launch = next.and_then(|(w, _)| Some((w.launch?, w.released)));
        let lane = launch.map(|(l, _)| self.host.home(self.trace, l)).or(self.host.main());
        let mut kind = GapKind::Unlinked;
        match (launch, next, lane) {
            // Without any later work the host has nothing more to launch: what it did is the cause.
            (None, None, Some(lane)) => {
                self.host.doing(lane, (start, end), |s| add(s.start, s.end, Cause::Host(s.activity), s.slice));
            }
            (Some((_, released)), Some((work, stream)), Some(lane)) => {
                let late_until = released.clamp(start, end);
                self.host.doing(lane, (start, late_until), |s| {
                    add(s.start, s.end, Cause::Host(s.activity), s.slice);
                });
                let rest = self.after_launch(work, *stream, start);
                add(late_until, end, rest, None);
                kind = match rest {
                    _ if late_until - start >= end - late_until => GapKind::HostLate,
                    Cause::QueuedGap => GapKind::QueuedGap,
                    Cause::Dependency => GapKind::Dependency,
                    _ => GapKind::LaunchLatency,
                };
            }
            _ => add(start, end, Cause::Unlinked, None),
        }
        if !in_window {
            kind = GapKind::EndOfStep;
        }
        let parts = from..found.parts.len();
        found.gaps.push(Gap {
            device: self.device,
            window,
            start,
            end,
            kind,
            next: next.map(|n| n.0.slice),
            parts,
        });
    }

    /// Why launched work did not start at once.
    fn after_launch(&self, work: &Work, stream: usize, dry_since: Ns) -> Cause {
        if work.released > dry_since || work.start - work.released <= self.latency + self.latency {
            return Cause::LaunchLatency;
        }
        let own = &self.streams[stream];
        let position = own.work.partition_point(|w| w.start < work.start);
        let before = own.work[..position].last().map_or(Ns::MIN, |w| w.end);
        match before >= dry_since && work.start - before <= QUEUED_LIMIT {
            true => Cause::QueuedGap,
            false => Cause::Dependency,
        }
    }
}

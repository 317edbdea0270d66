//! Idle time of devices: every gap, cut into pieces that each have one cause.
//!
//! A gap is a stretch of a step in which a device ran no kernel, copy or fill on any stream. It ends when the next
//! work begins, and the reason is looked for there. As long as that work was not launched, the host was late,
//! and what the host did then is the cause. From the launch on it is latency, or, if the launch was long ago, a
//! queue that did not move on.
//!
//! Steps cut the time between two pieces of work into gaps. A device without work has one in every step, so gaps are
//! not kept: what is kept is the dry stretch between two pieces of work, of which there are as many as the file has
//! work, and gaps are made from it when someone looks at them one by one.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use stepscope_model::{LaneId, Ns, SliceId, Tag, Trace};

use crate::causes::cause::{ByCause, Cause};
use crate::causes::host_sums::HostSums;
use crate::devices::streams::{MAX_QUEUED_GAP, MAX_UNEXPLAINED, Stream, Work, launch_latency};
use crate::scope::windows::{Windows, signed};
use crate::threads::activity::Activity;
use crate::threads::device_backpressure::HostStalls;
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
    /// The device was probably busy with something that was not recorded.
    Unknown,
}

impl GapKind {
    pub const ALL: [GapKind; 7] = [
        GapKind::HostLate,
        GapKind::LaunchLatency,
        GapKind::QueuedGap,
        GapKind::Dependency,
        GapKind::EndOfStep,
        GapKind::Unlinked,
        GapKind::Unknown,
    ];

    /// What it is called in tables.
    pub fn label(self) -> &'static str {
        match self {
            GapKind::HostLate => "host late",
            GapKind::LaunchLatency => "launch latency",
            GapKind::QueuedGap => "between queued kernels",
            GapKind::Dependency => "waiting for another stream",
            GapKind::EndOfStep => "end of step",
            GapKind::Unlinked => "launch not recorded",
            GapKind::Unknown => "device work not recorded",
        }
    }
}

/// One gap of a device.
#[derive(Clone, Debug)]
pub struct Gap {
    pub device: Tag,
    /// Which window it lies in.
    pub window: usize,
    /// Where the device ran dry.
    pub start: Ns,
    pub end: Ns,
    pub kind: GapKind,
    pub next: Option<SliceId>,
    /// The dry stretch it is cut from.
    dry: usize,
}

/// A piece of a gap.
#[derive(Copy, Clone, Debug)]
pub struct GapPart {
    pub start: Ns,
    pub end: Ns,
    pub cause: Cause,
    /// The host slice responsible, if there is one.
    pub slice: Option<SliceId>,
}

/// All gaps of all devices. A copy shares them.
#[derive(Clone, Debug)]
pub struct Idle(Arc<IdleData>);

#[derive(Debug)]
struct IdleData {
    host: HostTime,
    windows: Windows,
    /// The host's time inside the windows.
    sums: HostSums,
    /// Devices by number, with their dry stretches.
    devices: Vec<(Tag, Range<usize>)>,
    /// Device by device, in order of time; only those that reach into a window.
    dry: Vec<DryStretch>,
}

/// A stretch between two pieces of a device's work, whatever windows it reaches into.
#[derive(Clone, Debug)]
pub(crate) struct DryStretch {
    pub(crate) start: Ns,
    /// Where the next work begins; the end of time if there is none.
    pub(crate) end: Ns,
    pub(crate) next: Option<SliceId>,
    /// The thread that is to blame until the next work was launched; none if that is not known.
    pub(crate) lane: Option<LaneId>,
    /// When the next work was launched: the start if that is not known, the end if there is none.
    pub(crate) late_until: Ns,
    /// Why launched work did not start at once, if the gap begins where the stretch does or before the launch.
    first: Cause,
    /// The same, if the gap begins later.
    later: Cause,
}

impl DryStretch {
    /// Why the device was still idle once the next work was launched, in a gap that begins at a moment.
    pub(crate) fn rest_of_gap_at(&self, start: Ns) -> Cause {
        match () {
            () if start < self.late_until || start == self.start => self.first,
            () => self.later,
        }
    }

    /// The pieces of the stretch in some windows that are not the host's, as stretches with one cause each.
    pub(crate) fn rest(&self, windows: &Windows) -> [((Ns, Ns), Cause); 2] {
        let all = (self.late_until, self.end);
        let touched = windows.touching(all);
        if touched.is_empty() {
            return [((Ns::ZERO, Ns::ZERO), self.later); 2];
        }
        // Only the first gap may begin before the launch, or where the stretch does.
        let (from, to) = windows.span(touched.start);
        let until = to.min(self.end);
        let first = self.rest_of_gap_at(from.max(self.start));
        [((self.late_until, until), first), ((until, self.end), self.later)]
    }
}

impl Idle {
    /// The gaps, devices by number, in order of time.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> + '_ {
        self.0.devices.iter().flat_map(|device| self.gaps_on(device))
    }

    pub fn of_device(&self, device: Tag) -> impl Iterator<Item = Gap> + '_ {
        self.0.devices.iter().filter(move |d| d.0 == device).flat_map(|device| self.gaps_on(device))
    }

    fn gaps_on<'a>(&'a self, device: &'a (Tag, Range<usize>)) -> impl Iterator<Item = Gap> + 'a {
        let cut = move |at: usize| self.windows_of(at).map(move |window| self.gap(at, window));
        device.1.clone().flat_map(cut)
    }

    /// What ran after each gap. Work that many gaps in a row wait for is named so often at most.
    pub(crate) fn next_work(&self, most: usize) -> impl Iterator<Item = SliceId> + '_ {
        let next = self.0.dry.iter().enumerate().filter_map(|(at, dry)| Some((at, dry.next?)));
        next.flat_map(move |(at, next)| std::iter::repeat_n(next, self.windows_of(at).len().min(most)))
    }

    /// The pieces of a gap: they cover it without overlap.
    pub fn parts(&self, gap: &Gap) -> Vec<GapPart> {
        let dry = &self.0.dry[gap.dry];
        let mut parts = Vec::new();
        let mut add = |start: Ns, end: Ns, cause: Cause, slice: Option<SliceId>| {
            if start < end {
                parts.push(GapPart { start, end, cause, slice });
            }
        };
        let late_until = dry.late_until.clamp(gap.start, gap.end);
        if let Some(lane) = dry.lane {
            let late = (gap.start, late_until);
            self.0.host.doing(lane, late, |s| add(s.start, s.end, Cause::Host(s.activity), s.slice));
        }
        add(late_until, gap.end, dry.rest_of_gap_at(gap.start), None);
        parts
    }

    /// The windows that gaps are cut at.
    pub(crate) fn windows(&self) -> &Windows {
        &self.0.windows
    }

    pub(crate) fn host(&self) -> &HostTime {
        &self.0.host
    }

    /// Devices by number, with their dry stretches.
    pub(crate) fn devices(&self) -> &[(Tag, Range<usize>)] {
        &self.0.devices
    }

    pub(crate) fn dry(&self) -> &[DryStretch] {
        &self.0.dry
    }

    /// The windows that a dry stretch is cut at: a gap each.
    pub(crate) fn windows_of(&self, dry: usize) -> Range<usize> {
        let dry = &self.0.dry[dry];
        self.0.windows.touching((dry.start, dry.end))
    }

    /// The gap that a window cuts out of a dry stretch.
    pub(crate) fn gap(&self, at: usize, window: usize) -> Gap {
        let (dry, (from, to)) = (&self.0.dry[at], self.0.windows.span(window));
        let (start, end) = (dry.start.max(from), dry.end.min(to));
        let late_until = dry.late_until.clamp(start, end);
        let kind = match dry.rest_of_gap_at(start) {
            _ if dry.next.is_none() || dry.end >= to => GapKind::EndOfStep,
            Cause::Unlinked => GapKind::Unlinked,
            _ if late_until - start >= end - late_until => GapKind::HostLate,
            Cause::QueuedGap => GapKind::QueuedGap,
            Cause::Dependency => GapKind::Dependency,
            Cause::DEVICE_UNRECORDED => GapKind::Unknown,
            _ => GapKind::LaunchLatency,
        };
        let device = self.0.devices.partition_point(|d| d.1.end <= at);
        let device = self.0.devices[device].0;
        Gap { device, window: self.0.windows.position(window), start, end, kind, next: dry.next, dry: at }
    }

    /// One device's idle time in all windows, by cause.
    pub(crate) fn by_cause(&self, device: Tag) -> ByCause {
        let mut by = ByCause::default();
        if let Ok(at) = self.0.devices.binary_search_by(|d| d.0.cmp(&device)) {
            self.add_in(&self.0.devices[at].1, &self.0.windows, &self.0.sums, &mut by);
        }
        by
    }

    /// Adds the time of some dry stretches in some windows, by cause.
    pub(crate) fn add_in(&self, dry: &Range<usize>, windows: &Windows, sums: &HostSums, by: &mut ByCause) {
        for dry in &self.0.dry[dry.clone()] {
            if let Some(lane) = dry.lane {
                add_host(by, &sums.doing(lane, (dry.start, dry.late_until)));
            }
            for (stretch, cause) in dry.rest(windows) {
                by.add(cause, signed(windows.length(stretch)));
            }
        }
    }

    /// Adds the time of some dry stretches in one window, by cause.
    pub(crate) fn add_window(&self, dry: &Range<usize>, window: (Ns, Ns), sums: &HostSums, by: &mut ByCause) {
        let dry = &self.0.dry[dry.clone()];
        let first = dry.partition_point(|d| d.end <= window.0);
        for dry in dry[first..].iter().take_while(|d| d.start < window.1) {
            let (start, end) = (dry.start.max(window.0), dry.end.min(window.1));
            let late_until = dry.late_until.clamp(start, end);
            if let Some(lane) = dry.lane {
                add_host(by, &sums.doing(lane, (start, late_until)));
            }
            by.add(dry.rest_of_gap_at(start), (end - late_until).0);
        }
    }
}

pub(crate) fn add_host(by: &mut ByCause, host: &[u64; Activity::ALL.len()]) {
    for (activity, &ns) in Activity::ALL.into_iter().zip(host) {
        by.add(Cause::Host(activity), signed(ns));
    }
}

/// The gaps inside some windows, which are sorted and do not overlap.
pub(crate) fn idle(trace: &Trace, host: &HostTime, streams: &[Stream], windows: &[(Ns, Ns)]) -> Idle {
    let windows = Windows::new(windows, |_| true);
    let sums = HostSums::new(host, Some(windows.clone()));
    let latency = launch_latency(streams);
    let (mut devices, mut found) = (Vec::new(), Vec::new());
    let elsewhere = OnceCell::new();
    for of_device in streams.chunk_by(|a, b| a.device == b.device) {
        let from = found.len();
        let alone = of_device.len() == streams.len();
        let finder = Finder { trace, host, streams: of_device, latency, alone, elsewhere: &elsewhere };
        let mut done = Ns::MIN;
        for next in merged(of_device) {
            if !windows.touching((done, next.0.start)).is_empty() {
                found.push(finder.dry(done, Some(&next)));
            }
            done = done.max(next.0.end);
        }
        if !windows.touching((done, Ns::MAX)).is_empty() {
            found.push(finder.dry(done, None));
        }
        devices.push((of_device[0].device, from..found.len()));
    }
    Idle(Arc::new(IdleData { host: host.clone(), windows, sums, devices, dry: found }))
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
    /// Whether there is no other device to wait for.
    alone: bool,
    elsewhere: &'a OnceCell<HostStalls>,
}

impl Finder<'_> {
    /// The stretch from a moment at which all work was done to the next.
    fn dry(&self, start: Ns, next: Option<&(Work, usize)>) -> DryStretch {
        let end = next.map_or(Ns::MAX, |(work, _)| work.start);
        let unknown = DryStretch {
            start,
            end,
            next: next.map(|n| n.0.slice),
            lane: None,
            late_until: start,
            first: Cause::Unlinked,
            later: Cause::Unlinked,
        };
        match next {
            // Without any later work the host has nothing more to launch: what it did is the cause.
            None => match self.host.main() {
                Some(lane) => DryStretch { lane: Some(lane), late_until: end, ..unknown },
                None => unknown,
            },
            Some((work, stream)) => match work.launch {
                Some(launch) => {
                    let late_until = work.released.clamp(start, end);
                    let after = |dry_since: Ns| match self.alone && end - late_until > MAX_UNEXPLAINED {
                        true => self.unexplained((late_until, end)),
                        false => self.after_launch(work, *stream, dry_since),
                    };
                    let lane = Some(self.host.home(self.trace, launch));
                    DryStretch { lane, late_until, first: after(start), later: after(Ns::MAX), ..unknown }
                }
                None => unknown,
            },
        }
    }

    /// Why launched work stayed away from an empty device for long.
    fn unexplained(&self, stretch: (Ns, Ns)) -> Cause {
        let elsewhere = self.elsewhere.get_or_init(|| HostStalls::new(self.trace));
        Cause::Host(elsewhere.during(stretch).unwrap_or(Activity::DeviceUnrecorded))
    }

    /// Why launched work did not start at once.
    fn after_launch(&self, work: &Work, stream: usize, dry_since: Ns) -> Cause {
        if work.released > dry_since || work.start - work.released <= self.latency + self.latency {
            return Cause::LaunchLatency;
        }
        let own = &self.streams[stream];
        let position = own.work.partition_point(|w| w.start < work.start);
        let before = own.work[..position].last().map_or(Ns::MIN, |w| w.end);
        match before >= dry_since && work.start - before <= MAX_QUEUED_GAP {
            true => Cause::QueuedGap,
            false => Cause::Dependency,
        }
    }
}

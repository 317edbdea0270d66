//! Device work in the order of its streams, with the calls that launched it.

use stepscope_model::{Domain, Ns, SliceId, Tag, Trace};

/// A stream that is stalled longer than this behind its own work waits for something else. HTA draws the line here too.
pub(crate) const MAX_QUEUED_GAP: Ns = Ns(30_000);

/// No launch takes longer than this to arrive: work that starts later waited for something else.
pub(crate) const MAX_LATENCY: Ns = Ns(50_000);

/// Nothing that is recorded explains why launched work stays away from an empty device for longer than this.
pub(crate) const MAX_UNEXPLAINED: Ns = Ns(200_000);

/// One kernel, copy or fill.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Work {
    pub(crate) slice: SliceId,
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    /// The launching call, if recorded.
    pub(crate) launch: Option<SliceId>,
    /// Where that call starts; the work's own start without one.
    pub(crate) launched: Ns,
    /// When the call handed it over: where the call ends, or starts if the work began before that. Of a call that stood
    /// still for long before its work began, shortly before the work.
    pub(crate) released: Ns,
}

/// One stream's work, by start.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) device: Tag,
    /// Its number, if the file gives it one.
    pub(crate) number: Option<i64>,
    pub(crate) work: Vec<Work>,
    /// Work with a known launch, by the start of the launch: (launched, position in `work`).
    by_launch: Vec<(Ns, u32)>,
}

impl Stream {
    /// The work launched last of all that was launched before a moment.
    pub(crate) fn last_launched_before(&self, at: Ns) -> Option<&Work> {
        let next = self.by_launch.partition_point(|l| l.0 < at);
        let (_, position) = self.by_launch[..next].last()?;
        self.work.get(*position as usize)
    }

    /// The work launched first of all that was launched from a moment on.
    pub(crate) fn first_launched_after(&self, at: Ns) -> Option<&Work> {
        let next = self.by_launch.partition_point(|l| l.0 < at);
        let (_, position) = self.by_launch.get(next)?;
        self.work.get(*position as usize)
    }
}

/// All streams that have work, devices by number and streams by number.
pub(crate) fn streams(trace: &Trace) -> Vec<Stream> {
    let slices = trace.slices();
    let lanes = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let mut lanes: Vec<_> = lanes.map(|(id, lane)| (lane.key.process, lane.key.thread, id)).collect();
    lanes.sort();
    let mut all = Vec::new();
    for (device, stream, lane) in lanes {
        let ids = slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work());
        let work: Vec<Work> = ids
            .map(|slice| {
                let launch = trace.links().launch(slice);
                let start = slices.start(slice);
                let launched = launch.map_or(start, |l| slices.start(l));
                let released = launch.map(|l| slices.end(l)).filter(|&end| end <= start).unwrap_or(launched);
                Work { slice, start, end: slices.end(slice), launch, launched, released }
            })
            .collect();
        if work.is_empty() {
            continue;
        }
        let linked = work.iter().enumerate().filter(|(_, w)| w.launch.is_some());
        let mut by_launch: Vec<(Ns, u32)> = linked.map(|(i, w)| (w.launched, i as u32)).collect();
        if !by_launch.is_sorted() {
            by_launch.sort();
        }
        all.push(Stream { device, number: stream.as_int(), work, by_launch });
    }
    settle_releases(&mut all);
    all
}

/// A call that stood still inside of the driver had not handed over its work yet when it was waiting: if the work began
/// before such a call came back, it was released shortly before that.
fn settle_releases(streams: &mut [Stream]) {
    let latency = launch_latency(streams);
    let limit = Ns(latency.0.saturating_mul(8)).max(Ns(100_000));
    for stream in streams {
        let mut done = Ns::MIN;
        for work in &mut stream.work {
            let in_call = work.launch.is_some() && work.released == work.launched;
            if in_call && done < work.launched && work.start - work.launched > limit {
                work.released = work.start - latency;
            }
            done = done.max(work.end);
        }
    }
}

/// How long work takes to reach the device from its release if the stream is free: the lower quartile over all work
/// whose stream had run dry before the call, since some of it waits for other streams; 5 µs if there is none. Bounded by
/// [`MAX_LATENCY`], because a trace of a few launches may have only some that waited.
pub(crate) fn launch_latency(streams: &[Stream]) -> Ns {
    let mut found: Vec<i64> = Vec::new();
    for stream in streams {
        let mut done = Ns::MIN;
        for work in &stream.work {
            if work.launch.is_some() && done < work.launched && work.start > work.released {
                found.push((work.start - work.released).0);
            }
            done = done.max(work.end);
        }
    }
    let quarter = found.len() / 4;
    match found.is_empty() {
        true => Ns(5_000),
        false => Ns(*found.select_nth_unstable(quarter).1).min(MAX_LATENCY),
    }
}

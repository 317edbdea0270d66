//! Who is to blame for idle time: every host slice, weighed by how many devices it kept waiting.
//!
//! Devices wait for the same host, so a host slice counts once for each device that was idle meanwhile. How many those
//! are is found by marking where each stretch begins and ends, so that no one walks along the host for each device.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, StrId, Trace};

use crate::causes::cause::Cause;
use crate::causes::idle::Idle;
use crate::scope::windows::signed;
use crate::threads::activity::Activity;
use crate::threads::callers::Callers;
use crate::threads::host_time::Segment;

/// By cause and the name that is blamed: pieces of gaps, and their time.
type Culprits = HashMap<(Cause, Option<StrId>), (u64, i64), RandomState>;

pub(super) fn culprits(trace: &Trace, idle: &Idle, callers: &Callers) -> Culprits {
    let (host, windows) = (idle.host(), idle.windows());
    let segments = host.segments();
    let mut found = Culprits::default();
    let mut add = |cause: Cause, segment: Option<&Segment>, stretch: (Ns, Ns), times: u64| {
        let pieces = windows.touching(stretch).len() as u64;
        if pieces > 0 && times > 0 {
            let blamed = segment.and_then(|s| s.slice).map(|s| trace.slices().name(callers.blamed(s)));
            let row = found.entry((cause, blamed)).or_default();
            let ns = signed(windows.length(stretch)).saturating_mul(signed(times));
            *row = (row.0.saturating_add(pieces.saturating_mul(times)), row.1.saturating_add(ns));
        }
    };
    // How many stretches more than before each segment cover it whole, and how many fewer.
    let mut threads = vec![0i64; segments.len() + 1];
    let mut relayed = vec![0i64; host.relayed().len() + 1];
    for dry in idle.dry() {
        for (stretch, cause) in dry.rest(windows) {
            add(cause, None, stretch, 1);
        }
        let Some(lane) = dry.lane else { continue };
        let (from, to) = (dry.start, dry.late_until);
        let own = host.timeline(lane);
        let (first, count) = {
            let first = own.partition_point(|s| s.end <= from);
            (first, own[first..].partition_point(|s| s.start < to))
        };
        let inside = &own[first..first + count];
        let (Some(begin), Some(end)) = (inside.first(), inside.last()) else {
            add(Cause::Host(Activity::Unrecorded), None, (from, to), 1);
            continue;
        };
        // Nothing is recorded before a thread's first segment and after its last.
        add(Cause::Host(Activity::Unrecorded), None, (from, begin.start.min(to)), 1);
        add(Cause::Host(Activity::Unrecorded), None, (end.end.max(from), to), 1);
        for segment in if count == 1 { vec![begin] } else { vec![begin, end] } {
            let stretch = (segment.start.max(from), segment.end.min(to));
            add(Cause::Host(segment.activity), Some(segment), stretch, 1);
        }
        if count > 2 {
            let (marks, offset) = match host.is_relayed(lane) {
                true => (&mut relayed, 0),
                false => (&mut threads, host.range(lane).start),
            };
            marks[offset + first + 1] += 1;
            marks[offset + first + count - 1] -= 1;
        }
    }
    for (marks, segments) in [(threads, segments.as_slice()), (relayed, host.relayed())] {
        let mut times = 0;
        for (segment, change) in segments.iter().zip(marks) {
            times += change;
            add(Cause::Host(segment.activity), Some(segment), (segment.start, segment.end), times as u64);
        }
    }
    found
}

//! Samples of threads' Python stacks as slices: neighbors with the same frames are one slice, as long as they last.
//!
//! A sample from inside needs the interpreter's lock. One that comes late could not get it: some code held it throughout, and
//! lets go of it as it ends, so the stack seen then is the one that held it. So the time since the last sample belongs to
//! the stack that is seen after it, never to the one before. Samples from outside ([`crate::spy`]) need no lock and know who waits;
//! for them the same rule only says that a sample covers the time before it.

use crate::lock::Lock;

/// One sample of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) thread: u32,
    pub(crate) at_ns: i64,
    pub(crate) waits: Waits,
    /// What it did with the interpreter's lock, where that is known.
    pub(crate) lock: Option<Lock>,
    /// The task of an event loop that it ran, by the number of its name.
    pub(crate) task: Option<u32>,
    /// Numbers of frames' names, outermost first.
    pub(crate) stack: Vec<u32>,
    /// The line that the innermost of them is at; 0 where that is not known.
    pub(crate) line: u32,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The system said so.
    Known(bool),
    /// It follows from the processor time that the thread has used since it began.
    Used(i64),
    /// It counts as busy.
    Unknown,
}

/// A stack that was seen for some time.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) thread: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Numbers of frames' names, outermost first, with one more where the thread waits.
    pub(crate) stack: Vec<u32>,
    /// The line of the innermost frame, if its time is that frame's own.
    pub(crate) line: u32,
}

/// A frame that was seen in neighboring samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) thread: u32,
    pub(crate) frame: u32,
    pub(crate) depth: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Its own nanoseconds by line, in the order first seen.
    pub(crate) lines: Vec<(u32, i64)>,
}

impl Stretch {
    /// `12:30000,15:1000`, by line; none where no line is known.
    pub(crate) fn line_times(&self) -> Option<String> {
        let mut lines = self.lines.clone();
        lines.sort_unstable();
        let parts: Vec<String> = lines.iter().map(|(line, ns)| format!("{line}:{ns}")).collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }
}

/// A thread that uses less than one part in so many of a processor waits: it sleeps, or queues for a lock, for data
/// or for the interpreter.
const BUSY_PART: i64 = 10;

/// Merges samples. Each covers the time since the sample before it of any thread, the first sample for one period;
/// `before_ns` is when the sample before the first was. A thread that waits is in one more frame, `waiting`.
pub(crate) fn merge(samples: &[Sample], before_ns: Option<i64>, waiting: u32) -> Vec<Stretch> {
    let times = SampleTimes::new(samples, before_ns);
    let mut order: Vec<&Sample> = samples.iter().collect();
    order.sort_by_key(|sample| (sample.thread, sample.at_ns));
    let mut intervals = Vec::with_capacity(order.len());
    for of_thread in order.chunk_by(|a, b| a.thread == b.thread) {
        let mut cpu_before = None;
        for sample in of_thread {
            let start_ns = times.before(sample.at_ns);
            let waits = match sample.waits {
                Waits::Known(waits) => waits,
                Waits::Used(cpu) => {
                    // Of a thread that was not seen before, all of its time may be from then.
                    let used = cpu - cpu_before.unwrap_or(0);
                    cpu_before = Some(cpu);
                    used.saturating_mul(BUSY_PART) < sample.at_ns - start_ns
                }
                Waits::Unknown => false,
            };
            let stack = sample.stack.iter().copied().chain(waits.then_some(waiting)).collect();
            let line = if waits { 0 } else { sample.line };
            intervals.push(Interval { thread: sample.thread, start_ns, end_ns: sample.at_ns, stack, line });
        }
    }
    stretches(&intervals)
}

/// What a thread was in for some time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateStretch<S> {
    pub(crate) thread: u32,
    pub(crate) state: S,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// The same samples by one state of theirs, thread after thread; neighbors in the same state are one.
pub(crate) fn states<S: Copy + PartialEq>(
    samples: &[Sample],
    before_ns: Option<i64>,
    of: impl Fn(&Sample) -> Option<S>,
) -> Vec<StateStretch<S>> {
    let times = SampleTimes::new(samples, before_ns);
    let mut order: Vec<&Sample> = samples.iter().collect();
    order.sort_by_key(|sample| (sample.thread, sample.at_ns));
    let mut found: Vec<StateStretch<S>> = Vec::new();
    for sample in order {
        let Some(state) = of(sample) else { continue };
        let (thread, start_ns, end_ns) = (sample.thread, times.before(sample.at_ns), sample.at_ns);
        match found.last_mut() {
            Some(last) if last.thread == thread && last.state == state && last.end_ns == start_ns => {
                last.end_ns = end_ns
            }
            _ => found.push(StateStretch { thread, state, start_ns, end_ns }),
        }
    }
    found
}

/// Merges intervals, which are in the order of their threads and times.
pub(crate) fn stretches(intervals: &[Interval]) -> Vec<Stretch> {
    let mut found = Vec::new();
    for of_thread in intervals.chunk_by(|a, b| a.thread == b.thread) {
        let mut open: Vec<OpenFrame> = Vec::new();
        let mut until = i64::MIN;
        for interval in of_thread {
            // A thread that was not there in the sample before has ended what it did.
            let same = match interval.start_ns > until {
                true => 0,
                false => open.iter().zip(&interval.stack).take_while(|(open, now)| open.frame == **now).count(),
            };
            close(&mut found, &mut open, same, interval.thread, until);
            open.extend(interval.stack[same..].iter().map(|frame| OpenFrame {
                frame: *frame,
                start_ns: interval.start_ns,
                lines: Vec::new(),
            }));
            if let Some(innermost) = open.last_mut().filter(|_| interval.line > 0) {
                let ns = interval.end_ns - interval.start_ns;
                match innermost.lines.iter_mut().find(|(line, _)| *line == interval.line) {
                    Some((_, sum)) => *sum += ns,
                    None => innermost.lines.push((interval.line, ns)),
                }
            }
            until = interval.end_ns;
        }
        if let Some(interval) = of_thread.last() {
            close(&mut found, &mut open, 0, interval.thread, until);
        }
    }
    found
}

/// A frame that has begun.
struct OpenFrame {
    frame: u32,
    start_ns: i64,
    lines: Vec<(u32, i64)>,
}

fn close(found: &mut Vec<Stretch>, open: &mut Vec<OpenFrame>, keep: usize, thread: u32, end_ns: i64) {
    for (depth, OpenFrame { frame, start_ns, lines }) in open.drain(keep..).enumerate() {
        found.push(Stretch { thread, frame, depth: (keep + depth) as u32, start_ns, end_ns, lines });
    }
}

/// When threads were sampled.
struct SampleTimes {
    at_ns: Vec<i64>,
    /// When the sample before the first was, or would have been.
    first_ns: i64,
}

impl SampleTimes {
    fn new(samples: &[Sample], before_ns: Option<i64>) -> SampleTimes {
        let mut at_ns: Vec<i64> = samples.iter().map(|sample| sample.at_ns).collect();
        at_ns.sort_unstable();
        at_ns.dedup();
        let first = at_ns.first().copied().unwrap_or(0);
        let first_ns = before_ns.filter(|before| *before < first).unwrap_or(first - period(&at_ns));
        SampleTimes { at_ns, first_ns }
    }

    fn before(&self, at_ns: i64) -> i64 {
        let place = self.at_ns.partition_point(|at| *at < at_ns);
        place.checked_sub(1).map_or(self.first_ns, |place| self.at_ns[place])
    }
}

/// The usual time between two samples: the median.
fn period(at_ns: &[i64]) -> i64 {
    let mut between: Vec<i64> = at_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    between.sort_unstable();
    between.get(between.len() / 2).copied().unwrap_or(1_000_000).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITING: u32 = 99;

    fn sample(at_ns: i64, stack: &[u32]) -> Sample {
        Sample {
            thread: 7,
            at_ns,
            waits: Waits::Unknown,
            lock: None,
            task: None,
            stack: stack.to_vec(),
            line: 0,
        }
    }

    fn merged(samples: &[Sample]) -> Vec<Stretch> {
        merge(samples, None, WAITING)
    }

    /// Frame, start and end of every stretch, in order of start and depth.
    fn spans(stretches: &[Stretch]) -> Vec<(u32, i64, i64)> {
        let mut sorted = stretches.to_vec();
        sorted.sort_by_key(|s| (s.thread, s.start_ns, s.depth));
        sorted.iter().map(|s| (s.frame, s.start_ns, s.end_ns)).collect()
    }

    #[test]
    fn neighbors_with_the_same_frames_are_one() {
        let found = merged(&[sample(10, &[1, 2]), sample(20, &[1, 2]), sample(30, &[1, 3]), sample(40, &[1])]);
        assert_eq!(spans(&found), [(1, 0, 40), (2, 0, 20), (3, 20, 30)]);
    }

    #[test]
    fn a_late_look_belongs_to_what_is_seen_then() {
        // A call of C code from 20 to 500 keeps the lock: the sample that was due at 30 sees its caller when it ends.
        let samples =
            [sample(10, &[1]), sample(20, &[1]), sample(500, &[1, 2]), sample(510, &[1]), sample(520, &[1])];
        assert_eq!(spans(&merged(&samples)), [(1, 0, 520), (2, 20, 500)]);
    }

    #[test]
    fn a_thread_that_comes_later_lasts_since_the_look_before() {
        let other = |at_ns| Sample { thread: 8, ..sample(at_ns, &[5]) };
        let mut samples: Vec<Sample> = (1..=6).map(|at| sample(10 * at, &[1])).collect();
        samples.extend([other(30), other(40), other(60)]);
        let found = merged(&samples);
        assert_eq!(spans(&found), [(1, 0, 60), (5, 20, 40), (5, 50, 60)]);
    }

    #[test]
    fn a_journal_goes_on_where_it_was() {
        let found = merge(&[sample(30, &[1]), sample(40, &[1])], Some(20), WAITING);
        assert_eq!(spans(&found), [(1, 20, 40)]);
    }

    #[test]
    fn a_thread_without_processor_time_waits() {
        let used = |at_ns, cpu_ns, stack: &[u32]| Sample { waits: Waits::Used(cpu_ns), ..sample(at_ns, stack) };
        // Busy until 20, asleep until 40, busy again with half of a processor.
        let samples = [
            used(10, 10, &[1, 2]),
            used(20, 20, &[1, 2]),
            used(30, 20, &[1, 2]),
            used(40, 20, &[1, 2]),
            used(50, 25, &[1, 3]),
        ];
        let found = merged(&samples);
        assert_eq!(spans(&found), [(1, 0, 50), (2, 0, 40), (WAITING, 20, 40), (3, 40, 50)]);
    }

    #[test]
    fn neighbors_that_do_the_same_with_the_lock_are_one() {
        let sample_with_lock = |thread, at_ns, lock| Sample { thread, lock: Some(lock), ..sample(at_ns, &[1]) };
        let samples = [
            sample_with_lock(7, 10, Lock::Holds),
            sample_with_lock(8, 10, Lock::Waits),
            sample_with_lock(7, 20, Lock::Holds),
            sample_with_lock(8, 20, Lock::Without),
            Sample { thread: 7, ..sample(30, &[1]) },
            sample_with_lock(7, 40, Lock::Holds),
            sample_with_lock(8, 40, Lock::Without),
        ];
        let found: Vec<_> = states(&samples, Some(0), |sample| sample.lock)
            .into_iter()
            .map(|one| (one.thread, one.state, one.start_ns, one.end_ns))
            .collect();
        let expected = [
            (7, Lock::Holds, 0, 20),
            (7, Lock::Holds, 30, 40),
            (8, Lock::Waits, 0, 10),
            (8, Lock::Without, 10, 20),
            (8, Lock::Without, 30, 40),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_those_of_the_innermost_frame() {
        let at = |at_ns, line, stack: &[u32], waits| Sample { line, waits, ..sample(at_ns, stack) };
        let busy = Waits::Known(false);
        let samples = [
            at(10, 5, &[1], busy),
            at(20, 7, &[1], busy),
            at(30, 5, &[1], busy),
            at(40, 90, &[1, 2], busy),
            at(50, 6, &[1], Waits::Known(true)),
        ];
        let mut found = merged(&samples);
        found.sort_by_key(|stretch| (stretch.start_ns, stretch.depth));
        let told: Vec<_> = found.iter().map(|stretch| (stretch.frame, stretch.line_times())).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(told, [(1, text("5:20,7:10")), (2, text("90:10")), (WAITING, None)]);
    }

    #[test]
    fn the_same_function_called_again_deeper_is_another() {
        let found = merged(&[sample(10, &[1, 1]), sample(20, &[1])]);
        assert_eq!(spans(&found), [(1, 0, 20), (1, 0, 10)]);
        assert!(merged(&[]).is_empty());
    }
}

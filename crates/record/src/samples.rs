//! Samples of threads' Python stacks as slices: neighbors with the same frames are one slice, as long as they last.
//!
//! A look at the stacks needs the interpreter's lock. One that comes late could not get it: some code held it throughout, and
//! lets go of it as it ends, so the stack seen then is the one that held it. So the time since the last look belongs to
//! the stack that is seen after it, never to the one before.

/// One look at a thread.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) thread: u32,
    pub(crate) at_ns: i64,
    /// The processor time that the thread has used since it began, where the system says.
    pub(crate) cpu_ns: Option<i64>,
    /// Numbers of frames' names, outermost first.
    pub(crate) stack: Vec<u32>,
}

/// A frame that was seen in neighboring samples.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) thread: u32,
    pub(crate) frame: u32,
    pub(crate) depth: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// A thread that uses less than one part in so many of a processor waits: it sleeps, or stands in line for a lock, for data
/// or for the interpreter.
const BUSY_PART: i64 = 10;

/// Merges samples. Each stands for the time since the look before it at any thread, the first look for one period;
/// `before_ns` is when the look before the first was. A thread that waits is in one more frame, `waiting`.
pub(crate) fn merge(samples: &[Sample], before_ns: Option<i64>, waiting: u32) -> Vec<Stretch> {
    let looks = Looks::new(samples, before_ns);
    let mut order: Vec<&Sample> = samples.iter().collect();
    order.sort_by_key(|sample| (sample.thread, sample.at_ns));
    let mut found = Vec::new();
    for of_thread in order.chunk_by(|a, b| a.thread == b.thread) {
        let mut open: Vec<(u32, i64)> = Vec::new();
        let mut until = i64::MIN;
        let mut cpu_before = None;
        for sample in of_thread {
            let start = looks.before(sample.at_ns);
            let waits = sample.cpu_ns.is_some_and(|cpu| {
                // Of a thread that was not seen before, all of its time may be from then.
                let used = cpu - cpu_before.unwrap_or(0);
                used.saturating_mul(BUSY_PART) < sample.at_ns - start
            });
            cpu_before = sample.cpu_ns.or(cpu_before);
            let stack = || sample.stack.iter().copied().chain(waits.then_some(waiting));
            // A thread that was not there at the look before has ended what it did.
            let same = match start > until {
                true => 0,
                false => open.iter().zip(stack()).take_while(|((frame, _), now)| frame == now).count(),
            };
            close(&mut found, &mut open, same, sample.thread, until);
            open.extend(stack().skip(same).map(|frame| (frame, start)));
            until = sample.at_ns;
        }
        if let Some(sample) = of_thread.last() {
            close(&mut found, &mut open, 0, sample.thread, until);
        }
    }
    found
}

fn close(found: &mut Vec<Stretch>, open: &mut Vec<(u32, i64)>, keep: usize, thread: u32, end_ns: i64) {
    for (depth, (frame, start_ns)) in open.drain(keep..).enumerate() {
        found.push(Stretch { thread, frame, depth: (keep + depth) as u32, start_ns, end_ns });
    }
}

/// When threads were looked at.
struct Looks {
    at_ns: Vec<i64>,
    /// When the look before the first was, or would have been.
    first_ns: i64,
}

impl Looks {
    fn new(samples: &[Sample], before_ns: Option<i64>) -> Looks {
        let mut at_ns: Vec<i64> = samples.iter().map(|sample| sample.at_ns).collect();
        at_ns.sort_unstable();
        at_ns.dedup();
        let first = at_ns.first().copied().unwrap_or(0);
        let first_ns = before_ns.filter(|before| *before < first).unwrap_or(first - period(&at_ns));
        Looks { at_ns, first_ns }
    }

    /// When the look before this one was.
    fn before(&self, at_ns: i64) -> i64 {
        let place = self.at_ns.partition_point(|at| *at < at_ns);
        place.checked_sub(1).map_or(self.first_ns, |place| self.at_ns[place])
    }
}

/// The usual time between two looks: the median.
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
        Sample { thread: 7, at_ns, cpu_ns: None, stack: stack.to_vec() }
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
        // A call of C code from 20 to 500 keeps the lock: the look that was due at 30 sees its caller when it ends.
        let looks =
            [sample(10, &[1]), sample(20, &[1]), sample(500, &[1, 2]), sample(510, &[1]), sample(520, &[1])];
        assert_eq!(spans(&merged(&looks)), [(1, 0, 520), (2, 20, 500)]);
    }

    #[test]
    fn a_thread_that_comes_later_lasts_since_the_look_before() {
        let other = |at_ns| Sample { thread: 8, ..sample(at_ns, &[5]) };
        let mut looks: Vec<Sample> = (1..=6).map(|at| sample(10 * at, &[1])).collect();
        looks.extend([other(30), other(40), other(60)]);
        let found = merged(&looks);
        assert_eq!(spans(&found), [(1, 0, 60), (5, 20, 40), (5, 50, 60)]);
    }

    #[test]
    fn a_journal_goes_on_where_it_was() {
        let found = merge(&[sample(30, &[1]), sample(40, &[1])], Some(20), WAITING);
        assert_eq!(spans(&found), [(1, 20, 40)]);
    }

    #[test]
    fn a_thread_without_processor_time_waits() {
        let used = |at_ns, cpu_ns, stack: &[u32]| Sample { cpu_ns: Some(cpu_ns), ..sample(at_ns, stack) };
        // Busy until 20, asleep until 40, busy again with half of a processor.
        let looks = [
            used(10, 10, &[1, 2]),
            used(20, 20, &[1, 2]),
            used(30, 20, &[1, 2]),
            used(40, 20, &[1, 2]),
            used(50, 25, &[1, 3]),
        ];
        let found = merged(&looks);
        assert_eq!(spans(&found), [(1, 0, 50), (2, 0, 40), (WAITING, 20, 40), (3, 40, 50)]);
    }

    #[test]
    fn the_same_function_called_again_deeper_is_another() {
        let found = merged(&[sample(10, &[1, 1]), sample(20, &[1])]);
        assert_eq!(spans(&found), [(1, 0, 20), (1, 0, 10)]);
        assert!(merged(&[]).is_empty());
    }
}

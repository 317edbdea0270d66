//! Samples of a thread's Python stack as slices: neighbours with the same frames are one slice, as long as they last.

/// One look at a thread.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) thread: u32,
    pub(crate) at_ns: i64,
    /// Numbers of frames' names, outermost first.
    pub(crate) stack: Vec<u32>,
}

/// A frame that was seen in neighbouring samples.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) thread: u32,
    pub(crate) frame: u32,
    pub(crate) depth: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// A thread that was not looked at for so many periods was not running what it ran before.
const MAX_PERIODS: i64 = 4;

/// Merges samples. A frame lasts from its first sample to the first one without it, or one period past its last.
pub(crate) fn merge(samples: &[Sample]) -> Vec<Stretch> {
    let mut order: Vec<&Sample> = samples.iter().collect();
    order.sort_by_key(|sample| (sample.thread, sample.at_ns));
    let mut found = Vec::new();
    for of_thread in order.chunk_by(|a, b| a.thread == b.thread) {
        let period = period(of_thread);
        let mut open: Vec<(u32, i64)> = Vec::new();
        let mut last = 0;
        for sample in of_thread {
            let gone = sample.at_ns - last > MAX_PERIODS * period && !open.is_empty();
            let until = if gone { last + period } else { sample.at_ns };
            let same = if gone {
                0
            } else {
                open.iter().zip(&sample.stack).take_while(|((frame, _), now)| frame == *now).count()
            };
            close(&mut found, &mut open, same, sample.thread, until);
            open.extend(sample.stack[same..].iter().map(|&frame| (frame, sample.at_ns)));
            last = sample.at_ns;
        }
        if let Some(sample) = of_thread.last() {
            close(&mut found, &mut open, 0, sample.thread, last + period);
        }
    }
    found
}

fn close(found: &mut Vec<Stretch>, open: &mut Vec<(u32, i64)>, keep: usize, thread: u32, end_ns: i64) {
    for (depth, (frame, start_ns)) in open.drain(keep..).enumerate() {
        found.push(Stretch { thread, frame, depth: (keep + depth) as u32, start_ns, end_ns });
    }
}

/// The usual time between two samples: the median.
fn period(samples: &[&Sample]) -> i64 {
    let mut between: Vec<i64> = samples.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).collect();
    between.sort_unstable();
    between.get(between.len() / 2).copied().unwrap_or(1_000_000).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: i64, stack: &[u32]) -> Sample {
        Sample { thread: 7, at_ns, stack: stack.to_vec() }
    }

    #[test]
    fn neighbours_with_the_same_frames_are_one() {
        let merged = merge(&[sample(0, &[1, 2]), sample(10, &[1, 2]), sample(20, &[1, 3]), sample(30, &[1])]);
        let find = |frame| merged.iter().find(|s| s.frame == frame).map(|s| (s.depth, s.start_ns, s.end_ns));
        assert_eq!(merged.len(), 3);
        assert_eq!(find(1), Some((0, 0, 40)));
        assert_eq!(find(2), Some((1, 0, 20)));
        assert_eq!(find(3), Some((1, 20, 30)));
    }

    #[test]
    fn a_long_pause_ends_what_was_seen() {
        let merged = merge(&[sample(0, &[1]), sample(10, &[1]), sample(20, &[1]), sample(500, &[1])]);
        let spans: Vec<_> = merged.iter().map(|s| (s.start_ns, s.end_ns)).collect();
        assert_eq!(spans, [(0, 30), (500, 510)]);
    }

    #[test]
    fn the_same_function_called_again_deeper_is_another() {
        let merged = merge(&[sample(0, &[1, 1]), sample(10, &[1])]);
        assert_eq!(merged.len(), 2);
        assert!(merge(&[]).is_empty());
    }
}

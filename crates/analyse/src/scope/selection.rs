//! Which part of a trace a question is about: some steps, one device, or all of it.

use stepscope_model::{Kind, Ns, SliceId, Trace};

/// The part of the trace that counts.
///
/// Time is decided on the host: a host slice counts if it starts inside one of the ranges; device work counts
/// if the call that launched it does (its own start, where no call is known). So an operator and its kernels are
/// always in or out together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Host time ranges `[start, end)`, in order; `None` is everything.
    pub ranges: Option<Vec<(Ns, Ns)>>,
    /// Only device work on this device; host slices always count.
    pub device: Option<i64>,
}

impl Selection {
    pub fn all() -> Selection {
        Selection::default()
    }

    /// The part of it inside `[from, to)`.
    pub fn within(&self, (from, to): (Ns, Ns)) -> Selection {
        let cut = |&(start, end): &(Ns, Ns)| (start.max(from), end.min(to));
        let ranges = self.ranges.as_deref().unwrap_or(&[(Ns::MIN, Ns::MAX)]).iter().map(cut);
        Selection { ranges: Some(ranges.filter(|r| r.0 < r.1).collect()), device: self.device }
    }

    pub fn contains(&self, trace: &Trace, id: SliceId) -> bool {
        if self.ranges.is_none() && self.device.is_none() {
            return true;
        }
        let slices = trace.slices();
        let kind = slices.kind(id);
        if let Some(device) = self.device
            && kind.is_device()
            && device_of(trace, id) != Some(device)
        {
            return false;
        }
        let decides = if kind.is_device() { trace.links().launch(id).unwrap_or(id) } else { id };
        self.contains_time(slices.start(decides))
    }

    /// Whether a host time counts.
    pub fn contains_time(&self, at: Ns) -> bool {
        match &self.ranges {
            None => true,
            Some(ranges) => {
                let next = ranges.partition_point(|r| r.0 <= at);
                next > 0 && at < ranges[next - 1].1
            }
        }
    }
}

/// The device a device slice ran on: its lane's process number.
pub fn device_of(trace: &Trace, id: SliceId) -> Option<i64> {
    debug_assert!(matches!(
        trace.slices().kind(id),
        Kind::Kernel | Kind::Memcpy | Kind::Memset | Kind::DeviceAnnotation | Kind::DeviceSync
    ));
    trace.lanes().get(trace.slices().lane(id)).key.process.as_int()
}

/// The stream a device slice ran on: its lane's thread number.
pub fn stream_of(trace: &Trace, id: SliceId) -> Option<i64> {
    trace.lanes().get(trace.slices().lane(id)).key.thread.as_int()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_cuts_the_ranges() {
        let cut = |ranges: Option<Vec<(i64, i64)>>, window: (i64, i64)| {
            let ranges = ranges.map(|r| r.into_iter().map(|(a, b)| (Ns(a), Ns(b))).collect());
            let cut = Selection { ranges, device: Some(1) }.within((Ns(window.0), Ns(window.1)));
            assert_eq!(cut.device, Some(1));
            cut.ranges.unwrap().into_iter().map(|(Ns(a), Ns(b))| (a, b)).collect::<Vec<_>>()
        };
        assert_eq!(cut(None, (5, 9)), [(5, 9)]);
        assert_eq!(cut(Some(vec![(0, 6), (8, 20), (30, 40)]), (5, 35)), [(5, 6), (8, 20), (30, 35)]);
        assert_eq!(cut(Some(vec![(0, 5), (9, 12)]), (5, 9)), []);
        assert_eq!(cut(None, (9, 5)), []);
    }
}

//! What is on a row, whatever it is: slices, moments or steps, by start.

use stepscope_model::{Ns, SliceId, Trace};

use super::instants::Moment;

/// Things with a start and an end, ordered by start. Times are since the trace's first event and never under zero.
pub(super) trait Spans {
    fn len(&self) -> usize;
    fn start(&self, at: usize) -> i64;
    fn end(&self, at: usize) -> i64;

    fn length(&self, at: usize) -> i64 {
        self.end(at).saturating_sub(self.start(at))
    }
}

/// A time as it is drawn: nothing lies before the first event.
pub(super) fn drawn(at: Ns) -> i64 {
    at.0.max(0)
}

/// When a slice starts and ends, since the first event.
pub(super) fn times(trace: &Trace, id: SliceId) -> (i64, i64) {
    let slices = trace.slices();
    (drawn(slices.start(id)), drawn(slices.end(id)))
}

#[derive(Debug)]
pub(super) enum Content {
    Slices(Box<[u32]>),
    Points(Box<[Moment]>),
    Steps,
}

/// A step as the timeline draws it.
#[derive(Clone, Debug)]
pub(super) struct StepSpan {
    pub(super) start: i64,
    pub(super) end: i64,
    /// Its number; none where it represents a whole trace.
    pub(super) number: Option<i64>,
    /// Its name's number, see [`super::Timeline::name`].
    pub(super) name: u32,
    /// The range it was found by.
    pub(super) slice: Option<u32>,
}

/// Set in the number of a moment, to tell it from a slice's.
pub const INSTANT: u32 = 1 << 31;
/// The number of what is neither slice nor moment.
pub const NO_SLICE: u32 = u32::MAX;

/// A row's content with the times that belong to it.
pub(super) struct RowSpans<'a> {
    pub(super) trace: &'a Trace,
    pub(super) content: &'a Content,
    pub(super) steps: &'a [StepSpan],
}

impl RowSpans<'_> {
    /// The number by which it is known outside.
    pub(super) fn id(&self, at: usize) -> u32 {
        match self.content {
            Content::Slices(ids) => ids[at],
            Content::Points(ids) => INSTANT | ids[at].number(),
            Content::Steps => self.steps[at].slice.unwrap_or(NO_SLICE),
        }
    }

    pub(super) fn name(&self, at: usize) -> u32 {
        match self.content {
            Content::Slices(ids) => {
                self.trace.slices().name(SliceId::from_index(ids[at] as usize)).index() as u32
            }
            Content::Points(ids) => ids[at].name(self.trace).index() as u32,
            Content::Steps => self.steps[at].name,
        }
    }
}

impl Spans for RowSpans<'_> {
    fn len(&self) -> usize {
        match self.content {
            Content::Slices(ids) => ids.len(),
            Content::Points(ids) => ids.len(),
            Content::Steps => self.steps.len(),
        }
    }

    fn start(&self, at: usize) -> i64 {
        match self.content {
            Content::Slices(ids) => drawn(self.trace.slices().start(SliceId::from_index(ids[at] as usize))),
            Content::Points(ids) => drawn(ids[at].at(self.trace)),
            Content::Steps => self.steps[at].start,
        }
    }

    fn end(&self, at: usize) -> i64 {
        match self.content {
            Content::Slices(ids) => drawn(self.trace.slices().end(SliceId::from_index(ids[at] as usize))),
            Content::Points(_) => self.start(at),
            Content::Steps => self.steps[at].end,
        }
    }
}

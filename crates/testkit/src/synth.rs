//! The settings of a synthetic trace, and how its events are shared out over steps.

use crate::event::{DEVICE_SPANS, SPANS};
use crate::optree::cost;
use crate::workload::{LAYER, LOAD, READ_LOSS, UPDATE};

/// A synthetic training run, ready to be written as a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synth {
    pub seed: u64,
    /// Objects in `traceEvents`, exactly.
    pub events: u64,
    /// Device streams (at least 1); the first one carries most of the work.
    pub streams: u32,
    pub with_stack: bool,
    /// Number of `ProfilerStep#N` ranges; 0 asks for steps of about 12,000 events.
    /// Fewer are made where `events` leaves no room for a whole step each.
    pub steps: u64,
    pub first_step: u64,
}

/// Frames around each block of the model when Python frames are on.
pub(crate) const BLOCK_FRAMES: u64 = 5;

/// Events in a step when the number of steps was left open, about as in a real training step.
const EVENTS_PER_STEP: u64 = 12_000;

#[derive(Debug, Clone, Copy)]
pub(crate) struct StepPlan {
    pub(crate) blocks: u64,
    /// Single operators that make up the exact number of events.
    pub(crate) fillers: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) tail: u64,
    pub(crate) steps: u64,
    /// Operators outside of any step, where there is no room for one.
    pub(crate) loose: u64,
    /// Events of the smaller steps; the first `larger` steps have one more.
    size: u64,
    larger: u64,
    with_stack: bool,
}

impl Synth {
    /// A trace of `events` events on three streams, without Python frames.
    #[must_use]
    pub fn new(seed: u64, events: u64) -> Self {
        Self { seed, events, streams: 3, with_stack: false, steps: 0, first_step: 2 }
    }

    pub(crate) fn stream_ids(&self) -> impl Iterator<Item = u64> + use<> {
        let side = u64::from(self.streams.clamp(1, 64) - 1);
        std::iter::once(7).chain((0..side).map(|i| 20 + 4 * i))
    }

    /// Shares the events out.
    pub(crate) fn plan(&self) -> Plan {
        let streams = self.stream_ids().count() as u64;
        let tail = (6 + 2 * (2 + streams) + 4).min(self.events);
        let body = self.events - tail;
        let room = body / Plan::smallest_step(self.with_stack);
        let wanted = if self.steps == 0 { body.div_ceil(EVENTS_PER_STEP) } else { self.steps };
        let steps = wanted.min(room);
        let with_stack = self.with_stack;
        let plan = Plan { tail, steps, loose: 0, size: 0, larger: 0, with_stack };
        match (body.checked_div(steps), body.checked_rem(steps)) {
            (Some(size), Some(larger)) => Plan { size, larger, ..plan },
            _ => Plan { loose: body, ..plan },
        }
    }
}

impl Plan {
    /// What step `index` does.
    pub(crate) fn step(&self, index: u64) -> StepPlan {
        let size = self.size + u64::from(index < self.larger);
        let mut left = size.saturating_sub(Self::step_overhead(self.with_stack));
        let cycle: Vec<u64> = (0..LAYER.len() as u64).map(|i| Self::block_cost(i, self.with_stack)).collect();
        let whole: u64 = cycle.iter().sum();
        let mut blocks = left / whole * LAYER.len() as u64;
        left %= whole;
        for block in cycle {
            if block > left {
                break;
            }
            left -= block;
            blocks += 1;
        }
        StepPlan { blocks, fillers: left }
    }

    /// Events of a step apart from the model's blocks.
    fn step_overhead(with_stack: bool) -> u64 {
        (SPANS + DEVICE_SPANS.len()) as u64 + cost(LOAD) + cost(READ_LOSS) + u64::from(with_stack)
    }

    /// Events of block `index` of a step, forward and backward, with the layer's update.
    fn block_cost(index: u64, with_stack: bool) -> u64 {
        let place = (index % LAYER.len() as u64) as usize;
        let block = LAYER[place];
        let update = if place == 0 { cost(UPDATE) } else { 0 };
        let frames = if with_stack { BLOCK_FRAMES } else { 0 };
        cost(block.forward) + cost(block.backward) + update + frames
    }

    fn smallest_step(with_stack: bool) -> u64 {
        Self::step_overhead(with_stack) + Self::block_cost(0, with_stack)
    }
}

//! The simulated machine: thread clocks, streams, device memory, and what running an operator does.

use std::io;

use crate::calls::{Activity, Api, Call, Work};
use crate::event::{CallEvent, DeviceSide, MemoryEvent, OpEvent, Sink, Thread};
use crate::optree::{ALLOC, EVAL, NODE, Op};
use crate::rng::Rng;
use crate::synth::Synth;
use crate::workload::SHAPES;

pub(crate) const START_NS: u64 = 3_845_734_036_309_694;
/// Blocks of device memory in use at any time.
const LIVE_BLOCKS: usize = 256;
/// Address of the first block, and the distance between blocks.
const FIRST_ADDRESS: u64 = 0x7f00_0000_0000;
const ADDRESS_STEP: u64 = 1 << 26;

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) rng: Rng,
    /// The clocks of the two threads, and the thread that runs.
    pub(crate) now: [u64; 2],
    pub(crate) thread: Thread,
    pub(crate) shape: [u64; 3],
    /// The last identifier given to an operator or named range.
    pub(crate) externals: u64,
    /// Forward nodes so far, and the one whose gradient runs.
    pub(crate) sequence: u64,
    pub(crate) gradient: u64,
    /// First start and last end on the first stream since this was last taken.
    pub(crate) device: Option<(u64, u64)>,
    /// Number of each stream, and when it is idle again.
    streams: Vec<(u64, u64)>,
    /// Sizes of the live blocks of device memory, and the one to be freed next.
    live: Vec<u64>,
    oldest: usize,
    allocated: u64,
    reserved: u64,
    correlations: u64,
    ops: Vec<OpEvent>,
    memory: Vec<MemoryEvent>,
    calls: Vec<CallEvent>,
}

impl Machine {
    pub(crate) fn new(synth: &Synth) -> Self {
        let mut rng = Rng::new(synth.seed);
        let live: Vec<u64> = (0..LIVE_BLOCKS).map(|_| 512 * rng.range(1, 4_096)).collect();
        let allocated = live.iter().sum();
        Self {
            rng,
            now: [START_NS + 350_000; 2],
            thread: Thread::Main,
            shape: SHAPES[0],
            externals: 0,
            sequence: 0,
            gradient: 0,
            device: None,
            streams: synth.stream_ids().map(|id| (id, 0)).collect(),
            live,
            oldest: 0,
            allocated,
            reserved: 1 << 30,
            correlations: 15_588,
            ops: Vec::new(),
            memory: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Plays operators and hands on what they did, one tree at a time.
    pub(crate) fn play(&mut self, ops: &'static [Op], sink: &mut impl Sink) -> io::Result<()> {
        for op in ops {
            self.run(op);
            self.pass(300, 2_500);
            self.ops.iter().try_for_each(|event| sink.op(event))?;
            self.memory.iter().try_for_each(|event| sink.memory(event))?;
            self.calls.iter().try_for_each(|event| sink.call(event))?;
            self.ops.clear();
            self.memory.clear();
            self.calls.clear();
        }
        Ok(())
    }

    /// Runs one operator and everything it calls; gives its duration.
    fn run(&mut self, op: &'static Op) -> u64 {
        let start = self.clock();
        let external = self.externals + 1;
        self.externals = external;
        let place = self.ops.len();
        let sequence = self.number(op);
        self.ops.push(OpEvent {
            thread: self.thread,
            name: op.name,
            sig: op.sig,
            shape: self.shape,
            start,
            dur: 0,
            self_ns: 0,
            external,
            sequence,
            arrow: op.has(NODE),
        });
        self.pass(250, 2_000);
        if op.has(ALLOC) {
            self.allocate();
        }
        let mut inside = 0;
        for kid in op.kids {
            inside += self.run(kid);
            self.pass(100, 1_200);
        }
        for call in op.calls {
            self.call(call, external);
        }
        self.pass(150, 1_500);
        let dur = self.clock() - start;
        if let Some(event) = self.ops.get_mut(place) {
            event.dur = dur;
            event.self_ns = dur - inside;
        }
        dur
    }

    /// The sequence number of an operator: forward nodes count up, their gradients down again.
    fn number(&mut self, op: &Op) -> Option<u64> {
        match self.thread {
            Thread::Main if op.has(NODE) => {
                self.sequence += 1;
                Some(self.sequence - 1)
            }
            Thread::Backward if op.has(EVAL) => {
                self.gradient = self.gradient.saturating_sub(1);
                Some(self.gradient)
            }
            Thread::Backward if op.has(NODE) => Some(self.gradient),
            _ => None,
        }
    }

    fn call(&mut self, call: &Call, external: u64) {
        match call {
            Call::Launch(work) => {
                let start = self.pass(200, 900);
                let dur = self.rng.range(3_500, 9_000);
                self.advance(dur);
                let device = Some(self.enqueue(work));
                self.push_call(work.api, start, dur, external, device);
            }
            Call::Query(api) => {
                let start = self.pass(100, 500);
                let dur = self.rng.range(250, 2_500);
                self.advance(dur);
                self.push_call(**api, start, dur, external, None);
            }
            Call::Sync(api) => {
                let start = self.pass(100, 500);
                let idle = self.streams.first().map_or(0, |stream| stream.1);
                let dur = idle.saturating_sub(start) + self.rng.range(1_500, 4_000);
                self.advance(dur);
                self.push_call(**api, start, dur, external, None);
            }
        }
    }

    fn push_call(&mut self, api: Api, start: u64, dur: u64, external: u64, device: Option<DeviceSide>) {
        self.correlations += 1;
        let (thread, correlation) = (self.thread, self.correlations);
        self.calls.push(CallEvent { thread, api, start, dur, correlation, external, device });
    }

    /// Puts work on a stream, behind what is there already.
    fn enqueue(&mut self, work: &'static Work) -> DeviceSide {
        let ready = self.clock() + self.rng.range(800, 4_500);
        let dur = work.ns * self.rng.range(850, 1_150) / 1_000;
        let side = work.side && self.streams.len() > 1 && self.rng.range(0, 6) == 0;
        let place = if side { self.rng.range(1, self.streams.len() as u64) as usize } else { 0 };
        let (mut stream, mut start) = (0, ready);
        if let Some((id, idle)) = self.streams.get_mut(place) {
            stream = *id;
            start = ready.max(*idle + 300);
            *idle = start + dur;
        }
        if place == 0 {
            self.device = Some((self.device.map_or(start, |range| range.0), start + dur));
        }
        let bytes = match work.activity {
            Activity::Kernel => 0,
            Activity::Memcpy => self.shape[0] * 8,
            Activity::Memset => 4,
        };
        DeviceSide { work, stream, start, dur, bytes }
    }

    /// Frees the oldest block of device memory and takes another in its place.
    fn allocate(&mut self) {
        let [rows, columns, outputs] = self.shape;
        let across = if self.rng.range(0, 2) == 0 { rows } else { columns };
        let size = across * outputs * 2;
        let address = FIRST_ADDRESS + ADDRESS_STEP * self.oldest as u64;
        let old = std::mem::replace(&mut self.live[self.oldest], size);
        self.oldest = (self.oldest + 1) % LIVE_BLOCKS;
        self.allocated -= old;
        self.push_memory(address, old, true);
        self.allocated += size;
        self.reserved = self.reserved.max(self.allocated.next_multiple_of(1 << 21));
        self.push_memory(address, size, false);
    }

    fn push_memory(&mut self, address: u64, bytes: u64, freed: bool) {
        let at = self.pass(50, 400);
        let (allocated, reserved, thread) = (self.allocated, self.reserved, self.thread);
        self.memory.push(MemoryEvent { thread, at, address, bytes, freed, allocated, reserved });
    }

    pub(crate) fn clock(&self) -> u64 {
        self.now[self.thread as usize]
    }

    /// Lets `ns` pass on the running thread.
    fn advance(&mut self, ns: u64) {
        self.now[self.thread as usize] += ns;
    }

    /// Lets between `low` and `high` nanoseconds pass, and gives the time after.
    pub(crate) fn pass(&mut self, low: u64, high: u64) -> u64 {
        let ns = self.rng.range(low, high);
        self.advance(ns);
        self.clock()
    }
}

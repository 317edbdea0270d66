//! Plays the training loop on the simulated machine.

use std::io;

use crate::event::{Frame, FrameEvent, SPANS, Sink, Span, Thread};
use crate::machine::Machine;
use crate::synth::{BLOCK_FRAMES, StepPlan, Synth};
use crate::workload::{Block, FILLERS, LAYER, LOAD, READ_LOSS, SHAPES, UPDATE};

/// A training loop in the course of being played.
#[derive(Debug)]
pub(crate) struct Sim {
    machine: Machine,
    with_stack: bool,
    frames: u64,
    spans: [Span; SPANS],
}

impl Sim {
    pub(crate) fn new(synth: &Synth) -> Self {
        let (machine, with_stack) = (Machine::new(synth), synth.with_stack);
        Self { machine, with_stack, frames: 0, spans: [Span::default(); SPANS] }
    }

    /// Plays one step and gives its named ranges.
    ///
    /// A range is written before what lies in it, when its end is not yet known: `known` holds the
    /// ranges as an earlier play of the same step has measured them.
    pub(crate) fn step(
        &mut self,
        number: u64,
        plan: StepPlan,
        known: &[Span; SPANS],
        sink: &mut impl Sink,
    ) -> io::Result<[Span; SPANS]> {
        self.open(number, 0, known, sink)?;
        let outer = self.frames;
        if self.with_stack {
            self.frames += 1;
            let label = Frame::Plain("train.py(57): train_step");
            let (start, end) = (known[0].start + 1, known[0].end.saturating_sub(1));
            let dur = end.saturating_sub(start);
            sink.frame(&FrameEvent { label, start, dur, id: outer, parent: None })?;
        }

        self.open(number, 1, known, sink)?;
        self.machine.play(LOAD, sink)?;
        self.close(1);
        self.open(number, 2, known, sink)?;
        self.machine.pass(20_000, 60_000);
        self.close(2);

        self.open(number, 3, known, sink)?;
        for index in 0..plan.blocks {
            self.forward(index, outer, sink)?;
        }
        self.loose(plan.fillers, sink)?;
        self.close(3);

        self.open(number, 4, known, sink)?;
        self.backward(plan.blocks, sink)?;
        self.close(4);

        self.open(number, 5, known, sink)?;
        for _ in 0..plan.blocks.div_ceil(LAYER.len() as u64) {
            self.machine.play(UPDATE, sink)?;
        }
        self.close(5);
        self.machine.play(READ_LOSS, sink)?;
        self.close(0);
        self.machine.pass(2_000, 40_000);
        Ok(self.spans)
    }

    pub(crate) fn loose(&mut self, count: u64, sink: &mut impl Sink) -> io::Result<()> {
        for index in 0..count {
            let at = (index % FILLERS.len() as u64) as usize;
            self.machine.play(&FILLERS[at..=at], sink)?;
        }
        Ok(())
    }

    /// Plays one block of the model forward, inside its Python frames.
    fn forward(&mut self, index: u64, outer: u64, sink: &mut impl Sink) -> io::Result<()> {
        let block = self.choose(index);
        if !self.with_stack {
            return self.machine.play(block.forward, sink);
        }
        let labels: [Frame; BLOCK_FRAMES as usize] = [
            Frame::Plain("torch/nn/modules/module.py(1776): _wrapped_call_impl"),
            Frame::Plain("torch/nn/modules/module.py(1784): _call_impl"),
            Frame::Module(block.module, index),
            Frame::Forward(block.source),
            Frame::Native(block.native),
        ];
        let mut bounds = [(0, 0); BLOCK_FRAMES as usize];
        for bound in &mut bounds {
            bound.0 = self.machine.pass(150, 900);
        }
        self.machine.play(block.forward, sink)?;
        for bound in bounds.iter_mut().rev() {
            bound.1 = self.machine.pass(150, 900);
        }
        let mut parent = outer;
        for (label, (start, end)) in labels.into_iter().zip(bounds) {
            let id = self.frames;
            self.frames += 1;
            sink.frame(&FrameEvent { label, start, dur: end - start, id, parent: Some(parent) })?;
            parent = id;
        }
        Ok(())
    }

    /// Plays all gradients, last block first, while the main thread waits.
    fn backward(&mut self, blocks: u64, sink: &mut impl Sink) -> io::Result<()> {
        let machine = &mut self.machine;
        machine.now[1] = machine.now[0].max(machine.now[1]);
        machine.thread = Thread::Backward;
        machine.pass(20_000, 60_000);
        machine.gradient = machine.sequence;
        for index in (0..blocks).rev() {
            let block = self.choose(index);
            self.machine.play(block.backward, sink)?;
        }
        let machine = &mut self.machine;
        machine.now[0] = machine.now[0].max(machine.now[1]);
        machine.thread = Thread::Main;
        machine.pass(5_000, 20_000);
        Ok(())
    }

    /// The block at a place in the model; its tensors' sizes belong to the place.
    fn choose(&mut self, index: u64) -> &'static Block {
        self.machine.shape = SHAPES[(index % SHAPES.len() as u64) as usize];
        LAYER[(index % LAYER.len() as u64) as usize]
    }

    fn open(&mut self, step: u64, which: usize, known: &[Span; SPANS], sink: &mut impl Sink) -> io::Result<()> {
        let machine = &mut self.machine;
        machine.externals += 1;
        machine.device = None;
        let (external, start) = (machine.externals, machine.clock());
        self.spans[which] = Span { external, start, end: start, device: None };
        machine.pass(500, 4_000);
        sink.span(step, which, &known[which])
    }

    fn close(&mut self, which: usize) {
        let device = self.machine.device.take();
        let end = self.machine.pass(500, 4_000);
        let span = &mut self.spans[which];
        (span.end, span.device) = (end, device);
        self.machine.pass(300, 3_000);
    }
}

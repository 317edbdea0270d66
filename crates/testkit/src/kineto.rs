//! The whole file: head, sections, metadata, end.

use std::io::{self, Write};

use crate::event::{CallEvent, DEVICE_SPANS, FrameEvent, MemoryEvent, OpEvent, SPANS, Sink, Span, Thread};
use crate::machine::START_NS;
use crate::sim::Sim;
use crate::summary::{StepTruth, Summary};
use crate::synth::{Plan, Synth};
use crate::text::Text;
use crate::writer::{BACKWARD_TID, PID, Section, Writer};

const HEAD: &str = "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    {\n      \
\"id\": 0, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320,\n      \
\"computeMajor\": 9, \"computeMinor\": 0,\n      \
\"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      \
\"regsPerBlock\": 65536, \"warpSize\": 32,\n      \
\"sharedMemPerBlock\": 49152, \"numSms\": 132\n    \
, \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, \"sharedMemPerMultiprocessor\": 233472\n    }\n    ],\n";

/// The sections in the order of a real file.
const SECTIONS: [Section; 6] = [
    Section::Ops(Thread::Backward),
    Section::Memory(Thread::Backward),
    Section::Ops(Thread::Main),
    Section::Memory(Thread::Main),
    Section::Frames,
    Section::Device,
];

/// Takes everything and keeps nothing: for the play that measures the steps.
struct Nowhere;

impl Sink for Nowhere {
    fn op(&mut self, _: &OpEvent) -> io::Result<()> {
        Ok(())
    }
    fn memory(&mut self, _: &MemoryEvent) -> io::Result<()> {
        Ok(())
    }
    fn call(&mut self, _: &CallEvent) -> io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: &FrameEvent) -> io::Result<()> {
        Ok(())
    }
    fn span(&mut self, _: u64, _: usize, _: &Span) -> io::Result<()> {
        Ok(())
    }
}

impl Synth {
    /// Writes the trace as a Kineto file and gives the ground truth.
    ///
    /// Memory use depends on the number of steps only (about 300 bytes each).
    ///
    /// # Errors
    ///
    /// Whatever `out` answers.
    pub fn write_kineto(&self, out: &mut impl Write) -> io::Result<Summary> {
        let plan = self.plan();
        let mut steps = vec![[Span::default(); SPANS]; plan.steps as usize];
        steps = self.play(&plan, &steps, &mut Nowhere)?;

        let mut text = Text::new(out);
        self.head(&mut text);
        let mut writer = Writer::new(text);
        for section in SECTIONS {
            writer.section = section;
            if section != Section::Frames || self.with_stack {
                self.play(&plan, &steps, &mut writer)?;
            }
        }
        for spans in &steps {
            for which in DEVICE_SPANS {
                writer.device_span(which, &spans[which])?;
            }
        }
        let end = writer.summary.last_ns.max(START_NS + 1_000);
        self.tail(plan.tail, end, &mut writer)?;

        let Writer { mut text, mut summary, .. } = writer;
        text.raw("\n  ],\n  \"traceName\": \"synthetic.pt.trace.json\"\n}\n");
        summary.bytes = text.finish()?;
        summary.steps = (self.first_step..)
            .zip(&steps)
            .map(|(number, [step, ..])| StepTruth {
                number,
                start_ns: step.start,
                dur_ns: step.end - step.start,
            })
            .collect();
        Ok(summary)
    }

    /// Plays the whole trace once and gives the ranges of its steps.
    fn play(
        &self,
        plan: &Plan,
        known: &[[Span; SPANS]],
        sink: &mut impl Sink,
    ) -> io::Result<Vec<[Span; SPANS]>> {
        let mut sim = Sim::new(self);
        sim.loose(plan.loose, sink)?;
        (0_u64..)
            .zip(known)
            .map(|(index, spans)| sim.step(self.first_step + index, plan.step(index), spans, sink))
            .collect()
    }

    fn head<W: Write>(&self, text: &mut Text<W>) {
        text.raw(HEAD).raw("      \"trace_id\": \"").num(self.seed).raw("\",\n");
        if self.with_stack {
            text.raw("      \"with_stack\": 1,\n");
        }
        text.raw("      \"profile_memory\": 1,\n      \"cuda_driver_version\": 13000,\n");
        text.raw("      \"record_shapes\": 1,\n      \"cuda_runtime_version\": 13000,\n");
        text.raw("  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1790857026000000000,\n");
        text.raw("  \"traceEvents\": [");
    }

    /// The names of processes and threads, and the profiler's own marks; the first `count` of them.
    fn tail<W: Write>(&self, count: u64, end: u64, writer: &mut Writer<W>) -> io::Result<()> {
        let mut lines = Vec::new();
        for (pid, label, order) in [(PID, "CPU", PID), (0, "GPU 0", 5_000_000)] {
            lines.push(meta("process_name", pid, 0, "name", "\"python3\""));
            lines.push(meta("process_labels", pid, 0, "labels", &format!("\"{label}\"")));
            lines.push(meta("process_sort_index", pid, 0, "sort_index", &order.to_string()));
        }
        let host = [(PID, PID, "thread 1070 (python3)"), (PID, BACKWARD_TID, "thread 1112 (pt_autograd_0)")];
        let host = host.map(|(pid, tid, name)| (pid, tid, name.to_owned()));
        let device = self.stream_ids().map(|id| (0, id, format!("stream {id} ")));
        for (pid, tid, name) in host.into_iter().chain(device) {
            lines.push(meta("thread_name", pid, tid, "name", &format!("\"{name}\"")));
            lines.push(meta("thread_sort_index", pid, tid, "sort_index", &tid.to_string()));
        }
        let (start, dur, end) = (micros(START_NS), micros(end - START_NS), micros(end + 1_000));
        lines.push(('X', "Trace", format!(
            "\"ph\": \"X\", \"cat\": \"Trace\", \"ts\": {start}, \"dur\": {dur},\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {{\n      \"Op count\": 0\n    }}"
        )));
        lines.push(('M', "", format!(
            "\"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": {start},\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {{\n      \"sort_index\": 536870912\n    }}"
        )));
        lines.push(('i', "", format!(
            "\"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": {start}"
        )));
        lines.push(('i', "", format!(
            "\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": {end}"
        )));
        for (phase, category, line) in lines.iter().take(count as usize) {
            writer.begin(*phase, category).raw(line);
            writer.end()?;
        }
        Ok(())
    }
}

fn meta(name: &str, pid: u64, tid: u64, key: &str, value: &str) -> (char, &'static str, String) {
    let at = micros(START_NS);
    let line = format!(
        "\"name\": \"{name}\", \"ph\": \"M\", \"ts\": {at}, \"pid\": {pid}, \"tid\": {tid},\n    \"args\": {{\n      \"{key}\": {value}\n    }}"
    );
    ('M', "", line)
}

/// Nanoseconds as microseconds with three digits behind the point.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

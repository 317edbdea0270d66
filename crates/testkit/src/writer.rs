//! Turns what the simulation plays into the events of a Kineto file, and counts them.

use std::io::{self, Write};

use crate::event::{CallEvent, Frame, FrameEvent, MemoryEvent, OpEvent, SPAN_NAMES, Sink, Span, Thread};
use crate::summary::Summary;
use crate::text::Text;

pub(crate) const PID: u64 = 1_070;
pub(crate) const BACKWARD_TID: u64 = 1_112;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Operators of a thread, with named ranges and arrows.
    Ops(Thread),
    Memory(Thread),
    Frames,
    Device,
}

#[derive(Debug)]
pub(crate) struct Writer<W> {
    pub(crate) text: Text<W>,
    pub(crate) section: Section,
    pub(crate) summary: Summary,
    indexed: u64,
}

impl<W: Write> Writer<W> {
    /// A writer that has written no event yet.
    pub(crate) fn new(text: Text<W>) -> Self {
        let section = Section::Ops(Thread::Backward);
        Self { text, section, summary: Summary::default(), indexed: 0 }
    }

    /// Starts an event: the comma after the last one, the brace, the count.
    pub(crate) fn begin(&mut self, phase: char, category: &'static str) -> &mut Text<W> {
        let comma = if self.summary.events == 0 { "\n  {" } else { ",\n  {" };
        self.summary.tally(phase, category);
        self.text.raw(comma).raw("\n    ")
    }

    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.text.raw("\n  }");
        self.text.settle()
    }

    /// Starts a complete event, up to and with its category; the name comes next.
    pub(crate) fn complete(&mut self, category: &'static str) -> &mut Text<W> {
        self.begin('X', category).raw("\"ph\": \"X\", \"cat\": \"").raw(category).raw("\", \"name\": \"")
    }

    /// The rest of a complete event behind its name, up to the first argument.
    pub(crate) fn place(&mut self, pid: u64, tid: u64, start: u64, dur: u64) -> &mut Text<W> {
        self.text.raw("\", \"pid\": ").num(pid).raw(", \"tid\": ").num(tid);
        self.text.raw(",\n    \"ts\": ").micros(start).raw(", \"dur\": ").micros(dur);
        self.text.raw(",\n    \"args\": {\n      ")
    }

    pub(crate) fn close_args(&mut self) -> io::Result<()> {
        self.text.raw("\n    }");
        self.end()
    }

    /// Ends the arguments with the running number that host events carry.
    fn close_indexed(&mut self) -> io::Result<()> {
        self.text.raw(", \"Ev Idx\": ").num(self.indexed);
        self.indexed += 1;
        self.close_args()
    }

    pub(crate) fn arrow(
        &mut self,
        phase: char,
        name: &'static str,
        id: u64,
        pid: u64,
        tid: u64,
        at: u64,
    ) -> io::Result<()> {
        let text = self.begin(phase, name);
        text.raw("\"ph\": \"").raw(if phase == 's' { "s" } else { "f" }).raw("\", \"id\": ").num(id);
        text.raw(", \"pid\": ").num(pid).raw(", \"tid\": ").num(tid).raw(", \"ts\": ").micros(at);
        text.raw(",\n    \"cat\": \"").raw(name).raw("\", \"name\": \"").raw(name).raw("\"");
        text.raw(if phase == 's' { "" } else { ", \"bp\": \"e\"" });
        self.end()
    }

    fn inputs(&mut self, title: &str, sig: &str, entry: impl Fn(&mut Text<W>, u8)) {
        self.text.raw(", \"").raw(title).raw("\": [");
        for (place, letter) in sig.bytes().enumerate() {
            self.text.raw(if place == 0 { "" } else { ", " });
            entry(&mut self.text, letter);
        }
        self.text.raw("]");
    }

    /// The four lists of inputs: T and W are tensors and weights, F the same in single precision,
    /// B a vector, S a number, L a list of numbers, U nothing.
    fn all_inputs(&mut self, sig: &'static str, [rows, columns, outputs]: [u64; 3]) {
        self.inputs("Concrete Inputs", sig, |text, letter| {
            match letter {
                b'S' => text.raw("\"1\""),
                b'L' => text.raw("\"[").num(rows).raw(", ").num(columns).raw("]\""),
                _ => text.raw("\"\""),
            };
        });
        self.inputs("Input type", sig, |text, letter| {
            text.raw(match letter {
                b'S' => "\"Scalar\"",
                b'L' => "\"ScalarList\"",
                b'F' => "\"float\"",
                b'U' => "\"\"",
                _ => "\"c10::BFloat16\"",
            });
        });
        self.inputs("Input Strides", sig, |text, letter| {
            match letter {
                b'T' | b'F' | b'W' => text.raw("[").num(columns).raw(", 1]"),
                b'B' => text.raw("[1]"),
                _ => text.raw("[]"),
            };
        });
        self.inputs("Input Dims", sig, |text, letter| {
            match letter {
                b'T' | b'F' => text.raw("[").num(rows).raw(", ").num(columns).raw("]"),
                b'W' => text.raw("[").num(outputs).raw(", ").num(columns).raw("]"),
                b'B' => text.raw("[").num(outputs).raw("]"),
                _ => text.raw("[]"),
            };
        });
    }
}

fn tid(thread: Thread) -> u64 {
    match thread {
        Thread::Main => PID,
        Thread::Backward => BACKWARD_TID,
    }
}

impl<W: Write> Sink for Writer<W> {
    fn op(&mut self, event: &OpEvent) -> io::Result<()> {
        if self.section != Section::Ops(event.thread) {
            return Ok(());
        }
        self.complete("cpu_op").raw(event.name);
        let text = self.place(PID, tid(event.thread), event.start, event.dur);
        text.raw("\"External id\": ").num(event.external).raw(",\"Record function id\": 0");
        if let Some(sequence) = event.sequence {
            let forward =
                if event.thread == Thread::Main { ", \"Fwd thread id\": 0" } else { ", \"Fwd thread id\": 1" };
            text.raw(", \"Sequence number\": ").num(sequence).raw(forward);
        }
        if !event.sig.is_empty() {
            self.all_inputs(event.sig, event.shape);
        }
        self.close_indexed()?;
        self.summary.extend(event.start, event.dur);
        let totals = self.summary.ops.entry(event.name).or_default();
        totals.count += 1;
        totals.host_ns += event.dur;
        totals.self_ns += event.self_ns;
        match event.sequence {
            Some(sequence) if event.arrow => {
                let phase = if event.thread == Thread::Main { 's' } else { 'f' };
                self.arrow(phase, "fwdbwd", sequence + 1, PID, tid(event.thread), event.start)
            }
            _ => Ok(()),
        }
    }

    fn memory(&mut self, event: &MemoryEvent) -> io::Result<()> {
        if self.section != Section::Memory(event.thread) {
            return Ok(());
        }
        self.summary.peak_allocated = self.summary.peak_allocated.max(event.allocated);
        let text = self.begin('i', "cpu_instant_event");
        text.raw("\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": ");
        text.num(PID).raw(", \"tid\": ").num(tid(event.thread)).raw(",\n    \"ts\": ").micros(event.at);
        text.raw(",\n    \"args\": {\n      \"Total Reserved\": ").num(event.reserved);
        text.raw(", \"Total Allocated\": ").num(event.allocated);
        text.raw(if event.freed { ", \"Bytes\": -" } else { ", \"Bytes\": " }).num(event.bytes);
        text.raw(", \"Device Id\": 0, \"Device Type\": 1, \"Addr\": ").num(event.address);
        text.raw(", \"finished\": false");
        self.close_indexed()
    }

    fn call(&mut self, event: &CallEvent) -> io::Result<()> {
        if self.section != Section::Device {
            return Ok(());
        }
        if let Some(side) = &event.device {
            self.device(event, side)?;
        }
        self.complete(event.api.cat).raw(event.api.name);
        let thread = tid(event.thread);
        let text = self.place(PID, thread, event.start, event.dur);
        text.raw("\"External id\": ").num(event.external).raw(",      \"cbid\": ").num(event.api.cbid);
        text.raw(", \"correlation\": ").num(event.correlation);
        self.close_args()?;
        self.summary.extend(event.start, event.dur);
        let phase = if event.device.is_some() { 's' } else { 'f' };
        self.arrow(phase, "ac2g", event.correlation, PID, thread, event.start)
    }

    fn frame(&mut self, event: &FrameEvent) -> io::Result<()> {
        if self.section != Section::Frames {
            return Ok(());
        }
        let text = self.complete("python_function");
        match event.label {
            Frame::Plain(name) => text.raw(name),
            Frame::Module(class, number) => text.raw("nn.Module: ").raw(class).raw("_").num(number),
            Frame::Forward(source) => text.raw(source).raw(": forward"),
            Frame::Native(name) => {
                text.raw("<built-in method ").raw(name).raw(" of type object at 0x7fca3ab699b0>")
            }
        };
        let text = self.place(PID, PID, event.start, event.dur).raw("\"Python parent id\": ");
        match event.parent {
            Some(parent) => text.num(parent),
            None => text.raw("null"),
        };
        text.raw(", \"Python id\": ").num(event.id);
        if let Frame::Module(_, number) = event.label {
            text.raw(", \"Python module id\": ").num(number);
        }
        self.close_indexed()
    }

    fn span(&mut self, step: u64, which: usize, span: &Span) -> io::Result<()> {
        if self.section != Section::Ops(Thread::Main) {
            return Ok(());
        }
        self.complete("user_annotation").raw(SPAN_NAMES[which]);
        if which == 0 {
            self.text.num(step);
        }
        let text = self.place(PID, PID, span.start, span.end - span.start);
        text.raw("\"External id\": ").num(span.external).raw(",\"Record function id\": 0");
        self.close_indexed()
    }
}

//! Files made to be slow or large: shapes in which something grows with the file that is usually small.
//!
//! Whoever walks along one thing for each of another is quadratic in one of these shapes, however fast it is on a file of
//! a program that exists.

use stepscope_model::{Kind, PointKind};

use crate::run_builder::{Point, RunBuilder, Sink, Slice};
use crate::trace_text::TraceText;

/// A shape of files: of any size, made of slices.
#[derive(Copy, Clone)]
pub struct Shape {
    pub name: &'static str,
    fill: fn(i64, &mut dyn Sink),
}

impl Shape {
    /// A run of about `n` events of this shape.
    pub fn run(&self, n: usize) -> RunBuilder {
        let mut run = RunBuilder::new();
        (self.fill)(n as i64, &mut run);
        run
    }

    pub fn text(&self, n: usize) -> String {
        let mut text = TraceText::default();
        (self.fill)(n as i64, &mut text);
        text.finish()
    }
}

pub const SHAPES: &[Shape] = &[
    Shape { name: "a device for each step", fill: device_for_each_step },
    Shape { name: "a device for each kernel", fill: device_for_each_kernel },
    Shape { name: "a long kernel on each device", fill: long_kernels },
    Shape { name: "a thread and a device for each step", fill: thread_for_each_device },
    Shape { name: "a stream for each kernel", fill: stream_for_each_kernel },
    Shape { name: "a thread for each operator", fill: thread_for_each_operator },
    Shape { name: "a process for each operator", fill: process_for_each_operator },
    Shape { name: "steps that overlap", fill: overlapping_steps },
    Shape { name: "steps at the same time", fill: same_steps },
    Shape { name: "steps with the same number", fill: equal_steps },
    Shape { name: "nested steps", fill: nested_steps },
    Shape { name: "nested ranges", fill: nested_ranges },
    Shape { name: "crossing ranges", fill: crossing_ranges },
    Shape { name: "a name for each operator", fill: name_for_each_operator },
    Shape { name: "a name for each kernel", fill: name_for_each_kernel },
    Shape { name: "a counter for each value", fill: counter_for_each_value },
    Shape { name: "memory that is never freed", fill: memory },
    Shape { name: "waits for everything", fill: waits },
    Shape { name: "kernels that overlap", fill: overlapping_kernels },
    Shape { name: "calls with the same id", fill: same_id },
    Shape { name: "threads of the backward pass", fill: backward_threads },
    Shape { name: "Python frames", fill: frames },
    Shape { name: "a graph for each replay", fill: graphs },
    Shape { name: "compiled regions in each other", fill: regions },
    Shape { name: "iterations of an engine", fill: iterations },
];

fn step(sink: &mut dyn Sink, number: i64, at: (i64, i64)) {
    sink.slice(Slice::new(Kind::HostAnnotation, &format!("ProfilerStep#{number}"), at));
}

/// An operator with a launch in it, and the work.
fn launch(sink: &mut dyn Sink, id: i64, at: i64, thread: i64, work: Slice) {
    sink.slice(Slice::new(Kind::HostOp, "aten::mul", (at, at + 6)).thread(thread).external(id));
    let call = Slice::new(Kind::Runtime, "cudaLaunchKernel", (at + 1, at + 3)).thread(thread);
    sink.slice(call.correlation(id).external(id));
    sink.slice(work.correlation(id).external(id));
}

fn kernel(at: (i64, i64)) -> Slice {
    Slice::new(Kind::Kernel, "mul", at)
}

fn device_for_each_step(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)).device(i));
    }
}

fn device_for_each_kernel(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 3 {
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)).device(i));
    }
}

fn long_kernels(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i + 4, n * 5 + i)).device(i));
    }
}

fn thread_for_each_device(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        launch(sink, i + 1, i * 20 + 2, i + 2, kernel((i * 20 + 8, i * 20 + 15)).device(i));
    }
}

fn stream_for_each_kernel(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)).stream(i));
    }
}

fn thread_for_each_operator(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 3 {
        launch(sink, i + 1, i * 20 + 2, i, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn process_for_each_operator(n: i64, sink: &mut dyn Sink) {
    for i in 0..n {
        sink.slice(Slice::new(Kind::HostOp, "aten::mul", (i * 20, i * 20 + 10)).process(1000 + i));
    }
}

fn overlapping_steps(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + n * 10));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn same_steps(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (0, n * 10));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn equal_steps(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, 7, (i * 20, i * 20 + 18));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn nested_steps(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, n * 20 - i * 20));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn nested_ranges(n: i64, sink: &mut dyn Sink) {
    for i in 0..n {
        sink.slice(Slice::new(Kind::HostOp, "aten::mul", (i, n * 3 - i)));
    }
    launch(sink, 1, n, 1, kernel((n + 10, n * 2)));
}

fn crossing_ranges(n: i64, sink: &mut dyn Sink) {
    for i in 0..n {
        sink.slice(Slice::new(Kind::HostAnnotation, "range", (i * 2, i * 2 + n)));
    }
    launch(sink, 1, n, 1, kernel((n + 10, n * 2)));
}

fn name_for_each_operator(n: i64, sink: &mut dyn Sink) {
    step(sink, 1, (0, n * 20));
    for i in 0..n / 2 {
        sink.slice(Slice::new(Kind::HostOp, &format!("my::op{i}"), (i * 20, i * 20 + 9)));
        sink.slice(Slice::new(Kind::HostAnnotation, &format!("range {i}"), (i * 20 + 10, i * 20 + 19)));
    }
}

fn name_for_each_kernel(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        let name = format!("void kernel_{i}<float, {i}>(float*, int)");
        launch(sink, i + 1, i * 20 + 2, 1, Slice::new(Kind::Kernel, &name, (i * 20 + 8, i * 20 + 15)));
    }
}

fn counter_for_each_value(n: i64, sink: &mut dyn Sink) {
    step(sink, 1, (0, n * 20));
    for i in 0..n {
        sink.point(Point::new(PointKind::Counter, &format!("counter {i}"), 1, i * 20).arg("value", i));
    }
}

fn memory(n: i64, sink: &mut dyn Sink) {
    step(sink, 1, (0, n * 20));
    for i in 0..n / 2 {
        sink.slice(Slice::new(Kind::HostOp, "aten::empty", (i * 20, i * 20 + 9)));
        let mark = Point::new(PointKind::Instant, "[memory]", 1, i * 20 + 4)
            .arg("Addr", 4096 * i)
            .arg("Bytes", 512 * (1 + i % 7));
        sink.point(mark.arg("Device Type", 1i64).arg("Device Id", i % 200).arg("Total Allocated", 512 * i));
    }
}

fn waits(n: i64, sink: &mut dyn Sink) {
    step(sink, 1, (0, n * 20));
    for i in 0..n / 4 {
        launch(sink, i + 1, i * 20, 1, kernel((i * 20 + 4, i * 20 + 15)).stream(i % 50));
        let call = Slice::new(Kind::Runtime, "cudaDeviceSynchronize", (i * 20 + 7, i * 20 + 18));
        sink.slice(call.correlation(1_000_000 + i));
    }
}

fn overlapping_kernels(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + n)).stream(i % 3));
    }
}

fn same_id(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        step(sink, i, (i * 20, i * 20 + 18));
        launch(sink, 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn backward_threads(n: i64, sink: &mut dyn Sink) {
    step(sink, 1, (0, n * 20));
    for i in 0..n / 4 {
        let name = "autograd::engine::evaluate_function: MulBackward0";
        sink.slice(Slice::new(Kind::HostOp, name, (i * 20, i * 20 + 12)).thread(i + 2));
        launch(sink, i + 1, i * 20 + 2, i + 2, kernel((i * 20 + 8, i * 20 + 15)));
    }
}

fn frames(n: i64, sink: &mut dyn Sink) {
    step(sink, 1, (0, n * 20));
    for i in 0..n {
        let name = format!("train.py({}): line_{}", i % 997, i % 997);
        sink.slice(Slice::new(
            Kind::PythonFunction,
            &name,
            (i * 20 + (i % 64), (i + 64 - i % 64) * 20 - (i % 64)),
        ));
    }
}

fn graphs(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 3 {
        let (at, id) = (i * 20, i + 1);
        sink.slice(Slice::new(Kind::Runtime, "cudaGraphLaunch", (at, at + 3)).correlation(id));
        for (name, start) in [(format!("kernel_{i}"), at + 5), ("mul".to_owned(), at + 12)] {
            sink.slice(Slice::new(Kind::Kernel, &name, (start, start + 6)).correlation(id));
        }
    }
}

fn regions(n: i64, sink: &mut dyn Sink) {
    let depth = n / 2;
    for i in 0..depth {
        sink.slice(Slice::new(Kind::HostOp, &format!("Torch-Compiled Region: {i}/1"), (i, n * 8 - i)));
    }
    sink.slice(Slice::new(Kind::HostAnnotation, "## Call CompiledFxGraph f ##", (depth, depth + 1)));
    for i in 0..depth / 3 {
        launch(sink, i + 1, n + i * 20, 1, kernel((n + i * 20 + 8, n + i * 20 + 15)));
    }
}

fn iterations(n: i64, sink: &mut dyn Sink) {
    for i in 0..n / 4 {
        let name = format!("execute_context_{i}({i})_generation_1(1)");
        sink.slice(Slice::new(Kind::HostAnnotation, &name, (i * 20, i * 20 + 18)));
        launch(sink, i + 1, i * 20 + 2, 1, kernel((i * 20 + 8, i * 20 + n)));
    }
}

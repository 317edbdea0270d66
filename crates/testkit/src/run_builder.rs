//! Hand-made runs: a few slices whose answers can be worked out on paper.
//!
//! ```
//! use stepscope_model::Kind;
//! use stepscope_testkit::{RunBuilder, Slice};
//!
//! let mut run = RunBuilder::new();
//! run.host(Kind::HostAnnotation, "ProfilerStep#1", 1, (0, 100))
//!     .launch(1, (10, 20), Kind::Kernel, "gemm", 7, (30, 90))
//!     .add(Slice::new(Kind::Memset, "Memset", (92, 95)).stream(8).arg("bytes", 512));
//! let trace = run.finish();
//! assert_eq!(trace.slices().len(), 4);
//! ```

use std::borrow::Cow;

use stepscope_formats::declare_keys;
use stepscope_model::{
    ArgValue, CatId, Decimal, Domain, Kind, LaneKey, NewPoint, NewSlice, Ns, PointKind, Tag, Trace,
    TraceBuilder,
};

/// The process of the host threads, unless a slice says otherwise.
pub const HOST_PROCESS: i64 = 100;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Decimal(Decimal),
    Text(String),
    Json(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<Decimal> for Value {
    fn from(value: Decimal) -> Value {
        Value::Decimal(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) at: (i64, i64),
    pub(crate) process: i64,
    pub(crate) thread: i64,
    pub(crate) correlation: Option<i64>,
    pub(crate) external: Option<i64>,
    pub(crate) args: Vec<(Cow<'static, str>, Value)>,
}

impl Slice {
    /// A slice from one moment to another: on thread 1 of the host, or on stream 7 of device 0 if its kind is a device's.
    pub fn new(kind: Kind, name: &str, at: (i64, i64)) -> Slice {
        let (process, thread) = if kind.is_device() { (0, 7) } else { (HOST_PROCESS, 1) };
        let (name, args) = (name.to_owned(), Vec::new());
        Slice { kind, name, at, process, thread, correlation: None, external: None, args }
    }

    pub fn thread(mut self, thread: i64) -> Slice {
        self.thread = thread;
        self
    }

    pub fn process(mut self, process: i64) -> Slice {
        self.process = process;
        self
    }

    pub fn stream(self, stream: i64) -> Slice {
        self.thread(stream)
    }

    pub fn device(self, device: i64) -> Slice {
        self.process(device)
    }

    /// With the id that ties work to its call; 0 is none.
    pub fn correlation(mut self, id: i64) -> Slice {
        self.correlation = (id != 0).then_some(id);
        self
    }

    /// With the id that ties a call or work to its operator; 0 is none.
    pub fn external(mut self, id: i64) -> Slice {
        self.external = (id != 0).then_some(id);
        self
    }

    pub fn arg(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Slice {
        self.args.push((key.into(), value.into()));
        self
    }
}

/// Something that happens at one moment on a host thread: a mark, or a counter's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub(crate) kind: PointKind,
    pub(crate) name: String,
    pub(crate) thread: i64,
    pub(crate) at: i64,
    pub(crate) args: Vec<(Cow<'static, str>, Value)>,
}

impl Point {
    pub fn new(kind: PointKind, name: &str, thread: i64, at: i64) -> Point {
        Point { kind, name: name.to_owned(), thread, at, args: Vec::new() }
    }

    pub fn arg(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Point {
        self.args.push((key.into(), value.into()));
        self
    }
}

/// What takes slices and points: a run in memory, or the text of a file.
pub trait Sink {
    fn slice(&mut self, slice: Slice);
    fn point(&mut self, point: Point);
}

/// A run that is put together slice by slice.
pub struct RunBuilder {
    builder: TraceBuilder,
    /// Nanoseconds in a unit of time.
    unit: i64,
    launches: i64,
}

impl Default for RunBuilder {
    fn default() -> RunBuilder {
        RunBuilder::new()
    }
}

impl RunBuilder {
    /// An empty run; times are microseconds.
    pub fn new() -> RunBuilder {
        let mut builder = TraceBuilder::new();
        declare_keys(&mut builder);
        RunBuilder { builder, unit: 1000, launches: 0 }
    }

    /// An empty run; times are nanoseconds.
    pub fn in_nanoseconds() -> RunBuilder {
        RunBuilder { unit: 1, ..RunBuilder::new() }
    }

    pub fn add(&mut self, slice: Slice) -> &mut RunBuilder {
        self.slice(slice);
        self
    }

    pub fn host(&mut self, kind: Kind, name: &str, thread: i64, at: (i64, i64)) -> &mut RunBuilder {
        self.add(Slice::new(kind, name, at).thread(thread))
    }

    /// A call on a thread that launches work on a stream.
    pub fn launch(
        &mut self,
        thread: i64,
        call: (i64, i64),
        kind: Kind,
        name: &str,
        stream: i64,
        work: (i64, i64),
    ) -> &mut RunBuilder {
        self.launches += 1;
        let id = self.launches;
        let call_name = if kind == Kind::Memcpy { "cudaMemcpyAsync" } else { "cudaLaunchKernel" };
        self.add(Slice::new(Kind::Runtime, call_name, call).thread(thread).correlation(id));
        self.add(Slice::new(kind, name, work).stream(stream).correlation(id))
    }

    pub fn mark(&mut self, point: Point) -> &mut RunBuilder {
        self.point(point);
        self
    }

    /// For what only the builder can do.
    pub fn builder(&mut self) -> &mut TraceBuilder {
        &mut self.builder
    }

    pub fn finish(self) -> Trace {
        self.builder.finish()
    }

    fn args(&mut self, args: Vec<(Cow<'static, str>, Value)>) {
        for (key, value) in args {
            let key = self.builder.intern(&key);
            let value = match value {
                Value::Int(value) => ArgValue::Int(value),
                Value::Decimal(value) => ArgValue::Decimal(value),
                Value::Text(text) => ArgValue::Str(self.builder.intern(&text)),
                Value::Json(text) => ArgValue::Json(self.builder.intern(&text)),
            };
            self.builder.push_arg(key, value);
        }
    }

    fn time(&self, at: i64) -> i64 {
        at.saturating_mul(self.unit)
    }
}

impl Sink for RunBuilder {
    fn slice(&mut self, slice: Slice) {
        let domain = if slice.kind.is_device() { Domain::Device } else { Domain::Host };
        let (process, thread) = (Tag::Int(slice.process), Tag::Int(slice.thread));
        let lane = self.builder.lane(LaneKey { domain, process, thread });
        self.args(slice.args);
        let (start, end) = (self.time(slice.at.0), self.time(slice.at.1));
        let new = NewSlice {
            start: Ns(start),
            dur: Ns(end.saturating_sub(start)),
            name: self.builder.intern(&slice.name),
            cat: CatId::default(),
            kind: slice.kind,
            lane,
            args: self.builder.commit_args(),
            correlation: slice.correlation,
            external: slice.external,
        };
        self.builder.slice(new);
    }

    fn point(&mut self, point: Point) {
        let (domain, process, thread) = (Domain::Host, Tag::Int(HOST_PROCESS), Tag::Int(point.thread));
        let lane = self.builder.lane(LaneKey { domain, process, thread });
        self.args(point.args);
        let new = NewPoint {
            at: Ns(self.time(point.at)),
            name: self.builder.intern(&point.name),
            cat: CatId::default(),
            lane,
            args: self.builder.commit_args(),
            kind: point.kind,
        };
        self.builder.point(new);
    }
}

//! Slices and points as the text of a Kineto file, for tests of the whole program.

use std::borrow::Cow;
use std::fmt::Write;

use stepscope_model::{Kind, PointKind};

use crate::run_builder::{Point, Sink, Slice, Value};

/// The text of a file that grows event by event. Times are microseconds.
#[derive(Default)]
pub struct TraceText {
    text: String,
}

impl TraceText {
    pub fn finish(self) -> String {
        format!("{{\"schemaVersion\":1,\"traceEvents\":[{}\n]}}\n", self.text)
    }

    fn event(&mut self, head: std::fmt::Arguments<'_>, name: &str, args: &[(Cow<'static, str>, Value)]) {
        let comma = if self.text.is_empty() { "" } else { "," };
        let name = quoted(name);
        // Writing to a text cannot fail.
        let _ = write!(self.text, "{comma}\n{{{head},\"name\":{name},\"args\":{{");
        for (at, (key, value)) in args.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = match value {
                Value::Int(value) => write!(self.text, "{comma}\"{key}\":{value}"),
                Value::Decimal(value) => {
                    let scale = usize::from(value.scale);
                    let digits = format!("{:0>width$}", value.mantissa, width = scale + 1);
                    let (whole, rest) = digits.split_at(digits.len() - scale);
                    write!(self.text, "{comma}\"{key}\":{whole}.{rest}0")
                }
                Value::Text(text) => write!(self.text, "{comma}\"{key}\":{}", quoted(text)),
                Value::Json(text) => write!(self.text, "{comma}\"{key}\":{text}"),
            };
        }
        self.text.push_str("}}");
    }
}

impl Sink for TraceText {
    fn slice(&mut self, slice: Slice) {
        let (start, dur) = (slice.at.0, slice.at.1 - slice.at.0);
        let mut args = slice.args;
        args.extend(slice.correlation.map(|id| ("correlation".into(), Value::Int(id))));
        args.extend(slice.external.map(|id| ("External id".into(), Value::Int(id))));
        if slice.kind.is_device() {
            args.push(("device".into(), Value::Int(slice.process)));
            args.push(("stream".into(), Value::Int(slice.thread)));
        }
        let (cat, pid, tid) = (category(slice.kind), slice.process, slice.thread);
        self.event(
            format_args!(
                "\"ph\":\"X\",\"cat\":\"{cat}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{start},\"dur\":{dur}"
            ),
            &slice.name,
            &args,
        );
    }

    fn point(&mut self, point: Point) {
        let (phase, tid, at) = (phase(point.kind), point.thread, point.at);
        let pid = crate::run_builder::HOST_PROCESS;
        self.event(
            format_args!(
                "\"ph\":\"{phase}\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}"
            ),
            &point.name,
            &point.args,
        );
    }
}

/// The category that Kineto gives slices of a kind.
fn category(kind: Kind) -> &'static str {
    match kind {
        Kind::HostOp => "cpu_op",
        Kind::HostAnnotation => "user_annotation",
        Kind::PythonFunction => "python_function",
        Kind::Runtime => "cuda_runtime",
        Kind::Driver => "cuda_driver",
        Kind::Overhead => "overhead",
        Kind::Kernel => "kernel",
        Kind::Memcpy => "gpu_memcpy",
        Kind::Memset => "gpu_memset",
        Kind::DeviceAnnotation => "gpu_user_annotation",
        Kind::DeviceSync => "cuda_sync",
        _ => "other",
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The letter that a file has for a point.
fn phase(kind: PointKind) -> char {
    match kind {
        PointKind::Instant => 'i',
        PointKind::Counter => 'C',
        PointKind::Metadata => 'M',
        PointKind::Other(code) => char::from(code),
    }
}

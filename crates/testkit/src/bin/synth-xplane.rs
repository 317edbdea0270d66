//! Writes a synthetic XPlane profile of any size without holding it: `synth-xplane --bytes 1000000000 --out large.xplane.pb`.
//!
//! A training loop on eight devices: a thread of steps that launches kernels, and two streams per device that run them.
//! Messages say their lengths first, so every plane is made twice: once to be counted, once to be written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use stepscope_ground::protobuf::Put;

const USAGE: &str = "usage: synth-xplane --bytes N --out FILE\n";
const DEVICES: u64 = 8;
const STREAMS: u64 = 2;
const KERNELS: u64 = 250;
const NAMES: u64 = 200;
const STATS: [&str; 6] = ["correlation_id", "kernel_details", "hlo_op", "program_id", "step_num", "_r"];
const DETAILS: &str = "regs:96 static_shared:0 dynamic_shared:49152 grid:256,1,1 block:128,1,1 occ_pct:25";
const KERNEL_PS: u64 = 9_000_000;
const STEP_PS: u64 = KERNELS * 10_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let wanted = value("--bytes").and_then(|bytes| bytes.replace('_', "").parse::<u64>().ok());
    let (Some(wanted), Some(out)) = (wanted, value("--out")) else {
        // Nothing is left to be done when even stderr is closed.
        let _ = io::stderr().write_all(USAGE.as_bytes());
        return ExitCode::from(2);
    };
    match write(wanted, &out) {
        Ok((steps, events)) => {
            let _ = writeln!(io::stderr(), "synth-xplane: {steps} steps, {events} events");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "synth-xplane: {out}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes about so many bytes, in whole steps; how many of those, and how many events.
fn write(wanted: u64, out: &str) -> io::Result<(u64, u64)> {
    let one = size(1);
    let steps = ((wanted.saturating_sub(one)) / (size(2) - one).max(1)).max(1);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(out)?);
    space(steps, &mut file)?;
    file.flush()?;
    let per_step = 1 + DEVICES * STREAMS * KERNELS * 2;
    Ok((steps, steps * per_step))
}

fn size(steps: u64) -> u64 {
    let mut count = Count(0);
    // Counting does not fail.
    let _ = space(steps, &mut count);
    count.0
}

struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn space(steps: u64, out: &mut dyn Write) -> io::Result<()> {
    for device in 0..=DEVICES {
        message(out, 1, &|out| plane(device, steps, out))?;
    }
    let mut host = Vec::new();
    host.bytes(4, b"synthetic");
    out.write_all(&host)
}

/// A message in a field of another one: its length, then what `body` writes.
fn message(out: &mut dyn Write, field: u64, body: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut count = Count(0);
    body(&mut count)?;
    let mut head = Vec::new();
    head.varint(field << 3 | 2);
    head.varint(count.0);
    out.write_all(&head)?;
    body(out)
}

/// The host is the first plane, each device another one.
fn plane(at: u64, steps: u64, out: &mut dyn Write) -> io::Result<()> {
    let name = if at == 0 { "/host:CPU".to_owned() } else { format!("/device:GPU:{}", at - 1) };
    let mut head = Vec::new();
    head.bytes(2, name.as_bytes());
    out.write_all(&head)?;
    let lines = if at == 0 { DEVICES } else { STREAMS };
    for line in 0..lines {
        message(out, 3, &|out| match at {
            0 => thread(line, steps, out),
            _ => stream(at - 1, line, steps, out),
        })?;
    }
    names(out)
}

fn names(out: &mut dyn Write) -> io::Result<()> {
    let mut tail = Vec::new();
    let mut entry = |field: u32, key: u64, name: &str| {
        let (mut described, mut entry) = (Vec::new(), Vec::new());
        described.nonzero(1, key);
        described.bytes(2, name.as_bytes());
        entry.nonzero(1, key);
        entry.bytes(2, &described);
        tail.bytes(field, &entry);
    };
    entry(4, 1, "train");
    for kernel in 0..NAMES {
        entry(4, 2 + kernel, &format!("loop_multiply_fusion_{kernel}"));
    }
    for (at, stat) in STATS.iter().enumerate() {
        entry(5, at as u64 + 1, stat);
    }
    entry(5, 100, DETAILS);
    out.write_all(&tail)
}

/// A thread per device: steps on the first, launches on all.
fn thread(device: u64, steps: u64, out: &mut dyn Write) -> io::Result<()> {
    line_head(device + 1, &format!("python/{device}"), out)?;
    for step in 0..steps {
        if device == 0 {
            event(out, (1, step * STEP_PS, STEP_PS - 1000), &[(5, step), (6, 1)], &[])?;
        }
        for kernel in 0..STREAMS * KERNELS {
            let at = step * STEP_PS + 1000 + kernel * (STEP_PS / (STREAMS * KERNELS + 1));
            let correlation = 1 + (step * DEVICES + device) * STREAMS * KERNELS + kernel;
            event(out, (2 + kernel % NAMES, at, 2_000_000), &[(1, correlation)], &[])?;
        }
    }
    Ok(())
}

fn stream(device: u64, stream: u64, steps: u64, out: &mut dyn Write) -> io::Result<()> {
    line_head(stream + 14, &format!("Stream #{}(Compute)", stream + 14), out)?;
    for step in 0..steps {
        for kernel in 0..KERNELS {
            let launched = kernel * STREAMS + stream;
            let correlation = 1 + (step * DEVICES + device) * STREAMS * KERNELS + launched;
            let at = step * STEP_PS + 3_000_000 + kernel * 10_000_000;
            event(out, (2 + launched % NAMES, at, KERNEL_PS), &[(1, correlation), (4, 7)], &[(2, 100)])?;
        }
    }
    Ok(())
}

fn line_head(id: u64, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut head = Vec::new();
    head.nonzero(1, id);
    head.bytes(2, name.as_bytes());
    head.nonzero(3, 1_000);
    out.write_all(&head)
}

/// An event of a description, from a time on and so long, with numbers and texts that are names of stats.
fn event(
    out: &mut dyn Write,
    (is, offset_ps, dur_ps): (u64, u64, u64),
    numbers: &[(u64, u64)],
    texts: &[(u64, u64)],
) -> io::Result<()> {
    let (mut event, mut whole) = (Vec::with_capacity(64), Vec::with_capacity(72));
    event.nonzero(1, is);
    event.nonzero(2, offset_ps);
    event.nonzero(3, dur_ps);
    let mut stat = |name: u64, field: u64, value: u64| {
        let mut message = Vec::with_capacity(16);
        message.nonzero(1, name);
        message.varint(field << 3);
        message.varint(value);
        event.bytes(4, &message);
    };
    numbers.iter().for_each(|&(name, value)| stat(name, 3, value));
    texts.iter().for_each(|&(name, value)| stat(name, 7, value));
    whole.bytes(4, &event);
    out.write_all(&whole)
}

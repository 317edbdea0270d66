//! Writes a synthetic PyTorch trace: `synth-trace --events 1000000 --seed 1 --out trace.json.gz`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use flate2::{Compression, write::GzEncoder};
use stepscope_testkit::{Summary, Synth};

const USAGE: &str = "\
usage: synth-trace --events N --out FILE [--seed N] [--steps N] [--streams N] [--stack]

  --events N    objects in traceEvents, exactly
  --out FILE    where to; gzip if the name ends in .gz, - for standard output
  --seed N      the same seed gives the same bytes (default 1)
  --steps N     profiler steps (default: one per 12,000 events)
  --streams N   device streams (default 3)
  --stack       with Python frames
";

fn main() -> ExitCode {
    let mut stderr = io::stderr().lock();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        let told = io::stdout().write_all(USAGE.as_bytes());
        return if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (synth, out) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(message) => {
            // Nothing is left to be done when even stderr is closed.
            let _ = write!(stderr, "synth-trace: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let (line, code) = match write(&synth, &out) {
        Ok(truth) => {
            let Summary { events, kernels, bytes, .. } = truth;
            let steps = truth.steps.len();
            let line = format!("{events} events, {kernels} kernels, {steps} steps, {bytes} bytes of text");
            (line, ExitCode::SUCCESS)
        }
        Err(error) => (format!("{out}: {error}"), ExitCode::FAILURE),
    };
    let _ = writeln!(stderr, "synth-trace: {line}");
    code
}

fn parse(arguments: &[String]) -> Result<(Synth, String), String> {
    let mut synth = Synth::new(1, 0);
    let (mut events, mut out) = (None, None);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        if option == "--stack" {
            synth.with_stack = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|e| format!("{option} {value}: {e}"));
        match option.as_str() {
            "--events" => events = Some(number()?),
            "--seed" => synth.seed = number()?,
            "--steps" => synth.steps = number()?,
            "--streams" => synth.streams = u32::try_from(number()?).map_err(|e| e.to_string())?,
            "--out" => out = Some(value.clone()),
            _ => return Err(format!("no such option: {option}")),
        }
    }
    synth.events = events.ok_or("--events is missing")?;
    Ok((synth, out.ok_or("--out is missing")?))
}

/// Writes the trace to where it was asked for.
fn write(synth: &Synth, out: &str) -> io::Result<Summary> {
    if out == "-" {
        return synth.write_kineto(&mut io::stdout().lock());
    }
    let mut file = BufWriter::with_capacity(1 << 18, File::create(out)?);
    let truth = if out.ends_with(".gz") {
        let mut packed = GzEncoder::new(&mut file, Compression::new(6));
        let truth = synth.write_kineto(&mut packed)?;
        packed.finish()?;
        truth
    } else {
        synth.write_kineto(&mut file)?
    };
    file.flush()?;
    Ok(truth)
}

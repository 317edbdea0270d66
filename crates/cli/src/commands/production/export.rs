//! `stepscope production export`: the numbers of a service for Prometheus, OpenTelemetry, StatsD, or as JSON lines.

#[cfg(feature = "otlp")]
mod otlp;

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use stepscope_ground::utc::MINUTE_NS;
use stepscope_metrics::{
    Endpoint, EndpointOptions, Format, JsonLines, LinesError, SnapshotReader, StatsD, families, lines, render,
    repeat_every,
};
use stepscope_record::clock::now_ns;
use stepscope_record::spy::{interrupted, notice_interrupts};
use stepscope_service::{Period, ServiceDir};

use crate::args::{Receiver, ServiceExport};
use crate::failure::Failure;
use crate::input::remark;

/// How often the directory is looked at for minutes that are over, and the endpoint for trouble.
const POLL_PERIOD: Duration = Duration::from_secs(1);

pub(super) fn run(args: &ServiceExport, out: &mut dyn Write) -> Result<(), Failure> {
    let store = ServiceDir::open(&args.directory)?;
    notice_interrupts();
    match args.to {
        Receiver::Prometheus => prometheus(args, Format::Text, out),
        Receiver::Openmetrics => prometheus(args, Format::OpenMetrics, out),
        #[cfg(feature = "otlp")]
        Receiver::Otlp => otlp::run(args, &store),
        #[cfg(not(feature = "otlp"))]
        Receiver::Otlp => Err(Failure::wrong_use(
            "this build of stepscope does not send to OpenTelemetry collectors",
            "build it whole: cargo install --path crates/cli; --to prometheus works here",
        )),
        Receiver::Statsd => statsd(args),
        Receiver::Json => json(args, store, out),
    }
}

/// Who prints once leaves the directory as it is.
fn exporter(args: &ServiceExport) -> SnapshotReader {
    if args.once { SnapshotReader::reading(&args.directory) } else { SnapshotReader::new(&args.directory) }
}

/// Says each thing once.
#[derive(Default)]
struct OnceRemarks(BTreeSet<String>);

impl OnceRemarks {
    fn say(&mut self, words: impl IntoIterator<Item = String>) {
        for words in words {
            if self.0.len() < 100 && self.0.insert(words.clone()) {
                remark(&words);
            }
        }
    }
}

fn prometheus(args: &ServiceExport, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let exporter = Arc::new(exporter(args));
    let mut said = OnceRemarks::default();
    let snapshot = exporter.snapshot(Duration::ZERO)?;
    said.say(snapshot.notes.iter().cloned());
    if args.once {
        return Ok(out.write_all(&render(&families(&snapshot), format))?);
    }
    let endpoint = Endpoint::start(exporter.clone(), &args.listen, EndpointOptions::default())?;
    let Some(address) = endpoint.serving_at() else {
        return Err(Failure::wrong_use(
            format!("the address is already in use: {}", args.listen),
            "give another port: --listen 127.0.0.1:9465",
        ));
    };
    writeln!(out, "http://{address}/metrics")?;
    out.flush()?;
    repeat_every(POLL_PERIOD, &interrupted, || {
        // What was read for the last scrape, if there was one lately.
        match exporter.snapshot(Duration::from_secs(60)) {
            Ok(snapshot) => said.say(snapshot.notes.iter().cloned()),
            Err(error) => said.say([error.what]),
        }
        Ok::<_, Failure>(())
    })
}

fn statsd(args: &ServiceExport) -> Result<(), Failure> {
    let exporter = exporter(args);
    let mut statsd = StatsD::new(args.endpoint.as_deref().unwrap_or("127.0.0.1:8125"), args.tags)?;
    let mut said = OnceRemarks::default();
    let mut push = || -> Result<(), Failure> {
        let snapshot = exporter.snapshot(Duration::ZERO)?;
        said.say(snapshot.notes.iter().cloned());
        if statsd.push(&families(&snapshot), args.once) > 0 {
            said.say(["nothing listens on the StatsD server's port: what was sent is lost".to_owned()]);
        }
        Ok(())
    };
    if args.once {
        return push();
    }
    repeat_every(args.interval, &interrupted, || {
        if let Err(error) = push() {
            remark(&error.to_string());
        }
        Ok::<_, Failure>(())
    })?;
    push()
}

fn json(args: &ServiceExport, store: ServiceDir, out: &mut dyn Write) -> Result<(), Failure> {
    let now = now_ns();
    let period = match (&args.last, args.once) {
        (Some(last), _) => Period::parse(last, now)?,
        (None, true) => Period::last(60, now),
        (None, false) => Period { from: now.div_euclid(MINUTE_NS), until: now.div_euclid(MINUTE_NS) },
    };
    let mut file = match args.output.as_ref().filter(|path| path.as_os_str() != "-") {
        Some(path) => Some(BufWriter::new(OpenOptions::new().create(true).append(true).open(path)?)),
        None => None,
    };
    let out: &mut dyn Write = match &mut file {
        Some(file) => file,
        None => out,
    };
    if args.once {
        return lines(&store, period, out).map_err(failure);
    }
    let mut written = JsonLines::new(store, period.from);
    let mut said = OnceRemarks::default();
    repeat_every(POLL_PERIOD, &interrupted, || {
        match written.write(now_ns(), out) {
            // A directory that is away for a moment comes back; a reader that is gone does not.
            Err(LinesError::Read(error)) => said.say([error.what]),
            other => other.map_err(failure)?,
        }
        Ok(())
    })
}

fn failure(error: LinesError) -> Failure {
    match error {
        LinesError::Read(error) => error.into(),
        LinesError::Write(error) => io::Error::into(error),
    }
}

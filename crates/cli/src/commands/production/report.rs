//! `stepscope production report`: a service over a stretch of time.

use std::io::{self, BufWriter, Write};

use stepscope_ask::print::{self, Role, Screen, wrap};
use stepscope_record::clock::now_ns;
use stepscope_serve::service_report;
use stepscope_service::report::{self, DEFINITIONS};
use stepscope_service::{Hours, Period, ServiceDir};

use crate::args::{Against, Report, ReportFormat};
use crate::commands::whole_file::write_whole;
use crate::failure::Failure;
use crate::terminal;

/// As wide as a report is in a file.
const FILE_WIDTH: usize = 160;

pub(super) fn run(args: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    let period = Period::parse(args.at.as_deref().unwrap_or(&args.last), now_ns())?;
    let store = ServiceDir::open(&args.directory)?;
    match args.output.as_ref().filter(|path| path.as_os_str() != "-") {
        None => write(args, &store, period, &terminal::detect(&io::stdout()), out),
        Some(path) => write_whole(path, |file| {
            let mut file = BufWriter::new(file);
            write(args, &store, period, &Screen::plain(FILE_WIDTH), &mut file)?;
            Ok(file.flush()?)
        }),
    }
}

fn write(
    args: &Report,
    store: &ServiceDir,
    period: Period,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if args.format == ReportFormat::Html {
        let hours = Hours::new(store.clone());
        let made = service_report(&hours, period, env!("CARGO_PKG_VERSION"));
        let html = made?;
        return Ok(out.write_all(&html)?);
    }
    let against = match args.against {
        Against::Before => report::Against::Before,
        Against::Day => report::Against::DayBefore,
        Against::Week => report::Against::WeekBefore,
        Against::Nothing => report::Against::Nothing,
    };
    let made = report::ServiceReport::make(store, period, against)?;
    match args.format {
        ReportFormat::Json => out.write_all(print::json(&made)?.as_bytes())?,
        ReportFormat::Md => out.write_all(screen.guard(&report::markdown(&made)).as_bytes())?,
        _ => report::text(&made, out, screen)?,
    }
    if args.explain && args.format != ReportFormat::Json {
        writeln!(out)?;
        for definition in DEFINITIONS {
            writeln!(out, "{}", screen.paint(Role::Accent, definition.label))?;
            for line in wrap(definition.text, screen.width.saturating_sub(2).max(40)) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(())
}

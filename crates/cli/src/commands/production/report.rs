//! `stepscope production report`: a service over a stretch of time.

use std::io::{self, BufWriter, Write};

use stepscope_ask::print::Screen;
use stepscope_record::clock::now_ns;
use stepscope_serve::service_report;
use stepscope_service::report;
use stepscope_service::{Hours, Period, ServiceDir};

use crate::args::{Against, Report, ReportFormat};
use crate::commands::whole_file::write_whole;
use crate::failure::Failure;
use crate::format::{Format, write_answer};
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
    let format = match args.format {
        ReportFormat::Html => {
            let html = service_report(&Hours::new(store.clone()), period, env!("CARGO_PKG_VERSION"))?;
            return Ok(out.write_all(&html)?);
        }
        ReportFormat::Table => Format::Table,
        ReportFormat::Json => Format::Json,
        ReportFormat::Csv => Format::Csv,
        ReportFormat::Md => Format::Md,
    };
    let against = match args.against {
        Against::Before => report::Against::Before,
        Against::Day => report::Against::DayBefore,
        Against::Week => report::Against::WeekBefore,
        Against::Nothing => report::Against::Nothing,
    };
    let made = report::ServiceReport::make(store, period, against)?;
    Ok(write_answer(out, screen, format, args.explain, &made.answer())?)
}

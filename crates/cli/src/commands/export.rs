//! `stepscope export`: the trace, its stacks or its tables in another format.

#[cfg(feature = "columnar")]
mod columnar;
mod stacks;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::slice;
use std::sync::Arc;

use serde_json::json;
use stepscope_analyse::run::Run;
use stepscope_ask::{Ask, answer, print, write};
use stepscope_formats::{SvgOptions, write_chrome, write_firefox, write_pprof, write_speedscope, write_svg};
use stepscope_ground::Problem;
use stepscope_model::DocumentKind;
use stepscope_serve::{Report, ReportOptions, report};

use crate::args::{EVENTS, Export, Target};
use crate::config;
use crate::failure::Failure;
use crate::input::{Place, choose, remark, warn};

use super::whole_file::write_whole;

pub(super) fn run(export: &Export, out: &mut dyn Write) -> Result<(), Failure> {
    let to_stdout = export.output.as_ref().is_none_or(|path| path.as_os_str() == "-");
    refuse_screen(export.to, to_stdout && io::stdout().is_terminal())?;
    let place =
        Place { path: export.path.as_deref(), rank: export.rank, max_text_bytes: export.max_text_bytes };
    let input = choose(&place, None)?;
    warn(input.trace());
    let Some(path) = export.output.as_ref().filter(|path| path.as_os_str() != "-") else {
        return write(export, &input, out);
    };
    if path.extension().is_some_and(|e| e == "zst") {
        return Err(Failure::wrong_use("cannot write zstd", "end the name in .gz, or pipe the output to zstd"));
    }
    write_whole(path, |file| write_file(export, &input, path, file))
}

fn write_file(export: &Export, run: &Arc<Run>, path: &Path, file: File) -> Result<(), Failure> {
    let mut file = BufWriter::with_capacity(1 << 18, file);
    if path.extension().is_some_and(|e| e == "gz") {
        let mut gz = flate2::write::GzEncoder::new(&mut file, flate2::Compression::new(6));
        write(export, run, &mut gz)?;
        gz.finish()?;
    } else {
        write(export, run, &mut file)?;
    }
    Ok(file.flush()?)
}

fn write(export: &Export, run: &Arc<Run>, mut out: &mut dyn Write) -> Result<(), Failure> {
    match export.to {
        Target::Chrome => {
            only_trace(run, "--to chrome")?;
            refuse(export, &["by", "sort", "top", "filter", "step", "device"], "--to chrome")?;
            Ok(write_chrome(run.trace(), &mut out)?)
        }
        Target::Folded => {
            let answer = answer(&asked("stacks", export)?, slice::from_ref(run))?;
            for row in answer.part("stacks").map(|part| part.values(0..usize::MAX)).unwrap_or_default() {
                let amount = row.get("value_ns").unwrap_or(&row["amount"]);
                writeln!(out, "{} {amount}", row["stack"].as_str().unwrap_or_default())?;
            }
            Ok(())
        }
        Target::Speedscope => {
            refuse(export, &["sort", "top", "filter"], "--to speedscope")?;
            Ok(write_speedscope(&*stacks::profile(export, run)?, &mut out)?)
        }
        Target::Svg => {
            refuse(export, &["sort", "top", "filter"], "--to svg")?;
            let profile = stacks::working(stacks::profile(export, run)?);
            let name = || Path::new(&profile.source.path).file_name().unwrap_or_default().to_string_lossy();
            let title = if profile.name.is_empty() { name().into_owned() } else { profile.name.clone() };
            let options = SvgOptions { title, ..SvgOptions::default() };
            Ok(write_svg(&profile, stacks::value(export, &profile)?, &options, &mut out)?)
        }
        Target::Pprof => {
            refuse(export, &["sort", "top", "filter"], "--to pprof")?;
            Ok(write_pprof(&*stacks::profile(export, run)?, &mut out)?)
        }
        Target::Firefox => {
            refuse(export, &["sort", "top", "filter"], "--to firefox")?;
            let profile = stacks::profile(export, run)?;
            Ok(write_firefox(&profile, stacks::value(export, &profile)?, &mut out)?)
        }
        Target::Pstats => {
            refuse(export, &["by", "sort", "top", "filter", "step", "device"], "--to pstats")?;
            stacks::pstats(export, run, out)
        }
        Target::Csv => {
            refuse(export, &["by"], "--to csv")?;
            let usual = if run.kind() == DocumentKind::Trace { "ops" } else { "functions" };
            let name = export.table.as_deref().unwrap_or(usual);
            if name == EVENTS {
                return Err(Failure::wrong_use("events do not fit into csv", "use --to parquet or --to arrow"));
            }
            let answer = answer(&asked(name, export)?, slice::from_ref(run))?;
            Ok(out.write_all(write::csv(&answer).as_bytes())?)
        }
        #[cfg(feature = "columnar")]
        Target::Parquet | Target::Arrow => columnar::write(export, run, out),
        #[cfg(not(feature = "columnar"))]
        Target::Parquet | Target::Arrow => Err(no_columnar()),
        Target::Json => {
            refuse(export, &["by"], "--to json")?;
            let mut summary = asked("summary", export)?;
            summary.thresholds = config::configured_thresholds(None)?;
            let mut object = write::object(&answer(&summary, slice::from_ref(run))?, false);
            if run.kind() != DocumentKind::Trace {
                let functions = answer(&asked("functions", export)?, slice::from_ref(run))?;
                object.insert("functions".to_owned(), json!(write::object(&functions, false)));
                return Ok(out.write_all(print::json(&object)?.as_bytes())?);
            }
            let modules = answer(&asked("modules", export)?, slice::from_ref(run))?;
            object.insert("modules".to_owned(), json!(write::object(&modules, false)));
            Ok(out.write_all(print::json(&object)?.as_bytes())?)
        }
        Target::Html => {
            if run.kind() == DocumentKind::Snapshot {
                only_trace(run, "--to html")?;
            }
            refuse(export, &["by", "sort", "top", "filter", "step", "device"], "--to html")?;
            html(export, run, out)
        }
    }
}

/// Fails for a format that would only confuse a terminal.
fn refuse_screen(target: Target, on_terminal: bool) -> Result<(), Failure> {
    if target.is_binary() && on_terminal {
        return Err(Failure::wrong_use(
            "a terminal cannot show this format",
            "name a file with -o, or pipe the output to another program",
        ));
    }
    Ok(())
}

/// The quick build leaves these files out: they take a quarter of its time.
#[cfg(not(feature = "columnar"))]
fn no_columnar() -> Failure {
    Failure::wrong_use(
        "this build of stepscope writes no Arrow and no Parquet files",
        "build it whole: cargo install --path crates/cli; --to csv and --to json work here",
    )
}

/// The options about rows that were given.
fn options(export: &Export) -> impl Iterator<Item = (&'static str, &str)> {
    let all = [
        ("by", &export.by),
        ("sort", &export.sort),
        ("top", &export.top),
        ("filter", &export.filter),
        ("step", &export.step),
        ("device", &export.device),
        ("value", &export.value),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
}

/// A question with the options that were given, about all rows unless some were asked for.
fn asked(question: &str, export: &Export) -> Result<Ask, Failure> {
    Ok(Ask::with(question, options(export))?.all_rows())
}

/// Fails for options that a format has no use for.
fn refuse(export: &Export, names: &[&str], what: &str) -> Result<(), Failure> {
    let hint = match export.to {
        Target::Parquet | Target::Arrow => "every event is written; select rows where the file is read",
        Target::Chrome => "the whole trace is written; leave the option out",
        Target::Html => "the report holds the whole run; sort and filter in the page",
        Target::Speedscope | Target::Svg | Target::Pprof | Target::Firefox => {
            "every stack is written; `--to folded` takes the option"
        }
        Target::Pstats => "every function is written; `stepscope functions` takes the option",
        _ => "`stepscope ops --by … --format csv` (or kernels, memory, …) writes grouped tables",
    };
    match options(export).find(|(name, _)| names.contains(name)) {
        Some((name, _)) => Err(Failure::wrong_use(format!("--{name} does not apply to {what}"), hint)),
        None => Ok(()),
    }
}

/// Fails for what only a timeline has.
fn only_trace(run: &Run, what: &str) -> Result<(), Failure> {
    match run.kind() {
        DocumentKind::Trace => Ok(()),
        kind => Err(Failure::wrong_use(
            format!("{what} needs a timeline, and this is {}", kind.what()),
            "profiles are written as html, folded, speedscope, svg, pstats, pprof, firefox, csv and json",
        )),
    }
}

fn html(export: &Export, run: &Arc<Run>, out: &mut dyn Write) -> Result<(), Failure> {
    let options = report_options(label_of(run), export.max_size, export.redact)?;
    let report = made(report(run.clone(), &options))?;
    Ok(out.write_all(&report.html)?)
}

/// What a run is called in a report: its file, without what all traces end in.
pub(super) fn label_of(run: &Run) -> String {
    let path = &run.trace().meta().source.path;
    let name = Path::new(path).file_name().map_or(path.clone(), |name| name.to_string_lossy().into_owned());
    name.split(".pt.trace.json").next().unwrap_or(&name).to_owned()
}

/// The options of a report of this program.
pub(super) fn report_options(label: String, max_bytes: usize, redact: bool) -> Result<ReportOptions, Problem> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let thresholds = config::configured_thresholds(None)?;
    Ok(ReportOptions { max_bytes, redact, label, version, sources: crate::sources::source_files(), thresholds })
}

/// A report, with remarks on what it lacks; or why there is none.
pub(super) fn made(report: Result<Report, Problem>) -> Result<Report, Failure> {
    let report = report?;
    for what in &report.left_out {
        remark(&format!("left out of the report: {what}"));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_is_spared_bytes() {
        for target in [Target::Parquet, Target::Arrow, Target::Pstats] {
            assert!(refuse_screen(target, false).is_ok());
            assert!(refuse_screen(target, true).is_err_and(|failure| failure.hint().unwrap().contains("-o")));
        }
        assert!(refuse_screen(Target::Csv, true).is_ok());
    }
}

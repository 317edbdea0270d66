//! `stepscope export`: the trace or its tables in another format.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use stepscope_analyse::memory;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::steps::breakdown::breakdown;
use stepscope_analyse::tables::{kernels, modules, ops, stacks};
use stepscope_formats::{write_chrome, write_speedscope};
use stepscope_model::{self as model, Profile, StackId, Unit, ValueKind};
use stepscope_serve::{ReportOptions, report};

use super::view::Files;
use super::{refuse, refuse_device_of_steps};
use crate::args::{Common, Export, TableName, Target};
use crate::config;
use crate::failure::Failure;
use crate::input::{Input, remark};
use crate::print::{self, Format};
use crate::rows::arrange;

pub(super) fn run(export: &Export, out: &mut dyn Write) -> Result<(), Failure> {
    check_options(export)?;
    let input = Input::load(&export.common)?;
    let Some(path) = export.output.as_ref().filter(|path| path.as_os_str() != "-") else {
        return write(export, &input, out);
    };
    if path.extension().is_some_and(|e| e == "zst") {
        return Err(Failure::wrong_use("cannot write zstd", "end the name in .gz, or pipe the output to zstd"));
    }
    let failed = |error: io::Error| {
        Failure::Output(io::Error::new(error.kind(), format!("{error}: {}", path.display())))
    };
    // Links, pipes and devices stay what they are: the bytes go where they lead.
    if let Some(info) = fs::symlink_metadata(path).ok().filter(|info| !info.is_file()) {
        // A link may lead to a file that is yet to be made.
        let mut options = OpenOptions::new();
        options.write(true).truncate(true).create(info.is_symlink());
        return write_file(export, &input, path, options.open(path).map_err(failed)?);
    }
    // Beside the target first: an interrupted export leaves no half file under the asked name.
    let part = path.with_file_name(format!(".{}.part", path.file_name().unwrap_or_default().to_string_lossy()));
    let file = File::create(&part).map_err(failed)?;
    let result = write_file(export, &input, path, file).and_then(|()| fs::rename(&part, path).map_err(failed));
    if result.is_err() {
        // The failure to write is what the user must hear of.
        let _ = fs::remove_file(&part);
    }
    result
}

/// Refuses options that the format has no use for.
fn check_options(export: &Export) -> Result<(), Failure> {
    let common = &export.common;
    match export.to {
        Target::Chrome => {
            let options = ["--by", "--sort", "--top", "--filter", "--step", "--device"];
            let hint = "the whole trace is written; leave the option out";
            refuse(common, &options, "--to chrome", hint)
        }
        Target::Speedscope => {
            let hint = "every stack is written; `--to folded` takes it";
            refuse(common, &["--sort", "--top", "--filter"], "--to speedscope", hint)
        }
        Target::Csv => {
            if export.table == TableName::Steps {
                refuse_device_of_steps(common)?;
            }
            let hint = "`stepscope ops --by … --format csv` (or kernels, memory, …) writes grouped tables";
            refuse(common, &["--by"], "--to csv", hint)
        }
        Target::Json => refuse(common, &["--by"], "--to json", "`stepscope ops --by … --format json` groups"),
        Target::Folded => Ok(()),
        Target::Html => {
            let options = ["--by", "--sort", "--top", "--filter", "--step", "--device"];
            refuse(common, &options, "--to html", "the whole run is in it; the page sorts and filters")
        }
    }
}

fn write_file(export: &Export, input: &Input, path: &Path, file: File) -> Result<(), Failure> {
    let mut file = BufWriter::with_capacity(1 << 18, file);
    if path.extension().is_some_and(|e| e == "gz") {
        let mut gz = flate2::write::GzEncoder::new(&mut file, flate2::Compression::new(6));
        write(export, input, &mut gz)?;
        gz.finish()?;
    } else {
        write(export, input, &mut file)?;
    }
    Ok(file.flush()?)
}

fn write(export: &Export, input: &Input, mut out: &mut dyn Write) -> Result<(), Failure> {
    let common = &export.common;
    match export.to {
        Target::Chrome => Ok(write_chrome(&input.trace, &mut out)?),
        Target::Folded => {
            let report = stacks::analyse(&input.trace, &super::stacks::options(common, input)?);
            for row in arrange(report.rows, common, None, 0, |r| &r.stack)?.rows {
                writeln!(out, "{} {}", row.stack, row.value_ns)?;
            }
            Ok(())
        }
        Target::Speedscope => {
            let options = super::stacks::options(common, input)?;
            let folded = stacks::Stacks::build(&input.trace, &options);
            let mut profile =
                Profile::new(vec![ValueKind { name: "time".to_owned(), unit: Unit::Nanoseconds }]);
            profile.name =
                format!("{} ({})", input.trace.meta().source.path, super::stacks::words(options.weight));
            for (frames, value) in folded.iter() {
                let mut stack = StackId::EMPTY;
                for frame in frames {
                    let name = profile.stacks.intern(&frame.text(&input.trace));
                    let frame = profile.stacks.frame(model::Frame { name, ..model::Frame::default() });
                    stack = profile.stacks.push(stack, frame);
                }
                profile.add(0, stack, &[value.0]);
            }
            Ok(write_speedscope(&profile, &mut out)?)
        }
        Target::Csv => csv(export.table, input, common, out),
        Target::Html => html(export, input, out),
        Target::Json => {
            let common = Common { format: Format::Json, top: Some(common.top.unwrap_or(0)), ..common.clone() };
            let summary = super::summary::Summary::of(input, Some(&config::thresholds(None)?));
            let mut object = serde_json::Map::new();
            for part in super::summary::tables(summary, &common)? {
                object.insert(part.key.to_owned(), part.data);
            }
            object.insert("modules".to_owned(), json!(modules::analyse(&input.trace, &input.selection)));
            Ok(out.write_all(print::json(&object)?.as_bytes())?)
        }
    }
}

fn html(export: &Export, input: &Input, out: &mut dyn Write) -> Result<(), Failure> {
    let path = &input.trace.meta().source.path;
    let name = Path::new(path).file_name().map_or(path.clone(), |name| name.to_string_lossy().into_owned());
    let options = ReportOptions {
        max_bytes: export.max_size,
        redact: export.redact,
        label: name.split(".pt.trace.json").next().unwrap_or(&name).to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let report = report(input.trace.clone(), &Files::new(&[], None)?, &options)
        .map_err(|problem| Failure::wrong_use(problem.message, problem.hint.unwrap_or_default()))?;
    for what in &report.left_out {
        remark(&format!("left out of the report: {what}"));
    }
    Ok(out.write_all(&report.html)?)
}

fn csv(table: TableName, input: &Input, common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    let selection = input.selection.clone();
    let rows = match table {
        TableName::Ops => {
            let report = ops::ops(&input.trace, &ops::OpsQuery { selection, ..ops::OpsQuery::default() });
            json!(arrange(report.ops, common, Some("device_self_ns"), 0, |r| &r.name)?.rows)
        }
        TableName::Kernels => {
            let report =
                kernels::kernels(&input.trace, &kernels::KernelsQuery { selection, ..Default::default() });
            json!(arrange(report.rows, common, Some("total_ns"), 0, |r| &r.name)?.rows)
        }
        TableName::Steps => {
            let report = breakdown(&input.trace, &input.steps, CommRule::default());
            json!(arrange(report.rows, common, None, 0, |r| &r.name)?.rows)
        }
        TableName::Memory => {
            let report = memory::analyse(&input.trace, &memory::Options { selection, ..Default::default() });
            json!(arrange(report.operators, common, Some("self_allocated_bytes"), 0, |r| &r.name)?.rows)
        }
        TableName::Modules => {
            let report = modules::analyse(&input.trace, &selection);
            json!(arrange(report.modules, common, None, 0, |r| &r.path)?.rows)
        }
    };
    let rows = rows.as_array().cloned().unwrap_or_default();
    Ok(out.write_all(print::csv(&rows).as_bytes())?)
}

//! The file that samples are written to: a trace, or what other tools read, by its name.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use stepscope_formats::{SvgOptions, write_chrome, write_pprof, write_speedscope, write_svg};
use stepscope_model::{Profile, StackTable};
use stepscope_record::spy::{SampleFilter, Sampling};

use crate::args::{Record, RecordFormat};
use crate::commands::whole_file::write_whole;
use crate::failure::Failure;

/// Which of the profile's values is the time.
const TIME_VALUE: usize = 1;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Trace,
    Svg,
    Folded,
    Speedscope,
    Pprof,
}

impl Kind {
    /// By the format asked for, else by the name.
    pub(super) fn choose(format: Option<RecordFormat>, path: Option<&Path>) -> Result<Kind, Failure> {
        if let Some(format) = format {
            return Ok(match format {
                RecordFormat::Flamegraph => Kind::Svg,
                RecordFormat::Raw => Kind::Folded,
                RecordFormat::Speedscope => Kind::Speedscope,
                RecordFormat::Pprof => Kind::Pprof,
                RecordFormat::Trace => Kind::Trace,
            });
        }
        let Some(path) = path else { return Ok(Kind::Trace) };
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&[".svg"]) => Ok(Kind::Svg),
            () if ends(&[".speedscope.json", ".speedscope"]) => Ok(Kind::Speedscope),
            () if ends(&[".folded", ".collapsed", ".txt", ".raw"]) => Ok(Kind::Folded),
            () if ends(&[".pprof", ".pb"]) => Ok(Kind::Pprof),
            () if ends(&[".json"]) => Ok(Kind::Trace),
            () => Err(Failure::wrong_use(
                format!("the name does not say what to write: {}", path.display()),
                "end it in .json.gz (a trace), .svg, .folded, .speedscope.json or .pprof, or add --format",
            )),
        }
    }

    /// A name in the current folder.
    pub(super) fn default_path(self, pid: Option<u32>) -> PathBuf {
        let end = match self {
            Kind::Trace => "json.gz",
            Kind::Svg => "svg",
            Kind::Folded => "folded",
            Kind::Speedscope => "speedscope.json",
            Kind::Pprof => "pprof",
        };
        let pid = pid.map_or_else(String::new, |pid| format!("-{pid}"));
        PathBuf::from(format!("stepscope{pid}.{end}"))
    }
}

/// Fails before anything is recorded where nothing could be written afterwards.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed =
        |what: &str| Failure::wrong_use(format!("{what}: {}", path.display()), "name another file with -o");
    if path.is_dir() {
        return Err(failed("this is a folder"));
    }
    if !folder.is_dir() {
        return Err(failed("there is no such folder"));
    }
    Ok(())
}

/// Writes the file, whole or not at all; `-` is the standard output.
pub(super) fn write(sampling: &Sampling, args: &Record, kind: Kind, path: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::Output(io::Error::new(error.kind(), format!("{error}: {}", path.display())))
    };
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        return content(sampling, args, kind, &mut out).and_then(|()| out.flush()).map_err(Failure::Output);
    }
    write_whole(path, |file| {
        let file = BufWriter::with_capacity(1 << 18, file);
        let written = match path.extension().is_some_and(|end| end == "gz") {
            true => {
                let mut out = GzEncoder::new(file, Compression::new(4));
                content(sampling, args, kind, &mut out).and_then(|()| out.finish()?.flush())
            }
            false => {
                let mut out = file;
                content(sampling, args, kind, &mut out).and_then(|()| out.flush())
            }
        };
        written.map_err(failed)
    })
}

fn content(sampling: &Sampling, args: &Record, kind: Kind, mut out: &mut dyn Write) -> io::Result<()> {
    if kind == Kind::Trace {
        return write_chrome(&sampling.trace(args.rate), &mut out);
    }
    let wanted = SampleFilter { idle: args.idle, gil: args.gil, functions: args.function };
    let mut profile = sampling.profile(wanted);
    profile.name = sampling.processes.first().map(|process| process.command.clone()).unwrap_or_default();
    match kind {
        Kind::Trace => Ok(()),
        Kind::Svg => {
            let options = SvgOptions { title: profile.name.clone(), ..SvgOptions::default() };
            write_svg(&profile, TIME_VALUE, &options, &mut out)
        }
        Kind::Speedscope => write_speedscope(&profile, &mut out),
        Kind::Pprof => write_pprof(&profile, &mut out),
        Kind::Folded => folded(sampling, &profile, args.threads, out),
    }
}

/// `function (file:line);… count`, as py-spy writes it.
fn folded(sampling: &Sampling, profile: &Profile, threads: bool, out: &mut dyn Write) -> io::Result<()> {
    let several = sampling.processes.len() > 1;
    for sample in profile.samples().iter() {
        let mut frames = Vec::new();
        if let Some(thread) = sampling.threads.get(sample.part) {
            if several {
                frames.push(format!(
                    "process {}:\"{}\"",
                    sampling.processes[thread.process].pid,
                    sampling.process_name(thread.process)
                ));
            }
            if threads {
                frames.push(format!("thread ({}): {}", thread.number, thread.name));
            }
        }
        frames.extend(
            profile.stacks.unwind(sample.stack).into_iter().map(|frame| frame_text(&profile.stacks, frame)),
        );
        let line = frames
            .iter()
            .map(|frame| frame.replace(|c: char| c == ';' || c.is_control(), ","))
            .collect::<Vec<_>>()
            .join(";");
        writeln!(out, "{line} {}", sample.amounts.first().copied().unwrap_or(0))?;
    }
    Ok(())
}

fn frame_text(stacks: &StackTable, frame: stepscope_model::FrameId) -> String {
    let found = stacks.get(frame);
    let (name, file) = (stacks.text(found.name), stacks.text(found.file));
    // Native code has no lines.
    if found.line == 0 { format!("{name} ({file})") } else { format!("{name} ({file}:{})", found.line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_is_written() {
        let of = |name: &str| Kind::choose(None, Some(Path::new(name)));
        assert_eq!(of("a.svg").ok(), Some(Kind::Svg));
        assert_eq!(of("a.speedscope.json.gz").ok(), Some(Kind::Speedscope));
        assert_eq!(of("a.json").ok(), Some(Kind::Trace));
        assert_eq!(of("a.JSON.gz").ok(), Some(Kind::Trace));
        assert_eq!(of("out.txt").ok(), Some(Kind::Folded));
        assert_eq!(of("a.pb.gz").ok(), Some(Kind::Pprof));
        assert!(of("a.exe").is_err() && of("a").is_err());
        assert_eq!(Kind::choose(Some(RecordFormat::Raw), Some(Path::new("a"))).ok(), Some(Kind::Folded));
    }
}

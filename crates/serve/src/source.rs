//! The source of one file that a run names, with what the run says about its lines and functions.
//!
//! Only files that a run's own frames name are read, by whoever started the server; nothing else can be asked for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::roofline::instructions::{InstructionsBy, InstructionsQuery, instructions};
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::code::CodeBy;
use stepscope_analyse::tables::functions::{AmountUnit, functions, value_of};
use stepscope_analyse::tables::lines::lines;
use stepscope_ground::Problem;
use stepscope_model::{LineIs, Profile, Program};

use crate::source_files::SourceFiles;

/// A file of the program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SourceFile {
    file: String,
    /// Its text; none where it cannot be read here.
    text: Option<String>,
    /// Whether it was written after the run was recorded.
    changed: bool,
    unit: AmountUnit,
    /// Lines that ran, or were seen.
    lines: Vec<LineOfSource>,
    /// Functions that start in it.
    functions: Vec<FunctionOfSource>,
}

/// What a run says about one line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineOfSource {
    line: u32,
    hits: Option<u64>,
    amount: i64,
    per_hit_ns: Option<f64>,
    /// Of the whole profile.
    share: f64,
}

/// What a run says about one function.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FunctionOfSource {
    name: String,
    line: Option<u32>,
    calls: Option<u64>,
    own: i64,
    with_callees: i64,
    with_callees_share: f64,
    /// Waiting for a device under it.
    device_wait_ns: Option<i64>,
    /// Device time that it launched.
    device_ns: Option<i64>,
}

/// The file of this name, if the run names it.
pub(crate) fn source(run: &Run, files: &SourceFiles, asked: &str) -> Result<SourceFile, Problem> {
    let unknown =
        || Problem::new("this run has no function in this file", "only files that the run names can be shown");
    let named = |profile| Some((profile, name_of(profile, asked)?));
    let compiled = of_programs(run, asked);
    let Some((profile, file)) = run.profile().and_then(named) else {
        let (file, lines) = compiled.ok_or_else(unknown)?;
        let read = files.read(&run.trace().meta().source.path, &file);
        let (text, changed) = read.map_or((None, false), |read| (Some(read.text), read.changed));
        return Ok(SourceFile {
            file,
            text,
            changed,
            unit: AmountUnit::Nanoseconds,
            lines,
            functions: Vec::new(),
        });
    };
    let read = files.read(&run.trace().meta().source.path, file);
    let value = value_of(profile, None).unwrap_or(0);
    let of_file = |known: &Option<String>| known.as_deref() == Some(file);
    let timed = lines(profile, value);
    let mut of_lines: Vec<LineOfSource> = timed
        .rows
        .iter()
        .filter(|row| of_file(&row.file))
        .map(|row| LineOfSource {
            line: row.line,
            hits: row.hits,
            amount: row.amount(),
            per_hit_ns: row.per_hit_ns,
            share: row.profile_share,
        })
        .collect();
    if profile.lines.is_empty() && profile.line_is == LineIs::Current {
        of_lines = charged(profile, value, file);
    }
    // What compiled programs ran for a line is known to the line; calls only to the function.
    if let Some((_, lines)) = compiled.filter(|_| of_lines.is_empty()) {
        of_lines = lines;
    }
    of_lines.sort_by_key(|row| row.line);
    let all = functions(profile, value);
    let code = run.code(CodeBy::Function, &run.narrowed()).rows;
    let on_device = code.iter().any(|row| row.device_ns > 0 || row.wait_ns > 0);
    let functions = all.rows.iter().filter(|row| of_file(&row.file)).map(|row| {
        let same = |code: &&stepscope_analyse::tables::code::CodeRow| {
            code.function == row.name && code.file == row.file && code.line == row.line
        };
        let code = code.iter().find(same).filter(|_| on_device);
        FunctionOfSource {
            name: row.name.clone(),
            line: row.line,
            calls: row.calls,
            own: row.own(),
            with_callees: row.total(),
            with_callees_share: row.total_share,
            device_wait_ns: code.map(|code| code.wait_ns),
            device_ns: code.map(|code| code.device_ns),
        }
    });
    let functions = functions.collect();
    let (text, changed) = read.map_or((None, false), |read| (Some(read.text), read.changed));
    Ok(SourceFile { file: file.to_owned(), text, changed, unit: all.unit, lines: of_lines, functions })
}

/// The file that compiled programs call this, and the time of their instructions by its lines.
fn of_programs(run: &Run, asked: &str) -> Option<(String, Vec<LineOfSource>)> {
    let trace = run.trace();
    let mut sources = trace.programs().iter().flat_map(Program::instructions).filter_map(|i| i.source);
    let file = sources.find(|source| source.file == asked)?.file.to_owned();
    let query = InstructionsQuery {
        selection: run.narrowed(),
        by: InstructionsBy::Line,
        ..InstructionsQuery::default()
    };
    let rows = instructions(trace, &query).rows;
    let lines = rows.into_iter().filter(|row| row.file.as_ref() == Some(&file)).filter_map(|row| {
        Some(LineOfSource {
            line: row.line?,
            hits: Some(row.calls),
            amount: row.self_ns,
            per_hit_ns: Some(row.mean_ns),
            share: row.share,
        })
    });
    let mut lines: Vec<LineOfSource> = lines.collect();
    lines.sort_by_key(|row| row.line);
    Some((file, lines))
}

/// Each amount charged to the innermost line of the file that is on its stack, whatever that line called.
fn charged(profile: &Profile, value: usize, file: &str) -> Vec<LineOfSource> {
    let stacks = &profile.stacks;
    // A stack comes after the one it was called from. Line 0 represents none.
    let mut lines = vec![0; stacks.nodes().len() + 1];
    for (stack, below, frame) in stacks.nodes() {
        let frame = stacks.get(frame);
        let is_here = stacks.text(frame.file) == file;
        lines[stack.index()] = if is_here { frame.line } else { lines[below.index()] };
    }
    let mut sums: BTreeMap<u32, i64> = BTreeMap::new();
    for sample in profile.samples().iter() {
        let line = lines.get(sample.stack.index()).copied().unwrap_or(0);
        let amount = sample.amounts.get(value).copied().unwrap_or(0);
        if line > 0 && amount != 0 {
            let sum = sums.entry(line).or_default();
            *sum = sum.saturating_add(amount);
        }
    }
    let total = profile.total(value).max(1) as f64;
    let row = |(line, amount)| LineOfSource {
        line,
        hits: None,
        amount,
        per_hit_ns: None,
        share: amount as f64 / total,
    };
    sums.into_iter().map(row).collect()
}

/// What a profile calls a file: as asked, or in full where another run of the program calls it by the end of its path.
fn name_of<'a>(profile: &'a Profile, asked: &str) -> Option<&'a str> {
    let names = || profile.stacks.frames().map(|(_, frame)| profile.stacks.text(frame.file));
    if asked.is_empty() || asked.split(['/', '\\']).any(|part| part == "..") {
        return None;
    }
    if let Some(same) = names().find(|name| *name == asked) {
        return Some(same);
    }
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with(['/', '\\']));
    let mut alike: Vec<&str> =
        names().filter(|name| !name.is_empty() && (ends(name, asked) || ends(asked, name))).collect();
    alike.sort_unstable();
    alike.dedup();
    if let [only] = alike[..] { Some(only) } else { None }
}

/// Files whose functions took most, the largest first.
pub(crate) fn largest_files(run: &Run, most: usize) -> Vec<String> {
    let Some(profile) = run.profile() else { return Vec::new() };
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    let value = value_of(profile, None).unwrap_or(0);
    for row in functions(profile, value).rows {
        if let Some(file) = &row.file {
            let sum = sums.entry(file.clone()).or_default();
            *sum = (*sum).max(row.total());
        }
    }
    let mut files: Vec<(String, i64)> = sums.into_iter().collect();
    files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    files.into_iter().take(most).map(|(file, _)| file).collect()
}

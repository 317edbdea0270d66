//! The source of one file that a run names, with what the run says about its lines and functions.
//!
//! Only files that a run's own frames name are read, by whoever started the server; nothing else can be asked for.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::code::CodeBy;
use stepscope_analyse::tables::functions::{AmountUnit, functions, value_of};
use stepscope_analyse::tables::lines::lines;
use stepscope_model::Profile;

use crate::backend::Problem;
use crate::source_files::SourceFiles;

/// A file of the program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SourceFile {
    file: String,
    /// Its text; none where it cannot be read here.
    text: Option<String>,
    /// Whether it was written after the run was recorded.
    changed: bool,
    /// What amounts are.
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
pub(crate) fn source(run: &Run, files: &SourceFiles, file: &str) -> Result<SourceFile, Problem> {
    let unknown =
        || Problem::new("this run has no function in this file", "only files that the run names can be shown");
    let profile = run.profile().filter(|profile| names(profile, file)).ok_or_else(unknown)?;
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

fn names(profile: &Profile, file: &str) -> bool {
    let stacks = &profile.stacks;
    !file.is_empty() && stacks.frames().any(|(_, frame)| stacks.text(frame.file) == file)
}

/// Files whose functions took most, the largest first.
pub(crate) fn largest_files(run: &Run, most: usize) -> Vec<String> {
    let Some(profile) = run.profile() else { return Vec::new() };
    let mut sums: std::collections::BTreeMap<String, i64> = std::collections::BTreeMap::new();
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

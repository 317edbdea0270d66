//! The same page in one file: the bundle and the answers it would ask for, to send to someone or to keep.
//!
//! What does not fit the size asked for is left out from the least needed on: first the details of short slices, then the
//! slices themselves, which become buckets that say how many they hold. The page says so.

mod comparison;
mod html;
mod memory;
mod pack;
mod redact;
mod rows;
mod service;

use std::sync::Arc;

use serde_json::Value;
use stepscope_analyse::findings::Thresholds;
use stepscope_ask::QUESTIONS;
use stepscope_ground::Problem;

use crate::api::reply;
use crate::cached_run::CachedRun;
use crate::messages::{ReportMade, SessionInfo};
use crate::runs::ListedRun;
use crate::source::{largest_files, source};
use crate::source_files::SourceFiles;
use pack::{Section, pack};
use redact::redact;

pub use comparison::{ComparedSides, comparison_report};
pub use service::service_report;

/// What a report is made of.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// At most this many bytes of HTML.
    pub max_bytes: usize,
    /// Without folders and arguments.
    pub redact: bool,
    /// What the run, or the comparison, is called.
    pub label: String,
    /// This program's version.
    pub version: String,
    /// Source code that the run names.
    pub sources: SourceFiles,
    /// What findings are judged by.
    pub thresholds: Arc<Thresholds>,
}

/// A report, and what it lacks.
#[derive(Clone, Debug)]
pub struct Report {
    /// The page.
    pub html: Vec<u8>,
    pub left_out: Vec<String>,
}

/// Rows kept of one table: as many as fit.
const MAX_ROWS: [usize; 4] = [5_000, 500, 100, 20];
/// Tables that are not whole and are named one by one.
const MAX_NAMED_TABLES: usize = 4;
/// Points of a counter over the whole run.
const COUNTER_POINTS: usize = 2_048;
/// Source files of a report, and the bytes one may have.
const MAX_SOURCES: usize = 12;
const MAX_SOURCE_BYTES: usize = 256 << 10;
/// Stretches of the critical path.
const PATH_PIECES: usize = 4_096;
/// The part of the room that tables and curves may take, unless they need more at their shortest.
const FOR_ANSWERS: f64 = 0.6;
/// The part of what is left that slices may take before their details.
const FOR_SLICES: f64 = 0.6;

/// Writes a report of a run.
pub fn report(run: Arc<stepscope_analyse::run::Run>, options: &ReportOptions) -> Result<Report, Problem> {
    let page = html::bundle()?;
    let (sections, mut left_out) = of_run(run, options, page.room(options.max_bytes))?;
    if options.redact {
        left_out.push(REDACTED.to_owned());
    }
    finished(&page, sections, &[&options.label], left_out, options)
}

/// What `--redact` takes out.
const REDACTED: &str = "folders and arguments (--redact)";

/// Everything about one run, within about so many bytes, and what was left out.
fn of_run(
    run: Arc<stepscope_analyse::run::Run>,
    options: &ReportOptions,
    mut room: usize,
) -> Result<(Vec<Section>, Vec<String>), Problem> {
    let sources = if options.redact { SourceFiles::default() } else { options.sources.clone() };
    let run = CachedRun::new(run, sources, options.thresholds.clone());
    let (mut sections, mut left_out) = answers(&run, options.redact, (room as f64 * FOR_ANSWERS) as usize)?;
    room = room.saturating_sub(size(&sections));
    let mut add = |more: Vec<Section>| {
        let taken = size(&more);
        sections.extend(more);
        taken
    };
    let (memory, without) = memory::memory(&run, room, options.redact)?;
    left_out.extend(without);
    room = room.saturating_sub(add(memory));
    let (slices, level) = rows::slices(&run, (room as f64 * FOR_SLICES) as usize, options.redact)?;
    if level > 0 {
        left_out.push(format!(
            "individual slices: slices that start within {} ns of each other are drawn as one, with a count; search and \
             totals use the longest of them",
            1_u64 << level
        ));
    }
    room = room.saturating_sub(add(slices));
    let (details, without) = rows::details(&run, room, options.redact)?;
    if without > 0 {
        left_out.push(format!("the details of the {without} shortest slices and instants"));
    }
    add(details);
    Ok((sections, left_out))
}

/// The page around the sections of its runs.
fn finished(
    page: &html::Bundle,
    mut sections: Vec<Section>,
    labels: &[&str],
    left_out: Vec<String>,
    options: &ReportOptions,
) -> Result<Report, Problem> {
    let opened = SessionInfo {
        version: &options.version,
        watching: false,
        runs: (0..).zip(labels).map(|(id, label)| ListedRun::in_report(id, label)).collect(),
        history: false,
        service: None,
        problem: None,
        report: Some(ReportMade { made: &options.label, left_out: &left_out }),
    };
    sections.push(pack("meta", &opened)?);
    let html = page.with(&options.label, &sections);
    if html.len() > options.max_bytes {
        return Err(Problem::new(
            format!("the report needs {} bytes without a single slice", html.len()),
            "give a larger --max-size",
        ));
    }
    Ok(Report { html, left_out })
}

fn size(sections: &[Section]) -> usize {
    sections.iter().map(|section| section.bytes.len()).sum()
}

/// Every answer but slices, with as many rows as fit, and what was left out.
fn answers(run: &CachedRun, redacted: bool, room: usize) -> Result<(Vec<Section>, Vec<String>), Problem> {
    let mut tries = MAX_ROWS.iter().peekable();
    loop {
        let most_rows = tries.next().copied().unwrap_or_default();
        let mut cut = Vec::new();
        let mut sections = Vec::new();
        for question in QUESTIONS {
            let Some(groupings) = question.report_by else { continue };
            sections.extend(answer(run, question.name, redacted, most_rows, &mut cut)?);
            for word in groupings {
                let asked = match question.by.contains(word) {
                    true => format!("{}?by={word}", question.name),
                    false => format!("{}?{word}=1", question.name),
                };
                sections.extend(answer(run, &asked, redacted, most_rows, &mut cut)?);
            }
        }
        for (name, path, query) in [
            ("timeline", "timeline", String::new()),
            ("counters", "counters", format!("buckets={COUNTER_POINTS}")),
            ("path", "path", format!("buckets={PATH_PIECES}")),
            ("flame/host", "flame", "weight=host".to_owned()),
            ("flame/device", "flame", "weight=device".to_owned()),
            ("flame/module", "flame", "weight=module".to_owned()),
            ("shown", "shown", String::new()),
        ] {
            sections.push(pack(name, &value_of(run, path, &query, redacted)?)?);
        }
        if !redacted {
            sections.push(source_files(run)?);
        }
        if size(&sections) <= room || tries.peek().is_none() {
            return Ok((sections, cut_tables(&cut, most_rows)));
        }
    }
}

/// Words about tables that are not whole: each of a few, or how many there are.
fn cut_tables(cut: &[CutTable], most_rows: usize) -> Vec<String> {
    if cut.len() > MAX_NAMED_TABLES {
        return vec![format!("all but the first {most_rows} rows of each of {} tables", cut.len())];
    }
    let words = |table: &CutTable| {
        let command = table.asked.replace("?by=", " --by ").replace("=1", "").replace('?', " --");
        format!("all but the first {most_rows} of {} rows of `{command}`", table.rows)
    };
    cut.iter().map(words).collect()
}

/// The files in which most of the time was spent, with their source if it can be read and is short. All are one section: a
/// file's name may be anything, and the names of sections are markup.
fn source_files(run: &CachedRun) -> Result<Section, Problem> {
    let mut files = serde_json::Map::new();
    for file in largest_files(&run.run, MAX_SOURCES) {
        let value = serde_json::to_value(source(&run.run, &run.sources, &file)?).unwrap_or_default();
        if value["text"].as_str().is_none_or(|text| text.len() <= MAX_SOURCE_BYTES) {
            files.insert(file, value);
        }
    }
    pack("sources", &Value::Object(files))
}

/// A table that is not whole.
struct CutTable {
    asked: String,
    rows: usize,
}

/// A command's whole answer; none where the command has nothing to say about this trace.
fn answer(
    run: &CachedRun,
    asked: &str,
    redacted: bool,
    most_rows: usize,
    cut: &mut Vec<CutTable>,
) -> Result<Option<Section>, Problem> {
    let (command, query) = asked.split_once('?').unwrap_or((asked, ""));
    let path = format!("ask/{command}");
    let all_rows = format!("{query}{}top=0", if query.is_empty() { "" } else { "&" });
    let tries = [all_rows.as_str(), query];
    // Some commands have no rows to cut. A question that does not fit the trace (no device, no stacks) is answered by
    // the page's own empty state.
    let found = tries.iter().find_map(|query| value_of(run, &path, query, redacted).ok());
    let Some(mut value) = found else { return Ok(None) };
    for (name, rows) in value.as_object_mut().into_iter().flatten() {
        // What columns mean is said of all of them.
        if let Value::Array(rows) = rows
            && rows.len() > most_rows
            && name != "definitions"
        {
            cut.push(CutTable { asked: asked.to_owned(), rows: rows.len() });
            rows.truncate(most_rows);
        }
    }
    pack(&format!("ask/{asked}"), &value).map(Some)
}

fn value_of(run: &CachedRun, path: &str, query: &str, redacted: bool) -> Result<Value, Problem> {
    let unknown = || Problem::new(format!("there is no answer to {path}"), "");
    let reply = reply(run, path, query).ok_or_else(unknown)??;
    let broken = |e: serde_json::Error| Problem::new(format!("{path} is not JSON: {e}"), "");
    let mut value: Value = serde_json::from_slice(&reply.body).map_err(broken)?;
    if redacted {
        redact(&mut value);
    }
    Ok(value)
}

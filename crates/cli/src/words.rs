//! Words shared by commands: definitions, notes on a trace, the standard way to leave a table.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stepscope_analyse::scope::definition::Definition;
use stepscope_model::{Severity, Trace};

use crate::args::Common;
use crate::failure::Failure;
use crate::print::{self, Cell, Column, Format, Role, Screen, Table, units};

/// The screen for a command's output.
pub(crate) fn screen(common: &Common) -> Screen {
    Screen::detect_with(&std::io::stdout(), common.color).with_wide(common.wide || common.full)
}

/// One part of a command's answer.
pub(crate) struct Part {
    /// Its key in the machine output.
    pub(crate) key: &'static str,
    /// For people.
    pub(crate) table: Table,
    /// For programs: an array of rows, or an object.
    pub(crate) data: Value,
    /// Drawn above the table on a screen.
    pub(crate) picture: Vec<u8>,
}

impl Part {
    /// A table and its data.
    pub(crate) fn new(key: &'static str, table: Table, data: Value) -> Part {
        Part { key, table, data, picture: Vec::new() }
    }
}

/// Prints a command's answer in the format asked for. In JSON each part stands under its key, and `extra`
/// beside them; CSV prints the first part.
pub(crate) fn answer(
    out: &mut dyn Write,
    common: &Common,
    parts: Vec<Part>,
    extra: Vec<(&str, Value)>,
    definitions: &[&[Definition]],
) -> Result<(), Failure> {
    let screen = screen(common);
    match common.format {
        Format::Json => {
            let mut object = serde_json::Map::new();
            for part in parts {
                object.insert(part.key.to_owned(), part.data);
            }
            for (key, value) in extra {
                object.insert(key.to_owned(), value);
            }
            if common.explain {
                object.insert("definitions".to_owned(), json!(definitions.concat()));
            }
            out.write_all(screen.guard(&print::json(&object)?).as_bytes())?;
        }
        Format::Csv => {
            if let Some(part) = parts.first() {
                let rows = match &part.data {
                    Value::Array(rows) => rows.clone(),
                    other => vec![other.clone()],
                };
                out.write_all(screen.guard(&print::csv(&rows)).as_bytes())?;
            }
        }
        Format::Md => {
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                out.write_all(screen.guard(&print::markdown(&part.table)).as_bytes())?;
            }
            if common.explain {
                writeln!(out)?;
                out.write_all(print::markdown(&definitions_table(definitions)).as_bytes())?;
            }
        }
        Format::Table => {
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                out.write_all(&part.picture)?;
                part.table.write(out, &screen)?;
            }
            if common.explain {
                writeln!(out)?;
                explain(out, &screen, definitions)?;
            }
        }
        Format::Sarif => return Err(only_findings()),
    }
    Ok(())
}

/// SARIF is a form for findings, not for tables.
pub(crate) fn only_findings() -> Failure {
    Failure::wrong_use(
        "only findings can be written as SARIF",
        "`stepscope findings --format sarif`; --format takes table, json, csv or md here",
    )
}

/// Only the definitions: what `--explain` without a trace prints.
pub(crate) fn only_definitions(
    out: &mut dyn Write,
    common: &Common,
    definitions: &[&[Definition]],
) -> Result<(), Failure> {
    match common.format {
        Format::Table => explain(out, &screen(common), definitions),
        _ => {
            let data = json!(definitions.concat());
            let part = Part::new("definitions", definitions_table(definitions), data);
            let common = Common { explain: false, ..common.clone() };
            answer(out, &common, vec![part], Vec::new(), &[])
        }
    }
}

pub(crate) fn explain(
    out: &mut dyn Write,
    screen: &Screen,
    definitions: &[&[Definition]],
) -> Result<(), Failure> {
    print::heading(out, screen, "What the figures mean", "")?;
    for definition in definitions.iter().flat_map(|list| list.iter()) {
        let field = screen.paint(Role::Dim, &format!("({})", definition.field));
        writeln!(out, "\n{} {field}", screen.paint(Role::Heading, definition.label))?;
        for line in print::wrap(definition.text, screen.width.saturating_sub(2).clamp(20, 98)) {
            writeln!(out, "  {}", screen.text(&line))?;
        }
    }
    Ok(())
}

fn definitions_table(definitions: &[&[Definition]]) -> Table {
    let mut table = Table::new(vec![Column::text("Figure"), Column::text("Field"), Column::name("Definition")]);
    for d in definitions.iter().flat_map(|list| list.iter()) {
        table.row(vec![Cell::text(d.label), Cell::text(d.field), Cell::text(d.text)]);
    }
    table
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// How to call this program again: by its name, or the way it was called where a shell would not find that.
fn program() -> String {
    const NAME: &str = "stepscope";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let by_path = called.file_stem().is_some_and(|stem| stem == NAME) && called.components().count() > 1;
    match by_path && !std::env::split_paths(&folders).any(|folder| folder.join(NAME).is_file()) {
        true => quoted(&called),
        false => NAME.to_owned(),
    }
}

/// Commands to type next on the same trace, each with what it shows.
pub(crate) fn next(
    out: &mut dyn Write,
    screen: &Screen,
    common: &Common,
    commands: &[(&str, &str)],
) -> std::io::Result<()> {
    let path = common.path.as_deref().map_or_else(|| "TRACE".to_owned(), quoted);
    let program = program();
    let rank = common.rank.map(|rank| format!(" --rank {rank}")).unwrap_or_default();
    let lines: Vec<String> = commands.iter().map(|c| format!("{program} {} {path}{rank}", c.0)).collect();
    let widest = lines.iter().map(|line| print::width(&screen.text(line))).max().unwrap_or(0);
    for (line, (_, about)) in lines.iter().zip(commands) {
        let line = screen.text(line);
        let gap = " ".repeat(widest.saturating_sub(print::width(&line)) + 3);
        write!(out, "  {}", screen.paint(Role::Accent, &line))?;
        // What does not fit beside the commands stands below them.
        let about = screen.paint(Role::Dim, &screen.text(about));
        let beside = commands.iter().all(|c| 2 + widest + 3 + print::width(c.1) <= screen.width);
        writeln!(out, "{}{about}", if beside { gap } else { "\n      ".to_owned() })?;
    }
    Ok(())
}

/// The notes on a trace that a reader of its figures must know, a line each.
pub(crate) fn notes(out: &mut dyn Write, screen: &Screen, trace: &Trace) -> Result<(), Failure> {
    for note in trace.notes().iter() {
        let (role, word) = match note.kind.severity() {
            Severity::Lost => (Role::Bad, "lost"),
            Severity::Repaired => (Role::Warn, "repaired"),
            Severity::Info => (Role::Dim, "note"),
        };
        let mut text = format!("{}× {}", units::count(note.count), note.kind.sentence());
        if !note.detail.is_empty() {
            text.push_str(&format!(" ({})", note.detail));
        }
        if let Some(first) = note.offsets.first() {
            text.push_str(&format!("; first at byte {}", units::count(*first)));
        }
        let room = screen.width.saturating_sub(10).clamp(20, 110);
        for (at, line) in print::wrap(&text, room).iter().enumerate() {
            let head = if at == 0 { format!("{word:>8}") } else { " ".repeat(8) };
            writeln!(out, "{} {}", screen.paint(role, &head), screen.text(line))?;
        }
    }
    Ok(())
}

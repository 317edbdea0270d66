//! An answer in the forms in which it leaves: JSON, CSV, Markdown, and tables on a screen.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use stepscope_analyse::scope::definition::Definition;

use crate::answer::{Answer, Part};
use crate::print::{self, Cell, Column, Columns, Role, Screen, Table};

/// Which rows of one part are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The part's key.
    pub part: String,
    /// Rows to skip.
    pub offset: usize,
    /// Rows at most.
    pub limit: usize,
}

/// What every answer has beside its tables and facts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerFrame<'a> {
    /// What to add to a time of this answer to get the file's own time.
    origin_ns: i64,
    /// Words to the reader that are not part of the data.
    remarks: &'a [String],
    /// What its numbers mean, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    definitions: Option<&'a [Definition]>,
}

/// The answer as one JSON object: each part under its key, facts beside them.
pub fn object(answer: &Answer, explain: bool) -> Map<String, Value> {
    let mut object = Map::new();
    for part in answer.parts.iter().filter(|part| part.in_json) {
        object.insert(part.key.to_owned(), part.value());
    }
    finish(object, answer, explain)
}

/// The same with only some rows of one part; `<part>_total` says how many there are. Other tables would only be weight.
pub fn page(answer: &Answer, page: &Page) -> Map<String, Value> {
    let mut object = Map::new();
    for part in answer.parts.iter().filter(|part| part.in_json) {
        if part.key == page.part && !part.is_single() {
            let rows = part.values(page.offset..page.offset.saturating_add(page.limit));
            object.insert(format!("{}_total", part.key), part.len().into());
            object.insert(part.key.to_owned(), rows.into());
        } else if part.is_single() {
            object.insert(part.key.to_owned(), part.value());
        }
    }
    finish(object, answer, true)
}

fn finish(mut object: Map<String, Value>, answer: &Answer, explain: bool) -> Map<String, Value> {
    for fact in &answer.facts {
        object.insert(fact.key.to_owned(), fact.value.clone());
    }
    let definitions = explain.then_some(&answer.definitions[..]);
    let frame = AnswerFrame { origin_ns: answer.origin_ns, remarks: &answer.remarks, definitions };
    // A struct with names always becomes an object.
    if let Ok(Value::Object(frame)) = serde_json::to_value(frame) {
        object.extend(frame);
    }
    object
}

/// The main part as comma-separated values.
pub fn csv(answer: &Answer) -> String {
    answer.part(answer.main).map(|part| print::csv(&part.values(0..usize::MAX))).unwrap_or_default()
}

pub fn markdown(answer: &Answer, explain: bool) -> String {
    let mut text = match &answer.document {
        Some(document) => document(),
        None => {
            let shown: Vec<&Part> = answer.parts.iter().filter(|part| part.in_document).collect();
            let tables = shown.iter().map(|part| print::markdown(&part.table()));
            headline(&answer.headline).into_iter().chain(tables).collect::<Vec<_>>().join("\n")
        }
    };
    if explain {
        text.push('\n');
        text.push_str(&print::markdown(&definitions_table(&answer.definitions)));
    }
    text
}

/// A verdict in Markdown: its first sentence, then a list.
fn headline(sentences: &[String]) -> Option<String> {
    let (first, more) = sentences.split_first()?;
    let more: String = more.iter().map(|one| format!("- {}\n", print::markdown_text(one))).collect();
    let gap = if more.is_empty() { "" } else { "\n" };
    Some(format!("### Verdict\n\n{}\n{gap}{more}", print::markdown_text(first)))
}

/// The answer as tables on a screen. What to ask next is left to whoever knows how.
pub fn screen(out: &mut dyn Write, answer: &Answer, screen: &Screen, explain: bool) -> io::Result<()> {
    let explained = answer.above_explained.as_ref().filter(|_| explain);
    if let Some(above) = explained.or(answer.above.as_ref()) {
        above(out, screen)?;
    }
    for (at, part) in answer.parts.iter().filter(|part| part.on_screen).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        if let Some(picture) = &part.picture {
            picture(out, screen)?;
        }
        part.table().write_with(out, screen, part.bar.as_deref())?;
    }
    if let Some(below) = &answer.below {
        below(out, screen)?;
    }
    Ok(())
}

/// What numbers mean, for people.
pub fn explanation(out: &mut dyn Write, screen: &Screen, definitions: &[Definition]) -> io::Result<()> {
    print::heading(out, screen, "What the numbers mean", "")?;
    for definition in definitions {
        let field = screen.paint(Role::Dim, &format!("({})", definition.field));
        writeln!(out, "\n{} {field}", screen.paint(Role::Heading, definition.label))?;
        for line in print::wrap(definition.text, screen.width.saturating_sub(2).clamp(20, 98)) {
            writeln!(out, "  {}", screen.text(&line))?;
        }
    }
    Ok(())
}

pub fn definitions_table(definitions: &[Definition]) -> Table {
    Columns::of(definitions)
        .add(Column::text("Metric"), |d| Cell::text(d.label))
        .add(Column::text("Field"), |d| Cell::text(d.field))
        .add(Column::name("Definition"), |d| Cell::text(d.text))
        .table()
}

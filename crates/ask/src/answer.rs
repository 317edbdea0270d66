//! What a question comes to: typed rows and facts for programs, tables and drawings for people.

use std::any::type_name;
use std::io::{self, Write};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use stepscope_analyse::scope::definition::Definition;

use crate::print::{Screen, Table};

/// Draws on a screen whose size is not known before.
pub type Draw = Box<dyn Fn(&mut dyn Write, &Screen) -> io::Result<()> + Send + Sync>;

/// The answer to a question.
pub struct Answer {
    pub question: &'static str,
    pub parts: Vec<Part>,
    /// What is said once and not per row.
    pub facts: Vec<Fact>,
    /// Words to the reader that are not part of the data.
    pub remarks: Vec<String>,
    /// The key of the part that a format with room for one table writes.
    pub main: &'static str,
    pub definitions: Vec<Definition>,
    /// What to add to a time of this answer to get the file's own time.
    pub origin_ns: i64,
    /// On a screen, above the tables.
    pub above: Option<Draw>,
    pub above_explained: Option<Draw>,
    /// On a screen, below the tables.
    pub below: Option<Draw>,
    /// In Markdown, above the tables and under the heading "Verdict": the verdict, and what else there is to say.
    pub headline: Vec<String>,
    /// The whole answer as a Markdown document, where that is more than its tables.
    pub document: Option<Box<dyn Fn() -> String + Send + Sync>>,
    /// The answer as SARIF, which code scanning reads; only findings have it.
    pub sarif: Option<Box<dyn Fn() -> Value + Send + Sync>>,
    /// Whether names are whole, however wide the tables get.
    pub whole_names: bool,
    pub next: Vec<Next>,
    /// The word in the column of labels beside what to ask next; none where the answer has no such column.
    pub next_label: Option<&'static str>,
}

/// Another question worth asking, and what it shows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The question, or what else comes between the program and the path on a command line.
    pub question: &'static str,
    pub about: &'static str,
}

/// Something said once: a total, a name, a list of devices.
pub struct Fact {
    pub key: &'static str,
    pub value: Value,
    type_name: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Next {
    /// Not another question but the rest of this one: the summary's tables.
    pub const ALL_TABLES: &'static str = "--all";
}

impl Answer {
    /// An answer of these parts; the first is the main one.
    pub fn new(parts: Vec<Part>) -> Answer {
        Answer {
            question: "",
            definitions: Vec::new(),
            main: parts.first().map_or("", |part| part.key),
            parts,
            facts: Vec::new(),
            remarks: Vec::new(),
            origin_ns: 0,
            above: None,
            above_explained: None,
            below: None,
            headline: Vec::new(),
            document: None,
            sarif: None,
            whole_names: false,
            next: Vec::new(),
            next_label: None,
        }
    }

    /// Adds a fact.
    pub fn fact<T: Serialize + JsonSchema>(mut self, key: &'static str, value: &T) -> Answer {
        // A report's own types always become JSON.
        let value = serde_json::to_value(value).unwrap_or_default();
        let schema = SchemaGenerator::subschema_for::<T>;
        self.facts.push(Fact { key, value, type_name: type_name::<T>(), schema });
        self
    }

    /// Names the part that a format with room for one table writes.
    pub fn main(mut self, key: &'static str) -> Answer {
        self.main = key;
        self
    }

    pub fn part(&self, key: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.key == key)
    }
}

impl Fact {
    /// The type of its value.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// What Rust calls that type.
    pub(crate) fn type_name(&self) -> &'static str {
        self.type_name
    }
}

/// One table of an answer.
pub struct Part {
    /// Its key in machine output.
    pub key: &'static str,
    pub(crate) rows: Box<dyn Rows>,
    pub in_json: bool,
    /// Whether a screen shows it.
    pub on_screen: bool,
    /// Whether a Markdown document shows it.
    pub in_document: bool,
    /// Drawn before its title on a screen.
    pub picture: Option<Draw>,
    /// Drawn between its title and its rows on a screen.
    pub bar: Option<Draw>,
}

impl Part {
    /// Rows, and how they look as a table; the table is made when someone wants to see it.
    pub fn new<R: Serialize + JsonSchema + Send + Sync + 'static>(
        key: &'static str,
        rows: Vec<R>,
        table: impl Fn(&[R]) -> Table + Send + Sync + 'static,
    ) -> Part {
        Part::typed(key, Typed { rows, table: Box::new(table), single: false })
    }

    /// One object instead of rows.
    pub fn single<R: Serialize + JsonSchema + Send + Sync + 'static>(
        key: &'static str,
        value: R,
        table: impl Fn(&R) -> Table + Send + Sync + 'static,
    ) -> Part {
        let table = move |rows: &[R]| rows.first().map_or_else(Table::default, &table);
        Part::typed(key, Typed { rows: vec![value], table: Box::new(table), single: true })
    }

    /// Rows that only programs get.
    pub fn data<R: Serialize + JsonSchema + Send + Sync + 'static>(key: &'static str, rows: Vec<R>) -> Part {
        Part::new(key, rows, |_| Table::default()).shown(false)
    }

    fn typed<R: Serialize + JsonSchema + Send + Sync + 'static>(key: &'static str, rows: Typed<R>) -> Part {
        Part {
            key,
            rows: Box::new(rows),
            in_json: true,
            on_screen: true,
            in_document: true,
            picture: None,
            bar: None,
        }
    }

    /// Whether people see it; programs always do.
    pub fn shown(mut self, shown: bool) -> Part {
        (self.on_screen, self.in_document) = (shown, shown);
        self
    }

    /// Without its table on a screen, where a drawing shows the same.
    pub fn off_screen(mut self) -> Part {
        self.on_screen = false;
        self
    }

    /// Without its key in JSON, where another part or a fact holds the same.
    pub fn held_elsewhere(mut self) -> Part {
        self.in_json = false;
        self
    }

    /// Whether it is one object instead of rows.
    pub fn is_single(&self) -> bool {
        self.rows.single()
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its rows from one on, as JSON; all of them with `0..usize::MAX`.
    pub fn values(&self, range: std::ops::Range<usize>) -> Vec<Value> {
        self.rows.values(range)
    }

    /// All of it as JSON: a list of rows, or one object.
    pub fn value(&self) -> Value {
        let mut rows = self.values(0..usize::MAX);
        if self.is_single() { rows.pop().unwrap_or_default() } else { Value::Array(rows) }
    }

    /// How it looks to people.
    pub fn table(&self) -> Table {
        self.rows.table()
    }

    /// The type of a row, known without looking at any.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.rows.schema(generator)
    }

    /// What Rust calls the type of a row.
    pub(crate) fn type_name(&self) -> &'static str {
        self.rows.type_name()
    }
}

/// Rows of some type.
pub(crate) trait Rows: Send + Sync {
    fn len(&self) -> usize;
    fn single(&self) -> bool;
    fn values(&self, range: std::ops::Range<usize>) -> Vec<Value>;
    fn table(&self) -> Table;
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
    fn type_name(&self) -> &'static str;
}

/// Makes a table of rows.
type ToTable<R> = Box<dyn Fn(&[R]) -> Table + Send + Sync>;

struct Typed<R> {
    rows: Vec<R>,
    table: ToTable<R>,
    single: bool,
}

impl<R: Serialize + JsonSchema + Send + Sync> Rows for Typed<R> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn single(&self) -> bool {
        self.single
    }

    fn values(&self, range: std::ops::Range<usize>) -> Vec<Value> {
        let rows = self.rows.iter().skip(range.start).take(range.end.saturating_sub(range.start));
        rows.map(|row| serde_json::to_value(row).unwrap_or_default()).collect()
    }

    fn table(&self) -> Table {
        (self.table)(&self.rows)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<R>()
    }

    fn type_name(&self) -> &'static str {
        type_name::<R>()
    }
}

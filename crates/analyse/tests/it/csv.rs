//! Enough CSV for the answers of other tools: quoted fields, doubled quotes, line breaks inside quotes.

use std::path::Path;

pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

pub struct Row<'a> {
    header: &'a [String],
    fields: &'a [String],
}

impl Table {
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|fields| Row { header: &self.header, fields })
    }
}

impl<'a> Row<'a> {
    /// The field of a column; the test fails if there is no such column.
    pub fn get(&self, column: &str) -> &'a str {
        let at = self.header.iter().position(|h| h == column).unwrap_or_else(|| panic!("no column {column}"));
        &self.fields[at]
    }
}

pub fn read(path: &Path) -> Table {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = vec![vec![String::new()]];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let line = lines.last_mut().unwrap();
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                line.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(String::new()),
            '\n' if !quoted => lines.push(vec![String::new()]),
            '\r' if !quoted => {}
            _ => line.last_mut().unwrap().push(c),
        }
    }
    lines.retain(|line| line.len() > 1);
    let header = lines.remove(0);
    Table { header, rows: lines }
}

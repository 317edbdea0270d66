//! The formats in which a result can leave the program.

use std::io::{self, Write};

use serde::Serialize;

use stepscope_ask::print::{Screen, Table, csv, json, markdown};
use stepscope_ask::{Answer, write};

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// A table for the terminal.
    #[default]
    Table,
    /// JSON: all data, unrounded.
    Json,
    /// Comma-separated values: all data, unrounded.
    Csv,
    /// A Markdown table.
    Md,
    /// SARIF, which code scanning reads. Only findings have it, so the help of other commands keeps quiet about it.
    #[value(hide = true)]
    Sarif,
}

/// Writes an answer in the format asked for, with what its numbers mean if that is wanted.
pub fn write_answer(
    out: &mut dyn Write,
    screen: &Screen,
    format: Format,
    explain: bool,
    answer: &Answer,
) -> io::Result<()> {
    let text = match format {
        Format::Table => {
            write::screen(out, answer, screen, explain)?;
            if explain {
                writeln!(out)?;
                write::explanation(out, screen, &answer.definitions)?;
            }
            return Ok(());
        }
        Format::Json => json(&write::object(answer, explain))?,
        Format::Csv => write::csv(answer),
        Format::Md => write::markdown(answer, explain),
        Format::Sarif => match &answer.sarif {
            Some(sarif) => json(&sarif())?,
            None => return Ok(()),
        },
    };
    out.write_all(screen.guard(&text).as_bytes())
}

/// Writes one result in the format asked for: `table` for people, `rows` for programs.
pub fn emit<R: Serialize>(
    out: &mut dyn Write,
    screen: &Screen,
    format: Format,
    table: &Table,
    rows: &[R],
) -> io::Result<()> {
    let text = match format {
        Format::Table => return table.write(out, screen),
        Format::Json => json(rows)?,
        Format::Csv => csv(&rows.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?),
        Format::Md => markdown(table),
        Format::Sarif => return Err(io::Error::new(io::ErrorKind::Unsupported, "a table has no SARIF form")),
    };
    out.write_all(screen.guard(&text).as_bytes())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use serde_json::json;

    use super::*;
    use stepscope_ask::print::{Cell, Column};

    #[test]
    fn each_form_is_written() {
        let mut table = Table::new(vec![Column::name("Kernel")]);
        table.row(vec![Cell::text("a\u{1b}b")]);
        let rows = [json!({ "kernel": "a\u{1b}b" })];
        let shown = |format| {
            let mut out = Vec::new();
            emit(&mut out, &Screen { terminal: true, ..Screen::plain(80) }, format, &table, &rows).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(Format::Table), "Kernel\n──────\na␛b\n");
        assert_eq!(shown(Format::Json), "[\n  {\n    \"kernel\": \"a\\u001bb\"\n  }\n]\n");
        assert_eq!(shown(Format::Csv), "kernel\na␛b\n");
        assert_eq!(shown(Format::Md), "| Kernel |\n| --- |\n| a␛b |\n");
    }

    #[test]
    fn names_on_the_command_line() {
        assert_eq!(Format::from_str("md", true), Ok(Format::Md));
        assert_eq!(Format::from_str("JSON", true), Ok(Format::Json));
    }
}

//! A table for an issue, a pull request or a README.

use super::clean::clean;
use super::table::{Align, Cell, Table};

/// The table as GitHub's Markdown: every column, whole names, no bars, and no name that is taken for markup.
pub fn markdown(table: &Table) -> String {
    let mut text = String::new();
    if !table.title.is_empty() {
        text.push_str(&format!("### {}\n\n", escaped(&table.title)));
        if !table.subtitle.is_empty() {
            text.push_str(&format!("{}\n\n", escaped(&table.subtitle)));
        }
    }
    if table.rows.is_empty() || table.columns.is_empty() {
        text.push_str(&format!("{}\n", escaped(&table.when_empty)));
    } else {
        push_line(&mut text, table.columns.iter().map(|column| escaped(&column.header)));
        push_line(&mut text, table.columns.iter().map(|column| rule(column.align).to_owned()));
        for row in &table.rows {
            push_line(&mut text, cells(table, row));
        }
        if let Some(total) = &table.total {
            let bold = |cell: String| if cell.is_empty() { cell } else { format!("**{cell}**") };
            push_line(&mut text, cells(table, total).map(bold));
        }
    }
    for note in &table.notes {
        text.push_str(&format!("\n{}\n", escaped(note)));
    }
    text
}

fn rule(align: Align) -> &'static str {
    match align {
        Align::Left => "---",
        Align::Right => "---:",
    }
}

fn cells<'t>(table: &'t Table, row: &'t [Cell]) -> impl Iterator<Item = String> + 't {
    (0..table.columns.len()).map(|at| row.get(at).map(cell).unwrap_or_default())
}

fn cell(cell: &Cell) -> String {
    // Plain spaces would be swallowed, and with them the shape of a tree.
    format!("{}{}", escaped(&cell.prefix.replace(' ', "\u{a0}")), escaped(cell.text.trim()))
}

fn push_line(text: &mut String, fields: impl Iterator<Item = String>) {
    text.push('|');
    for field in fields {
        text.push_str(&format!(" {field} |"));
    }
    text.push('\n');
}

/// Text as it may stand in Markdown: none of it is taken for markup.
pub fn escaped(text: &str) -> String {
    let letters: Vec<char> = clean(text).chars().collect();
    let mut safe = String::with_capacity(letters.len() + 8);
    for (at, &letter) in letters.iter().enumerate() {
        let within_word =
            |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|c| c.is_alphanumeric());
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '[' | ']' | '~' | '$' => safe.extend(['\\', letter]),
            // Inside a word an underscore is not markup, and names are full of them.
            '_' if !(within_word(at.checked_sub(1)) && within_word(Some(at + 1))) => safe.push_str("\\_"),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;

    #[test]
    fn all_columns_and_whole_names() {
        let mut table = Table::new(vec![
            Column::name("Kernel"),
            Column::number("Total").priority(0),
            Column::number("Share"),
        ])
        .title("Kernels", "2 of 2");
        let long = "x".repeat(300);
        table.row(vec![Cell::text(long.clone()), Cell::time(1_234_000), Cell::share(0.525)]);
        table.row(vec![Cell::text("b"), Cell::time(0)]);
        table.total(vec![Cell::text("Total"), Cell::time(1_234_000)]);
        table.note("as measured");
        let expected = format!(
            "### Kernels\n\n2 of 2\n\n| Kernel | Total | Share |\n| --- | ---: | ---: |\n\
             | {long} | 1.234 ms | 52.5% |\n\
             | b | – |  |\n| **Total** | **1.234 ms** |  |\n\nas measured\n"
        );
        assert_eq!(markdown(&table), expected);
    }

    #[test]
    fn names_are_no_markup() {
        let mut table = Table::new(vec![Column::name("Kernel")]);
        table.row(vec![Cell::text("a|b\n<script> *x* `y` \\ _z_ a_b $1 \u{1b}[0m &lt;")]);
        let line = "| a\\|b &lt;script&gt; \\*x\\* \\`y\\` \\\\ \\_z\\_ a_b \\$1 ␛\\[0m &amp;lt; |\n";
        assert_eq!(markdown(&table), format!("| Kernel |\n| --- |\n{line}"));
    }

    #[test]
    fn an_empty_table_is_a_sentence() {
        assert_eq!(markdown(&Table::new(vec![Column::name("Kernel")])), "nothing to show\n");
        assert_eq!(markdown(&Table::new(Vec::new()).when_empty("no kernels")), "no kernels\n");
    }

    #[test]
    fn branches_keep_their_shape() {
        let mut table = Table::new(vec![Column::name("Module")]);
        table.row(vec![Cell::text("conv").prefix("│  └─ ")]);
        assert_eq!(markdown(&table), "| Module |\n| --- |\n| │\u{a0}\u{a0}└─\u{a0}conv |\n");
    }
}

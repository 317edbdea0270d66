//! A table about rows of one type. Each column is declared once: its heading, and what stands in its cells.

use super::table::{Cell, Column, Table};

type MakeCell<'a, R> = Box<dyn Fn(&'a R) -> Cell + 'a>;

/// The columns of a table, as they are put together.
pub struct Columns<'a, R> {
    rows: &'a [R],
    columns: Vec<Column>,
    cells: Vec<MakeCell<'a, R>>,
}

impl<'a, R> Columns<'a, R> {
    /// A table with a line for each of these.
    pub fn of(rows: &'a [R]) -> Self {
        Self { rows, columns: Vec::new(), cells: Vec::new() }
    }

    /// Adds a column.
    #[must_use]
    pub fn add(mut self, column: Column, cell: impl Fn(&'a R) -> Cell + 'a) -> Self {
        self.columns.push(column);
        self.cells.push(Box::new(cell));
        self
    }

    /// Adds a column, if it has something to say.
    #[must_use]
    pub fn add_if(self, wanted: bool, column: Column, cell: impl Fn(&'a R) -> Cell + 'a) -> Self {
        if wanted { self.add(column, cell) } else { self }
    }

    /// The table.
    pub fn table(self) -> Table {
        let mut table = Table::new(self.columns);
        for row in self.rows {
            table.row(self.cells.iter().map(|cell| cell(row)).collect());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_is_not_wanted_has_no_cells_either() {
        let rows = [("add", 3_u64), ("mul", 0)];
        let table = Columns::of(&rows)
            .add(Column::name("Name"), |row| Cell::text(row.0))
            .add_if(false, Column::text("Shapes"), |_| Cell::text("[2, 2]"))
            .add(Column::number("Calls"), |row| Cell::count(row.1))
            .table();
        let headings: Vec<_> = table.columns.iter().map(|column| column.header.as_str()).collect();
        assert_eq!(headings, ["Name", "Calls"]);
        let cells: Vec<Vec<_>> =
            table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(cells, [["add", "3"], ["mul", "–"]]);
    }
}

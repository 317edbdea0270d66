//! A table about rows of one type. Each column is declared once: its heading, and what its cells show.

use stepscope_analyse::scope::definition::Definition;

use super::table::{Cell, Column, Table};

type MakeCell<'a, R> = Box<dyn Fn(R) -> Cell + 'a>;

/// The columns of a table, as they are put together.
pub struct Columns<'a, R> {
    rows: Vec<R>,
    total: Option<R>,
    definitions: &'static [&'static [Definition]],
    columns: Vec<Column>,
    cells: Vec<MakeCell<'a, R>>,
}

impl<'a, R: Copy + 'a> Columns<'a, R> {
    /// A table with a line for each of these.
    pub fn of(rows: impl IntoIterator<Item = R>) -> Self {
        Self {
            rows: rows.into_iter().collect(),
            total: None,
            definitions: &[],
            columns: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Where the headings of metrics come from: the definitions of the question.
    #[must_use]
    pub fn defined_by(self, definitions: &'static [&'static [Definition]]) -> Self {
        Self { definitions, ..self }
    }

    #[must_use]
    pub fn add(mut self, column: Column, cell: impl Fn(R) -> Cell + 'a) -> Self {
        self.columns.push(column);
        self.cells.push(Box::new(cell));
        self
    }

    /// Adds a column, if it has something to say.
    #[must_use]
    pub fn add_if(self, wanted: bool, column: Column, cell: impl Fn(R) -> Cell + 'a) -> Self {
        if wanted { self.add(column, cell) } else { self }
    }

    #[must_use]
    pub fn add_each<T: Copy + 'a>(
        self,
        things: impl IntoIterator<Item = T>,
        column: impl Fn(T) -> Column,
        cell: impl Fn(T, R) -> Cell + Copy + 'a,
    ) -> Self {
        things.into_iter().fold(self, |all, thing| all.add(column(thing), move |row| cell(thing, row)))
    }

    /// Adds a column of numbers with the label of the field's definition as its heading.
    ///
    /// A field without a definition shows its own name; a test finds those.
    #[must_use]
    pub fn metric(self, field: &'static str, priority: u8, cell: impl Fn(R) -> Cell + 'a) -> Self {
        let definition = self.definitions.iter().copied().flatten().find(|d| d.field == field);
        let label = definition.map_or(field, |definition| definition.label);
        self.add(Column::number(label).priority(priority), cell)
    }

    /// Adds a column as [`Self::metric`] does, if it has something to say.
    #[must_use]
    pub fn metric_if(
        self,
        wanted: bool,
        field: &'static str,
        priority: u8,
        cell: impl Fn(R) -> Cell + 'a,
    ) -> Self {
        if wanted { self.metric(field, priority, cell) } else { self }
    }

    /// Sets the last row, if there is one.
    #[must_use]
    pub fn total(self, total: Option<R>) -> Self {
        Self { total, ..self }
    }

    pub fn table(self) -> Table {
        let cells = |row: R| self.cells.iter().map(|cell| cell(row)).collect();
        let mut table = Table::new(self.columns);
        self.rows.into_iter().for_each(|row| table.row(cells(row)));
        self.total.into_iter().for_each(|row| table.total(cells(row)));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITIONS: &[&[Definition]] =
        &[&[Definition { field: "host_ns", label: "Host", text: "Time on the host." }]];

    fn headings(table: &Table) -> Vec<&str> {
        table.columns.iter().map(|column| column.header.as_str()).collect()
    }

    fn texts(table: &Table) -> Vec<Vec<&str>> {
        table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_column_that_is_not_wanted_has_no_cells_either() {
        let rows = [("add", 3_u64), ("mul", 0)];
        let table = Columns::of(&rows)
            .add(Column::name("Name"), |row| Cell::text(row.0))
            .add_if(false, Column::text("Shapes"), |_| Cell::text("[2, 2]"))
            .add(Column::number("Calls"), |row| Cell::count(row.1))
            .table();
        assert_eq!(headings(&table), ["Name", "Calls"]);
        assert_eq!(texts(&table), [["add", "3"], ["mul", "–"]]);
    }

    #[test]
    fn a_metric_has_the_label_of_its_definition() {
        let table = Columns::of([7_i64])
            .defined_by(DEFINITIONS)
            .metric("host_ns", 120, Cell::time)
            .metric_if(false, "host_ns", 110, Cell::time)
            .metric("undefined_ns", 100, Cell::time)
            .table();
        assert_eq!(headings(&table), ["Host", "undefined_ns"]);
        assert_eq!(table.columns[0].priority, 120);
    }

    #[test]
    fn a_column_for_each_thing_and_a_total() {
        let table = Columns::of([1_u64, 2])
            .add_each([10, 20], |by| Column::number(format!("x {by}")), |by, row| Cell::count(by * row))
            .total(Some(3))
            .table();
        assert_eq!(headings(&table), ["x 10", "x 20"]);
        assert_eq!(texts(&table), [["10", "20"], ["20", "40"]]);
        let total = table.total.iter().flatten().map(|cell| cell.text.as_str());
        assert_eq!(total.collect::<Vec<_>>(), ["30", "60"]);
    }
}

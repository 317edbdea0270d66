//! Columnar tables for query engines: what `ask` answers and what a trace holds, as Arrow, and as Arrow and Parquet files.
//!
//! Every table has one schema, known from the types of its rows before there are any: a column of nothing but nulls, and a
//! table without rows, have the same types as on any other trace.

mod columns;
mod encode;
mod events;
#[cfg(feature = "files")]
mod files;
mod json;
mod shape;
mod table;

pub use columns::Columns;
pub use events::{EVENT_COLUMNS, EventColumn, events};
#[cfg(feature = "files")]
pub use files::{write_arrow, write_parquet};
pub use table::{part_schema, part_table};

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum ColumnarError {
    /// The columns do not fit together.
    #[error("no columnar table: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// The Parquet file could not be made.
    #[cfg(feature = "files")]
    #[error("no Parquet file: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The file could not be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

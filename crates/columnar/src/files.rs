//! Tables as files that other programs open.

use std::io::Write;

use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{ColumnarError, Columns};

/// Writes an Arrow IPC file (Feather, version 2), uncompressed so that it can be mapped.
pub fn write_arrow(table: &Columns, out: &mut dyn Write) -> Result<(), ColumnarError> {
    let mut writer = FileWriter::try_new(out, &table.schema)?;
    for batch in &table.batches {
        writer.write(batch)?;
    }
    Ok(writer.finish()?)
}

/// Writes a Parquet file, compressed with zstd.
pub fn write_parquet(table: &Columns, out: &mut dyn Write) -> Result<(), ColumnarError> {
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?)).build();
    // The writer wants to own what it writes to, and to be free to leave the thread: it gets memory, which is emptied
    // after each group of rows.
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema.clone(), Some(properties))?;
    for batch in &table.batches {
        writer.write(batch)?;
        writer.flush()?;
        out.write_all(writer.inner())?;
        writer.inner_mut().clear();
    }
    Ok(out.write_all(&writer.into_inner()?)?)
}

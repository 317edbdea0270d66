//! Files read back by the libraries that other programs read them with.

use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use stepscope_columnar::{Columns, events, write_arrow, write_parquet};

use crate::{cuda_graph, rows};

/// The table, cut into batches of so many rows.
fn cut(table: &Columns, rows: usize) -> Columns {
    let starts = (0..table.rows()).step_by(rows);
    let batches = starts.flat_map(|first| table.pick(first, 1, rows).unwrap().batches).collect();
    Columns { schema: table.schema.clone(), batches }
}

#[test]
fn a_parquet_file_holds_the_table() {
    let whole = events(&cuda_graph()).unwrap();
    for table in [whole.clone(), cut(&whole, whole.rows() / 3 + 1)] {
        let mut file = Vec::new();
        write_parquet(&table, &mut file).unwrap();
        assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(file)).unwrap();
        assert_eq!(reader.schema().metadata()["origin_ns"], table.schema.metadata()["origin_ns"]);
        let groups = reader.metadata().row_groups();
        assert_eq!(groups.len(), table.batches.len());
        assert!(matches!(groups[0].column(0).compression(), Compression::ZSTD(_)));
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        let back = Columns { schema: batches[0].schema(), batches };
        assert_eq!(back.schema.fields(), table.schema.fields());
        assert_eq!(rows(&back), rows(&table));
    }
}

#[test]
fn an_arrow_file_holds_the_table() {
    let whole = events(&cuda_graph()).unwrap();
    for table in [whole.clone(), cut(&whole, whole.rows() / 3 + 1)] {
        let mut file = Vec::new();
        write_arrow(&table, &mut file).unwrap();
        assert!(file.starts_with(b"ARROW1"));
        let reader = FileReader::try_new(Cursor::new(file), None).unwrap();
        let schema = reader.schema();
        assert_eq!(schema, table.schema);
        let back = Columns { schema, batches: reader.map(Result::unwrap).collect() };
        assert_eq!(back.batches.len(), table.batches.len());
        assert_eq!(rows(&back), rows(&table));
    }
}

#[test]
fn a_table_without_rows_is_a_file_too() {
    let table = events(&cuda_graph()).unwrap().pick(0, 1, 0).unwrap();
    let (mut parquet, mut arrow) = (Vec::new(), Vec::new());
    write_parquet(&table, &mut parquet).unwrap();
    write_arrow(&table, &mut arrow).unwrap();
    let read = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(parquet)).unwrap();
    assert_eq!(read.schema().fields(), table.schema.fields());
    assert_eq!(FileReader::try_new(Cursor::new(arrow), None).unwrap().schema(), table.schema);
}

//! A table: batches of one schema.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::{ColumnarError, json};

/// Batches of one schema.
#[derive(Debug, Clone)]
pub struct Columns {
    /// The schema of every batch.
    pub schema: SchemaRef,
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { schema: Arc::new(Schema::empty()), batches: Vec::new() }
    }
}

impl Columns {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// So many of its rows: the first, and each so far from the one before. Neighbors are not copied. Rows that are not
    /// there are left out.
    pub fn pick(&self, first: usize, step: isize, count: usize) -> Result<Columns, ColumnarError> {
        if step != 1 {
            let places = (0..count).map(|at| first as i128 + step as i128 * at as i128);
            let places = places.filter_map(|at| self.place(usize::try_from(at).ok()?));
            return self.copy(&places.collect::<Vec<_>>());
        }
        let (mut skip, mut left) = (first, count);
        let mut batches = Vec::new();
        for batch in &self.batches {
            let begin = skip.min(batch.num_rows());
            let rows = (batch.num_rows() - begin).min(left);
            if rows > 0 {
                batches.push(batch.slice(begin, rows));
            }
            skip -= begin;
            left -= rows;
        }
        Ok(Columns { schema: self.schema.clone(), batches })
    }

    /// The batch that holds a row, and the row there.
    fn place(&self, mut row: usize) -> Option<(usize, usize)> {
        for (at, batch) in self.batches.iter().enumerate() {
            if row < batch.num_rows() {
                return Some((at, row));
            }
            row -= batch.num_rows();
        }
        None
    }

    /// These rows, in this order, copied to one batch.
    fn copy(&self, places: &[(usize, usize)]) -> Result<Columns, ColumnarError> {
        if self.batches.is_empty() {
            return Ok(self.clone());
        }
        let column = |at: usize| {
            let parts: Vec<_> = self.batches.iter().map(|batch| batch.column(at).to_data()).collect();
            let mut picked = MutableArrayData::new(parts.iter().collect(), false, places.len());
            for &(batch, row) in places {
                picked.try_extend(batch, row, row + 1)?;
            }
            Ok(make_array(picked.freeze()))
        };
        let columns = (0..self.schema.fields().len()).map(column).collect::<Result<_, ArrowError>>()?;
        Ok(Columns {
            schema: self.schema.clone(),
            batches: vec![RecordBatch::try_new(self.schema.clone(), columns)?],
        })
    }

    /// Its rows as a JSON list of objects; nulls are written.
    pub fn json(&self) -> Result<Vec<u8>, ColumnarError> {
        let mut rows = Vec::new();
        for batch in &self.batches {
            rows.extend(json::rows(batch)?);
        }
        serde_json::to_vec(&rows).map_err(|error| ColumnarError::Output(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_schema::{DataType, Field};

    use super::*;

    fn numbers(columns: &Columns) -> Vec<i64> {
        let text = columns.json().unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
        rows.iter().map(|row| row["n"].as_i64().unwrap()).collect()
    }

    #[test]
    fn rows_across_batches() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let batch = |range: std::ops::Range<i64>| {
            let column = Arc::new(Int64Array::from_iter_values(range));
            RecordBatch::try_new(schema.clone(), vec![column]).unwrap()
        };
        let table = Columns { schema: schema.clone(), batches: vec![batch(0..3), batch(3..5), batch(5..9)] };
        assert_eq!(table.rows(), 9);
        assert_eq!(numbers(&table.pick(2, 1, 5).unwrap()), [2, 3, 4, 5, 6]);
        assert_eq!(numbers(&table.pick(3, 1, 2).unwrap()), [3, 4]);
        assert_eq!(numbers(&table.pick(1, 3, 9).unwrap()), [1, 4, 7]);
        assert_eq!(numbers(&table.pick(8, -4, 3).unwrap()), [8, 4, 0]);
        assert_eq!(numbers(&table.pick(7, 1, 99).unwrap()), [7, 8]);
        assert_eq!(numbers(&table.pick(99, 1, 1).unwrap()), [0i64; 0]);
        assert_eq!(numbers(&Columns::default()), [0i64; 0]);
    }
}

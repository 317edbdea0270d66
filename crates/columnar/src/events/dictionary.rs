//! Columns of texts that repeat: each distinct text once, and for each row which.
//!
//! Only texts that a row has are in the dictionary: engines that group by such a column may show a group for each.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array};
use arrow_schema::ArrowError;

/// A column of texts by their positions in a table of distinct ones.
pub(super) fn dictionary<'a>(
    rows: impl Iterator<Item = Option<usize>>,
    distinct: usize,
    text: impl Fn(usize) -> &'a str,
) -> Result<ArrayRef, ArrowError> {
    // By position in the table: position in the dictionary, or none.
    let mut known = vec![-1i32; distinct];
    let mut values = StringBuilder::new();
    let (mut count, mut bytes) = (0i32, 0usize);
    let mut keys: Vec<Option<i32>> = Vec::with_capacity(rows.size_hint().0);
    for row in rows {
        let Some(at) = row else {
            keys.push(None);
            continue;
        };
        if known[at] < 0 {
            let value = text(at);
            bytes = bytes.saturating_add(value.len());
            if i32::try_from(bytes).is_err() || count == i32::MAX {
                return Err(ArrowError::OffsetOverflowError(bytes));
            }
            values.append_value(value);
            known[at] = count;
            count += 1;
        }
        keys.push(Some(known[at]));
    }
    let keys = Int32Array::from(keys);
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values.finish()))?))
}

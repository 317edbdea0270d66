//! Columns of times, over the memory of the trace that holds them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use bytes::Bytes;
use stepscope_model::{Ns, Slices, Trace};

/// A column of a trace, and the trace so that it stays.
struct Column {
    trace: Arc<Trace>,
    column: fn(&Slices) -> &[Ns],
}

impl AsRef<[u8]> for Column {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice((self.column)(self.trace.slices()))
    }
}

/// A column of times without a copy.
pub(super) fn times(trace: Arc<Trace>, column: fn(&Slices) -> &[Ns]) -> ArrayRef {
    let rows = column(trace.slices()).len();
    if rows == 0 {
        return Arc::new(Int64Array::from(Vec::<i64>::new()));
    }
    let buffer = Buffer::from(Bytes::from_owner(Column { trace, column }));
    Arc::new(Int64Array::new(ScalarBuffer::new(buffer, 0, rows), None))
}

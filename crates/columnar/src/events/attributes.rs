//! What typed attributes say about slices, one column each; arguments are decoded once.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::ArrowError;
use stepscope_model::{Attr, StrId, Trace, Value};

use super::dictionary::dictionary;

/// Columns of integers, and the attributes they hold.
const INTEGERS: &[(&str, Attr)] = &[
    ("correlation", Attr::Correlation),
    ("external_id", Attr::ExternalId),
    ("sequence_number", Attr::SequenceNumber),
    ("bytes", Attr::Bytes),
    ("registers_per_thread", Attr::RegistersPerThread),
    ("shared_memory_bytes", Attr::SharedMemory),
];
const FLOATS: &[(&str, Attr)] =
    &[("occupancy_percent", Attr::OccupancyPercent), ("bandwidth_gbps", Attr::BandwidthGbps)];
/// Columns of three integers.
const TRIPLES: &[(&str, Attr)] = &[("grid", Attr::Grid), ("block", Attr::Block)];
const TEXTS: &[(&str, Attr)] =
    &[("input_shapes", Attr::InputShapes), ("input_types", Attr::InputTypes), ("collective", Attr::Collective)];

/// The columns by name.
pub(super) fn attributes(trace: &Trace) -> Result<Vec<(&'static str, ArrayRef)>, ArrowError> {
    let slices = trace.slices();
    let mut integers: Vec<Vec<Option<i64>>> = vec![Vec::with_capacity(slices.len()); INTEGERS.len()];
    let mut floats: Vec<Float64Builder> = FLOATS.iter().map(|_| Float64Builder::new()).collect();
    let mut triples: Vec<ListBuilder<Int64Builder>> =
        TRIPLES.iter().map(|_| ListBuilder::new(Int64Builder::new())).collect();
    for id in slices.ids() {
        let args = trace.args(id);
        let mut whole = [None; INTEGERS.len()];
        let mut real = [None; FLOATS.len()];
        let mut three = [None; TRIPLES.len()];
        // Of several, the last counts.
        for (attr, value) in args.attrs() {
            if let Some(at) = position(INTEGERS, attr) {
                whole[at] = value.as_int();
            } else if let Some(at) = position(FLOATS, attr) {
                real[at] = value.as_f64();
            } else if let Some(at) = position(TRIPLES, attr) {
                three[at] = triple(value);
            }
        }
        integers.iter_mut().zip(whole).for_each(|(column, value)| column.push(value));
        floats.iter_mut().zip(real).for_each(|(column, value)| column.append_option(value));
        for (column, value) in triples.iter_mut().zip(three) {
            column.append_option(value.map(|three| three.map(Some)));
        }
    }
    let mut columns: Vec<(&'static str, ArrayRef)> = Vec::new();
    for &(name, attr) in TEXTS {
        let rows = slices.ids().map(|id| trace.args(id).text_id(attr).map(StrId::index));
        let text = |at: usize| trace.text(StrId::from_index(at));
        columns.push((name, dictionary(rows, trace.strings().len(), text)?));
    }
    for ((name, _), column) in INTEGERS.iter().zip(integers) {
        columns.push((name, Arc::new(Int64Array::from(column))));
    }
    for ((name, _), mut column) in FLOATS.iter().zip(floats) {
        columns.push((name, Arc::new(column.finish())));
    }
    for ((name, _), mut column) in TRIPLES.iter().zip(triples) {
        columns.push((name, Arc::new(column.finish())));
    }
    Ok(columns)
}

fn position(columns: &[(&str, Attr)], attr: Attr) -> Option<usize> {
    columns.iter().position(|&(_, known)| known == attr)
}

/// `[8, 1, 1]`.
fn triple(value: Value<'_>) -> Option<[i64; 3]> {
    let inner = value.as_text()?.trim().strip_prefix('[')?.strip_suffix(']')?;
    let numbers: Option<Vec<i64>> = inner.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_or_nothing() {
        assert_eq!(triple(Value::Json("[8, 1,2]")), Some([8, 1, 2]));
        for other in ["[8, 1]", "[8, 1, 2, 3]", "[8, 1, x]", "8, 1, 2", "", "[]"] {
            assert_eq!(triple(Value::Json(other)), None, "{other}");
        }
        assert_eq!(triple(Value::Int(8)), None);
    }
}

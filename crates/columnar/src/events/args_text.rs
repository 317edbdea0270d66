//! The arguments of slices as JSON text.

use std::fmt::Write;

use arrow_array::StringArray;
use arrow_array::builder::StringBuilder;
use serde_json::value::RawValue;
use stepscope_model::{Args, SliceId, Trace, Value};

/// The arguments of slices from one on: of so many, and fewer where their text grows larger than asked for. At least one.
pub(super) fn texts(trace: &Trace, first: usize, most_rows: usize, most_bytes: usize) -> StringArray {
    let mut column = StringBuilder::new();
    let (mut text, mut rows, mut bytes) = (String::new(), 0, 0usize);
    for index in (first..trace.slices().len()).take(most_rows) {
        let args = trace.args(SliceId::from_index(index));
        text.clear();
        write_args(&mut text, args);
        if rows > 0 && bytes.saturating_add(text.len()) > most_bytes {
            break;
        }
        // One alone may be larger than a column can count.
        if args.is_empty() || i32::try_from(text.len()).is_err() {
            column.append_null();
        } else {
            bytes += text.len();
            column.append_value(&text);
        }
        rows += 1;
    }
    column.finish()
}

fn write_args(out: &mut String, args: Args<'_>) {
    out.push('{');
    for (at, (key, value)) in args.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        write_text(out, key);
        out.push_str(": ");
        write_value(out, value);
    }
    out.push('}');
}

fn write_value(out: &mut String, value: Value<'_>) {
    // Writing to a String cannot fail.
    let _ = match value {
        Value::Int(v) => write!(out, "{v}"),
        Value::Decimal(d) => write!(out, "{d}"),
        Value::Bool(b) => write!(out, "{b}"),
        Value::Null => write!(out, "null"),
        Value::Str(text) => {
            write_text(out, text);
            Ok(())
        }
        Value::Json(text) => {
            // A broken file may have left anything here.
            match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => out.push_str(text),
                Err(_) => write_text(out, text),
            }
            Ok(())
        }
    };
}

fn write_text(out: &mut String, text: &str) {
    // A text always becomes JSON.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use stepscope_model::{ArgValue, Decimal, NewSlice, Ns, TraceBuilder};

    use super::*;

    fn trace() -> Trace {
        let mut b = TraceBuilder::new();
        let lane = b.lane(Default::default());
        let keys = ["a", "b \"c\"", "d"].map(|key| b.intern(key));
        let (good, broken) = (b.intern("[1, {\"x\": 2}]"), b.intern("[1, "));
        let events: [&[ArgValue]; 4] = [
            &[ArgValue::Int(-3), ArgValue::Decimal(Decimal { mantissa: -5, scale: 2 }), ArgValue::Bool(true)],
            &[],
            &[ArgValue::Json(good), ArgValue::Json(broken), ArgValue::Null],
            &[ArgValue::Str(broken), ArgValue::Decimal(Decimal { mantissa: 12345, scale: 3 })],
        ];
        for (at, values) in events.iter().enumerate() {
            for (&key, &value) in keys.iter().zip(*values) {
                b.push_arg(key, value);
            }
            let args = b.commit_args();
            b.slice(NewSlice { start: Ns(at as i64 * 10), dur: Ns(1), lane, args, ..NewSlice::default() });
        }
        b.finish()
    }

    #[test]
    fn arguments_are_json_and_nothing_is_null() {
        let texts = texts(&trace(), 0, 10, 1 << 20);
        assert_eq!(texts.value(0), r#"{"a": -3, "b \"c\"": -0.05, "d": true}"#);
        assert!(texts.is_null(1));
        assert_eq!(texts.value(2), r#"{"a": [1, {"x": 2}], "b \"c\"": "[1, ", "d": null}"#);
        assert_eq!(texts.value(3), r#"{"a": "[1, ", "b \"c\"": 12.345}"#);
        for row in [0, 2, 3] {
            serde_json::from_str::<serde_json::Value>(texts.value(row)).unwrap();
        }
    }

    #[test]
    fn a_batch_ends_before_its_text_is_too_long() {
        let trace = trace();
        assert_eq!(texts(&trace, 0, 3, 1 << 20).len(), 3);
        assert_eq!(texts(&trace, 0, 10, 60).len(), 2);
        assert_eq!(texts(&trace, 2, 10, 1).len(), 1);
        assert_eq!(texts(&trace, 3, 10, 1).len(), 1);
    }
}

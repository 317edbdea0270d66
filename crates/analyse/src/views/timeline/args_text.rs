//! Arguments as JSON text, to the digit.

use serde::de::IgnoredAny;
use stepscope_model::{Args, Value};

/// Every key with its value as JSON text, in file order.
pub(super) fn args_text(args: Args<'_>) -> Vec<(String, String)> {
    args.iter().map(|(key, value)| (key.to_owned(), json(value))).collect()
}

fn json(value: Value<'_>) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Str(text) => quoted(text),
        // A file may break off inside a value: what is not JSON is shown as text.
        Value::Json(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => text.to_owned(),
        Value::Json(text) => quoted(text),
        Value::Bool(value) => value.to_string(),
        Value::Null => "null".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use stepscope_model::Decimal;

    use super::*;

    #[test]
    fn to_the_digit() {
        for (value, text) in [
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Decimal(Decimal { mantissa: -5, scale: 3 }), "-0.005"),
            (Value::Decimal(Decimal { mantissa: 1250, scale: 2 }), "12.50"),
            (Value::Decimal(Decimal { mantissa: 7, scale: 0 }), "7"),
            (Value::Str("a\"\n"), r#""a\"\n""#),
            (Value::Json("[1, 18446744073709551616]"), "[1, 18446744073709551616]"),
            (Value::Json("[1, 2"), "\"[1, 2\""),
            (Value::Bool(true), "true"),
            (Value::Null, "null"),
        ] {
            assert_eq!(json(value), text);
        }
    }
}

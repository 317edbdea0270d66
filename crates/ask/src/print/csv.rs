//! Comma-separated values for spreadsheets and scripts.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

/// The column for rows that are not objects.
const LONE_VALUE: &str = "value";

/// One line per row, quoted as in RFC 4180, each ended by a line feed.
///
/// The header is the union of the keys in the order in which they first occur. Nested values are compact
/// JSON, nulls and missing keys are empty. Texts are passed on as they are: use
/// [`Screen::guard`](super::Screen::guard) on the way to a terminal.
pub fn csv(rows: &[Value]) -> String {
    let columns = columns(rows);
    let mut text = String::new();
    if columns.is_empty() {
        return text;
    }
    push_line(&mut text, columns.iter().map(|&column| quoted(column)));
    for row in rows {
        let field = |&column: &&str| match row {
            Value::Object(fields) => fields.get(column).map_or(Cow::Borrowed(""), field),
            other if column == LONE_VALUE => field(other),
            _ => Cow::Borrowed(""),
        };
        push_line(&mut text, columns.iter().map(field));
    }
    text
}

fn columns(rows: &[Value]) -> Vec<&str> {
    let mut seen = HashSet::new();
    let mut columns = Vec::new();
    for row in rows {
        let keys: Vec<&str> = match row {
            Value::Object(fields) => fields.keys().map(String::as_str).collect(),
            _ => vec![LONE_VALUE],
        };
        columns.extend(keys.into_iter().filter(|&key| seen.insert(key)));
    }
    columns
}

fn push_line<'f>(text: &mut String, fields: impl Iterator<Item = Cow<'f, str>>) {
    let start = text.len();
    for (at, field) in fields.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&field);
    }
    if text.len() == start {
        // Many readers skip empty lines, and with them a row of one empty field.
        text.push_str("\"\"");
    }
    text.push('\n');
}

fn field(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => quoted(text),
        other => Cow::Owned(quoted(&other.to_string()).into_owned()),
    }
}

fn quoted(text: &str) -> Cow<'_, str> {
    let delicate = text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ');
    if delicate { Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn header_is_the_union_of_keys_as_first_seen() {
        let rows = [json!({ "b": 1, "a": 2.5 }), json!({ "c": true, "b": null })];
        assert_eq!(csv(&rows), "b,a,c\n1,2.5,\n,,true\n");
    }

    #[test]
    fn delicate_fields_are_quoted() {
        let rows = [json!({ "na,me": "say \"hi\"\nthere", "x": " a", "shape": [1, [2, "q"]] })];
        assert_eq!(csv(&rows), "\"na,me\",x,shape\n\"say \"\"hi\"\"\nthere\",\" a\",\"[1,[2,\"\"q\"\"]]\"\n");
    }

    #[test]
    fn odd_rows_do_no_harm() {
        assert_eq!(csv(&[]), "");
        assert_eq!(csv(&[json!({})]), "");
        assert_eq!(csv(&[json!(1), json!("a"), json!({ "k": 2 })]), "value,k\n1,\na,\n,2\n");
        assert_eq!(csv(&[json!({ "a": null })]), "a\n\"\"\n");
    }
}

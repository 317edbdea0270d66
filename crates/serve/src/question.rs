//! From a request's query to a question, and from the answer to what the page wants of it.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::backend::{Problem, Question};

/// Commands the page may ask.
const COMMANDS: &[&str] = &[
    "summary",
    "steps",
    "gpu",
    "account",
    "info",
    "findings",
    "ops",
    "kernels",
    "memory",
    "modules",
    "gaps",
    "launches",
    "waits",
    "transfers",
    "loading",
    "critical-path",
    "what-if",
    "roofline",
];

/// Options it may give, as on the command line. None of them names a file.
const OPTIONS: &[&str] = &[
    "by",
    "sort",
    "top",
    "filter",
    "step",
    "device",
    "frames",
    "full",
    "own-threads",
    "by-launch",
    "op",
    "kernel",
    "speedup",
    "no-data-loading",
    "no-sync",
    "overlap-transfers",
    "free-launches",
    "tensor-cores",
    "from",
    "to",
];

/// Which rows of a part are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) part: String,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// A query as a list of names and values.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The question in a query, and the page of it.
pub(crate) fn parse(command: &str, query: &str, csv: bool) -> Result<(Question, Option<Page>), Problem> {
    if !COMMANDS.contains(&command) {
        return Err(Problem::new(format!("there is no question '{command}'"), "ask one of the commands"));
    }
    let mut options = Vec::new();
    let (mut part, mut offset, mut limit) = (None, 0, usize::MAX);
    for (key, value) in pairs(query) {
        match key.as_str() {
            "part" => part = Some(value),
            "offset" => offset = number(&key, &value)?,
            "limit" => limit = number(&key, &value)?,
            known if OPTIONS.contains(&known) => options.push((key, value)),
            unknown => return Err(Problem::new(format!("there is no option '{unknown}'"), "see --help")),
        }
    }
    let page = part.map(|part| Page { part, offset, limit });
    Ok((Question { command: command.to_owned(), options, csv }, page))
}

/// A number among the options.
pub(crate) fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, Problem> {
    value.parse().map_err(|_| Problem::new(format!("{key} is not a number: {value}"), "give a whole number"))
}

/// Only some rows of one part; `<part>_total` says how many there are.
pub(crate) fn page(text: &[u8], page: &Page) -> Result<Vec<u8>, serde_json::Error> {
    let parts: std::collections::BTreeMap<&str, &RawValue> = serde_json::from_slice(text)?;
    let mut out = Map::new();
    for (key, value) in parts {
        if key != page.part {
            // Other tables of the answer would only be weight.
            if !value.get().starts_with('[') || key == "definitions" {
                out.insert(key.to_owned(), serde_json::from_str(value.get())?);
            }
            continue;
        }
        let rows: Vec<&RawValue> = serde_json::from_str(value.get())?;
        let shown = rows.iter().skip(page.offset).take(page.limit);
        let shown = shown.map(|row| serde_json::from_str(row.get())).collect::<Result<Vec<Value>, _>>()?;
        out.insert(format!("{key}_total"), rows.len().into());
        out.insert(key.to_owned(), shown.into());
    }
    serde_json::to_vec(&out)
}

/// Whether a field is a moment, not a length of time.
fn is_moment(field: &str) -> bool {
    matches!(field, "start_ns" | "at_ns" | "first_ns" | "last_ns" | "range_ns")
        || field.ends_with("_at_ns")
        || field.ends_with("_start_ns")
}

/// Moments since the trace's first event: nanoseconds since 1970 do not fit a browser's numbers.
pub(crate) fn rebase(text: &[u8], origin: i64) -> Result<Vec<u8>, serde_json::Error> {
    let mut value: Value = serde_json::from_slice(text)?;
    shift(&mut value, origin, false);
    serde_json::to_vec(&value)
}

fn shift(value: &mut Value, origin: i64, moment: bool) {
    match value {
        Value::Number(number) if moment => {
            if let Some(ns) = number.as_i64() {
                *value = ns.saturating_sub(origin).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shift(item, origin, moment)),
        Value::Object(fields) => {
            for (key, field) in fields {
                shift(field, origin, is_moment(key));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_rows_and_says_how_many_there_are() {
        let text = br#"{"ops":[{"n":1},{"n":2},{"n":3}],"calls":[1,2],"totals":{"x":1},"definitions":[]}"#;
        let asked = Page { part: "ops".into(), offset: 1, limit: 1 };
        let got: Value = serde_json::from_slice(&page(text, &asked).unwrap()).unwrap();
        assert_eq!(
            got,
            serde_json::json!({"definitions": [], "ops": [{"n": 2}], "ops_total": 3, "totals": {"x": 1}})
        );
    }

    #[test]
    fn moments_move_and_lengths_stay() {
        let text = br#"{"a":{"start_ns":1700000000000000005,"dur_ns":7},"range_ns":[15,20],"peak_at_ns":12,"wait_ns":3}"#;
        let got: Value = serde_json::from_slice(&rebase(text, 10).unwrap()).unwrap();
        let want = serde_json::json!({"a": {"start_ns": 1_699_999_999_999_999_995_i64, "dur_ns": 7},
            "range_ns": [5, 10], "peak_at_ns": 2, "wait_ns": 3});
        assert_eq!(got, want);
    }

    #[test]
    fn only_known_questions_are_asked() {
        assert!(parse("export", "", false).is_err());
        assert!(parse("ops", "output=/etc/passwd", false).is_err());
        let (question, page) =
            parse("ops", "by=shape&part=ops&offset=5&limit=10&filter=%5Ea%26b", false).unwrap();
        assert_eq!(question.options, [("by".into(), "shape".into()), ("filter".into(), "^a&b".into())]);
        assert_eq!(page, Some(Page { part: "ops".into(), offset: 5, limit: 10 }));
    }
}

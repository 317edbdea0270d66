//! Rows of any report: filter, sort, cut. Sort keys are the field names of the machine output.

use std::cmp::Ordering;

use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use stepscope_ground::Problem;
use stepscope_model::Order;

use crate::answer::Part;
use crate::options::RowOptions;
use crate::print::{Table, units};

/// torch's names for our fields, so that its `sort_by` keys can be pasted.
const TORCH_KEYS: &[(&str, &str)] = &[
    ("cpu_time_total", "host_total_ns"),
    ("self_cpu_time_total", "host_self_ns"),
    ("cuda_time_total", "device_total_ns"),
    ("self_cuda_time_total", "device_self_ns"),
    ("device_time_total", "device_total_ns"),
    ("self_device_time_total", "device_self_ns"),
    ("xpu_time_total", "device_total_ns"),
    ("self_xpu_time_total", "device_self_ns"),
    ("cpu_time", "host_mean_ns"),
    ("cuda_time", "device_mean_ns"),
    ("device_time", "device_mean_ns"),
    ("cpu_memory_usage", "host_memory_bytes"),
    ("self_cpu_memory_usage", "host_self_memory_bytes"),
    ("cuda_memory_usage", "device_memory_bytes"),
    ("self_cuda_memory_usage", "device_self_memory_bytes"),
    ("device_memory_usage", "device_memory_bytes"),
    ("self_device_memory_usage", "device_self_memory_bytes"),
    ("count", "calls"),
];

/// Rows after filter, sort and cut.
#[derive(Debug)]
pub(crate) struct RowSelection<R> {
    pub(crate) rows: Vec<R>,
    /// How many there were before the cut.
    pub(crate) matched: usize,
    /// How many there were before the filter.
    pub(crate) all: usize,
}

impl<R> RowSelection<R> {
    /// What an empty table says: that nothing was recorded, or that nothing matches.
    pub(crate) fn when_empty<'a>(&self, nothing_recorded: &'a str) -> &'a str {
        if self.matched < self.all { "no row matches --filter" } else { nothing_recorded }
    }

    /// What the table leaves out, in words; `None` if nothing.
    pub(crate) fn left_out(&self) -> Option<String> {
        let count = |n: usize| units::count(n as u64);
        let filtered = match self.matched < self.all {
            true => format!(" ({} before --filter)", count(self.all)),
            false => String::new(),
        };
        match self.matched.saturating_sub(self.rows.len()) {
            0 if filtered.is_empty() => None,
            0 => Some(format!("{} rows match{filtered}", count(self.matched))),
            more => Some(format!(
                "{} more of {} rows{filtered}; --top 0 shows all",
                count(more),
                count(self.matched)
            )),
        }
    }
}

impl<R: Serialize + JsonSchema + Send + Sync + 'static> RowSelection<R> {
    /// The rows as a part of an answer. The table says what is left out, and why it is empty.
    pub(crate) fn into_part(
        self,
        key: &'static str,
        nothing_recorded: &'static str,
        table: impl Fn(&[R]) -> Table + Send + Sync + 'static,
    ) -> Part {
        let (empty, left_out) = (self.when_empty(nothing_recorded), self.left_out());
        Part::new(key, self.rows, move |rows| {
            let mut table = table(rows).when_empty(empty);
            table.notes(&left_out);
            table
        })
    }
}

/// Filters by name, sorts by `--sort` (or the given default) and keeps `--top` (or the given default).
pub(crate) fn arrange<R: Serialize>(
    rows: Vec<R>,
    asked: &RowOptions,
    default_sort: Option<&str>,
    default_top: usize,
    name: impl Fn(&R) -> &str,
) -> Result<RowSelection<R>, Problem> {
    let all = rows.len();
    let mut rows = match &asked.filter {
        Some(pattern) => {
            let regex = regex_of("filter", pattern)?;
            rows.into_iter().filter(|row| regex.is_match(name(row))).collect()
        }
        None => rows,
    };
    if let Some(key) = asked.sort.as_deref().or(default_sort) {
        rows = sorted(rows, key, asked.sort.is_some())?;
    }
    let matched = rows.len();
    match asked.top.unwrap_or(default_top) {
        0 => {}
        top => rows.truncate(top),
    }
    Ok(RowSelection { rows, matched, all })
}

/// The regular expression that an option gives.
pub(crate) fn regex_of(option: &str, pattern: &str) -> Result<Regex, Problem> {
    Regex::new(pattern).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default().trim().to_owned();
        Problem::new(
            format!("--{option} is not a regular expression: {last}"),
            "quote special characters with a backslash, as in 'at::native::.*\\(anonymous'",
        )
    })
}

/// Sorts by a field: numbers fall, texts rise, rows without the field come last; ties keep their order.
fn sorted<R: Serialize>(rows: Vec<R>, key: &str, asked: bool) -> Result<Vec<R>, Problem> {
    let Some(first) = rows.first().map(fields) else { return Ok(rows) };
    let Some(name) = find_field(&first, key) else {
        let known: Vec<&str> = first.keys().map(String::as_str).collect();
        let unknown =
            Problem::new(format!("cannot sort by '{key}'"), format!("sort by one of: {}", known.join(", ")));
        return if asked { Err(unknown) } else { Ok(rows) };
    };
    let sort_key = |row: &R| fields(row).remove(&name).unwrap_or_default();
    let mut keyed: Vec<_> = rows.into_iter().map(|row| (sort_key(&row), row)).collect();
    keyed.order_by(|(a, _), (b, _)| compare(a, b));
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

/// A row as programs get it.
fn fields<R: Serialize>(row: &R) -> Map<String, Value> {
    match serde_json::to_value(row) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Numbers fall, texts rise, what is missing comes last.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => b.cmp(&a),
            _ => {
                let float = |v: &serde_json::Number| v.as_f64().unwrap_or(0.0);
                float(b).total_cmp(&float(a))
            }
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => b.cmp(a),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        _ => Ordering::Equal,
    }
}

fn find_field(row: &Map<String, Value>, key: &str) -> Option<String> {
    let key = key.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let key = TORCH_KEYS.iter().find(|(torch, _)| *torch == key).map_or(key.as_str(), |(_, ours)| ours);
    let endings = ["", "_ns", "_bytes", "_percent"];
    let mut candidates = endings.iter().map(|ending| format!("{key}{ending}"));
    candidates.find(|name| row.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_be_ours_shortened_or_torchs() {
        let row = serde_json::json!({"name": "a", "calls": 3, "host_total_ns": 9, "device_self_ns": 2, "host_mean_ns": 3.0});
        let row = fields(&row);
        let found = |key| find_field(&row, key);
        assert_eq!(found("host_total").as_deref(), Some("host_total_ns"));
        assert_eq!(found("self_cuda_time_total").as_deref(), Some("device_self_ns"));
        assert_eq!(found("count").as_deref(), Some("calls"));
        assert_eq!(found("cpu_time").as_deref(), Some("host_mean_ns"));
        assert_eq!(found("nonsense"), None);
    }
}

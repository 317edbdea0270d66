//! Rows of any report: filter, sort, cut. Sort keys are the field names of the machine output.

use std::cmp::Ordering;

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::args::Common;
use crate::failure::Failure;
use crate::print::units;

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
pub(crate) struct Arranged<R> {
    /// What is shown.
    pub(crate) rows: Vec<R>,
    /// How many there were before the cut.
    pub(crate) matched: usize,
    /// How many there were before the filter.
    pub(crate) all: usize,
}

impl<R> Arranged<R> {
    /// What an empty table says: that nothing was recorded, or that nothing matches.
    pub(crate) fn when_empty<'a>(&self, nothing_recorded: &'a str) -> &'a str {
        if self.all > 0 { "no row matches --filter" } else { nothing_recorded }
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

/// Filters by name, sorts by `--sort` (or the given default) and keeps `--top` (or the given default).
pub(crate) fn arrange<R: Serialize>(
    rows: Vec<R>,
    common: &Common,
    default_sort: Option<&str>,
    default_top: usize,
    name: impl Fn(&R) -> &str,
) -> Result<Arranged<R>, Failure> {
    let all = rows.len();
    let mut rows = match &common.filter {
        Some(pattern) => {
            let regex = filter_regex(pattern)?;
            rows.into_iter().filter(|row| regex.is_match(name(row))).collect()
        }
        None => rows,
    };
    if let Some(key) = common.sort.as_deref().or(default_sort) {
        rows = sorted(rows, key, common.sort.is_some())?;
    }
    let matched = rows.len();
    match common.top.unwrap_or(default_top) {
        0 => {}
        top => rows.truncate(top),
    }
    Ok(Arranged { rows, matched, all })
}

fn filter_regex(pattern: &str) -> Result<Regex, Failure> {
    Regex::new(pattern).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default().trim().to_owned();
        Failure::wrong_use(
            format!("--filter is not a regular expression: {last}"),
            "quote special characters with a backslash, as in 'at::native::.*\\(anonymous'",
        )
    })
}

/// Sorts by a field: numbers fall, texts rise, rows without the field come last; ties keep their order.
fn sorted<R: Serialize>(rows: Vec<R>, key: &str, asked: bool) -> Result<Vec<R>, Failure> {
    let mut keyed = Vec::with_capacity(rows.len());
    let mut field = None;
    for row in rows {
        let value = serde_json::to_value(&row)?;
        let field = match &field {
            Some(field) => field,
            None => match find_field(&value, key) {
                Some(found) => field.insert(found),
                None if asked => return Err(unknown_key(key, &value)),
                None => return Ok(keyed.into_iter().map(|(_, row)| row).chain([row]).collect()),
            },
        };
        keyed.push((value.get(field).cloned().unwrap_or(Value::Null), row));
    }
    keyed.sort_by(|(a, _), (b, _)| compare(a, b));
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

fn find_field(row: &Value, key: &str) -> Option<String> {
    let key = key.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let key = TORCH_KEYS.iter().find(|(torch, _)| *torch == key).map_or(key.as_str(), |(_, ours)| ours);
    let endings = ["", "_ns", "_bytes", "_percent"];
    let mut candidates = endings.iter().map(|ending| format!("{key}{ending}"));
    candidates.find(|field| row.get(field).is_some())
}

fn unknown_key(key: &str, row: &Value) -> Failure {
    let fields: Vec<&str> = row.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default();
    Failure::wrong_use(format!("cannot sort by '{key}'"), format!("sort by one of: {}", fields.join(", ")))
}

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

/// `7`, `3,5`, `2-4` as numbers.
pub(crate) fn parse_steps(text: &str) -> Result<Vec<i64>, Failure> {
    let bad = || {
        Failure::wrong_use(
            format!("--step '{text}' is not a list of step numbers"),
            "write it as 7, 3,5 or 2-4",
        )
    };
    let mut steps = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('-').filter(|(first, _)| !first.is_empty()) {
            Some((first, last)) => {
                let (first, last): (i64, i64) =
                    (first.trim().parse().map_err(|_| bad())?, last.trim().parse().map_err(|_| bad())?);
                if last < first || last - first > 1_000_000 {
                    return Err(bad());
                }
                steps.extend(first..=last);
            }
            None => steps.push(part.parse().map_err(|_| bad())?),
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_lists_and_ranges() {
        assert_eq!(parse_steps("7").unwrap(), [7]);
        assert_eq!(parse_steps("3, 5").unwrap(), [3, 5]);
        assert_eq!(parse_steps("2-4,9").unwrap(), [2, 3, 4, 9]);
        assert!(parse_steps("a").is_err());
        assert!(parse_steps("4-2").is_err());
        assert!(parse_steps("").is_err());
    }

    #[test]
    fn keys_may_be_ours_shortened_or_torchs() {
        let row = serde_json::json!({"name": "a", "calls": 3, "host_total_ns": 9, "device_self_ns": 2, "host_mean_ns": 3.0});
        let found = |key| find_field(&row, key);
        assert_eq!(found("host_total").as_deref(), Some("host_total_ns"));
        assert_eq!(found("self_cuda_time_total").as_deref(), Some("device_self_ns"));
        assert_eq!(found("count").as_deref(), Some("calls"));
        assert_eq!(found("cpu_time").as_deref(), Some("host_mean_ns"));
        assert_eq!(found("nonsense"), None);
    }
}

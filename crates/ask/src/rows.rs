//! Rows of any report: filter, sort, cut. Sort keys are the field names of the machine output.

use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ground::Problem;
use stepscope_model::Order;

use crate::answer::Part;
use crate::options::RowsAsked;
use crate::print::{Table, units};
use crate::sort_key::{compare, field, names};

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

impl<R: Serialize + JsonSchema + Send + Sync + 'static> Arranged<R> {
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
    asked: &RowsAsked,
    default_sort: Option<&str>,
    default_top: usize,
    name: impl Fn(&R) -> &str,
) -> Result<Arranged<R>, Problem> {
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
    Ok(Arranged { rows, matched, all })
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
    let Some(first) = rows.first() else { return Ok(rows) };
    let Some(name) = find_field(first, key) else {
        return if asked { Err(unknown_key(key, first)) } else { Ok(rows) };
    };
    let mut keyed: Vec<_> = rows.into_iter().map(|row| (field(&row, &name).unwrap_or_default(), row)).collect();
    keyed.order_by(|(a, _), (b, _)| compare(a, b));
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

fn find_field<R: Serialize>(row: &R, key: &str) -> Option<String> {
    let key = key.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let key = TORCH_KEYS.iter().find(|(torch, _)| *torch == key).map_or(key.as_str(), |(_, ours)| ours);
    let endings = ["", "_ns", "_bytes", "_percent"];
    let mut candidates = endings.iter().map(|ending| format!("{key}{ending}"));
    candidates.find(|name| field(row, name).is_some())
}

fn unknown_key<R: Serialize>(key: &str, row: &R) -> Problem {
    Problem::new(format!("cannot sort by '{key}'"), format!("sort by one of: {}", names(row).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

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

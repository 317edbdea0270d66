//! `pytest --benchmark-json FILE`: each benchmark with its rounds, in seconds.

use serde_json::Value;

use crate::measurement::Repeat;

pub(super) fn is(value: &Value) -> bool {
    value.get("benchmarks").is_some_and(Value::is_array) && value.get("machine_info").is_some()
}

/// One repeat: the rounds of a benchmark follow each other in one process, so they are like the steps of a run.
pub(super) fn repeats(value: &Value) -> Vec<Repeat> {
    let mut repeat = Repeat::default();
    for benchmark in value["benchmarks"].as_array().into_iter().flatten() {
        let Some(name) = benchmark["fullname"].as_str().or(benchmark["name"].as_str()) else { continue };
        let stats = &benchmark["stats"];
        let rounds = stats["data"].as_array();
        // Without --benchmark-save-data only the summary is there: its mean is all that is known.
        let values: Vec<f64> = match rounds {
            Some(rounds) => rounds.iter().filter_map(Value::as_f64).map(|s| s * 1e9).collect(),
            None => stats["mean"].as_f64().map(|s| s * 1e9).into_iter().collect(),
        };
        repeat.put(&format!("bench:{name}"), values);
    }
    vec![repeat]
}

//! asv's `results/MACHINE/COMMIT-ENV.json`: each benchmark with a result per combination of its parameters, in seconds.

use serde_json::Value;

use crate::measurement::Repeat;

pub(super) fn is(value: &Value) -> bool {
    value.get("results").is_some_and(Value::is_object)
        && value.get("commit_hash").is_some()
        && value.get("result_columns").is_some_and(Value::is_array)
}

/// One repeat, with the samples of a benchmark where asv kept them.
pub(super) fn repeats(value: &Value) -> Vec<Repeat> {
    let columns: Vec<&str> =
        value["result_columns"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut repeat = Repeat::default();
    for (name, row) in value["results"].as_object().into_iter().flatten() {
        // Other prefixes count memory or something of the program's own.
        let last = name.rsplit('.').next().unwrap_or_default();
        if !(last.starts_with("time_") || last.starts_with("timeraw_")) {
            continue;
        }
        let column = |wanted: &str| row.get(columns.iter().position(|c| *c == wanted)?);
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let (results, samples) = (list(column("result")), list(column("samples")));
        for (at, (result, parameters)) in results.iter().zip(combinations(&list(column("params")))).enumerate()
        {
            let kept = samples.get(at).and_then(Value::as_array);
            let values: Vec<f64> = match kept {
                Some(kept) => kept.iter().filter_map(Value::as_f64).map(|s| s * 1e9).collect(),
                None => result.as_f64().map(|s| s * 1e9).into_iter().collect(),
            };
            repeat.put(&format!("bench:{name}{parameters}"), values);
        }
    }
    vec![repeat]
}

/// Every combination of the parameters' values, the last changing fastest, as asv counts them.
fn combinations(parameters: &[Value]) -> Vec<String> {
    const MAX_COMBINATIONS: usize = 100_000;
    let mut all = vec![Vec::<&str>::new()];
    for values in parameters {
        let values: Vec<&str> = values.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if all.len().saturating_mul(values.len()) > MAX_COMBINATIONS {
            break;
        }
        all = all
            .iter()
            .flat_map(|head| values.iter().map(|value| [head.as_slice(), &[*value]].concat()))
            .collect();
    }
    all.into_iter()
        .map(|each| if each.is_empty() { String::new() } else { format!("({})", each.join(", ")) })
        .collect()
}

use serde_json::json;
use stepscope_analyse::statistics::Statistic;

use super::*;

fn values(value: &serde_json::Value) -> Vec<(String, Vec<f64>)> {
    let found = read(value.to_string().as_bytes(), "x.json").unwrap().unwrap();
    assert_eq!((found.how, found.repeats.len()), (How::Imported, 1));
    found.repeats[0].values.clone().into_iter().collect()
}

#[test]
fn rounds_of_pytest_benchmark_are_steps() {
    let file = json!({"machine_info": {}, "benchmarks": [
        {"fullname": "test_a.py::test_x", "stats": {"mean": 0.5, "data": [0.4, 0.6]}},
        {"name": "test_y", "stats": {"mean": 0.25}},
        {"name": "broken", "stats": null},
    ]});
    assert_eq!(
        values(&file),
        [("bench:test_a.py::test_x".to_owned(), vec![0.4e9, 0.6e9]), ("bench:test_y".to_owned(), vec![0.25e9]),]
    );
}

#[test]
fn parameters_of_asv_are_part_of_the_name() {
    let file = json!({
        "commit_hash": "abc", "result_columns": ["result", "params", "version", "samples"],
        "results": {
            "suite.time_sort": [[1.0, null, 3.0, 4.0], [["10", "20"], ["'a'", "'b'"]], "v", [[1.0, 1.5], null, null, [4.0]]],
            "suite.track_size": [[7], [], "v"],
            "time_plain": [[0.5], [], "v"],
        },
    });
    assert_eq!(
        values(&file),
        [
            ("bench:suite.time_sort(10, 'a')".to_owned(), vec![1.0e9, 1.5e9]),
            ("bench:suite.time_sort(20, 'a')".to_owned(), vec![3.0e9]),
            ("bench:suite.time_sort(20, 'b')".to_owned(), vec![4.0e9]),
            ("bench:time_plain".to_owned(), vec![0.5e9]),
        ]
    );
}

/// Written by asv 0.6.6 with `--record-samples`; what it kept of each benchmark can be read off the file.
#[test]
fn a_file_of_asv_itself_is_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/benchmarks/asv-0.6.6.json");
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let found = values(&file);
    let kept = |name: &str, samples: usize| (format!("bench:bench.{name}"), samples);
    let counts: Vec<(String, usize)> =
        found.iter().map(|(name, values)| (name.clone(), values.len())).collect();
    // The combination that fails has no time, and what is not a time (a value, memory) is left out.
    assert_eq!(
        counts,
        [
            kept("Broken.time_div(1)", 4),
            kept("Params.time_method(1, 'a')", 6),
            kept("Params.time_method(1, 'b')", 6),
            kept("Params.time_method(2, 'a')", 6),
            kept("Params.time_method(2, 'b')", 6),
            kept("TimeThings.time_in", 6),
            kept("time_plain", 10),
            kept("timeraw_import", 4),
        ]
    );
    // asv's own median of the samples.
    for (name, values) in found {
        let median = Statistic::MEDIAN.compute(&mut values.clone()).unwrap() / 1e9;
        let told = match name.as_str() {
            "bench:bench.time_plain" => 0.0010741045043687336,
            "bench:bench.Params.time_method(2, 'a')" => 0.002947860491985921,
            "bench:bench.timeraw_import" => 0.140941263998684,
            _ => continue,
        };
        assert!((median - told).abs() < 1e-12, "{name}: {median}");
    }
}

#[test]
fn other_files_are_left_to_others() {
    assert_eq!(read(b"not json", "x").unwrap(), None);
    assert_eq!(read(b"{\"traceEvents\": []}", "x").unwrap(), None);
    assert!(
        read(b"{\"machine_info\": {}, \"benchmarks\": []}", "x.json").unwrap_err().what.ends_with("x.json")
    );
}

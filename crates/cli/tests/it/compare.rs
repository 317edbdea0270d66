//! Comparisons: as one file, of more than two runs, and as the cause of a failed check.

use std::path::Path;

use serde_json::Value;

use crate::{fixture, run, skip, stdout, stepscope, temp_folder};

fn slow() -> String {
    fixture("conv_slow_loader/conv_slow_loader.pt.trace.json.gz")
}

fn fast() -> String {
    fixture("conv_fast_loader/conv_fast_loader.pt.trace.json.gz")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(words: &[&str]) -> Value {
    let output = run(words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_comparison_is_one_file_within_its_size() {
    let folder = temp_folder("comparison");
    let name = folder.join("comparison.html").display().to_string();
    // Small ones: to find what fits, a page is made again and again.
    let side = |side: &str| fixture(&format!("../2.11-h200-twins/seen/slow_loader/{side}.shapes.json.zst"));
    let (slow, fast) = (side("fault"), side("fixed"));
    let made = run(&["diff", &slow, &fast, "--html", &name]);
    if !stepscope_serve::has_ui() {
        assert!(text(&made.stderr).contains("make ui"));
        skip("this build has no browser UI (make ui)");
        return;
    }
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("faster"), "the answer is printed too");
    assert!(text(&made.stderr).contains(&name), "{}", text(&made.stderr));
    let html = std::fs::read_to_string(&name).unwrap();
    for section in ["diff/0-1", "diff/1-0", "rows", "1/rows", "1/ask/ops", "meta"] {
        assert!(html.contains(&format!("id=\"pack:{section}\"")), "{section}");
    }
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!html.contains(outside), "the report wants {outside}");
    }
    let small = run(&["diff", &slow, &fast, "--html", &name, "--max-size", "1500k"]);
    assert!(small.status.success(), "{}", text(&small.stderr));
    assert!(std::fs::metadata(&name).unwrap().len() <= 1_500_000);
    assert!(text(&small.stderr).contains("left out of the report"), "{}", text(&small.stderr));
    // Several recordings per side are one comparison; the first of each is whole.
    let many = run(&["diff", &slow, &slow, "--after", &fast, &fast, "--html", &name]);
    assert!(text(&many.stderr).contains("all but the first recording of each side"), "{}", text(&many.stderr));
    let three = run(&["diff", &slow, &fast, &slow, "--html", &name]);
    assert_eq!(three.status.code(), Some(2));
    assert!(text(&three.stderr).contains("--html compares two sides"), "{}", text(&three.stderr));
    let without = run(&["diff", &slow, &fast, "--redact"]);
    assert_eq!(without.status.code(), Some(2), "--redact is about the page");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn several_runs_stand_side_by_side() {
    let (slow, fast) = (slow(), fast());
    let found = json(&["diff", &slow, &fast, &slow, "--format", "json"]);
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    let two = json(&["diff", &slow, &fast, "--format", "json"]);
    for (at, side) in [(0, "before"), (1, "after"), (2, "before")] {
        for field in ["mean_ns", "p50_ns", "p95_ns", "steps"] {
            assert_eq!(runs[at][field], two[side][field], "{field} of {at}");
        }
        assert_eq!(runs[at]["samples_per_s"], Value::Null, "nobody said how many samples there are");
    }
    assert_eq!(found["by"], "step");
    assert_eq!(runs[0]["verdict"], Value::Null, "the first is the base");
    for field in ["verdict", "ratio", "low", "high"] {
        assert_eq!(runs[1][field], two["judged"][field], "{field}");
    }
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3);
    assert_eq!(pairs[2]["verdict"], "slower", "the second against the third");
    let shown = text(&run(&["diff", &slow, &fast, &slow]).stdout);
    assert!(
        shown.contains("The fastest of 3: conv_fast_loader") && shown.contains("samples/s is unknown"),
        "{shown}"
    );
    assert!(shown.contains("conv_slow_loader (3)"), "one that is there twice has two names: {shown}");
    let refused = run(&["diff", &slow, &fast, &slow, "--filter", "gemm"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_failed_check_names_its_cause_by_traces() {
    let folder = temp_folder("explained");
    let (slow, fast) = (slow(), fast());
    let check = |words: &[&str]| {
        let mut command = stepscope(words);
        command.current_dir(&folder).env_remove("GITHUB_ACTIONS").env_remove("STEPSCOPE_BASELINES");
        command.output().unwrap()
    };
    let bare = |ms: &str| {
        format!("echo 'step {ms} ms'; echo 'step {ms} ms'; echo 'step {ms} ms'; echo 'step {ms} ms'")
    };
    let regex = r"step (?P<ms>[0-9.]+) ms";
    let timing = ["--repeats", "4", "--metric-regex", regex];
    let base = bare("10");
    let save =
        [&["baseline", "save", "main", "--trace", &fast][..], &timing, &["--", "sh", "-c", &base]].concat();
    let saved = check(&save);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stderr));
    let with = |more: &[&str], ms: &str| {
        let line = bare(ms);
        // The steps are printed, not timed: how busy this machine is must not count.
        let fixed = ["check", "--baseline", "main", "--no-fixed-task"];
        check(&[&fixed[..], &timing, more, &["--", "sh", "-c", &line]].concat())
    };
    let named = with(&["--trace", &slow, "--markdown", "m.md"], "12");
    let shown = text(&named.stdout);
    assert_eq!(named.status.code(), Some(1), "{shown}{}", text(&named.stderr));
    assert!(shown.contains("from traces, which did not decide") && shown.contains("data loading"), "{shown}");
    let markdown = std::fs::read_to_string(folder.join("m.md")).unwrap();
    assert!(markdown.contains("Cause, from traces") && markdown.contains("idle: data loading"), "{markdown}");
    // The same traces by name, and as JSON: the numbers are those of the comparison.
    let output = with(&["--explain-with", &fast, &slow, "--format", "json"], "12");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let two = json(&["diff", &fast, &slow, "--format", "json", "--top", "0"]);
    assert_eq!(found["outcome"], "fail");
    assert_eq!(found["explanation"]["from"], "traces");
    assert_eq!(found["explanation"]["because"], two["judged"]["because"]);
    let grown = two["rows"].as_array().unwrap().iter().find(|row| row["delta_ns"].as_i64() > Some(0)).unwrap();
    assert_eq!(found["explanation"]["rows"][0]["delta_ns"], grown["delta_ns"]);
    // Traces that show the opposite do not change the verdict, and are not taken for the cause.
    let opposite = with(&["--explain-with", &slow, &fast], "12");
    assert_eq!(opposite.status.code(), Some(1));
    assert!(
        text(&opposite.stdout).contains("the traces do not show a slower step"),
        "{}",
        text(&opposite.stdout)
    );
    // A pass needs no cause; a trace that is not there is found before anything runs.
    let passed = with(&["--trace", &slow], "10");
    assert_eq!(passed.status.code(), Some(0));
    assert!(!text(&passed.stdout).contains("from traces"), "{}", text(&passed.stdout));
    let missing = with(&["--explain-with", &fast, "nowhere.json"], "12");
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("nowhere.json"), "{}", text(&missing.stderr));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_check_of_traces_alone_says_so_and_names_the_cause() {
    let folder = temp_folder("explained-traces");
    let (slow, fast) = (slow(), fast());
    let gate = |words: &[&str]| {
        let mut command = stepscope(words);
        command.current_dir(&folder).env_remove("GITHUB_ACTIONS").env_remove("STEPSCOPE_BASELINES");
        command.output().unwrap()
    };
    assert_eq!(gate(&["baseline", "save", "main", &fast]).status.code(), Some(0));
    let found = gate(&["check", "--baseline", "main", "--fail-on", "step_time>+5%", &slow]);
    let shown = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{shown}");
    assert!(shown.contains("judged from traces alone") && shown.contains("data loading"), "{shown}");
    assert!(!shown.contains("did not decide") && !shown.contains("does not rest on them"), "{shown}");
    assert!(!shown.contains("--repeats"), "{shown}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// A trace of steps that take so many milliseconds each.
fn steps(path: &Path, each_ms: f64) {
    let mut events = Vec::new();
    for step in 0..5u32 {
        let at = 1e6 + f64::from(step) * each_ms * 1e3;
        // No two steps are quite the same.
        let length = each_ms * 1e3 * (1.0 - 0.001 * f64::from(step));
        let annotation = format!("ProfilerStep#{step}");
        events.push(serde_json::json!({"ph": "X", "cat": "user_annotation", "name": annotation, "pid": 1, "tid": 1, "ts": at, "dur": length}));
        events.push(serde_json::json!({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 10.0, "dur": length - 20.0}));
    }
    std::fs::write(path, serde_json::json!({"schemaVersion": 1, "traceEvents": events}).to_string()).unwrap();
}

#[test]
fn the_headline_follows_from_its_times() {
    let folder = temp_folder("headline");
    let [before, after] = ["before", "after"].map(|side| folder.join(side));
    for side in [&before, &after] {
        std::fs::create_dir(side).unwrap();
    }
    for run in 0..10 {
        let noise = 1.0 + 0.002 * f64::from(run);
        steps(&before.join(format!("{run}.json")), 10.0 * noise);
        // One run of ten is far slower than the others.
        steps(&after.join(format!("{run}.json")), if run == 4 { 30.0 } else { 9.0 * noise });
    }
    let [before, after] = [before, after].map(|side| side.display().to_string());
    let shown = stdout(&["diff", &before, &after]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("faster: a typical step took 10"), "{shown}");
    assert!(
        shown.contains("The mean went from 10") && shown.contains("take far longer than the rest"),
        "{shown}"
    );
    assert!(shown.contains("On average: "), "{shown}");
    std::fs::remove_dir_all(folder).unwrap();
}

//! Findings: the gate, the settings, SARIF, and how the summary ends.

use std::path::Path;

use serde_json::Value;

use crate::errors::refused;
use crate::{fixture, gpt, is_typed, json, root, run, stdout, stepscope, temp_folder};

fn slow_loader() -> String {
    fixture("conv_slow_loader/conv_slow_loader.pt.trace.json.gz")
}

fn host_only() -> String {
    let path = "fixtures/pytorch/2.11-h200-features/flops_cpu/flops_cpu.pt.trace.json.gz";
    root().join(path).display().to_string()
}

#[test]
fn the_gate_answers_with_its_exit_code() {
    let gate = |trace: &str, more: &[&str]| {
        let output = run(&[&["findings", trace, "--fail-on"], more].concat());
        assert!(!output.stdout.is_empty(), "the findings are printed all the same");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!err.contains("error"), "no is an answer, not an error: {err}");
        output.status.code()
    };
    assert_eq!(gate(&slow_loader(), &["high"]), Some(1));
    assert_eq!(gate(&slow_loader(), &["low", "--format", "json"]), Some(1));
    assert_eq!(gate(&host_only(), &["high"]), Some(0));
    // Only what matches the filter counts, shown or not.
    assert_eq!(gate(&slow_loader(), &["high", "--filter", "^no_such_rule"]), Some(0));
    assert_eq!(gate(&slow_loader(), &["high", "--filter", "^data_loading", "--top", "1"]), Some(1));
    assert!(
        String::from_utf8(run(&["findings", &gpt(), "--fail-on", "huge"]).stderr)
            .unwrap()
            .contains("possible values")
    );
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_does_not_change_the_answer() {
    let mut child = stepscope(&["findings", &slow_loader(), "--fail-on", "high"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_finding_can_be_read() {
    let shown = stdout(&["findings", &slow_loader()]);
    for word in ["1 high", "saves", "from replay", "Why", "Change", "num_workers", "Evidence", "Check"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let md = stdout(&["findings", &slow_loader(), "--format", "md"]);
    assert!(md.contains("### high: ") && md.contains("```python\n") && md.contains("| Evidence |"), "{md}");
    let found = json(&["findings", &slow_loader()]);
    let first = &found["findings"][0];
    assert_eq!((&first["rule"], &first["severity"]), (&Value::from("data_loading"), &Value::from("high")));
    assert!(first["saves_ns"].as_i64().unwrap() < found["step_ns"].as_i64().unwrap());
    assert!(stdout(&["findings", &slow_loader(), "--format", "csv"]).starts_with("rule,title,severity,"));
    assert_eq!(json(&["findings", &slow_loader(), "--top", "1"])["findings"].as_array().unwrap().len(), 1);
    assert!(stdout(&["findings", &slow_loader(), "--filter", "no such"]).contains("none matches --filter"));
    // With definitions the evidence is explained beside its numbers.
    assert!(stdout(&["findings", &slow_loader(), "--explain"]).contains("fetching the next batch"));
}

#[test]
fn sarif_has_what_code_scanning_needs() {
    for trace in [slow_loader(), gpt(), host_only()] {
        let text = stdout(&["findings", &trace, "--format", "sarif"]);
        let sarif: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(sarif["version"], "2.1.0");
        assert!(sarif["$schema"].as_str().unwrap().contains("sarif-2.1.0"));
        let run = &sarif["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "stepscope");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(!rules.is_empty() && rules.iter().all(|r| r["shortDescription"]["text"].is_string()));
        let results = run["results"].as_array().unwrap();
        let found = json(&["findings", &trace]);
        assert_eq!(results.len(), found["findings"].as_array().unwrap().len());
        for (result, finding) in results.iter().zip(found["findings"].as_array().unwrap()) {
            let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            let level = match finding["severity"].as_str().unwrap() {
                "high" => "error",
                "medium" => "warning",
                _ => "note",
            };
            assert_eq!(result["level"], level);
            assert!(result["message"]["text"].as_str().unwrap().len() > 20);
            let place = &result["locations"][0]["physicalLocation"];
            assert!(!place["artifactLocation"]["uri"].as_str().unwrap().contains(' '), "{place}");
        }
    }
}

#[test]
fn rules_and_limits_are_listed() {
    let list = json(&["findings", "--list"]);
    let rules = list["rules"].as_array().unwrap();
    let loading = rules.iter().find(|r| r["name"] == "data_loading").unwrap();
    assert_eq!(
        (&loading["on"], &loading["thresholds"][0]["name"]),
        (&Value::from(true), &"data_loading.min_share".into())
    );
    assert!(list["thresholds"].as_array().unwrap().iter().any(|t| t["name"] == "severity.high"));
    let shown = stdout(&["findings", "--rules"]);
    assert!(shown.contains("data_loading.min_share") && shown.contains("severity.low"), "{shown}");
    assert!(stdout(&["findings", "--list", "--format", "md"]).contains("| Rule |"));
    assert!(refused(&["findings", "--list", "--top", "3"]).contains("list of rules"));
    assert!(refused(&["findings", "--list", "--fail-on", "high"]).contains("list of rules"));
}

#[test]
fn the_settings_in_the_help_work() {
    let folder = temp_folder("example");
    let help = stdout(&["findings", "--help"]);
    let (_, example) = help.split_once("stepscope.toml:\n").unwrap();
    let path = settings(&folder, example);
    let list = json(&["findings", "--list", "--config", &path]);
    assert!(list["rules"].as_array().unwrap().iter().any(|r| r["on"] == false), "{example}");
    std::fs::remove_dir_all(folder).unwrap();
}

fn settings(folder: &Path, text: &str) -> String {
    let path = folder.join("settings.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn settings_are_honoured() {
    let folder = temp_folder("settings");
    let off = settings(&folder, "[findings]\noff = ['data_loading']\n");
    for command in ["findings", "summary"] {
        let found = json(&[command, &slow_loader(), "--config", &off]);
        let rules: Vec<&str> =
            found["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
        assert!(!rules.contains(&"data_loading"), "{command}: {rules:?}");
    }
    let list = json(&["findings", "--list", "--config", &off]);
    let listed = list["rules"].as_array().unwrap().iter().find(|r| r["name"] == "data_loading").unwrap();
    assert_eq!(listed["on"], false);
    let strict =
        settings(&folder, "[findings.thresholds]\nseverity.high = 0.99\n'data_loading.min_share' = 0\n");
    let found = json(&["findings", &slow_loader(), "--config", &strict]);
    assert!(found["findings"].as_array().unwrap().iter().all(|f| f["severity"] != "high"), "{found}");

    // The file of the current folder is read without being asked for, and said.
    std::fs::write(folder.join("stepscope.toml"), "[findings]\noff = ['data_loading']\n").unwrap();
    let here = |args: &[&str]| stepscope(args).current_dir(&folder).output().unwrap();
    let trace = std::fs::canonicalize(slow_loader()).unwrap().display().to_string();
    let output = here(&["findings", &trace, "--format", "json"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("stepscope.toml"));
    assert!(!String::from_utf8(output.stdout).unwrap().contains("\"rule\": \"data_loading\""));
    std::fs::write(folder.join("stepscope.toml"), "[finding]\n").unwrap();
    let output = here(&["summary", &trace]);
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("stepscope.toml") && err.contains("did you mean 'findings'"), "{err}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn mistakes_in_settings_are_explained() {
    let folder = temp_folder("mistakes");
    for (text, says) in [
        ("[findings", "not TOML"),
        ("[findings]\noff = ['data_laoding']", "did you mean 'data_loading'"),
        ("[findings.thresholds]\n'data_loading.min_shar' = 1", "did you mean 'data_loading.min_share'"),
        ("[findings.thresholds]\n'data_loading.min_share' = true", "must be a number, not true or false"),
        ("[findings]\nthreshold = 1", "did you mean 'findings.thresholds'"),
    ] {
        let path = settings(&folder, text);
        for args in [["findings", "--config", &path, &gpt()], ["summary", "--config", &path, &gpt()]] {
            let err = refused(&args);
            assert!(
                err.contains(says) && err.contains("hint:") && err.contains("settings.toml"),
                "{text}: {err}"
            );
        }
    }
    let missing = folder.join("none.toml").display().to_string();
    assert!(refused(&["findings", &gpt(), "--config", &missing]).contains("no such file"));
    let folder_itself = folder.display().to_string();
    assert!(refused(&["findings", &gpt(), "--config", &folder_itself]).contains("hint:"));
    std::fs::write(folder.join("bytes.toml"), [0xff, 0xfe, 0x00]).unwrap();
    let bytes = folder.join("bytes.toml").display().to_string();
    assert!(refused(&["findings", &gpt(), "--config", &bytes]).contains("UTF-8"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn what_to_type_next_works_as_it_is_printed() {
    let folder = temp_folder("typed");
    let trace = folder.join("Ann's run 1 (slow).json.gz");
    std::fs::copy(slow_loader(), &trace).unwrap();
    let shown = stdout(&["summary", &trace.display().to_string()]);
    let typed: Vec<&str> = shown.lines().filter(|line| is_typed(line)).collect();
    // A long path comes first and once.
    let path = typed[0].strip_prefix("MORE").unwrap().trim_start();
    assert!(path.starts_with("TRACE='") && typed.len() == 5, "{shown}");
    assert_eq!(shown.matches("Ann").count(), 2, "once on top: {shown}");
    // The browser's page does not end by itself.
    for line in typed[1..].iter().filter(|line| !line.contains("stepscope view ")) {
        let line = format!("{path}\n{line}");
        let output = std::process::Command::new("sh").arg("-c").arg(&line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{line}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_summary_says_what_to_do() {
    let shown = stdout(&["summary", &slow_loader()]);
    assert!(shown.contains("\nWHY   Bound by data loading: the GPU is idle"), "{shown}");
    let (_, end) = shown.split_once("\nFIX").unwrap();
    for word in ["high", "saves", "loader = DataLoader(", "stepscope findings ", "stepscope account "] {
        assert!(end.contains(word), "{word}: {end}");
    }
    let nothing = stdout(&["summary", &host_only()]);
    assert!(nothing.contains("stepscope account "), "{nothing}");
    let summary = json(&["summary", &slow_loader()]);
    assert_eq!(summary["findings"][0]["rule"], "data_loading");
    assert!(summary["verdict"]["text"].as_str().unwrap().starts_with("Bound by data loading"));
    assert!(json(&["summary", &host_only()])["findings"].is_array());
    assert!(stdout(&["summary", &slow_loader(), "--format", "md"]).contains("### Findings"));
    let all: Value = serde_json::from_str(&stdout(&["export", "--to", "json", &slow_loader()])).unwrap();
    assert!(all["findings"].is_array());
}

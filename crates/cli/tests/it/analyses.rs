//! The commands that say why time was lost: every format on every kind of trace, and sums that close.

use std::path::Path;
use std::slice;
use std::sync::Arc;

use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_ask::print::{self, Screen};
use stepscope_ask::{Answer, Ask, answer, write};
use stepscope_formats::{Look, OpenOptions, TraceFile, choose, open};
use stepscope_testkit::hostile::SHAPES;

use crate::errors::{refused, temp};
use crate::{fixture, gpt, is_typed, json, questions, root, run, stdout};

fn host_only() -> String {
    let path = "fixtures/pytorch/2.11-h200-features/flops_cpu/flops_cpu.pt.trace.json.gz";
    root().join(path).display().to_string()
}

fn traces() -> Vec<String> {
    vec![
        fixture("conv_slow_loader/conv_slow_loader.pt.trace.json.gz"),
        fixture("multi_stream/multi_stream.pt.trace.json.gz"),
        fixture("gloo_ddp"),
        gpt(),
        host_only(),
    ]
}

fn rows<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no rows under {key}"))
}

fn opened(path: &str) -> Arc<Run> {
    let look = Look::UntilClear;
    let mut read = |file: &TraceFile| open(&file.path, &OpenOptions::default());
    Arc::new(Run::from_document(choose(Path::new(path), None, look, &mut read).unwrap().document))
}

/// The answer to a question, as the program has it before it prints it; hundreds of starts would take minutes.
fn answered(command: &str, run: &Arc<Run>) -> Answer {
    answer(&Ask::new(command).unwrap(), slice::from_ref(run))
        .unwrap_or_else(|error| panic!("{command}: {error}"))
}

fn shown(answer: &Answer, columns: usize) -> String {
    let mut out = Vec::new();
    let screen = Screen::plain(columns).with_wide(answer.whole_names);
    write::screen(&mut out, answer, &screen, false).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_command_in_every_format_on_every_kind_of_trace() {
    let empty = temp("no-events.json", b"{\"traceEvents\": []}");
    for trace in traces().iter().chain([&empty]) {
        let run = opened(trace);
        for command in questions().iter().map(String::as_str).chain(["sync"]) {
            let answer = answered(command, &run);
            let found = write::object(&answer, false);
            let csv = write::csv(&answer);
            // Most commands call their main rows by their own name.
            let main = found.get(&command.replace('-', "_")).and_then(Value::as_array);
            // A header and a line a row at least; nothing for nothing.
            assert!(!csv.is_empty() || main.is_none_or(Vec::is_empty), "{command} {trace}");
            assert!(csv.is_empty() || csv.lines().count() > 1, "{command} {trace}: {csv}");
            let md = write::markdown(&answer, false);
            assert!(md.starts_with("##"), "{command} {trace}: {md}");
            let shown = shown(&answer, 100);
            assert!(shown.lines().count() > 1, "{command} {trace}: {shown}");
            assert!(!shown.contains("NaN") && !shown.contains("inf "), "{command} {trace}: {shown}");
        }
    }
    std::fs::remove_file(empty).unwrap();
}

/// What the tests above and below look at inside this process is what the program prints.
#[test]
fn the_program_prints_its_answers() {
    let run = opened(&gpt());
    for command in ["summary", "account", "findings", "kernels"] {
        let answer = answered(command, &run);
        let printed = stdout(&[command, &gpt()]);
        assert!(printed.starts_with(&shown(&answer, 100)), "{command}: {printed}");
        let json = print::json(&write::object(&answer, false)).unwrap();
        for (format, text) in
            [("json", json), ("csv", write::csv(&answer)), ("md", write::markdown(&answer, false))]
        {
            assert!(stdout(&[command, &gpt(), "--format", format]) == text, "{command} as {format}");
        }
    }
}

#[test]
fn the_keys_do_not_depend_on_the_data() {
    let keys = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    for command in questions().iter().map(String::as_str) {
        let full = keys(&json(&[command, &gpt()]));
        assert_eq!(full, keys(&json(&[command, &host_only()])), "{command}");
    }
}

#[test]
fn definitions_and_examples() {
    for command in questions().iter().map(String::as_str).chain(["sync"]) {
        assert!(stdout(&[command, "--explain"]).contains("What the numbers mean"), "{command}");
        let help = stdout(&[command, "--help"]);
        assert!(help.contains("Example") && help.contains("stepscope "), "{command}: {help}");
        let about = stepscope_ask::find(command).unwrap().about;
        assert!(help.replace('\n', " ").starts_with(about.trim_end_matches('.')), "{command}: {help}");
        assert!(stdout(&[command, &gpt(), "--explain"]).contains("What the numbers mean"), "{command}");
    }
}

#[test]
fn screens_fit_and_are_the_same_on_every_run() {
    for trace in [&traces()[0], &traces()[1], &gpt(), &host_only()] {
        let (run, again) = (opened(trace), opened(trace));
        // Code and commands are there to be copied: they are never cut.
        let found = write::object(&answered("findings", &run), false);
        let found = found["findings"].as_array().unwrap().iter();
        let code = found.filter_map(|finding| finding["code"].as_str()).collect::<Vec<_>>().join("\n");
        for command in questions().iter().map(String::as_str) {
            let answer = answered(command, &run);
            for columns in [80, 100, 200] {
                for line in shown(&answer, columns).lines() {
                    let wide = stepscope_ask::print::width(line);
                    let copied = is_typed(line) || (command == "findings" && code.contains(line.trim()));
                    assert!(wide <= columns || copied, "{command} at {columns}: {wide} columns: {line}");
                    assert_eq!(line, line.trim_end(), "{command}");
                }
            }
            assert_eq!(shown(&answer, 100), shown(&answered(command, &again), 100), "{command}");
        }
    }
}

#[test]
fn the_causes_add_up_to_the_wall_time() {
    for trace in traces() {
        let account = json(&["account", &trace]);
        for row in rows(&account, "steps").iter().chain(rows(&account, "devices")) {
            let causes = row.as_object().unwrap().iter();
            let causes = causes.filter(|(key, _)| key.ends_with("_ns") && *key != "wall_ns");
            let sum: i64 = causes.map(|(_, ns)| ns.as_i64().unwrap()).sum();
            assert_eq!(sum, row["wall_ns"].as_i64().unwrap(), "{trace}");
        }
        for device in rows(&account, "devices") {
            let of = rows(&account, "causes").iter().filter(|c| c["device"] == device["device"]);
            let sum: i64 = of.map(|c| c["total_ns"].as_i64().unwrap()).sum();
            assert_eq!(sum, device["wall_ns"].as_i64().unwrap(), "{trace}");
        }
        let path = json(&["critical-path", &trace]);
        let sum = |key: &str| rows(&path, key).iter().map(|r| r["on_path_ns"].as_i64().unwrap()).sum::<i64>();
        let classes = sum("classes");
        assert_eq!(classes, path["wall_ns"].as_i64().unwrap(), "{trace}");
    }
}

#[test]
fn the_account_speaks_of_steps_and_devices() {
    let steps = json(&["account", &gpt(), "--step", "3"]);
    assert_eq!(rows(&steps, "steps").len(), 1);
    assert_eq!(rows(&json(&["account", &gpt(), "--device", "0"]), "devices").len(), 1);
    let idle = json(&["account", &gpt(), "--filter", "^idle", "--top", "2"]);
    assert_eq!(rows(&idle, "causes").len(), 2);
    assert!(rows(&idle, "causes").iter().all(|c| c["busy"] == false));
    let longest = json(&["account", &gpt(), "--by", "step", "--sort", "wall", "--top", "1"]);
    assert_eq!(rows(&longest, "steps")[0]["step"], 2);
    assert!(stdout(&["account", &gpt(), "--by", "step", "--format", "csv"]).starts_with("step,device,wall_ns"));
    assert!(stdout(&["account", &host_only()]).contains("the main thread"));
    assert_eq!(json(&["account", &gpt()])["verdict"], json(&["summary", &gpt()])["verdict"]);
}

#[test]
fn an_account_says_what_it_leaves_out() {
    let shape = SHAPES.iter().find(|shape| shape.name == "a device for each step").unwrap();
    let few = temp("few-devices.json", shape.text(20).as_bytes());
    assert_eq!(json(&["account", &few, "--by", "step"])["remarks"], serde_json::json!([]));
    let many = temp("many-devices.json", shape.text(2_000).as_bytes());
    let found = json(&["account", &many, "--by", "step", "--top", "0"]);
    let remark = found["remarks"][0].as_str().unwrap();
    let listed = rows(&found, "steps").len();
    assert!(remark.starts_with(&format!("{listed} of 250,000 rows")), "{listed}: {remark}");
    let csv = run(&["account", &many, "--by", "step", "--format", "csv"]);
    assert!(String::from_utf8_lossy(&csv.stderr).contains(remark.split_once(" of ").unwrap().1));
}

#[test]
fn gaps_by_each_table() {
    let trace = gpt();
    let all = json(&["gaps", &trace, "--top", "0"]);
    let total = all["totals"]["idle_ns"].as_i64().unwrap();
    for (key, what) in [("kinds", "kind"), ("culprits", "culprit"), ("gaps", "gap")] {
        let sum: i64 = rows(&all, key).iter().map(|r| r["idle_ns"].as_i64().unwrap()).sum();
        assert_eq!(sum, total, "{key}");
        let csv = stdout(&["gaps", &trace, "--by", what, "--top", "0", "--format", "csv"]);
        assert_eq!(csv.lines().count(), rows(&all, key).len() + 1, "{what}");
    }
    assert!(stdout(&["gaps", &trace, "--by", "stream"]).contains("Host wait"));
    let shortest = json(&["gaps", &trace, "--by", "gap", "--sort", "step", "--top", "1"]);
    assert_eq!(rows(&shortest, "gaps")[0]["step"], 4);
    let loading = json(&["gaps", &traces()[0], "--filter", "DataLoader", "--top", "0"]);
    assert!(rows(&loading, "gaps").iter().all(|g| g["culprit"].as_str().unwrap().contains("DataLoader")));
    assert!(refused(&["gaps", &trace, "--sort", "idle"]).contains("--by"));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let gpt = gpt();
    for args in [
        ["waits", "--by=kind"].as_slice(),
        &["waits", "--device=0"],
        &["transfers", "--by=direction"],
        &["loading", "--device=0"],
        &["loading", "--filter=x"],
        &["critical-path", "--device=0"],
        &["what-if", "--device=0"],
        &["what-if", "--no-sync", "--top=3"],
        &["launches", "--sort=kernels"],
        &["launches", "--by=queue", "--filter=x"],
        &["account", "--by=step", "--filter=x"],
        &["account", "--by=nonsense"],
        &["findings", "--sort=severity"],
        &["findings", "--by=rule"],
        &["findings", "--device=0"],
        &["roofline", "--by=stack"],
    ] {
        let err = refused(&[args, &[gpt.as_str()]].concat());
        assert!(err.contains("hint:") || err.contains("--help"), "{args:?}: {err}");
    }
    for command in ["summary", "ops", "account", "gaps", "info", "roofline", "what-if"] {
        let err = refused(&[command, &gpt, "--format", "sarif"]);
        assert!(err.contains("stepscope findings --format sarif"), "{command}: {err}");
    }
}

#[test]
fn the_queue_is_drawn_and_written() {
    let shown = stdout(&["launches", &gpt()]);
    assert!(shown.contains("Queue of GPU 0") && shown.contains("Launch-bound"), "{shown}");
    let queue = json(&["launches", &gpt(), "--by", "queue"]);
    let points = rows(&queue, "queue");
    assert!(points.len() > 100 && points.iter().all(|p| p["queued"].as_i64().unwrap() >= 0));
    let most = json(&["launches", &gpt(), "--by", "queue", "--sort", "queued", "--top", "1"]);
    let launches = json(&["launches", &gpt()]);
    assert_eq!(rows(&most, "queue")[0]["queued"], rows(&launches, "launches")[0]["queue_max"]);
}

#[test]
fn the_loader_is_named() {
    let loading = json(&["loading", &traces()[0]]);
    assert_eq!(loading["workers"], false);
    assert!(loading["range"].as_str().unwrap().contains("DataLoader"));
    assert!(stdout(&["loading", &traces()[0]]).contains("num_workers=0"));
    assert!(stdout(&["loading", &host_only()]).contains("no data loader found"));
}

#[test]
fn the_help_groups_every_command() {
    let help = stdout(&["--help"]);
    for word in
        ["What to change:", "Why the device waits:", "findings", "critical-path", "roofline", "Examples:"]
    {
        assert!(help.contains(word), "{word}: {help}");
    }
    let bash = stdout(&["completions", "bash"]);
    let man = stdout(&["man"]);
    for command in ["what-if", "findings", "critical-path", "roofline"] {
        assert!(bash.contains(command), "{command}");
        assert!(man.replace("\\-", "-").contains(command), "{command}");
    }
}

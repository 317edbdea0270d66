//! `stepscope repro` writes a script, or says why it cannot.

use crate::{fixture, gpt, run, stdout, temp_folder};

#[test]
fn a_script_has_the_most_expensive_inputs_first() {
    let script = stdout(&["repro", &gpt(), "--op", "aten::addmm", "--top", "2"]);
    assert!(script.starts_with("#!/usr/bin/env python3\n"), "{script}");
    assert!(script.contains("OP = \"aten::addmm\"\n"));
    assert!(script.contains("\"shapes\": [[3072], [4096, 768], [768, 3072], [], []],\n"), "{script}");
    assert!(script.contains("\"values\": [\"\", \"\", \"\", \"1\", \"1\"],\n"), "{script}");
    let times: Vec<i64> = numbers(&script, "\"device_ns\": ");
    let calls: Vec<i64> = numbers(&script, "\"calls\": ");
    assert_eq!(times.len(), 2);
    assert!(times[0] * calls[0] >= times[1] * calls[1] && times[1] > 0, "{times:?} {calls:?}");
    let all = stdout(&["repro", &gpt(), "--op", "aten::addmm", "--top", "0"]);
    // Of one operator the table has all calls and all of their device time.
    let ops = crate::json(&["ops", &gpt(), "--filter", "^aten::addmm$"]);
    let row = &ops["ops"][0];
    assert_eq!(numbers(&all, "\"calls\": ").iter().sum::<i64>(), row["calls"].as_i64().unwrap());
    let (times, calls) = (numbers(&all, "\"device_ns\": "), numbers(&all, "\"calls\": "));
    let sum: i64 = times.iter().zip(&calls).map(|(time, calls)| time * calls).sum();
    let lost = row["device_total_ns"].as_i64().unwrap() - sum;
    assert!((0..=calls.iter().sum()).contains(&lost), "less than a nanosecond of each call is lost: {lost}");
}

fn numbers(script: &str, key: &str) -> Vec<i64> {
    let lines = script.lines().filter_map(|line| line.trim().strip_prefix(key));
    lines.map(|rest| rest.trim_end_matches(',').parse().unwrap()).collect()
}

#[test]
fn a_file_can_be_named() {
    let folder = temp_folder("repro");
    let path = folder.join("gelu.py").to_string_lossy().into_owned();
    assert!(run(&["repro", &gpt(), "--op", "aten::gelu", "-o", &path]).status.success());
    assert!(std::fs::read_to_string(&path).unwrap().contains("OP = \"aten::gelu\"\n"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn refusals_say_what_to_do() {
    let refused = |words: &[&str]| {
        let done = run(&[&["repro"], words].concat());
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    let gpt = gpt();
    assert!(refused(&[&gpt, "--op", "aten::admm"]).contains("did you mean aten::addmm"));
    assert!(refused(&[&gpt, "--op", "AddmmBackward0"]).contains("aten::addmm"));
    let plain = fixture("../2.11-h200-twins/seen/checkpointing/fault.plain.json.zst");
    assert!(refused(&[&plain, "--op", "aten::addmm"]).contains("record_shapes=True"));
}

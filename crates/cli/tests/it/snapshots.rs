//! Memory snapshots on the command line: every command of docs/gpu-memory-leak.md, and what is refused.

use crate::errors::refused;
use crate::{gpt, json, root, run, stdout};

fn snapshot(name: &str) -> String {
    root().join("fixtures/memory").join(name).display().to_string()
}

#[test]
fn a_leak_is_named_with_its_line_and_rate() {
    let path = snapshot("kept_outputs.pickle.zst");
    let said = json(&["memory", &path, "--leaks"]);
    let rows = said["leaks"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["line"], &rows[0]["per"]), (1, &170.into(), &"iteration".into()));
    assert_eq!(rows[0]["growth_bytes_each"], 65_536_000);
    assert_eq!(said["total_growth_bytes_each"], 65_536_000);
    assert!(!said["full"].as_array().unwrap().is_empty());
    let screen = stdout(&["memory", &path, "--leaks"]);
    assert!(screen.contains("+62.5 MiB") && screen.contains("Optimizer.step#AdamW.step"), "{screen}");
    let healthy = stdout(&["memory", &snapshot("activations_recomputed.pickle.gz"), "--leaks"]);
    assert!(healthy.contains("too few to tell"), "{healthy}");
    assert_eq!(run(&["findings", &path, "--fail-on", "medium"]).status.code(), Some(1));
    let recomputed = snapshot("activations_recomputed.pickle.gz");
    assert_eq!(run(&["findings", &recomputed, "--fail-on", "medium"]).status.code(), Some(0));
}

#[test]
fn findings_leaks_and_the_first_screen_judge_by_the_same_limits() {
    let path = snapshot("kept_outputs.pickle.zst");
    let says = |limits: &str| {
        let config = crate::temp_folder("limits").join("limits.toml");
        std::fs::write(&config, limits).unwrap();
        let config = config.display().to_string();
        let asked = |args: &[&str]| json(&[args, &[&path, "--config", &config]].concat());
        let holds = |answer: &serde_json::Value, key: &str, value: &str| {
            let rows = answer[key].as_array().unwrap();
            rows.iter().any(|row| value.is_empty() || row.as_object().unwrap().values().any(|it| it == value))
        };
        [
            holds(&asked(&["findings"]), "findings", "snapshot_leak"),
            holds(&asked(&["memory", "--leaks"]), "leaks", ""),
            holds(&asked(&["summary"]), "advice", "grows"),
        ]
    };
    assert_eq!(says(""), [true; 3]);
    assert_eq!(says("[findings.thresholds]\n'leak.min_levels' = 1000\n"), [false; 3]);
}

#[test]
fn a_leak_on_a_small_device_is_not_hidden_by_a_large_one() {
    let path = snapshot("made/two_devices.pickle.gz");
    let words = |screen: String| screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let screen = words(stdout(&[&path]));
    assert!(screen.contains("GPU 1: peak 500 MiB") && screen.contains("GPU 0 (peak 110 MiB)"), "{screen}");
    assert!(screen.contains("train.py:101 on GPU 0 (train) grew by"), "{screen}");
    // Either device can be asked about, and no other.
    let lines = json(&["memory", &path, "--device", "0"]);
    assert_eq!((&lines["peak_bytes"], &lines["heap_lines"][0]["line"]), (&(110 << 20).into(), &101.into()));
    let lines = json(&["memory", &path]);
    assert_eq!((&lines["peak_bytes"], &lines["heap_lines"][0]["line"]), (&(500 << 20).into(), &200.into()));
    let left = json(&["memory", &path, "--device", "0", "--leaks"]);
    assert_eq!(left["left_lines"][0]["live_bytes"], 100 << 20);
    let output = run(&["memory", &path, "--device", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("devices in this snapshot: 0, 1"));
}

#[test]
fn a_free_piece_of_another_stream_is_not_fragmentation() {
    let path = snapshot("made/other_stream.pickle.gz");
    assert_eq!(json(&["memory", &path, "--oom"])["out_of_memory"][0]["why"], "set apart");
    for screen in [stdout(&["memory", &path, "--oom"]), stdout(&[&path]), stdout(&["findings", &path])] {
        assert!(screen.contains("set") && !screen.contains("expandable_segments"), "{screen}");
    }
}

#[test]
fn refused_requests_are_told() {
    let screen = stdout(&["memory", &snapshot("out_of_memory_by_fragmentation.pickle.gz"), "--oom"]);
    assert!(screen.contains("requested 1.46 GiB") && screen.contains("expandable_segments:True"), "{screen}");
    let said = json(&["memory", &snapshot("out_of_memory_by_shortage.pickle.gz"), "--oom"]);
    assert_eq!(said["out_of_memory"][0]["why"], "shortage");
    let screen = stdout(&["memory", &snapshot("ring_buffer.pickle.gz"), "--oom"]);
    assert!(screen.contains("no request was refused"), "{screen}");
}

#[test]
fn moments_and_groups_add_up() {
    let path = snapshot("activations_kept.pickle.gz");
    for by in ["line", "stack", "module", "size", "category"] {
        let said = json(&["memory", &path, "--at", "peak", "--by", by, "--top", "0"]);
        let live = said["live"].as_array().unwrap();
        let sum: u64 = live.iter().map(|row| row["live_bytes_then"].as_u64().unwrap()).sum();
        assert_eq!(sum, 1_503_335_424, "{by}");
    }
    assert!(stdout(&["memory", &path, "--at", "4.2s"]).contains("4.200 s after the first entry"));
}

#[test]
fn what_does_not_fit_is_refused_with_a_hint() {
    let path = snapshot("kept_outputs.pickle.zst");
    assert!(refused(&["memory", &path, "--at", "noon"]).contains("write peak, end, or a time"));
    assert!(refused(&["memory", &path, "--leaks", "--by", "size"]).contains("--by takes line and stack"));
    assert!(refused(&["memory", &path, "--leaks", "--oom"]).contains("--leaks does not apply to --oom"));
    assert!(refused(&["memory", &gpt(), "--oom"]).contains("memory snapshots"));
    assert!(refused(&["memory", &path, &path]).contains("add --leaks"));
    assert!(refused(&["memory", &gpt(), &path, "--leaks"]).contains("only memory snapshots"));
    let several = stdout(&["memory", &path, &path, "--leaks"]);
    assert!(several.contains("no line holds 1 MiB more"), "{several}");
}

#[test]
fn the_largest_batch_follows_from_two_peaks() {
    // Two recordings as if they were of batches of 10 and 40: the line through PyTorch's own peaks.
    let names = ["loss_history", "activations_kept"];
    let peaks = names.map(|name| {
        let stats = std::fs::read_to_string(snapshot(&format!("{name}.json"))).unwrap();
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        stats["stats"]["reserved_bytes.all.peak"].as_f64().unwrap()
    });
    let each = (peaks[1] - peaks[0]) / 30.0;
    let fixed = peaks[0] - 10.0 * each;
    let [small, large] = names.map(|name| snapshot(&format!("{name}.pickle.gz")));
    let said = json(&["memory", &small, &large, "--fit", "--batch", "10,40", "--capacity", "8GiB"]);
    let reserved = &said["fit"][1];
    assert!((reserved["bytes_per_sample"].as_f64().unwrap() - each).abs() < 1.0, "{reserved}");
    assert!((reserved["fixed_bytes"].as_f64().unwrap() - fixed).abs() < 1.0, "{reserved}");
    assert!(reserved["residual_bytes"].is_null(), "{reserved}");
    let largest = ((8.0 * f64::from(1 << 30) - fixed) / each).floor();
    assert_eq!(said["largest"][0]["largest_batch"].as_f64(), Some(largest), "{}", said["largest"]);
    assert_eq!(said["runs"][1]["off_bytes"], 0);
    // Names may be given instead of an order, and what is estimated says so.
    let named = [
        "memory",
        &large,
        &small,
        "--fit",
        "--batch",
        "activations_kept=40,loss_history=10",
        "--capacity",
        "8GiB",
    ];
    assert_eq!(json(&named)["largest"], said["largest"]);
    let screen = stdout(&named);
    assert!(
        screen.contains("Two runs always lie on a line") && screen.contains("estimates, for 8.00 GiB"),
        "{screen}"
    );
    // Without a limit, common sizes.
    let sizes = json(&["memory", &small, &large, "--fit", "--batch", "10,40"])["largest"].clone();
    assert_eq!((sizes.as_array().unwrap().len(), &sizes[0]["known"]), (4, &false.into()));
}

#[test]
fn a_fit_that_cannot_be_made_is_refused_with_a_hint() {
    let path = snapshot("activations_kept.pickle.gz");
    assert!(refused(&["memory", &path, "--fit"]).contains("name two files or more"));
    assert!(refused(&["memory", &path, &path, "--fit"]).contains("the batch of this file is not known"));
    assert!(refused(&["memory", &path, &path, "--fit", "--batch", "8,8"]).contains("the same batch"));
    assert!(refused(&["memory", &path, &path, "--fit", "--batch", "8"]).contains("1 numbers for 2 files"));
    assert!(refused(&["memory", &path, &path, "--fit", "--batch", "a=8,9"]).contains("not a list of batches"));
    assert!(
        refused(&["memory", &path, &path, "--fit", "--batch", "8,9", "--capacity", "1XB"]).contains("24GiB")
    );
    assert!(refused(&["memory", &path, "--batch", "8"]).contains("add --fit"));
    assert!(
        refused(&["memory", &path, &path, "--fit", "--leaks", "--batch", "8,9"])
            .contains("--leaks does not apply")
    );
}

//! Answers about a part: pieces of the path, a window of memory, the kernels of one operator, the slice of a finding.

use serde_json::Value;

use crate::errors::refused;
use crate::{fixture, gpt, json, stdout};

fn rows<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no rows under {key}"))
}

fn int(row: &Value, key: &str) -> i64 {
    row[key].as_i64().unwrap_or_else(|| panic!("no {key}: {row}"))
}

#[test]
fn the_critical_path_piece_by_piece() {
    let gpt = gpt();
    let pieces = json(&["critical-path", &gpt, "--by", "piece", "--top", "0"]);
    assert!(pieces.get("path").is_none() && rows(&pieces, "classes").len() > 2);
    let all = rows(&pieces, "pieces");
    assert_eq!(all.iter().map(|r| int(r, "dur_ns")).sum::<i64>(), int(&pieces, "wall_ns"));
    assert!(all.windows(2).all(|w| int(&w[0], "start_ns") + int(&w[0], "dur_ns") == int(&w[1], "start_ns")));
    let kernel = all.iter().find(|r| r["class"] == "kernel").unwrap();
    assert!(kernel["slice"].is_u64() && kernel["lane"] == "GPU 0 stream 7", "{kernel}");
    let keys: Vec<&str> = kernel.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "class", "start_ns", "dur_ns", "lane", "slice"]);

    let few = json(&["critical-path", &gpt, "--by", "piece"]);
    assert_eq!(rows(&few, "pieces")[..], all[..20]);
    let longest = json(&["critical-path", &gpt, "--by", "piece", "--sort", "dur", "--top", "1"]);
    let most = all.iter().map(|r| int(r, "dur_ns")).max().unwrap();
    assert_eq!(int(&rows(&longest, "pieces")[0], "dur_ns"), most);
    let named = json(&["critical-path", &gpt, "--by", "name"]);
    assert_eq!(named, json(&["critical-path", &gpt]));
    let csv = stdout(&["critical-path", &gpt, "--by", "piece", "--top", "0", "--format", "csv"]);
    assert!(csv.starts_with("name,class,start_ns,dur_ns,lane,slice\n") && csv.lines().count() == all.len() + 1);
    assert!(stdout(&["critical-path", &gpt, "--by", "piece"]).contains("piece by piece"));
    assert!(refused(&["critical-path", &gpt, "--by", "class"]).contains("possible values: name, piece"));
    assert!(stdout(&["critical-path", "--help"]).contains("possible values: name, piece"));
}

#[test]
fn a_window_of_memory() {
    let gpt = gpt();
    let whole = json(&["memory", &gpt]);
    assert!(whole.get("range_ns").is_none());
    let gpu =
        |answer: &Value| rows(answer, "devices").iter().find(|d| d["device"] == "CUDA 0").cloned().unwrap();
    let peak_at = int(&gpu(&whole), "peak_at_ns");
    // Up to the peak, and from it on; the times of the command line count from the first slice.
    let first = json(&["memory", &gpt, "--to", "0.001ms"]);
    let start = first["range_ns"][1].as_i64().unwrap() - 1_000;
    let since = (peak_at - start).to_string();
    let (before, after) = (json(&["memory", &gpt, "--to", &since]), json(&["memory", &gpt, "--from", &since]));
    assert_eq!(before["range_ns"][1], after["range_ns"][0]);
    assert_eq!(
        since,
        peak_at.to_string(),
        "times of answers and of the command line count from the same moment"
    );
    assert_eq!(after["range_ns"][0].as_i64(), Some(peak_at));
    assert!(int(&gpu(&before), "peak_allocated_bytes") < int(&gpu(&whole), "peak_allocated_bytes"));
    assert_eq!(gpu(&after)["peak_allocated_bytes"], gpu(&whole)["peak_allocated_bytes"]);
    assert_eq!(gpu(&before)["closing_allocated_bytes"], gpu(&after)["opening_allocated_bytes"]);
    let sum = |key: &str| int(&gpu(&before), key) + int(&gpu(&after), key);
    for key in ["records", "allocation_count", "allocated_bytes", "freed_bytes"] {
        assert_eq!(sum(key), int(&gpu(&whole), key), "{key}");
    }
    let peak = json(&["memory", &gpt, "--from", &since, "--by", "peak", "--top", "0"]);
    let of_gpu = rows(&peak, "peak").iter().filter(|r| r["device"] == "CUDA 0");
    assert_eq!(of_gpu.map(|r| int(r, "bytes")).sum::<i64>(), int(&gpu(&whole), "peak_allocated_bytes"));
    let range =
        |answer: &Value| (answer["range_ns"][0].as_i64().unwrap(), answer["range_ns"][1].as_i64().unwrap());
    let events = json(&["memory", &gpt, "--from", "1ms", "--to", "2.5ms", "--by", "event", "--top", "0"]);
    let (from, to) = range(&events);
    assert_eq!((from - start, to - start), (1_000_000, 2_500_000));
    let inside = |at: &Value| at.as_i64().is_some_and(|at| (from..to).contains(&at));
    assert!(!rows(&events, "events").is_empty());
    assert!(
        rows(&events, "events").iter().all(|e| inside(&e["allocated_at_ns"]) || inside(&e["released_at_ns"]))
    );
    let shown = stdout(&["memory", &gpt, "--from", "1ms", "--to", "2.5ms"]);
    assert!(shown.contains("only from 1.000 ms to 2.500 ms since the start"), "{shown}");
}

#[test]
fn mistakes_in_a_window_are_explained() {
    let gpt = gpt();
    for (args, says) in [
        (["--from", "soon"].as_slice(), "--from 'soon' is not a time"),
        (&["--to=-5ms"], "is not a time"),
        (&["--to=1.5"], "is not a time"),
        (&["--to=@1ms"], "is not a time"),
        (&["--from", "2s", "--to", "1s"], "--from is not before --to"),
    ] {
        let err = refused(&[&["memory", gpt.as_str()], args].concat());
        assert!(err.contains(says) && err.contains("hint:"), "{args:?}: {err}");
    }
    for command in ["ops", "kernels", "gaps", "summary"] {
        assert!(refused(&[command, &gpt, "--from", "1ms"]).contains("--from"), "{command}");
    }
}

#[test]
fn the_kernels_and_call_sites_of_one_operator() {
    let stack = fixture("gpt_stack/gpt_stack.pt.trace.json.gz");
    let ops = json(&["ops", &stack, "--filter", "^aten::mm$"]);
    let mm = &rows(&ops, "ops")[0];
    let kernels = json(&["kernels", &stack, "--op", "aten::mm", "--by", "op", "--top", "0"]);
    let of_mm = rows(&kernels, "kernels");
    assert!(!of_mm.is_empty() && of_mm.iter().all(|r| r["op"] == "aten::mm"));
    // It also fills its workspace.
    let work = of_mm.iter().chain(rows(&kernels, "copies"));
    assert_eq!(work.map(|r| int(r, "total_ns")).sum::<i64>(), int(mm, "device_self_ns"));
    assert!(stdout(&["kernels", &stack, "--op", "aten::mm"]).contains("Kernels of aten::mm"));
    assert!(stdout(&["kernels", &stack, "--op", "aten::linear"]).contains("launched no kernels itself"));
    let err = refused(&["kernels", &stack, "--op", "mm"]);
    assert!(err.contains("called 'mm'") && err.contains("did you mean aten::mm"), "{err}");

    let sites = json(&["ops", &stack, "--by", "stack", "--filter", "^aten::mm$", "--top", "0"]);
    let sites = rows(&sites, "ops");
    assert!(sites.len() > 1 && sites.iter().all(|r| r["name"] == "aten::mm" && r["stack"].is_array()));
    for field in ["calls", "host_self_ns", "device_self_ns"] {
        assert_eq!(sites.iter().map(|r| int(r, field)).sum::<i64>(), int(mm, field), "{field}");
    }
}

#[test]
fn findings_name_their_slices() {
    let loader = fixture("conv_slow_loader/conv_slow_loader.pt.trace.json.gz");
    let found = json(&["findings", &loader]);
    let shown: Vec<&Value> = rows(&found, "findings").iter().flat_map(|f| rows(f, "slices")).collect();
    assert!(!shown.is_empty());
    assert!(shown.iter().all(|s| s["slice"].is_u64() && s["name"].is_string()), "{shown:?}");
    // The same slice has the same number wherever it is named.
    let pieces = json(&["critical-path", &loader, "--by", "piece", "--top", "0"]);
    let same = rows(&pieces, "pieces").iter().filter(|p| shown.iter().any(|s| s["slice"] == p["slice"]));
    let mut compared = 0;
    for piece in same {
        let slice = shown.iter().find(|s| s["slice"] == piece["slice"]).unwrap();
        assert_eq!(slice["name"], piece["name"]);
        compared += 1;
    }
    assert!(compared > 0);
}

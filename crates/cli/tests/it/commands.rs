//! Every command answers in every format, and all of them say the same.

use crate::{fixture, gpt, is_typed, json, questions, root, run, stdout, stepscope, temp_folder};

#[test]
fn a_path_alone_is_the_summary() {
    assert_eq!(stdout(&[&gpt()]), stdout(&["summary", &gpt()]));
}

#[test]
fn output_is_the_same_on_every_run() {
    for command in questions() {
        assert_eq!(stdout(&[&command, &gpt()]), stdout(&[&command, &gpt()]), "{command}");
    }
}

#[test]
fn every_command_speaks_every_format() {
    let stack = fixture("gpt_stack/gpt_stack.pt.trace.json.gz");
    for command in questions() {
        let command = command.as_str();
        let answer = json(&[command, &stack]);
        assert!(stdout(&[command, "--explain"]).contains("What the numbers mean"), "{command}");
        assert!(answer.is_object(), "{command}");
        // Not every trace has graphs, collectives, compiled code, a serving engine, or what XLA and XProf know; this one has no
        // timed lines and nothing about the interpreter's lock. Then there are no rows.
        if ["serving", "graphs", "collectives", "compile", "hlo", "lines", "threads", "xprof"]
            .contains(&command)
        {
            continue;
        }
        let csv = stdout(&[command, &stack, "--format", "csv"]);
        assert!(csv.lines().count() > 1 && csv.lines().next().unwrap().contains(','), "{command}: {csv}");
        assert!(stdout(&[command, &stack, "--format", "md"]).contains("| --- |"), "{command}");
    }
}

#[test]
fn the_json_contract() {
    let ops = json(&["ops", &gpt()]);
    let mm = ops["ops"].as_array().unwrap().iter().find(|r| r["name"] == "aten::mm").unwrap();
    // PyTorch's own: 153 calls, 4.613 ms self, 6.174 ms total, 5.706 ms on the device.
    assert_eq!(mm["calls"], 153);
    assert_eq!(mm["host_self_ns"].as_i64().unwrap() / 1000, 4613);
    assert_eq!(mm["host_total_ns"].as_i64().unwrap() / 1000, 6173);
    assert_eq!(mm["device_self_ns"].as_i64().unwrap() / 1000, 5706);
    for field in ["device_total_ns", "host_memory_bytes", "device_memory_bytes", "flops"] {
        assert!(mm[field].is_i64() || mm[field].is_u64(), "{field}");
    }
    let steps = json(&["steps", &gpt()]);
    for row in steps["steps"].as_array().unwrap() {
        let parts = [
            "kernel_ns",
            "memcpy_ns",
            "memset_ns",
            "communication_ns",
            "runtime_ns",
            "data_loading_ns",
            "host_ns",
            "other_ns",
        ];
        let sum: i64 = parts.iter().map(|part| row[part].as_i64().unwrap()).sum();
        assert_eq!(sum, row["wall_ns"].as_i64().unwrap());
        assert!(row["step"].is_i64());
    }
    let gpu = json(&["gpu", &gpt()]);
    for field in
        ["device", "busy_ns", "window_ns", "utilization", "sm_efficiency", "occupancy", "tensor_core_share"]
    {
        assert!(gpu["gpu"][0][field].is_number(), "{field}");
    }
}

#[test]
fn torch_sort_keys_work() {
    let first = |key: &str| {
        let ops = json(&["ops", &gpt(), "--sort", key]);
        ops["ops"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(first("self_cuda_time_total"), "aten::mm");
    assert_eq!(first("self_cuda_time_total"), first("device_self"));
    assert_eq!(first("cpu_time_total"), first("host_total_ns"));
    assert_eq!(first("count"), first("calls"));
}

#[test]
fn filters_steps_and_top() {
    let ops = json(&["ops", &gpt(), "--filter", "^aten::(mm|addmm)$", "--top", "0"]);
    assert_eq!(ops["ops"].as_array().unwrap().len(), 2);
    let all = json(&["ops", &gpt(), "--filter", "^aten::mm$"]);
    let one = json(&["ops", &gpt(), "--filter", "^aten::mm$", "--step", "3"]);
    assert_eq!(all["ops"][0]["calls"].as_i64().unwrap(), 3 * one["ops"][0]["calls"].as_i64().unwrap());
    assert_eq!(json(&["steps", &gpt(), "--step", "2-3"])["steps"].as_array().unwrap().len(), 2);
    assert_eq!(json(&["kernels", &gpt(), "--top", "3"])["kernels"].as_array().unwrap().len(), 3);
}

#[test]
fn a_folder_of_ranks() {
    let folder = fixture("gloo_ddp");
    let summary = json(&[&folder]);
    let ranks: Vec<i64> =
        summary["runs"].as_array().unwrap().iter().map(|r| r["rank"].as_i64().unwrap()).collect();
    assert_eq!(ranks, [0, 1, 2, 3]);
    let of = |rank: &str| json(&["info", &folder, "--rank", rank])["info"]["distributed"]["rank"].as_i64();
    assert_eq!(of("2"), Some(2));
}

#[test]
fn tables_fit_the_terminal() {
    for columns in [80, 100, 200] {
        for command in ["summary", "ops", "kernels", "steps", "memory", "info"] {
            let output = stepscope(&[command, &gpt()]).env("COLUMNS", columns.to_string()).output().unwrap();
            for line in String::from_utf8(output.stdout).unwrap().lines() {
                let wide = stepscope_ask::print::width(line);
                // What to type next is there to be copied: a long path is not cut.
                assert!(wide <= columns || is_typed(line), "{command} at {columns}: {wide} columns: {line}");
            }
        }
    }
}

#[test]
fn colours_only_when_wanted() {
    let color = |args: &[&str], no_color: bool| {
        let mut command = stepscope(args);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!color(&[&gpt()], false), "a pipe gets no colors");
    assert!(color(&[&gpt(), "--color", "always"], false));
    assert!(!color(&[&gpt(), "--color", "never"], false));
}

#[test]
fn exports() {
    let stack = fixture("gpt_stack/gpt_stack.pt.trace.json.gz");
    let folded = stdout(&["export", "--to", "folded", &stack]);
    assert!(folded.lines().all(|l| l.rsplit_once(' ').is_some_and(|(_, v)| v.parse::<i64>().is_ok())));
    let scope: serde_json::Value =
        serde_json::from_str(&stdout(&["export", "--to", "speedscope", "--by", "device", &stack])).unwrap();
    assert_eq!(scope["profiles"][0]["unit"], "nanoseconds");
    let total: i64 =
        scope["profiles"][0]["weights"].as_array().unwrap().iter().map(|w| w.as_i64().unwrap()).sum();
    assert_eq!(scope["profiles"][0]["endValue"].as_i64(), Some(total));
    let all: serde_json::Value = serde_json::from_str(&stdout(&["export", "--to", "json", &stack])).unwrap();
    assert!(all["ops"].as_array().unwrap().len() > 50);
    assert!(stdout(&["export", "--to", "csv", "--table", "kernels", &stack]).starts_with("name,"));

    let target = std::env::temp_dir().join(format!("stepscope-metrics-{}.json.gz", std::process::id()));
    let path = target.display().to_string();
    assert!(run(&["export", "--to", "chrome", "-o", &path, &stack]).status.success());
    let cells = |path: &str| json(&["ops", path, "--top", "0"])["ops"].clone();
    assert_eq!(cells(&path), cells(&stack), "an exported trace answers the same");
    std::fs::remove_file(target).unwrap();
}

#[test]
fn exports_of_columns() {
    let folder = temp_folder("columns");
    let path = |name: &str| folder.join(name).display().to_string();
    for (format, magic) in [("parquet", b"PAR1".as_slice()), ("arrow", b"ARROW1")] {
        for (table, words) in
            [("events", ["--table", "events"].as_slice()), ("default", &[]), ("ops", &["--table", "ops"])]
        {
            let file = path(&format!("{table}.{format}"));
            let done = run(&[&["export", "--to", format, "-o", &file, &gpt()], words].concat());
            assert!(
                done.status.success() && done.stdout.is_empty(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
            assert!(std::fs::read(&file).unwrap().starts_with(magic), "{file}");
        }
        let read = |table: &str| std::fs::read(path(&format!("{table}.{format}"))).unwrap();
        assert_eq!(read("events"), read("default"));
        assert!(read("ops").len() < read("events").len());
        let piped = run(&["export", "--to", format, "--table", "ops", &gpt()]);
        assert_eq!(piped.stdout, read("ops"), "a pipe gets the same bytes");
        let by_shape = run(&["export", "--to", format, "--table", "ops", "--by", "shape", &gpt()]);
        assert!(by_shape.stdout.len() > piped.stdout.len());
    }
    let parts = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(parts.count(), 6, "nothing unfinished is left behind");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_question_has_a_table_to_export() {
    for question in stepscope_ask::QUESTIONS.iter().filter(|question| !question.compares()) {
        let done = run(&["export", "--to", "parquet", "--table", question.name, &gpt()]);
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() || err.contains("hint:"), "{}: {err}", question.name);
        assert_eq!(done.stdout.starts_with(b"PAR1"), done.status.success(), "{}", question.name);
    }
}

#[test]
fn completions_and_manual() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&["completions", shell]).contains("stepscope"));
    }
    assert!(stdout(&["man"]).contains(".TH stepscope"));
    assert!(stdout(&["--help"]).contains("Examples:"));
}

#[cfg(unix)]
#[test]
fn an_export_goes_where_links_and_pipes_lead() {
    let folder = temp_folder("links");
    let mini = root().join("fixtures/pytorch/mini/mini.pt.trace.json").display().to_string();
    let export = ["export", "--to", "csv", mini.as_str(), "-o"];
    let wanted = stdout(&export[..4]);
    let path = |name: &str| folder.join(name).display().to_string();

    // One link to a file that is there and longer, one to a file that is not.
    std::fs::write(folder.join("old.csv"), "x".repeat(1 << 20)).unwrap();
    for (link, target) in [("link", "old.csv"), ("new", "new.csv")] {
        std::os::unix::fs::symlink(target, folder.join(link)).unwrap();
        assert!(run(&[&export[..], &[&path(link)]].concat()).status.success());
        assert!(folder.join(link).is_symlink());
        assert_eq!(std::fs::read_to_string(folder.join(target)).unwrap(), wanted);
    }

    let pipe = path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut writer = stepscope(&[&export[..], &[&pipe]].concat()).spawn().unwrap();
    assert_eq!(std::fs::read_to_string(&pipe).unwrap(), wanted);
    assert!(writer.wait().unwrap().success());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn steps_asked_for_count_everywhere() {
    let numbers = |rows: &serde_json::Value| -> Vec<i64> {
        rows.as_array().unwrap().iter().map(|r| r["step"].as_i64().unwrap()).collect()
    };
    let steps = json(&["steps", &gpt()]);
    let three = steps["steps"].as_array().unwrap().iter().find(|r| r["step"] == 3).unwrap();
    let gpu = json(&["gpu", &gpt(), "--step", "3"]);
    assert_eq!(gpu["gpu"][0]["window_ns"], three["wall_ns"]);
    let summary = json(&["summary", &gpt(), "--step", "3"]);
    assert_eq!(numbers(&summary["steps"]), [3]);
    assert_eq!(summary["gpu"], gpu["gpu"]);
    let shown = stdout(&["summary", &gpt(), "--step", "3"]);
    assert!(!shown.contains(" on average"), "one step has no average: {shown}");
    let export = ["export", "--step", "3", &gpt(), "--to"];
    assert_eq!(stdout(&[&export[..], &["csv", "--table", "steps"]].concat()).lines().count(), 2);
    let all: serde_json::Value = serde_json::from_str(&stdout(&[&export[..], &["json"]].concat())).unwrap();
    assert_eq!(numbers(&all["steps"]), [3]);
    assert!(stdout(&["gpu", &gpt(), "--step", "2,4"]).contains("steps between"));
    assert!(!stdout(&["gpu", &gpt(), "--step", "2,3"]).contains("steps between"));
}

#[test]
fn the_gpu_rows_are_arranged() {
    let rows = |args: &[&str]| json(&[&["gpu", &gpt()], args].concat())["gpu"].as_array().unwrap().len();
    assert_eq!(rows(&["--sort", "utilization", "--top", "1", "--filter", "H200"]), 1);
    assert_eq!(rows(&["--filter", "no such device"]), 0);
    assert_eq!(rows(&["--device", "0"]), 1);
    let folded = ["export", "--to", "folded", &gpt()];
    assert_eq!(stdout(&[&folded[..], &["--top", "2"]].concat()).lines().count(), 2);
}

#[test]
fn every_command_takes_the_same_trace_of_a_folder() {
    let folder = temp_folder("ranks");
    let path = folder.display().to_string();
    // The first path is not the lowest rank, and two files are of that.
    for (name, rank) in [("a", 3), ("b", 1), ("c", 1), ("d", 2)] {
        let from = fixture(&format!("gloo_ddp/rank{rank}.pt.trace.json.gz"));
        std::fs::copy(from, folder.join(format!("{name}.pt.trace.json.gz"))).unwrap();
    }
    let rank = |args: &[&str]| json(args)["info"]["distributed"]["rank"].as_i64();
    assert_eq!(rank(&["info", &path]), Some(1));
    assert_eq!(rank(&["summary", &path]), Some(1));
    for command in ["info", "summary"] {
        let shown = json(&[command, &path])["info"]["path"].clone();
        assert!(shown.as_str().unwrap().ends_with("b.pt.trace.json.gz"), "{command}: {shown}");
    }
    assert_eq!(rank(&["info", &path, "--rank", "3"]), Some(3));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_empty_table_says_so() {
    let host_only = root().join("fixtures/pytorch/2.11-h200-features/flops_cpu/flops_cpu.pt.trace.json.gz");
    let host_only = host_only.display().to_string();
    let none = ["kernels", &host_only, "--by", "copies"];
    assert!(stdout(&none).contains("no copies or memsets"));
    assert_eq!(json(&none)["copies"].as_array().unwrap().len(), 0);
    assert!(stdout(&["kernels", &gpt(), "--filter", "no such kernel"]).contains("no row matches --filter"));
    assert_eq!(
        json(&["kernels", &gpt(), "--by", "copies", "--top", "1"])["copies"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn classes_left_out_are_mentioned() {
    let stack = fixture("gpt_stack/gpt_stack.pt.trace.json.gz");
    assert!(stdout(&["modules", &stack, "--by", "class", "--top", "1"]).contains("--top 0 shows all"));
    let ledger = json(&["modules", &stack])["ledger"].clone();
    let part = |name: &str| ledger[name].as_i64().unwrap();
    let parts =
        ["forward_device_ns", "backward_device_ns", "outside_device_ns", "unlinked_device_ns"].map(part);
    assert_eq!(parts.iter().sum::<i64>(), part("device_ns"));
    let shown = stdout(&["modules", &stack]);
    assert_eq!(shown.contains("without a known launch"), part("unlinked_device_ns") > 0, "{shown}");
}

#[test]
fn the_events_of_info_add_up_to_its_ledger() {
    let shown = stdout(&["info", &gpt(), "--format", "md"]);
    let count = |line: &str| -> Option<u64> {
        line.trim_end_matches('|')
            .rsplit('|')
            .next()?
            .trim()
            .replace([',', ' ', '\u{202f}', '*'], "")
            .parse()
            .ok()
    };
    let (events, ledger) = shown.split_once("Ledger").unwrap();
    let (_, events) = events.split_once("Category").unwrap();
    let listed: u64 = events.lines().filter_map(count).sum();
    let rows: Vec<u64> = ledger.lines().filter_map(count).collect();
    assert_eq!(listed, rows[..3].iter().sum::<u64>(), "{shown}");
    assert!(events.contains("arrow"), "{shown}");
}

#[test]
fn info_is_a_part_of_the_summary_only_in_json() {
    assert!(json(&["summary", &gpt()])["info"].is_object());
    assert!(!stdout(&["summary", &gpt(), "--format", "md"]).contains("heap_bytes"));
}

#[test]
fn a_program_without_operators_has_its_regions_on_the_summary() {
    let folder = temp_folder("regions");
    let file = folder.join("own.json");
    let slice = |name: &str, ts: u64, dur: u64| {
        format!(r#"{{"ph":"X","cat":"user_annotation","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    };
    let slices = [slice("ProfilerStep#1", 0, 1000), slice("load", 0, 300), slice("train", 300, 600)];
    std::fs::write(&file, format!(r#"{{"traceEvents":[{}]}}"#, slices.join(","))).unwrap();
    let path = file.display().to_string();
    let shown = stdout(&["summary", &path]);
    let regions = shown.split("TOP   Region").nth(1).unwrap_or_else(|| panic!("{shown}"));
    let first = regions.lines().find(|line| line.starts_with("      train")).unwrap();
    assert!(first.contains("600.0 µs") && first.contains("60.0%"), "{shown}");
    let shown = stdout(&["summary", &path, "--all"]);
    let regions = shown.split("\nRegions").nth(1).unwrap_or_else(|| panic!("{shown}"));
    let first = regions.lines().find(|line| line.starts_with("train")).unwrap();
    assert!(first.contains("600.0 µs") && first.contains("60.0%"), "{shown}");
    let rows = json(&["summary", &path]);
    assert_eq!(rows["regions"].as_array().map(Vec::len), Some(3));
    assert_eq!(json(&["summary", &gpt()])["regions"].as_array().map(Vec::len), Some(0));
}

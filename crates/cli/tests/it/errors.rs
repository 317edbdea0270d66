//! Wrong use and unreadable input: a sentence, a hint, exit code 2, no panic.

use std::io::Write;
use std::process::Stdio;

use crate::{fixture, gpt, json, questions, run, stdout, stepscope, temp_folder};

pub(crate) fn refused(args: &[&str]) -> String {
    let output = run(args);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
    assert!(output.stdout.is_empty(), "{args:?} printed data and failed");
    assert!(!err.contains("panicked"), "{err}");
    err
}

pub(crate) fn temp(name: &str, bytes: &[u8]) -> String {
    let path = std::env::temp_dir().join(format!("stepscope-test-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn every_failure_ends_in_a_hint() {
    let empty = temp("empty.json", b"");
    let png = temp("picture.json", b"\x89PNG\r\n\x1a\n");
    let other = temp("other.json", b"{\"hello\": 1}");
    for (args, says) in [
        (vec!["no-such.json"], "no file or folder"),
        (vec![empty.as_str()], "empty"),
        (vec![png.as_str()], "PNG"),
        (vec![other.as_str()], "no trace events"),
        (vec!["opz", "x"], "error"),
        (vec!["ops", &gpt(), "--sort", "nonsense"], "cannot sort by"),
        (vec!["ops", &gpt(), "--filter", "("], "regular expression"),
        (vec!["ops", &gpt(), "--by", "nonsense"], "possible values: name, shape"),
        (vec!["ops", &gpt(), "--step", "99"], "no step 99"),
        (vec!["ops", &gpt(), "--step", "x"], "not a list"),
        (vec!["kernels", &gpt(), "--device", "99"], "no device 99"),
        (vec!["export", "--to", "json", "-o", "x.zst", &gpt()], "cannot write zstd"),
        (vec!["ops", &fixture("gloo_ddp"), "--rank", "9"], "no trace of rank 9"),
        (vec!["ops", &fixture("../mini/none")], "no file or folder"),
    ] {
        let err = refused(&args);
        assert!(err.contains(says), "{args:?}: {err}");
        assert!(err.contains("hint:") || err.contains("--help"), "{args:?} gives no hint: {err}");
    }
    for path in [empty, png, other] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_folder_without_traces() {
    let folder = std::env::temp_dir().join(format!("stepscope-empty-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let err = refused(&[&folder.display().to_string()]);
    assert!(err.contains("no traces in this folder"), "{err}");
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = stepscope(&["ops", &gpt(), "--top", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn standard_input_works() {
    let trace = std::fs::read(gpt()).unwrap();
    let mut child = stepscope(&["ops", "-", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&trace).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout(&["ops", &gpt(), "--format", "csv"]));
}

#[test]
fn a_broken_file_is_shown_with_what_was_lost() {
    let text = std::fs::read(crate::root().join("fixtures/pytorch/mini/mini.pt.trace.json")).unwrap();
    let cut = temp("cut.json", &text[..text.len() / 2]);
    let shown = stdout(&["info", &cut]);
    assert!(shown.contains("the file ends inside an event"), "{shown}");
    assert!(shown.contains("every event of the file is accounted for"), "{shown}");
    assert!(stdout(&[&cut]).contains("lost"));
    let output = run(&["ops", &cut]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("damaged file: 1 event lost"));
    std::fs::remove_file(cut).unwrap();
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let text = "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"evil\\u001b[2J\\u202e\\nname\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5}]}";
    let path = temp("hostile.json", text.as_bytes());
    let shown = stdout(&["ops", &path]);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_export_that_fails_leaves_nothing_behind() {
    let err = refused(&["export", "--to", "json", "-o", "no/such/folder/out.json", &gpt()]);
    assert!(err.contains("cannot write") && err.contains("hint: create the folder"), "{err}");
}

#[test]
fn a_part_file_goes_when_it_cannot_be_renamed() {
    let folder = temp_folder("rename");
    let target = format!("{}/nodir/", folder.display());
    let err = refused(&["export", "--to", "json", "-o", &target, &gpt()]);
    assert!(err.contains("cannot write"), "{err}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "a part file was left behind");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn options_without_effect_are_refused() {
    let gpt = gpt();
    let chrome = ["export", "--to", "chrome", gpt.as_str()];
    for option in ["--step=2", "--device=0", "--filter=mm", "--top=3", "--sort=calls", "--by=host"] {
        let err = refused(&[chrome.as_slice(), &[option]].concat());
        assert!(err.contains("does not apply to --to chrome") && err.contains("whole trace"), "{err}");
        let err = refused(&["info", &gpt, option]);
        assert!(err.contains("unexpected argument"), "{err}");
    }
    for args in
        [["steps", "--device", "0"].as_slice(), &["export", "--to", "csv", "--table", "steps", "--device", "0"]]
    {
        let err = refused(&[args, &[gpt.as_str()]].concat());
        assert!(err.contains("--device does not apply") && err.contains("--by device"), "{err}");
    }
    for args in [
        ["gpu", "--by", "stream"].as_slice(),
        &["summary", "--by", "shape"],
        &["export", "--to", "csv", "--by", "shape"],
        &["export", "--to", "json", "--by", "shape"],
        &["export", "--to", "csv", "--table", "events"],
        &["export", "--to", "parquet", "--top", "3"],
        &["export", "--to", "arrow", "--table", "ops", "--by", "color"],
        &["export", "--to", "speedscope", "--top", "3"],
        &["export", "--to", "svg", "--sort", "self"],
        &["export", "--to", "pstats", "--by", "device"],
        &["functions", "--callers", "("],
        &["functions", "--callers", "a", "--callees", "b"],
        &["functions", "--value", "nonsense"],
        &["gpu", "--sort", "nonsense"],
        &["gpu", "--step", "99"],
    ] {
        let err = refused(&[args, &[gpt.as_str()]].concat());
        assert!(err.contains("hint:") || err.contains("--help"), "{args:?}: {err}");
    }
}

#[test]
fn unreadable_files_beside_good_ones_are_skipped() {
    let folder = temp_folder("skip");
    let path = folder.display().to_string();
    std::fs::write(folder.join("a.pt.trace.json"), "\u{89}PNG").unwrap();
    let err = refused(&["ops", &path]);
    assert!(err.contains("a.pt.trace.json"), "{err}");
    std::fs::copy(gpt(), folder.join("b.pt.trace.json.gz")).unwrap();
    for command in ["summary", "ops", "info"] {
        let output = run(&[command, &path]);
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{err}");
        assert!(err.contains("skipped") && err.contains("a.pt.trace.json"), "{command}: {err}");
    }
    let err = refused(&["ops", &path, "--rank", "5"]);
    assert!(err.contains("skipped") && err.contains("no trace of rank 5"), "{err}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn pipes_in_a_folder_are_no_traces() {
    let folder = temp_folder("pipes");
    for name in ["a.json", "b.trace.json"] {
        let made = std::process::Command::new("mkfifo").arg(folder.join(name)).status().unwrap();
        assert!(made.success());
    }
    std::fs::copy(gpt(), folder.join("c.pt.trace.json.gz")).unwrap();
    assert!(json(&["ops", &folder.display().to_string()])["ops"].is_array());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn layers_of_compression_are_not_a_matter_of_text() {
    let mut bytes = b"{\"traceEvents\": []}".to_vec();
    for _ in 0..4 {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        bytes = gz.finish().unwrap();
    }
    let path = temp("layers.json.gz", &bytes);
    let err = refused(&["info", &path]);
    assert!(err.contains("gzip -d") && !err.contains("--max-text-bytes"), "{err}");
    assert!(stdout(&["ops", "--help"]).contains("show what came before"));
    std::fs::remove_file(path).unwrap();
}

/// Durations whose sum is more than a number holds: a build for tests panics where it would wrap around.
#[test]
fn times_that_add_up_to_more_than_there_is() {
    // Microseconds in the file, nanoseconds in the program: 2^63 of these.
    const LONG: i64 = i64::MAX / 1000;
    let mut events = Vec::new();
    for i in 0..6 {
        let device = i % 3;
        events.push(format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{i}","pid":1,"tid":1,"ts":{i},"dur":{LONG}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":{i},"ts":{i},"dur":{LONG},"args":{{"External id":{i},"Input Dims":[[64,64],[64,64]]}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{i},"dur":2,"args":{{"correlation":{i},"External id":{i}}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"kernel","name":"k{i}","pid":{device},"tid":7,"ts":-{LONG},"dur":{LONG},"args":{{"correlation":{i},"device":{device},"stream":{i}}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"kernel","name":"late","pid":{device},"tid":7,"ts":{LONG},"dur":{LONG},"args":{{"device":{device},"stream":{i}}}}}"#
        ));
    }
    let text = format!("{{\"traceEvents\":[{}]}}", events.join(","));
    let path = temp("long.json", text.as_bytes());
    for question in questions() {
        for format in ["table", "json", "csv", "md"] {
            let output = run(&[&question, &path, "--format", format]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{question} {format}: {said}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_lowest_rank_of_a_folder_is_shown_whatever_its_file_is_called() {
    let folder = temp_folder("ranks");
    let path = folder.display().to_string();
    for (name, rank) in [("a_9", "rank2"), ("b_7", "rank0"), ("c_8", "rank1")] {
        let from = format!("{}/{rank}.pt.trace.json.gz", fixture("gloo_ddp"));
        std::fs::copy(from, folder.join(format!("{name}.pt.trace.json.gz"))).unwrap();
    }
    std::fs::write(folder.join("0.pt.trace.json"), "\u{89}PNG").unwrap();
    let output = run(&["info", &path, "--format", "json"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("b_7") && err.contains("1 of 4") && err.contains("skipped"), "{err}");
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["info"]["distributed"]["rank"], 0);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_profile_is_told_from_a_trace() {
    let speedscope = temp("cpu.speedscope.json", stdout(&["export", "--to", "speedscope", &gpt()]).as_bytes());
    let folded = temp("cpu.folded", stdout(&["export", "--to", "folded", &gpt()]).as_bytes());
    for (path, what) in [(&speedscope, "a profile (speedscope JSON)"), (&folded, "a profile (folded stacks)")] {
        let err = refused(&["ops", path]);
        assert!(err.contains(what) && err.contains("`ops` needs a timeline"), "{err}");
        assert!(
            err.contains(
                "hint: about this file, ask summary, findings, functions, lines, stacks, memory, info"
            ),
            "{err}"
        );
    }
    for path in [speedscope, folded] {
        std::fs::remove_file(path).unwrap();
    }
}

/// A trace and its profile in both formats say the same.
#[test]
fn exported_stacks_read_back_as_they_were_written() {
    let read = |text: String| match stepscope_formats::read(text.as_bytes(), "export", &Default::default()) {
        Ok(stepscope_model::Document::Profile(profile)) => profile,
        other => panic!("{other:?}"),
    };
    let gpt = gpt();
    for by in ["host", "device"] {
        let total = json(&["stacks", "--by", by, &gpt])["total_ns"].as_i64().unwrap();
        let speedscope = read(stdout(&["export", "--to", "speedscope", "--by", by, &gpt]));
        let folded = read(stdout(&["export", "--to", "folded", "--by", by, &gpt]));
        assert!(total > 0 && speedscope.notes.is_empty() && folded.notes.is_empty());
        assert_eq!((speedscope.total(0), folded.total(0)), (total, total), "{by}");
        let stacks = |profile: &stepscope_model::Profile| {
            let name = |id| profile.stacks.name(id).replace([';', '\n', '\r', '\t'], "_");
            let stack = |id| profile.stacks.unwind(id).into_iter().map(name).collect::<Vec<_>>().join(";");
            let mut all: Vec<_> = profile.samples().iter().map(|s| (stack(s.stack), s.amounts[0])).collect();
            all.sort();
            all
        };
        assert_eq!(stacks(&speedscope), stacks(&folded), "{by}");
    }
}

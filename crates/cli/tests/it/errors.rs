//! Wrong use and unreadable input: a sentence, a hint, exit code 2, no panic.

use std::io::Write;
use std::process::Stdio;

use crate::{fixture, gpt, run, stdout, stepscope};

fn refused(args: &[&str]) -> String {
    let output = run(args);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
    assert!(output.stdout.is_empty(), "{args:?} printed data and failed");
    assert!(!err.contains("panicked"), "{err}");
    err
}

fn temp(name: &str, bytes: &[u8]) -> String {
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
        (vec!["ops", &gpt(), "--by", "nonsense"], "cannot group by"),
        (vec!["ops", &gpt(), "--step", "99"], "no step 99"),
        (vec!["ops", &gpt(), "--step", "x"], "not a list"),
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
    assert!(err.contains("cannot write"), "{err}");
}

//! The performance gate, with commands that take as long as they are asked to.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{gpt, stepscope, temp_folder};

fn scratch(name: &str) -> PathBuf {
    let folder = temp_folder(&format!("gate-{name}"));
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn run_in(folder: &Path, words: &[&str]) -> Output {
    let mut command = stepscope(words);
    command.current_dir(folder).env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
    command.env_remove("STEPSCOPE_BASELINES").output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A shell line that prints steps around so many milliseconds. The noise is that of the process's number. The machine's
/// own noise must not count next to such steps: checks of them go without the fixed task.
fn steps(ms: u32) -> String {
    format!(
        "i=0; while [ $i -lt 8 ]; do echo \"step $(( ({ms}000 + ($$ * 7 + i * 13) % 97) )) us\"; i=$((i+1)); done"
    )
}

const REGEX: &str = r"step (?P<us>\d+) us";

fn save(folder: &Path, ms: u32) {
    let words =
        ["baseline", "save", "main", "--repeats", "6", "--metric-regex", REGEX, "--", "sh", "-c", &steps(ms)];
    let saved = run_in(folder, &words);
    assert_eq!(saved.status.code(), Some(0), "{}", err(&saved));
    assert!(out(&saved).starts_with("saved main: 6 runs, step_time 10"), "{}", out(&saved));
    assert!(err(&saved).contains("step times: lines of the program's output"), "{}", err(&saved));
}

fn check(folder: &Path, ms: u32, more: &[&str]) -> Output {
    let line = steps(ms);
    let words = [
        &["check", "--baseline", "main", "--no-fixed-task", "--repeats", "6", "--metric-regex", REGEX],
        more,
        &["--", "sh", "-c", &line],
    ];
    run_in(folder, &words.concat())
}

#[test]
fn a_slower_command_fails_and_the_same_one_passes() {
    let folder = scratch("verdicts");
    save(&folder, 10);
    let same = check(&folder, 10, &[]);
    assert_eq!(same.status.code(), Some(0), "{}{}", out(&same), err(&same));
    assert!(
        out(&same).contains("step_time>+5%") && out(&same).ends_with("pass: 1 condition kept\n"),
        "{}",
        out(&same)
    );
    let slower = check(&folder, 12, &["--junit", "j.xml", "--markdown", "m.md"]);
    assert_eq!(slower.status.code(), Some(1), "{}", err(&slower));
    assert!(out(&slower).contains("fail: 1 of 1 condition broken"), "{}", out(&slower));
    assert!(std::fs::read_to_string(folder.join("j.xml")).unwrap().contains("failures=\"1\""));
    assert!(
        std::fs::read_to_string(folder.join("m.md")).unwrap().starts_with("### ❌ Performance against main")
    );
    let json = check(
        &folder,
        12,
        &["--format", "json", "--fail-on", "step_time>+1%", "--fail-on", "step_time_p95>1s"],
    );
    let value: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!((&value["outcome"], json.status.code()), (&"fail".into(), Some(1)));
    let ratio = value["conditions"][0]["comparison"]["ratio"].as_f64().unwrap();
    assert!((1.18..1.22).contains(&ratio), "{ratio}");
    assert_eq!(value["conditions"][1]["outcome"], "pass");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn one_run_is_inconclusive_which_is_no_pass() {
    let folder = scratch("inconclusive");
    let words = ["baseline", "save", "main", "--repeats", "1", "--", "sh", "-c", "sleep 0.01"];
    assert_eq!(run_in(&folder, &words).status.code(), Some(0));
    let words = ["check", "--baseline", "main", "--repeats", "1", "--", "sh", "-c", "sleep 0.01"];
    let checked = run_in(&folder, &words);
    assert_eq!(checked.status.code(), Some(1));
    assert!(
        out(&checked).contains("could not be decided (counts as not passed)")
            && out(&checked).contains("--repeats 10"),
        "{}",
        out(&checked)
    );
    let allowed = [&["check", "--allow-inconclusive"], &words[1..]].concat();
    assert_eq!(run_in(&folder, &allowed).status.code(), Some(0));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn in_a_job_of_github_failures_are_annotations() {
    let folder = scratch("github");
    save(&folder, 10);
    let line = steps(15);
    let words = [
        &["check", "--baseline", "main", "--no-fixed-task", "--repeats", "6"][..],
        &["--metric-regex", REGEX, "--", "sh", "-c", &line],
    ];
    let mut command = stepscope(&words.concat());
    command
        .current_dir(&folder)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", folder.join("page.md"));
    let checked = command.env_remove("STEPSCOPE_BASELINES").output().unwrap();
    assert!(out(&checked).contains("\n::error title=step_time>+5%25%3A fail::+"), "{}", out(&checked));
    assert!(std::fs::read_to_string(folder.join("page.md")).unwrap().contains("❌"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_commands_run_in_turns() {
    let folder = scratch("turns");
    let one = |name: &str, us: u32| format!("echo {name} >> log; for i in 1 2 3 4; do echo step {us} us; done");
    let (before, after) = (one("a", 20_000), one("b", 50_000));
    let words = [
        &["check", "--no-fixed-task", "--repeats", "4", "--metric-regex", REGEX, "--baseline-command", &before]
            [..],
        &["--", "sh", "-c", &after],
    ]
    .concat();
    let checked = run_in(&folder, &words);
    assert_eq!(checked.status.code(), Some(1), "{}{}", out(&checked), err(&checked));
    assert_eq!(std::fs::read_to_string(folder.join("log")).unwrap().replace('\n', ""), "abbaabba");
    assert!(out(&checked).contains("fail: 1 of 1 condition broken"), "{}", out(&checked));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn traces_decide_about_counted_metrics_and_say_that_a_profiler_ran() {
    let folder = scratch("traces");
    let trace = gpt();
    let saved = run_in(&folder, &["baseline", "save", "h200", &trace]);
    assert_eq!(saved.status.code(), Some(0), "{}", err(&saved));
    let conditions = [
        "--fail-on",
        "launches_per_step>+0%",
        "--fail-on",
        "peak_gpu_memory>+2%",
        "--fail-on",
        "op:aten::mm>+10%",
    ];
    let checked = run_in(&folder, &[&["check", "--baseline", "h200", &trace], &conditions[..]].concat());
    let text = out(&checked);
    assert!(text.contains("judged from traces alone"), "{text}{}", err(&checked));
    assert!(
        text.contains("launches_per_step>+0%  pass") && text.contains("peak_gpu_memory>+2%    pass"),
        "{text}"
    );
    // One trace has one sum of an operator's time: it says nothing about the noise.
    assert!(text.contains("op:aten::mm>+10%       inconclusive"), "{text}");
    assert_eq!(checked.status.code(), Some(1));
    let shown = out(&run_in(&folder, &["baseline", "show", "h200"]));
    assert!(
        shown.contains("op:aten::mm") && shown.contains("step_time") && shown.contains("gpu_utilization"),
        "{shown}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = scratch("mistakes");
    let touch = ["--", "sh", "-c", "touch ran"];
    for (words, said) in [
        (&["check", "--baseline", "none"][..], "there is no baseline with this name: none"),
        (&["check"], "nothing to compare with"),
        (&["check", "--baseline", "x", "--fail-on", "step_time>5%"], "write >+5% or <-5%"),
        (&["check", "--baseline", "x", "--fail-on", "speed>+5%"], "no such metric: speed"),
        (&["check", "--baseline", "x", "--format", "sarif"], "--junit FILE"),
        (&["baseline", "save", "../x"], "not a valid baseline name"),
        (&["baseline", "update", "x"], "no baseline with this name"),
        (&["baseline", "save", "x", "--metric-regex", "step ms"], "has no group for the number"),
        (&["baseline", "save", "x", "--metric-regex", "("], "not a regular expression"),
        (&["baseline", "save", "x", "--store", "s3://b"], "mount the object store"),
    ] {
        let output = run_in(&folder, &[words, &touch[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(err(&output).contains(said) && err(&output).contains("hint:"), "{words:?}: {}", err(&output));
    }
    assert!(!folder.join("ran").exists());
    let failing = run_in(&folder, &["baseline", "save", "x", "--", "sh", "-c", "echo because >&2; exit 7"]);
    assert!(err(&failing).contains("exit code 7") && err(&failing).contains("because"), "{}", err(&failing));
    assert_eq!(failing.status.code(), Some(2));
    // Nothing was saved by any of them.
    assert!(out(&run_in(&folder, &["baseline", "list"])).contains("no baselines in"));
    std::fs::remove_dir_all(folder).unwrap();
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository in which `run.sh` takes 10 ms up to some commit, then 14; some commits do not run at all.
fn repository(name: &str, commits: u32, slow_from: u32, broken: &[u32]) -> PathBuf {
    let folder = scratch(name);
    git(&folder, &["init", "-q", "-b", "main"]);
    for number in 0..commits {
        let ms = if number >= slow_from { 14 } else { 10 };
        let end = if broken.contains(&number) { "; exit 1" } else { "" };
        std::fs::write(folder.join("run.sh"), format!("# {number}\n{}{end}\n", steps(ms))).unwrap();
        git(&folder, &["add", "run.sh"]);
        git(&folder, &["commit", "-q", "-m", &format!("change {number}")]);
    }
    folder
}

#[test]
fn the_commit_that_made_it_slower_is_found_and_nothing_else_is_touched() {
    let folder = repository("bisect", 10, 8, &[5]);
    std::fs::write(folder.join("run.sh"), "my own work").unwrap();
    let before = git(&folder, &["status", "--porcelain"]);
    let words = ["bisect", "--good", "HEAD~9", "--metric-regex", REGEX, "--", "sh", "run.sh"];
    let found = run_in(&folder, &words);
    assert_eq!(found.status.code(), Some(0), "{}{}", out(&found), err(&found));
    let line = out(&found);
    assert!(line.starts_with("+3") && line.trim_end().ends_with("change 8"), "{line}{}", err(&found));
    assert!(err(&found).contains("the command fails there"), "{}", err(&found));
    assert_eq!(git(&folder, &["status", "--porcelain"]), before);
    assert_eq!(git(&folder, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(std::fs::read_to_string(folder.join("run.sh")).unwrap(), "my own work");
    // Between commits that take the same time there is nothing to find.
    let bisect =
        ["bisect", "--good", "HEAD~9", "--bad", "HEAD~7", "--metric-regex", REGEX, "--", "sh", "run.sh"];
    // One answer in forty may be wrong: that is what 95% means.
    let nothing = (0..3).any(|_| {
        let said = run_in(&folder, &bisect);
        said.status.code() == Some(1) && out(&said).contains("nothing to find")
    });
    assert!(nothing);
    let turned = run_in(&folder, &["bisect", "--good", "HEAD", "--bad", "HEAD~3", "--", "sh", "run.sh"]);
    assert!(err(&turned).contains("is not before"), "{}", err(&turned));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_history_of_a_branch_names_the_commit_of_a_change() {
    let folder = repository("history", 12, 7, &[]);
    for number in (0..12).rev() {
        git(&folder, &["checkout", "-q", "--detach", &format!("main~{number}")]);
        let verb = if number == 11 { "save" } else { "update" };
        let words = [
            "baseline",
            verb,
            "main",
            "--store",
            "git:perf",
            "--repeats",
            "2",
            "--metric-regex",
            REGEX,
            "--",
            "sh",
            "run.sh",
        ];
        let saved = run_in(&folder, &words);
        assert_eq!(saved.status.code(), Some(0), "{}", err(&saved));
    }
    let shown = run_in(&folder, &["history", "step_time", "--store", "git:perf"]);
    let text = out(&shown);
    assert!(text.contains("1 change of level"), "{text}{}", err(&shown));
    let sentence = text.lines().last().unwrap();
    assert!(sentence.starts_with("+3") && sentence.contains("change 7"), "{text}");
    let wrong = run_in(&folder, &["history", "energy", "--store", "git:perf"]);
    assert!(err(&wrong).contains("has no energy") && err(&wrong).contains("step_time"), "{}", err(&wrong));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_sweep_says_which_setting_to_take() {
    let folder = scratch("sweep");
    // A step of batch b takes 10 + b / 8 ms: larger ones do more per second.
    let script =
        "b=$0; i=0; while [ $i -lt 6 ]; do echo step $((10000 + b * 125)) us; i=$((i+1)); done; echo $b >> log";
    let words = [
        "sweep",
        "--arg",
        "batch=32,64,128",
        "--repeats",
        "2",
        "--metric-regex",
        REGEX,
        "--",
        "sh",
        "-c",
        script,
        "{batch}",
    ];
    let swept = run_in(&folder, &words);
    let text = out(&swept);
    assert_eq!(swept.status.code(), Some(0), "{}", err(&swept));
    // 32 / 14 ms = 2,286 per second; 128 / 26 ms = 4,923: 2.15 times.
    assert!(text.contains("2286") && text.contains("4923") && text.contains("2.15x"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("batch 128: 2.15x the throughput"), "{text}");
    // In turns, each round beginning with another one.
    let log = std::fs::read_to_string(folder.join("log")).unwrap();
    assert_eq!(log.split_whitespace().collect::<Vec<_>>(), ["32", "64", "128", "64", "128", "32"]);
    let unused = run_in(&folder, &["sweep", "--arg", "lr=1,2", "--", "true"]);
    assert!(err(&unused).contains("does not use the setting lr"), "{}", err(&unused));
    std::fs::remove_dir_all(folder).unwrap();
}

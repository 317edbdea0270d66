//! The commands in the README work as they are written there.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{gpt, questions, root, run, stepscope, temp_folder};

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// The command lines in blocks of shell, without remarks and redirections.
fn typed(readme: &str) -> Vec<Vec<String>> {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("stepscope "));
    let command =
        |line: &str| line.split(" #").next().and_then(|line| line.split(" > ").next()).unwrap().to_owned();
    lines.map(|line| command(line).split_whitespace().skip(1).map(str::to_owned).collect()).collect()
}

#[test]
fn command_lines_run() {
    let folder = temp_folder("readme");
    for name in ["trace.json.gz", "before.json.gz", "after.json.gz"] {
        std::fs::copy(gpt(), folder.join(name)).unwrap();
    }
    let service = folder.join("service");
    std::fs::create_dir_all(&service).unwrap();
    std::fs::write(service.join("stepscope-production.json"), r#"{"schema": 1}"#).unwrap();
    let all = typed(&readme());
    assert!(all.len() > 12, "{all:?}");
    for words in all {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words[0] == "production" && ["top", "export"].contains(&words[1]) {
            words.push("--once");
        }
        if ["view", "run", "record", "capture", "top", "monitor"].contains(&words[0]) {
            // They do not end by themselves, or need a program that runs.
            continue;
        }
        let output = stepscope(&words).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let no_ui = words.contains(&"html") && said.contains("make ui");
        // 1 is an answer: that there are findings.
        assert!(matches!(output.status.code(), Some(0 | 1)) || no_ui, "stepscope {}: {said}", words.join(" "));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_question_is_named() {
    let readme = readme();
    // The summary is what `stepscope TRACE` shows.
    for name in questions().into_iter().filter(|name| name != "summary") {
        let named = [format!("`stepscope {name} "), format!("`{name} …`"), format!("stepscope {name} ")];
        assert!(named.iter().any(|words| readme.contains(words)), "README.md does not name `stepscope {name}`");
    }
}

#[test]
fn commands_that_are_named_exist() {
    let readme = readme();
    let named: BTreeSet<String> = Regex::new("`stepscope ([a-z-]+)")
        .unwrap()
        .captures_iter(&readme)
        .map(|found| found[1].to_owned())
        .chain(typed(&readme).into_iter().map(|words| words[0].clone()).filter(|word| !word.contains('.')))
        .collect();
    assert!(named.len() > 15 && named.contains("view"), "{named:?}");
    for name in named {
        // `run` passes its options on to the script.
        let known = name == "run" || run(&[&name, "--help"]).status.success();
        assert!(known, "there is no stepscope {name}");
    }
}

#[test]
fn test_commands_are_in_the_makefile() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let pages = [readme(), std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap()].concat();
    let targets: BTreeSet<String> = Regex::new("(?m)(?:^|`)make ([a-z-]+)")
        .unwrap()
        .captures_iter(&pages)
        .map(|t| t[1].to_owned())
        .collect();
    assert!(targets.contains("test") && targets.contains("test-fast"), "{targets:?}");
    for target in targets {
        let rule = format!("\n{target}:");
        assert!(makefile.contains(&rule), "the Makefile has no target {target}");
    }
}

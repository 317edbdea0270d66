//! Steps that are not marked, and files that say which program they are from: what is printed about them.

use std::path::Path;

use serde_json::{Value, json};

use crate::{fixture, json as asked, stdout, temp_folder};

fn loader() -> String {
    fixture("conv_fast_loader/conv_fast_loader.pt.trace.json.gz")
}

fn changed(path: &str, folder: &Path, change: impl Fn(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(&stdout(&["export", "--to", "chrome", path])).unwrap();
    change(&mut document);
    let file = folder.join("changed.json");
    std::fs::write(&file, serde_json::to_vec(&document).unwrap()).unwrap();
    file.display().to_string()
}

fn unmark(document: &mut Value) {
    let is_mark = |event: &Value| event["name"].as_str().is_some_and(|name| name.starts_with("ProfilerStep#"));
    document["traceEvents"].as_array_mut().unwrap().retain(|event| !is_mark(event));
}

#[test]
fn found_steps_are_labelled_wherever_they_count() {
    let folder = temp_folder("found");
    let trace = changed(&loader(), &folder, unmark);
    let sentence = "3 iterations found by the steps of the optimizer AdamW";
    let shown = stdout(&[&trace]);
    assert!(shown.lines().next().unwrap().contains("3 found iterations"), "{shown}");
    assert!(shown.contains(&format!("no steps are marked: {sentence}")), "{shown}");
    assert!(shown.contains("per step"), "{shown}");
    assert!(stdout(&["info", &trace]).contains(&format!("none marked; {sentence}")));
    assert!(stdout(&["steps", &trace]).contains(sentence));
    for question in ["findings", "account", "what-if"] {
        let remarks = asked(&[question, &trace])["remarks"].to_string();
        assert!(remarks.contains(sentence), "{question}: {remarks}");
    }
    assert_eq!(asked(&["steps", &trace])["found"]["by"], "optimizer");
    // The same program with its marks says nothing of the kind.
    let marked = stdout(&[&loader()]);
    assert!(!marked.contains("found iterations") && !marked.contains("no steps are marked"), "{marked}");
    assert_eq!(asked(&["account", &loader()])["remarks"], json!([]));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_can_be_tried_is_said_with_the_programs_own_words() {
    let folder = temp_folder("tried");
    let line = "To measure these: stepscope try train.py --epochs 2 'a b'";
    let ours =
        |document: &mut Value| document["stepscope_program"] = json!(["train.py", "--epochs", "2", "a b"]);
    let few = fixture("gpt_stack/gpt_stack.pt.trace.json.gz");
    let shown = stdout(&[&changed(&few, &folder, ours)]);
    let fix = shown.split_once("\nFIX").unwrap().1.split("\n\n").next().unwrap().to_owned();
    assert_eq!(fix.lines().last().unwrap().trim(), line, "{shown}");
    assert!(!stdout(&[&few]).contains("stepscope try"), "the file does not say what ran");
    // Hints speak of what made the file.
    let code = |path: &str| {
        let findings = asked(&["findings", path])["findings"].as_array().unwrap().clone();
        let found = findings.into_iter().find(|finding| finding["rule"] == "unrepresentative").unwrap();
        found["code"].as_str().unwrap().to_owned()
    };
    assert!(code(&few).starts_with("schedule = torch.profiler.schedule("));
    assert_eq!(
        code(&changed(&few, &folder, ours)),
        "stepscope run --after 20 --iterations 5 train.py --epochs 2 'a b'"
    );
    let profile = |document: &mut Value| document["stepscope_recorder"] = json!("profile");
    assert!(code(&changed(&few, &folder, profile)).starts_with("schedule = stepscope.schedule("));
    std::fs::remove_dir_all(folder).unwrap();
}

//! The laws of the house that a machine can hold: which crate may import which, where `unsafe` may stand.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::root;

/// Crate, and the workspace crates it may use outside tests. The same table stands in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("formats", &["model"]),
    ("analyse", &["model"]),
    ("record", &["model"]),
    ("serve", &["model", "analyse"]),
    ("cli", &["model", "formats", "record", "analyse", "serve"]),
    ("python", &["model", "formats", "record", "cli"]),
    ("testkit", &["model"]),
];

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn crates_import_only_along_the_arrows() {
    let metadata = metadata();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let short = |name: &serde_json::Value| {
            name.as_str().unwrap_or_default().strip_prefix("stepscope-").map(str::to_owned)
        };
        let name = short(&package["name"]).expect("every crate is called stepscope-…");
        let uses = package["dependencies"].as_array().unwrap().iter();
        let uses = uses.filter(|d| d["kind"].is_null()).filter_map(|d| short(&d["name"]));
        found.insert(name, uses.collect());
    }
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for (name, uses) in &found {
        let (_, allowed) =
            ARROWS.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no arrows for {name}"));
        for used in uses {
            assert!(allowed.contains(&used.as_str()), "{name} must not import {used}");
        }
    }
    assert_eq!(
        found.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        known,
        "ARROWS and the workspace differ"
    );
}

#[test]
fn the_architecture_shows_the_same_arrows() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, uses) in ARROWS {
        let uses = if uses.is_empty() { "nothing of ours".to_owned() } else { uses.join(", ") };
        let row = format!("| `{name}` | {uses} |");
        assert!(text.contains(&row), "ARCHITECTURE.md lacks the row {row}");
    }
}

#[test]
fn the_model_knows_no_formats_and_no_threads() {
    let folder = root().join("crates/model/src");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["serde_json", "std::fs", "std::io", "std::thread", "std::net"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

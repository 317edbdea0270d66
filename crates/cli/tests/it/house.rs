//! The laws of the house that a machine can hold: which crate, which folder of `analyse` and which file may import
//! which, and what `model` must not know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::root;

/// Crate, and the workspace crates it may use outside tests. The same table stands in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("ground", &[]),
    ("model", &[]),
    ("formats", &["ground", "model"]),
    ("analyse", &["model"]),
    ("record", &["ground", "model"]),
    ("ask", &["ground", "model", "analyse"]),
    ("gate", &["ground", "model", "analyse", "ask"]),
    ("store", &["model", "analyse", "ask"]),
    ("serve", &["ground", "model", "analyse", "ask", "production"]),
    ("production", &["ground", "analyse", "ask"]),
    ("export", &["ground", "production"]),
    ("capture", &["ground"]),
    (
        "cli",
        &[
            "ground",
            "model",
            "formats",
            "record",
            "analyse",
            "ask",
            "gate",
            "store",
            "serve",
            "production",
            "export",
            "capture",
        ],
    ),
    (
        "python",
        &["ground", "model", "formats", "record", "analyse", "ask", "store", "production", "export", "cli"],
    ),
    ("testkit", &["ground", "model", "formats"]),
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

#[test]
fn the_code_of_the_model_names_no_format() {
    for file in rust_files(&root().join("crates/model/src")) {
        let code = code(&file);
        for word in ["JSON", "Chrome", "Kineto", "speedscope", "pstats"] {
            assert!(!code.contains(word), "{} names {word}", file.display());
        }
    }
}

/// Folder of `analyse`, and the folders it may use. The same table is in ARCHITECTURE.md.
const FOLDERS: &[(&str, &[&str])] = &[
    ("scope", &[]),
    ("statistics", &[]),
    ("names", &[]),
    ("steps", &["scope", "names"]),
    ("memory", &["scope", "statistics", "names"]),
    ("threads", &["scope", "names"]),
    ("devices", &["scope", "names", "steps"]),
    ("tables", &["scope", "statistics", "names", "steps", "memory", "threads", "devices"]),
    ("causes", &["scope", "names", "steps", "threads", "devices"]),
    ("peers", &["scope", "names", "steps", "devices"]),
    ("replay", &["scope", "names", "steps", "threads", "devices", "tables", "causes"]),
    ("views", &["scope", "names", "steps", "memory", "threads", "devices", "tables", "causes"]),
    ("roofline", &["scope", "names", "steps", "replay"]),
    (
        "run",
        &[
            "scope", "names", "steps", "memory", "threads", "devices", "tables", "causes", "replay", "views",
            "roofline",
        ],
    ),
    (
        "findings",
        &["scope", "statistics", "names", "steps", "memory", "threads", "causes", "replay", "roofline", "run"],
    ),
    ("compare", &["scope", "statistics", "names", "memory", "threads", "tables", "causes", "run", "findings"]),
];

#[test]
fn folders_of_analyse_import_only_along_the_arrows() {
    let source = root().join("crates/analyse/src");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in rust_files(&source) {
        let inside = file.strip_prefix(&source).unwrap();
        let folder = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let folder = folder.trim_end_matches(".rs").to_owned();
        if folder == "lib" {
            continue;
        }
        let uses = imports(&file).into_iter().filter_map(|path| path.first().cloned());
        found.entry(folder.clone()).or_default().extend(uses.filter(|used| *used != folder));
    }
    let known: BTreeMap<String, BTreeSet<String>> = FOLDERS
        .iter()
        .map(|(name, uses)| ((*name).to_owned(), uses.iter().map(|u| (*u).to_owned()).collect()))
        .collect();
    assert_eq!(found, known, "FOLDERS and the code differ");
    // A folder stands above all that it uses, so the table has no circle.
    for (at, (name, uses)) in FOLDERS.iter().enumerate() {
        for used in *uses {
            assert!(FOLDERS[..at].iter().any(|(below, _)| below == used), "{name} stands below {used}");
        }
    }
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, uses) in FOLDERS {
        let uses = if uses.is_empty() { "nothing".to_owned() } else { uses.join(", ") };
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}/` |")));
        assert!(
            row.is_some_and(|row| row.ends_with(&format!("| {uses} |"))),
            "ARCHITECTURE.md lacks `{name}/`: {uses}"
        );
    }
}

#[test]
fn every_file_is_declared() {
    // A file that no `mod` names is not compiled, and its tests pass by never running.
    let mut lost = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        for tree in [folder.join("src"), folder.join("tests/it")].iter().filter(|tree| tree.is_dir()) {
            let files = rust_files(tree);
            let declared: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
            for file in files.into_iter().filter(|file| !file.starts_with(folder.join("src/bin"))) {
                let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
                let name = match stem.as_str() {
                    "lib" | "main" => continue,
                    "mod" => file.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned(),
                    _ => stem,
                };
                if !declared.contains(&format!("mod {name};")) {
                    lost.push(file);
                }
            }
        }
    }
    assert_eq!(lost, Vec::<PathBuf>::new(), "no `mod` names these files");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let source = folder.unwrap().path().join("src");
        let modules: BTreeMap<Vec<String>, PathBuf> =
            rust_files(&source).into_iter().map(|file| (module_of(&source, &file), file)).collect();
        let mut arrows: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
        // Tests may look anywhere.
        let code = modules.iter().filter(|(module, _)| module.last().is_none_or(|name| name != "tests"));
        for (module, file) in code {
            for path in imports_from(file, module) {
                let target = (0..=path.len()).rev().find_map(|n| modules.get_key_value(&path[..n]));
                let Some((target, _)) = target else { continue };
                // A module and all that is declared in it are one room: an arrow leads from room to room of one house.
                let shared = module.iter().zip(target).take_while(|(a, b)| a == b).count();
                if shared < module.len().min(target.len()) {
                    arrows.entry(&module[..=shared]).or_default().insert(&target[..=shared]);
                }
            }
        }
        for &start in arrows.keys() {
            if let Some(circle) = circle_through(start, &arrows) {
                circles.push(circle.iter().map(|m| m.join("::")).collect::<Vec<_>>().join(" -> "));
            }
        }
    }
    assert_eq!(circles, Vec::<String>::new());
}

/// The shortest way from a module back to itself.
fn circle_through<'a>(
    start: &'a [String],
    arrows: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
) -> Option<Vec<&'a [String]>> {
    let mut from: BTreeMap<&[String], &[String]> = BTreeMap::new();
    let mut next = std::collections::VecDeque::from([start]);
    while let Some(module) = next.pop_front() {
        for &target in arrows.get(module).into_iter().flatten() {
            if target == start {
                let mut way = vec![start, module];
                while let Some(&before) = from.get(way[way.len() - 1]) {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if !from.contains_key(target) {
                from.insert(target, module);
                next.push_back(target);
            }
        }
    }
    None
}

/// Every source file below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(rust_files(&path)),
            false if path.extension().is_some_and(|e| e == "rs") => files.push(path),
            false => {}
        }
    }
    files
}

/// The path of the module in a file: `names/comm.rs` is `["names", "comm"]`.
fn module_of(source: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source).unwrap().with_extension("");
    let mut parts: Vec<String> = inside.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// The code of a file without comments and unit tests.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Paths that a file takes from its own crate, by `crate::`.
fn imports(file: &Path) -> Vec<Vec<String>> {
    paths_after(&code(file), "crate::")
}

/// The same with `super::` and `self::`, for a module at this place.
fn imports_from(file: &Path, module: &[String]) -> Vec<Vec<String>> {
    let code = code(file);
    let mut all = paths_after(&code, "crate::");
    for (word, up) in [("super::super::", 2), ("super::", 1), ("self::", 0)] {
        let base = &module[..module.len().saturating_sub(up)];
        all.extend(paths_after(&code, word).into_iter().map(|path| [base, &path].concat()));
    }
    all
}

/// The paths behind each `word`, groups in braces taken apart.
fn paths_after(code: &str, word: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (at, _) in code.match_indices(word) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c == ':' || c == '_' || c.is_alphanumeric()) {
            continue;
        }
        tree(&mut code[at + word.len()..].chars().peekable(), &mut Vec::new(), &mut all);
    }
    all
}

/// One import tree: `a::{b, c::d}`.
fn tree(
    text: &mut std::iter::Peekable<std::str::Chars<'_>>,
    base: &mut Vec<String>,
    all: &mut Vec<Vec<String>>,
) {
    let depth = base.len();
    let mut word = String::new();
    loop {
        match text.peek().copied() {
            Some(c) if c.is_alphanumeric() || c == '_' => {
                word.push(c);
                text.next();
            }
            Some(':') if !word.is_empty() => {
                text.next();
                if text.next() != Some(':') {
                    break;
                }
                base.push(std::mem::take(&mut word));
            }
            Some('{') if word.is_empty() => {
                text.next();
                loop {
                    while text.peek().is_some_and(|c| c.is_whitespace() || *c == ',') {
                        text.next();
                    }
                    match text.peek() {
                        Some('}') | None => break,
                        Some(c) if c.is_alphanumeric() || *c == '_' => tree(text, base, all),
                        Some(_) => drop(text.next()),
                    }
                }
                text.next();
                base.truncate(depth);
                return;
            }
            _ => break,
        }
    }
    if !word.is_empty() {
        base.push(word);
    }
    all.push(base.clone());
    base.truncate(depth);
}

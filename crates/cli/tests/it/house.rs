//! The laws of the house that a machine can hold: which crate, which folder of `analyse` and which file may import
//! which, what `model` must not know, and how long a file may be.

mod documents;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::root;
use imports::{Modules, code, declaring, exports, imports, imports_from, module_of, rust_files};

/// Crate, and the workspace crates it may use outside tests. The same table is in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("ground", &[]),
    ("model", &[]),
    ("formats", &["ground", "model"]),
    ("analyse", &["model"]),
    ("record", &["ground", "model"]),
    ("ask", &["ground", "model", "analyse"]),
    ("regression", &["ground", "model", "analyse", "ask"]),
    ("columnar", &["model", "analyse", "ask"]),
    ("serve", &["ground", "model", "analyse", "ask", "service"]),
    ("service", &["ground", "analyse", "ask"]),
    ("metrics", &["ground", "service"]),
    ("remote_profiler", &["ground"]),
    (
        "cli",
        &[
            "ground",
            "model",
            "formats",
            "record",
            "analyse",
            "ask",
            "regression",
            "columnar",
            "serve",
            "service",
            "metrics",
            "remote_profiler",
        ],
    ),
    (
        "python",
        &["ground", "model", "formats", "record", "analyse", "ask", "columnar", "service", "metrics", "cli"],
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
            name.as_str().unwrap_or_default().strip_prefix("stepscope-").map(|short| short.replace('-', "_"))
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
        let allowed: BTreeSet<String> = allowed.iter().map(|used| (*used).to_owned()).collect();
        assert_eq!(*uses, allowed, "what {name} imports, and what it may");
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
    for path in rust_files(&root().join("crates/model/src")) {
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

#[test]
fn only_the_registry_tells_questions_apart_by_name() {
    let folders = ["cli", "serve", "python"].map(|name| root().join("crates").join(name).join("src"));
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        let code = code(&file);
        for word in ["question.name ==", "question.name !=", "question().name ==", "match question.name"] {
            assert!(!code.contains(word), "{}: make `{word}` a property of the question", file.display());
        }
    }
}

/// Folder of `analyse`, and the folders it may use. The same table is in ARCHITECTURE.md.
const FOLDERS: &[(&str, &[&str])] = &[
    ("scope", &[]),
    ("statistics", &[]),
    ("names", &[]),
    ("programs", &[]),
    ("steps", &["scope", "statistics", "names"]),
    ("memory", &["scope", "statistics", "names"]),
    ("threads", &["scope", "names"]),
    ("devices", &["scope", "names", "steps"]),
    ("tables", &["scope", "statistics", "names", "programs", "steps", "memory", "threads", "devices"]),
    ("causes", &["scope", "names", "steps", "threads", "devices"]),
    ("peers", &["scope", "names", "programs", "steps", "devices"]),
    ("replay", &["scope", "names", "steps", "threads", "devices", "tables", "causes"]),
    ("views", &["scope", "names", "steps", "memory", "threads", "devices", "tables", "causes"]),
    ("roofline", &["scope", "names", "programs", "steps", "replay"]),
    (
        "run",
        &[
            "scope",
            "statistics",
            "names",
            "programs",
            "steps",
            "memory",
            "threads",
            "devices",
            "tables",
            "causes",
            "replay",
            "views",
            "roofline",
        ],
    ),
    (
        "findings",
        &[
            "scope",
            "statistics",
            "names",
            "programs",
            "steps",
            "memory",
            "threads",
            "causes",
            "replay",
            "roofline",
            "run",
        ],
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
    // A folder is above all that it uses, so the table has no circle.
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
            for file in rust_files(tree).into_iter().filter(|file| !file.starts_with(folder.join("src/bin"))) {
                let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
                let place = file.parent().unwrap();
                let (name, parent) = match stem.as_str() {
                    "lib" | "main" => continue,
                    "mod" => {
                        (place.file_name().unwrap().to_string_lossy().into_owned(), place.parent().unwrap())
                    }
                    _ => (stem, place),
                };
                let parents = ["lib.rs", "main.rs", "mod.rs"].map(|file| parent.join(file));
                let parents = parents.into_iter().chain([parent.with_extension("rs")]);
                let declared: String = parents.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
                if !declared.contains(&format!("mod {name};")) {
                    lost.push(file);
                }
            }
        }
    }
    assert_eq!(lost, Vec::<PathBuf>::new(), "no `mod` names these files");
}

/// Written by a test of `serve`, and read by no one.
const GENERATED: &str = "ui/src/data/wire.ts";
const MAX_LINES: usize = 600;

#[test]
fn no_file_has_more_than_600_lines() {
    let mut git = Command::new("git");
    git.args(["ls-files", "--", "*.rs", "*.py", "*.ts", "*.tsx"]).current_dir(root());
    let output = git.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let ours = listed.lines().filter(|file| *file != GENERATED && !file.starts_with("fixtures/"));
    // What is listed and not there is about to be deleted.
    let lines = ours.filter_map(|file| {
        let text = std::fs::read_to_string(root().join(file)).ok()?;
        Some((file, text.lines().count()))
    });
    let lines: Vec<(&str, usize)> = lines.collect();
    assert!(lines.iter().any(|(file, _)| file.ends_with("house.rs")), "git lists no files of ours");
    let long: Vec<_> = lines.into_iter().filter(|(_, lines)| *lines > MAX_LINES).collect();
    assert_eq!(long, Vec::<(&str, usize)>::new(), "cut these by idea, as STYLE.md has it");
}

#[test]
fn the_filters_of_tests_that_watch_clocks_are_equal() {
    let text = std::fs::read_to_string(root().join(".config/nextest.toml")).unwrap();
    let filters = text.lines().filter_map(|line| line.split_once("filter = '"));
    let filters: Vec<&str> = filters.map(|(_, filter)| filter.trim_end_matches('\'')).collect();
    let [second_try, left_out, alone] = filters[..] else { panic!("{filters:?}") };
    assert_eq!(alone, second_try);
    assert_eq!(left_out, format!("not ({alone})"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let source = folder.unwrap().path().join("src");
        let modules: Modules =
            rust_files(&source).into_iter().map(|file| (module_of(&source, &file), file)).collect();
        let exports =
            modules.iter().flat_map(|(module, file)| exports(module, &code(file), &modules)).collect();
        let mut arrows: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
        // Tests may look anywhere.
        let code = modules.iter().filter(|(module, _)| module.last().is_none_or(|name| name != "tests"));
        for (module, file) in code {
            for path in imports_from(file, module) {
                let Some(target) = declaring(path, &modules, &exports) else { continue };
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

//! The laws of the house that a machine can hold: which crate, which folder of `analyse` and which file may import
//! which, what `model` must not know, how long a file may be, and that the files which documents name are there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::root;

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

type Modules = BTreeMap<Vec<String>, PathBuf>;
/// The path of a name that a module gives on, and where it has it from.
type Exports = BTreeMap<Vec<String>, Vec<String>>;

/// The module in which something is declared, wherever else it can be had.
fn declaring<'a>(mut path: Vec<String>, modules: &'a Modules, exports: &Exports) -> Option<&'a [String]> {
    loop {
        let (module, _) = (0..=path.len()).rev().find_map(|n| modules.get_key_value(&path[..n]))?;
        let name = path.get(..=module.len()).and_then(|name| exports.get(name));
        let Some(from) = name.filter(|from| from.len() > module.len() && !path.starts_with(from)) else {
            return Some(module);
        };
        path = [from, &path[module.len() + 1..]].concat();
    }
}

/// What a module gives on of what is declared below it.
fn exports(module: &[String], code: &str, modules: &Modules) -> Exports {
    static GIVEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^pub(?:\([a-z]+\))? use (?:self::)?([^;]+);").unwrap());
    let mut exports = Exports::new();
    for given in GIVEN.captures_iter(code) {
        let mut paths = Vec::new();
        tree(&mut given[1].chars().peekable(), &mut module.to_vec(), &mut paths);
        for path in paths.into_iter().filter(|path| path.len() > module.len() + 1) {
            if modules.contains_key(&path[..=module.len()]) {
                exports.insert([module, &path[path.len() - 1..]].concat(), path);
            }
        }
    }
    exports
}

#[test]
fn a_name_is_declared_in_one_module() {
    let path = |text: &str| -> Vec<String> { text.split("::").map(str::to_owned).collect() };
    let modules: Modules =
        ["findings", "findings::context", "run"].map(|name| (path(name), PathBuf::new())).into();
    let code =
        "pub(crate) use context::{Context, inner::Deep};\nuse context::Private;\npub use other::Elsewhere;";
    let exports = exports(&path("findings"), code, &modules);
    assert_eq!(exports.len(), 2, "{exports:?}");
    let declaring = |text: &str| declaring(path(text), &modules, &exports).map(|module| module.join("::"));
    assert_eq!(declaring("findings::Context").as_deref(), Some("findings::context"));
    assert_eq!(declaring("findings::Deep::new").as_deref(), Some("findings::context"));
    assert_eq!(declaring("findings::Private").as_deref(), Some("findings"));
    assert_eq!(declaring("run::Run::new").as_deref(), Some("run"));
    assert_eq!(declaring("std::fmt"), None);
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

#[test]
fn files_that_documents_name_are_there() {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let Some(listed) = listed.ok().filter(|output| output.status.success()) else {
        println!("skipped: the sources are not a git checkout, so there is no list of files");
        return;
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    // What was removed and not committed yet is listed, too.
    let is_there_still = |path: &&str| !path.is_empty() && root().join(path).exists();
    let files: Vec<&str> = listed.split('\0').filter(is_there_still).collect();
    let there = with_folders(&files);
    let document = Regex::new(
        r"^((README|ARCHITECTURE|CONTRIBUTING|STYLE)\.md|docs/[^/]+\.md|(crates/[^/]+|ui|python|fuzz)/README\.md)$",
    )
    .unwrap();
    let (mut checked, mut lost) = (0, Vec::new());
    for document in files.iter().filter(|path| document.is_match(path)) {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        for path in named_paths(&text, &there) {
            checked += 1;
            if !is_there(&path, document, &there) {
                lost.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(checked > 150, "only {checked} paths were found: are documents still read?");
    assert_eq!(lost, Vec::<String>::new(), "documents name files that do not exist");
}

#[test]
fn a_file_that_is_gone_is_noticed_in_a_document() {
    let files = ["crates/serve/src/api.rs", "crates/ask/src/form.rs", "ui/src/data/wire.ts"];
    let there = with_folders(&files);
    let text = "`api.rs` `gone.rs` `data/{wire,gone}.ts` `train.py` `a/b` `<folder>.rs` `serve/src` `serve/gone` `src/`\n\
                ```\n`gone/x.py`\n```\n";
    let named = named_paths(text, &there);
    assert_eq!(named, ["api.rs", "gone.rs", "data/wire.ts", "data/gone.ts", "serve/src", "serve/gone", "src"]);
    let lost = |document: &str| -> Vec<&str> {
        named.iter().map(String::as_str).filter(|path| !is_there(path, document, &there)).collect()
    };
    assert_eq!(lost("README.md"), ["gone.rs", "data/gone.ts", "serve/gone"]);
    // A crate's README speaks of its own files.
    assert_eq!(lost("crates/ask/README.md"), ["api.rs", "gone.rs", "data/gone.ts", "serve/gone"]);
}

fn with_folders<'a>(files: &[&'a str]) -> BTreeSet<&'a str> {
    let folders = files.iter().flat_map(|&file| file.match_indices('/').map(move |(at, _)| &file[..at]));
    folders.chain(files.iter().copied()).collect()
}

/// Paths in backticks that look like ours. Names without a folder count only if they end in `.rs`: `train.py` is a file that
/// a user has.
fn named_paths(text: &str, there: &BTreeSet<&str>) -> Vec<String> {
    let blocks = Regex::new(r"(?ms)^```.*?^```").unwrap();
    let quoted = Regex::new(r"`([A-Za-z0-9_{][A-Za-z0-9_./{},-]*)`").unwrap();
    let source = Regex::new(r"\.(rs|py|ts|tsx|sh)$").unwrap();
    let text = blocks.replace_all(text, "");
    let mut all = Vec::new();
    for found in quoted.captures_iter(&text) {
        let path = &found[1];
        let ours = match path.split_once('/') {
            None => path.ends_with(".rs"),
            Some((first, _)) => {
                let known = first == "tests" || there.contains(first);
                let known = known || there.contains(format!("crates/{first}").as_str());
                known || path.ends_with('/') || source.is_match(path)
            }
        };
        if ours {
            all.extend(without_braces(path).iter().map(|path| path.trim_end_matches('/').to_owned()));
        }
    }
    all
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn without_braces(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = parts else { return vec![path.to_owned()] };
    inside.split(',').flat_map(|one| without_braces(&format!("{before}{one}{after}"))).collect()
}

/// Whether a path is the end of one that exists; a bare name in the README of a crate must be in that crate.
fn is_there(path: &str, document: &str, there: &BTreeSet<&str>) -> bool {
    let home = document.strip_suffix("README.md").filter(|home| home.starts_with("crates/"));
    let home = home.filter(|_| !path.contains('/')).unwrap_or_default();
    let ends =
        |known: &str| known.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    there.iter().any(|known| known.starts_with(home) && ends(known))
}

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

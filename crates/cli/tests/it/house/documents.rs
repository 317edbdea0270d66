//! The files that documents name are there.

use std::collections::BTreeSet;
use std::process::Command;

use regex::Regex;

use crate::root;

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

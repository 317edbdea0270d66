//! No analysis knows how one producer spells things: arguments are asked for by what they mean.

use std::fs;
use std::path::{Path, PathBuf};

/// Every key in the table by which the reader of PyTorch's traces says what its arguments mean.
fn keys() -> Vec<String> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/src/argument_keys.rs");
    let text = fs::read_to_string(table).unwrap();
    let rows = text.split_once("ATTRIBUTES: ").unwrap().1.split_once("];").unwrap().0;
    let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
    let key = |row: &str| match row.trim().strip_prefix('(')?.split_once(", ")?.0 {
        literal if literal.starts_with('"') => quoted(literal),
        name => quoted(text.lines().find(|line| line.contains(&format!("const {name}: &str")))?),
    };
    let keys: Vec<String> = rows.lines().filter_map(key).collect();
    assert!(
        keys.len() > 30
            && ["Input Dims", "Call stack"].iter().all(|&known| keys.iter().any(|key| key == known)),
        "{keys:?}"
    );
    keys
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_analysis_reads_an_argument_by_its_key() {
    let keys = keys();
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 100);
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            // What a definition calls a metric is our own word.
            let line = line.trim_start();
            let is_definition = line.starts_with('"') && line.contains("\", \"") && line.contains("\" =>");
            if line.starts_with("//") || is_definition {
                continue;
            }
            let key = keys.iter().find(|key| line.contains(&format!("\"{key}\"")));
            found.extend(key.map(|key| format!("{}:{}: \"{key}\"", file.display(), number + 1)));
        }
    }
    assert!(found.is_empty(), "ask for an `Attr` instead:\n{}", found.join("\n"));
}

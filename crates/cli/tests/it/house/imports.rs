//! What files of Rust import, and where it is declared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

pub(super) type Modules = BTreeMap<Vec<String>, PathBuf>;
/// The path of a name that a module gives on, and where it has it from.
pub(super) type Exports = BTreeMap<Vec<String>, Vec<String>>;

/// The module in which something is declared, wherever else it can be had.
pub(super) fn declaring<'a>(
    mut path: Vec<String>,
    modules: &'a Modules,
    exports: &Exports,
) -> Option<&'a [String]> {
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
pub(super) fn exports(module: &[String], code: &str, modules: &Modules) -> Exports {
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

pub(super) fn rust_files(folder: &Path) -> Vec<PathBuf> {
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
pub(super) fn module_of(source: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source).unwrap().with_extension("");
    let mut parts: Vec<String> = inside.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// The code of a file without comments and unit tests.
pub(super) fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Paths that a file takes from its own crate, by `crate::`.
pub(super) fn imports(file: &Path) -> Vec<Vec<String>> {
    paths_after(&code(file), "crate::")
}

/// The same with `super::` and `self::`, for a module at this place.
pub(super) fn imports_from(file: &Path, module: &[String]) -> Vec<Vec<String>> {
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

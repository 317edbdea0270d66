//! The table of rules in docs/findings.md is what the code says.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use stepscope_analyse::findings::{RULES, Thresholds};

/// The parts of the page that come from the code: the name of their markers, and their text.
fn parts() -> [(&'static str, String); 2] {
    let mut shared = String::from("| threshold | default | meaning |\n|---|---|---|\n");
    let of_rules = || RULES.iter().flat_map(|rule| rule.thresholds);
    for t in Thresholds::all().filter(|t| !of_rules().any(|of_rule| of_rule.name == t.name)) {
        writeln!(shared, "| `{}` | {} | {} |", t.name, t.default, t.text).unwrap();
    }
    let mut rules = String::from("| rule | looks for | thresholds and their defaults |\n|---|---|---|\n");
    for rule in RULES {
        let limits = rule.thresholds.iter().map(|t| format!("`{}` = {}: {}", t.name, t.default, t.text));
        let limits: Vec<String> = limits.collect();
        writeln!(rules, "| `{}` | {} | {} |", rule.name, rule.about, limits.join("<br>")).unwrap();
    }
    [("shared thresholds", shared), ("rules", rules)]
}

/// Checks that a page holds these parts between their markers, or writes them there if asked to.
pub(crate) fn hold(page: &str, parts: &[(&'static str, String)]) {
    // Tests run side by side and may want the same page.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let mut text = std::fs::read_to_string(&path).unwrap();
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    for (name, table) in parts {
        let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
        let (before, rest) = text.split_once(&begin).unwrap();
        let (written, after) = rest.split_once(&end).unwrap();
        let same = written.trim() == table.trim();
        assert!(same || update, "docs/{page} should hold this (UPDATE_DOCS=1 writes it):\n\n{table}");
        text = format!("{before}{begin}\n\n{}\n\n{end}{after}", table.trim());
    }
    if update {
        std::fs::write(&path, text).unwrap();
    }
}

#[test]
fn the_tables_are_up_to_date() {
    hold("findings.md", &parts());
}

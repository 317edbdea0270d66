//! The words of the program and of the pages a newcomer reads first: what STYLE.md tells us not to write is not there.

use regex::Regex;

use crate::{root, run, stdout};

/// What not to write, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    (r"\d %", "93%, without a space"),
    (r"\b(ms|µs|ns|time|row|calls|bytes|waits) an? (step|kernel|device|call|second|event)\b", "per step"),
    (r"(?i)\bfigures?\b", "number, metric"),
    (r"\b(stands|told by|mended|puts? up with)\b", "is, shown by, repaired, accepts"),
    (r"(?i)colour|behaviour|neighbour|utilis|recognis|summaris", "American spelling"),
    (r"\bin all\b", "in total"),
    (r"\b(moves?|sets?) (the )?limits\b|\blimits of findings\b", "threshold"),
    (r"\b(copies|kernels) (and|or) fills\b", "memsets"),
    (r"\b(whole|full|same) address\b|\bbehind a key\b", "URL, access token"),
];

fn complaints(place: &str, text: &str) -> Vec<String> {
    let words: Vec<(Regex, &str)> = WORDS.iter().map(|w| (Regex::new(w.0).unwrap(), w.1)).collect();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (pattern, instead) in &words {
            if let Some(hit) = pattern.find(line) {
                found.push(format!("{place}:{}: '{}' (write: {instead})", number + 1, hit.as_str()));
            }
        }
    }
    found
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// STYLE.md with only the first column of its tables: the second is what not to write.
fn advice(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix('|') {
        Some(row) => row.split('|').next().unwrap_or_default(),
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The names of all commands, as the front page of the help lists them.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().take_while(|line| !line.starts_with("Arguments:"));
    // What is indented further is the rest of a line above.
    let listed = listed.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let listed = listed.filter_map(|line| line.split_whitespace().next());
    listed.filter(|name| run(&[name, "--help"]).status.success()).collect()
}

#[test]
fn pages_are_in_plain_words() {
    let mut found = complaints("STYLE.md", &advice(&page("STYLE.md")));
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        found.extend(complaints(name, &page(name)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_help_is_in_plain_words() {
    let help = stdout(&["--help"]);
    let mut found = complaints("stepscope --help", &help);
    let commands = commands(&help);
    assert!(commands.len() > 20, "{commands:?}");
    for name in commands {
        found.extend(complaints(&format!("stepscope {name} --help"), &stdout(&[name, "--help"])));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_is_banned_is_found() {
    for wrong in [
        "saves 93 % of it",
        "14 ms a step",
        "what the figures mean",
        "told by times",
        "a colour",
        "3 in all",
        "behind a key",
    ] {
        assert_eq!(complaints("x", wrong).len(), 1, "{wrong}");
    }
    for right in
        ["93%", "14 ms per step", "configure it", "an address of this machine", "20% of a step", "installs"]
    {
        assert_eq!(complaints("x", right), Vec::<String>::new(), "{right}");
    }
    assert_eq!(advice("| 93% | 93 % |\ntext"), " 93% \ntext");
}

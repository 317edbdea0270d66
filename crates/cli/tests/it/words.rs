//! The words of the program, its documents and its doc comments: what STYLE.md tells us not to write is not there.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::{root, run, stdout};

/// What not to write, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    (r"\d %", "93%, without a space"),
    (r"(?i)\b(one|an?) (file|row|line|column|table|series|process|thread) an? [a-z]+", "one file per rule"),
    (r"(?i)\bonce an? (name|slice|file|row|line|process|device|step)\b", "once per name"),
    (
        r"\b(ms|µs|ns|time|rows?|bytes|waits|samples) an? (step|kernel|device|call|second|event|row|name|process)\b",
        "per step",
    ),
    (
        r"(?i)colour|behaviour|neighbour|favour|utilis|recognis|summaris|organis|serialis|normalis|synchronis|modelled|labelled|\bcentre|whilst|\banalys(ed|ing|er)\b|\bto analyse\b",
        "American spelling",
    ),
    (r"(?i)\b(copies|kernels) (and|or) fills\b", "memsets"),
    (r"\b(moves?|sets?) (the )?limits\b|\blimits of findings\b", "threshold"),
    (r"\b(whole|full) address\b|\bbehind a key\b", "URL, access token"),
    (r"(?i)\bfigures?\b", "number, metric"),
    (r"\bin all([,.;:)]|$)", "in total"),
    (r"(?i)\b(stands\b|told\b|mended|puts? up with)", "is, shown, repaired, accepts"),
    (r"(?i)\b(nobody|somebody|anybody|everybody)\b", "no one, someone, anyone, everyone, or who it is"),
    (r"(?i)\b(an?|one|each|per|every|last|late|next) look\b|\b(many|few|more|two) looks\b", "sample, check"),
    (
        r"(?i)(^|[^e]|[^r]e) (is|are|was|were) no (leak|pass|power|copy|slow|stretch|outlier|event|stack|number|object|question|operator|name|value|table|news|part|loop|slice|problem|wait|answer|measurement|input|reduction|product|instruction|tensor|change|level|iteration|step|model|time|metadata|text|moment|chunk|counter|shape|field|function|code|address|caller|file|error|guess|frame|region|string|action|choice|job|task)s?\b",
        "is not a",
    ),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| WORDS.iter().map(|w| (Regex::new(w.0).unwrap(), w.1)).collect());

fn complaints(place: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned()));
    found_in(place, paragraphs(lines), &PATTERNS)
}

/// Lines that follow each other as one text, with the number of the first: a sentence does not end with its line.
fn paragraphs(lines: impl IntoIterator<Item = (usize, String)>) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for (number, line) in lines {
        let text = line.trim();
        let begins = text.is_empty() || ["|", "- ", "* ", "#", "```"].iter().any(|mark| text.starts_with(mark));
        match found.last_mut() {
            Some((_, before))
                if !begins && number == last + 1 && !before.is_empty() && !before.ends_with('|') =>
            {
                before.push(' ');
                before.push_str(text);
            }
            _ => found.push((number, text.to_owned())),
        }
        last = number;
    }
    found
}

fn found_in(
    place: &str,
    lines: impl IntoIterator<Item = (usize, String)>,
    patterns: &[(Regex, &str)],
) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in lines {
        for (pattern, instead) in patterns {
            if let Some(hit) = pattern.find(&line) {
                found.push(format!("{place}:{number}: '{}' (write: {instead})", hit.as_str()));
            }
        }
    }
    found
}

/// Comments, characters and strings of Rust: a comment is the first group, a text the second or third.
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?s)//[/!]?([^\n]*)|'(?:\\.|[^\\'])'|r\#"(.*?)"\#|"((?:\\.|[^"\\])*)""#).unwrap()
});

/// The texts of a source outside its tests, each with its line: what it says (more than one word), and its comments.
fn texts(source: &str) -> [Vec<(usize, String)>; 2] {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut texts = [Vec::new(), Vec::new()];
    for token in TOKENS.captures_iter(source) {
        let line = 1 + source[..token.get(0).unwrap().start()].matches('\n').count();
        if let Some(comment) = token.get(1) {
            texts[1].push((line, comment.as_str().to_owned()));
        } else if let Some(said) = token.get(2).or(token.get(3)).filter(|said| said.as_str().contains(' ')) {
            let joined = said.as_str().split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
            texts[0].push((line, joined));
        }
    }
    texts
}

/// Comments and texts in quotes of three of Python, and comments of TypeScript.
static OTHER_COMMENTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?s)""".*?"""|/\*.*?\*/|(?:^|\s)(?:\#|//) [^\n]*"#).unwrap());

fn other_comments(source: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for comment in OTHER_COMMENTS.find_iter(source) {
        let text = comment.as_str().trim_start();
        let first = 1 + source[..comment.end() - text.len()].matches('\n').count();
        let words = text.lines().map(|line| line.trim_start().trim_start_matches(['#', '/', '*', ':']));
        lines.extend(words.enumerate().map(|(at, line)| (first + at, line.to_owned())));
    }
    lines
}

/// Every file of a folder and of those in it, but for tests.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = ["tests", "tests.rs"].iter().any(|name| path.ends_with(name));
        if path.is_dir() && !is_test {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) && !is_test {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn page(name: impl AsRef<Path>) -> String {
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
    let mut names: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from).to_vec();
    names.extend(["ui/README.md", "python/README.md", "fuzz/README.md"].map(PathBuf::from));
    names.extend(files(&root().join("docs"), ".md"));
    names.extend(files(&root().join("crates"), "README.md"));
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        found.extend(complaints(&name.to_string_lossy(), &page(&name)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn sources_speak_in_plain_words() {
    let mut found = Vec::new();
    let sources = files(&root().join("crates"), ".rs");
    assert!(sources.len() > 500);
    for path in sources {
        let place = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy();
        let [said, comments] = texts(&page(&path));
        found.extend(found_in(&place, said.into_iter().chain(paragraphs(comments)), &PATTERNS));
    }
    let others = [("python/stepscope", ".py"), ("scripts", ".py"), ("ui/src", ".ts"), ("ui/src", ".tsx")];
    for path in others.into_iter().flat_map(|(folder, ending)| files(&root().join(folder), ending)) {
        let place = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy();
        found.extend(found_in(&place, paragraphs(other_comments(&page(&path))), &PATTERNS));
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
        "what it is was not told",
        "a value that nobody set",
        "one look reads it",
        "10^9 is no power of the base",
        "a line a stack",
        "asked once a name",
    ] {
        assert_eq!(complaints("x", wrong).len(), 1, "{wrong}");
    }
    let python = "x = 1  # was told\n\"\"\"What a figure\nsays.\"\"\"\n";
    assert_eq!(found_in("x.py", paragraphs(other_comments(python)), &PATTERNS).len(), 2);
    for right in [
        "93%",
        "14 ms per step",
        "configure it",
        "an address of this machine",
        "20% of a step",
        "installs",
        "there is no file",
        "in all threads",
    ] {
        assert_eq!(complaints("x", right), Vec::<String>::new(), "{right}");
    }
    assert_eq!(
        complaints("x", "14 ms a\nstep\n\n14 ms a\n\nstep\n- 14 ms a\n- step"),
        ["x:1: 'ms a step' (write: per step)"]
    );
    assert_eq!(advice("| 93% | 93 % |\ntext"), " 93% \ntext");
    let source =
        "//! A colour.\nlet c = '\"'; // a colour\nlet s = \"one \\\n    colour\";\nlet one = \"colour\";";
    let [said, comments] = texts(source);
    assert_eq!(said, [(3, "one colour".to_owned())]);
    assert_eq!(comments, [(1, " A colour.".to_owned()), (2, " a colour".to_owned())]);
}

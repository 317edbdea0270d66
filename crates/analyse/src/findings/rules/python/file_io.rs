//! Files: opening, reading, writing and listing them.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "file_io",
    about: "A plain Python program spends much of its time opening, reading, writing or listing files.",
    thresholds: thresholds! {
        "file_io.min_share" = 0.15, "share of the run in functions that work on files";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "file_io.min_share",
    what: "Files",
    doing: "opening, reading, writing or listing files",
    why: "Each of these calls asks the operating system, and the program waits for the answer.",
    fix: "Make fewer and larger calls: keep a file open, read or write it at once, list a folder once, and keep what was read.",
};

fn is_file_io(function: Function<'_>) -> bool {
    let native = [
        "io.open>",
        "of '_io.",
        "posix.stat>",
        "posix.lstat>",
        "posix.open>",
        "posix.scandir>",
        "posix.listdir>",
        "posix.fsync>",
        "posix.remove>",
        "posix.mkdir>",
        "posix.rename>",
        "nt.stat>",
        "nt.scandir>",
    ];
    ["glob.py", "shutil.py", "gzip.py", "tempfile.py"].iter().any(|file| function.is_in(file))
        || function.is_in("os.py") && function.name == "walk"
        || function.is_native(&native)
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let time = context.python();
    let spent = time
        .and_then(|time| time.counted(crate::run::SampleFilter::Busy, is_file_io, super::imports::is_import));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        let entered = spent.entered.first().map_or("", |(name, _)| name.as_str());
        let code = if entered.contains("write") || entered.contains("fsync") {
            "file.write(\"\".join(lines))  # once; not: file.write(line) for each"
        } else if ["stat", "scandir", "listdir", "walk", "glob"].iter().any(|word| entered.contains(word)) {
            "entries = {entry.name: entry for entry in os.scandir(folder)}  # once; not: os.stat for each name"
        } else {
            "text = pathlib.Path(path).read_text()  # once, and keep it; not: open(path) in the loop"
        };
        finding.code = Some(code.to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}

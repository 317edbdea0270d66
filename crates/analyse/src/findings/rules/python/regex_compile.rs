//! Regular expressions that are compiled, or looked up, again and again.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "regex_compile",
    about: "A plain Python program compiles regular expressions again and again, or looks up compiled ones.",
    thresholds: thresholds! {
        "regex_compile.min_share" = 0.05, "share of the run in which expressions are compiled or looked up";
        "regex_compile.min_calls" = 100.0,
            "times they were, where calls are counted: modules compile some when they are imported";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "regex_compile.min_share",
    what: "Regular expressions",
    doing: "compiling expressions or looking up compiled ones",
    why: "re.match, re.sub and the others look their pattern up at every call, and compile it anew once more than a few hundred \
          patterns are in use.",
    fix: "Compile each expression once, outside of the loop, and call the methods of the result.",
};

fn is_compiling(function: Function<'_>) -> bool {
    let inside = ["sre_compile.py", "sre_parse.py", "re/_compiler.py", "re/_parser.py"];
    inside.iter().any(|file| function.is_in(file))
        || (function.is_in("re/__init__.py") || function.is_in("re.py")) && function.name == "_compile"
        || function.is_native(&["_sre.compile"])
}

/// Modules compile expressions when they are imported, once.
fn is_import(function: Function<'_>) -> bool {
    super::imports::is_import(function)
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let time = context.python();
    let spent = time.and_then(|time| time.counted(crate::run::SampleFilter::Busy, is_compiling, is_import));
    let enough = |calls: u64| calls as f64 >= context.threshold("regex_compile.min_calls");
    let finding = spent.as_ref().filter(|spent| spent.calls.is_none_or(enough)).and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        finding.code = Some(
            "WORD = re.compile(r\"\\w+\")  # once, at the top; in the loop: WORD.findall(text)".to_owned(),
        );
        Some(finding)
    });
    finding.into_iter().collect()
}

//! Importing modules.

use super::super::text::time as time_text;
use super::library::Library;
use crate::findings::{Context, Evidence, Finding, Rule, USUAL, thresholds};
use crate::names::framework::FRAMEWORK_PACKAGES;
use crate::names::function::Function;
use crate::run::{AmountUnit, FunctionsTotal};

pub(in super::super) const RULE: Rule = Rule {
    name: "imports",
    about: "A plain Python program spends much of its time importing modules.",
    thresholds: thresholds! {
        "imports.min_share" = 0.2, "share of the run spent importing";
        "imports.min_seconds" = 0.3, "seconds of importing; a sample counts as 10 ms. Every program imports something";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "imports.min_share",
    what: "Imports",
    doing: "importing modules",
    why: "The first import of a module runs all of it and of what it imports in turn, before the program does anything else.",
    fix: "Import heavy modules inside the functions that need them, and look for imports that are not used. python -X importtime \
          lists every module with its time.",
};

/// Whether a function is Python's import.
pub(super) fn is_import(function: Function<'_>) -> bool {
    function.file.contains("importlib._bootstrap")
        || function.is_in("importlib/_bootstrap.py")
        || function.is_in("importlib/_bootstrap_external.py")
        || function.is_native(&["builtins.__import__", "_imp."])
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(time) = context.python() else { return Vec::new() };
    let spent = time.spent(is_import).map(|spent| without_framework(context, spent));
    let least = context.threshold("imports.min_seconds") * 1e9;
    // Samplers look a hundred times per second unless asked otherwise.
    let per_sample = if time.unit == AmountUnit::Nanoseconds { 1.0 } else { 1e7 };
    let enough = |amount: i64| amount as f64 * per_sample >= least;
    let finding = spent.as_ref().filter(|spent| enough(spent.amount)).and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        let module = heaviest(context, false);
        if let Some((file, total)) = &module {
            finding.evidence.push(Evidence::new(
                format!("running {file}"),
                super::library::metric(time, *total),
                "The module whose code took most, with all that it imports, frameworks such as PyTorch aside.",
            ));
        }
        let name = module.as_ref().and_then(|(file, _)| module_name(file)).unwrap_or("heavy_module");
        finding.code =
            Some(format!("import {name}  # in the function that needs it, not at the top of the file"));
        if time.unit == AmountUnit::Nanoseconds {
            finding.why = format!("{} It took {} here.", finding.why, time_text(spent.amount));
        }
        Some(finding)
    });
    finding.into_iter().collect()
}

/// What was spent besides a framework's import, which the program cannot do without.
fn without_framework(context: &Context<'_>, mut spent: FunctionsTotal) -> FunctionsTotal {
    let framework = heaviest(context, true).map_or(0, |(_, amount)| amount.min(spent.amount));
    let rest = (spent.amount - framework) as f64 / spent.amount.max(1) as f64;
    spent.amount -= framework;
    spent.share *= rest;
    spent
}

/// The file of a framework, or of another library, whose code took most when it was imported.
fn heaviest(context: &Context<'_>, framework: bool) -> Option<(String, i64)> {
    let rows = context.hot()?.functions.rows.iter().filter(|row| row.name == "<module>");
    let library = rows.filter_map(|row| Some((row.file.clone()?, row.total())));
    let is_framework = |file: &str| module_name(file).is_some_and(|name| FRAMEWORK_PACKAGES.contains(&name));
    let library = library.filter(|(file, _)| {
        crate::names::library_file::is_library_file(file) && is_framework(file) == framework
    });
    library.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))
}

/// The package of a file: `pandas` of `…/site-packages/pandas/__init__.py`.
fn module_name(file: &str) -> Option<&str> {
    let inside = ["site-packages/", "dist-packages/"].iter().find_map(|mark| file.split_once(mark));
    let path = match inside {
        Some((_, path)) => path,
        None if file.contains("lib/python") => file.split_once("lib/python")?.1.split_once('/')?.1,
        None => file,
    };
    let first = path.split('/').next()?;
    let name = first.strip_suffix(".py").unwrap_or(first);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::module_name;

    #[test]
    fn a_module_is_named_by_its_file() {
        assert_eq!(module_name("/x/lib/python3.11/site-packages/pandas/__init__.py"), Some("pandas"));
        assert_eq!(module_name("/x/lib/python3.11/argparse.py"), Some("argparse"));
        assert_eq!(module_name("json/decoder.py"), Some("json"));
        assert_eq!(module_name("<frozen os>"), None);
    }
}

//! Loops of simple statements in Python that an array library would do at once.

use stepscope_model::{LineRow, Profile};

use super::super::text::{percent, time as time_text};
use super::library::verify;
use crate::findings::{Amount, Confidence, Context, Finding, Rule, USUAL, evidence, thresholds};
use crate::names::library_file::is_library_file;
use crate::run::{PythonTime, longest_function_ns};

pub(in super::super) const RULE: Rule = Rule {
    name: "python_loop",
    about: "A loop of simple statements in pure Python takes much of the run: NumPy may do the same at once. A heuristic: lines that \
            run often and are cheap, or a function with long calls that does all of it itself.",
    thresholds: thresholds! {
        "python_loop.min_share" = 0.3, "share of the run in the loop";
        "python_loop.min_hits" = 10_000.0, "times that a line of the loop ran";
        "python_loop.hits_per_call" = 100.0, "the same divided by how often the function's first line ran";
        "python_loop.max_us_per_hit" = 2.0, "µs of one run of a line, above which it calls something of weight";
        "python_loop.min_ms_per_call" = 20.0,
            "ms of a function's own per call that show a loop, where only calls are counted";
        "python_loop.own_share" = 0.8, "share of such a function's time that is its own";
        "python_loop.max_calls" = 100.0,
            "calls of others per call of such a function, above which it does more than arithmetic";
    },
    check,
    ..USUAL
};

/// Packages whose functions show that arrays are in use already.
const ARRAY_LIBRARIES: [&str; 7] = ["numpy", "torch", "pandas", "scipy", "jax", "polars", "numba"];

fn check(context: &Context<'_>) -> Vec<Finding> {
    let found = context.profile().filter(|_| context.hot().is_some());
    let finding = found.and_then(|profile| {
        let by_lines = (!profile.lines.is_empty()).then(|| of_lines(context, profile)).flatten();
        by_lines.or_else(|| context.python().and_then(|time| of_calls(context, time)))
    });
    finding.into_iter().collect()
}

/// The cheap lines of one function that ran often.
struct Loop<'a> {
    lines: Vec<&'a LineRow>,
    ns: i64,
    /// How often the function's first line ran.
    calls: u64,
}

fn of_lines(context: &Context<'_>, profile: &Profile) -> Option<Finding> {
    let whole = longest_function_ns(profile);
    let mut longest: Option<Loop<'_>> = None;
    for lines in profile.lines.chunk_by(|a, b| a.function == b.function) {
        let file = profile.stacks.text(profile.stacks.get(lines[0].function).file);
        let Some(first) = lines.iter().filter(|line| line.hits > 0).min_by_key(|line| line.line) else {
            continue;
        };
        let calls = first.hits;
        let in_loop = |line: &&LineRow| {
            let hits = line.hits as f64;
            hits >= context.threshold("python_loop.min_hits")
                && hits >= context.threshold("python_loop.hits_per_call") * calls as f64
                && line.ns.0 as f64 <= context.threshold("python_loop.max_us_per_hit") * 1e3 * hits
        };
        let lines: Vec<&LineRow> = lines.iter().filter(in_loop).collect();
        let ns = lines.iter().map(|line| line.ns.0).fold(0, i64::saturating_add);
        if !is_library_file(file) && longest.as_ref().is_none_or(|other| other.ns < ns) {
            longest = Some(Loop { lines, ns, calls });
        }
    }
    let found = longest.filter(|found| !found.lines.is_empty())?;
    let share = found.ns as f64 / whole.max(1) as f64;
    if share < context.threshold("python_loop.min_share") {
        return None;
    }
    let most = found.lines.iter().max_by_key(|line| (line.ns, std::cmp::Reverse(line.line)))?;
    let hits = found.lines.iter().map(|line| line.hits).max().unwrap_or(0);
    let function = profile.stacks.get(most.function);
    let (name, file) = (profile.stacks.text(function.name), profile.stacks.text(function.file));
    let short = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut finding = start(context, share)?;
    finding.title = format!(
        "A loop in Python: the lines around {short}:{} ({name}) take {} of the run, {} each",
        most.line,
        percent(share),
        time_text(most.ns.0 / (most.hits.max(1) as i64)),
    );
    finding.evidence = evidence! {
        "time in the loop" => Amount::Ns(found.ns),
            "Time of the function's lines that ran often and are cheap, recording them included.";
        "share of the run" => Amount::Share(share), "The same divided by the longest function's lines.";
        "turns" => Amount::Count(hits), "How often the busiest of these lines ran.";
        "calls of the function" => Amount::Count(found.calls), "How often the function's first line ran.";
        format!("line {}", most.line) => Amount::Ns(most.ns.0), "Time of the line that took most.";
    };
    finding.source = Some(format!("{file}({}): {name}", most.line));
    Some(finding)
}

fn of_calls(context: &Context<'_>, time: &PythonTime<'_>) -> Option<Finding> {
    let profile = time.profile();
    let is_loop = |row: &&stepscope_model::CallRow| {
        let (own, total) = (row.self_ns.0 as f64, row.total_ns.0 as f64);
        row.calls > 0
            && time.is_own(row.frame)
            && own >= context.threshold("python_loop.min_share") * time.whole as f64
            && own >= context.threshold("python_loop.min_ms_per_call") * 1e6 * row.calls as f64
            && own >= context.threshold("python_loop.own_share") * total
    };
    let simple = profile.calls.iter().filter(is_loop).filter(|row| is_simple(context, time, row));
    let row = simple.max_by_key(|row| row.self_ns)?;
    let share = row.self_ns.0 as f64 / time.whole as f64;
    let place = time.place(row.frame, row.self_ns.0);
    let mut finding = start(context, share)?;
    finding.title = format!(
        "A loop in Python: {} takes {} of the run in its own code, {} per call",
        place.describe(),
        percent(share),
        time_text(row.self_ns.0 / row.calls.max(1) as i64),
    );
    finding.evidence = evidence! {
        "own time" => Amount::Ns(row.self_ns.0), "Time in the function without what it called.";
        "share of the run" => Amount::Share(share), "The same divided by all own times of the profile.";
        "calls" => Amount::Count(row.calls), "How often the function was called.";
    };
    finding.source = Some(place.frame());
    Some(finding)
}

/// Whether a function calls little. One that calls others in each turn does more than arithmetic; one that uses arrays may
/// spend its own time in their operators, which are not calls.
fn is_simple(context: &Context<'_>, time: &PythonTime<'_>, row: &stepscope_model::CallRow) -> bool {
    let mut made = 0u64;
    for callee in &time.profile().calls {
        let of_row = callee.callers.iter().filter(|caller| caller.frame == row.frame);
        let calls = of_row.map(|caller| caller.calls).fold(0, u64::saturating_add);
        let function = time.function(callee.frame);
        let arrays =
            ARRAY_LIBRARIES.iter().any(|name| function.name.contains(name) || function.file.contains(name));
        if calls > 0 && arrays {
            return false;
        }
        made = made.saturating_add(calls);
    }
    made as f64 <= context.threshold("python_loop.max_calls") * row.calls as f64
}

fn start(context: &Context<'_>, share: f64) -> Option<Finding> {
    let mut finding = context.taking(RULE.name, share)?;
    finding.confidence = Confidence::Low;
    finding.why = "Python takes tens of nanoseconds for every statement, whatever it does. NumPy runs a loop over an array in compiled \
                   code. This is a heuristic: the file does not say whether the loop is over numbers."
        .to_owned();
    finding.fix =
        "If the loop is over numbers, put them into an array and compute all of them at once. If each iteration \
         depends on the one before, numba can compile the function as it is."
            .to_owned();
    finding.code = Some(
        "total = np.square(np.asarray(values)).sum()  # not: for value in values: total += value * value"
            .to_owned(),
    );
    finding.verify = verify(context);
    Some(finding)
}

//! A function that one other calls very often: its results could be kept.

use stepscope_model::{CallRow, Caller};

use super::super::text::{percent, time as time_text};
use super::library::verify;
use crate::findings::{Amount, Confidence, Context, Finding, Rule, USUAL, evidence, thresholds};
use crate::run::PythonTime;

pub(in super::super) const RULE: Rule = Rule {
    name: "repeated_calls",
    about: "One function calls another very often, and that takes much of the run: if its arguments repeat, its results could be kept. \
            A heuristic: a profile does not know arguments.",
    thresholds: thresholds! {
        "repeated_calls.min_share" = 0.3, "share of the run in the called function";
        "repeated_calls.min_calls" = 5_000.0, "calls by the one caller";
        "repeated_calls.per_call" = 1_000.0, "calls per call of the caller";
        "repeated_calls.max_us" = 200.0, "µs per call, above which a call does work of weight";
        "repeated_calls.min_us" = 2.0, "µs per call, below which looking a result up costs as much";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    context.python().and_then(|time| finding(context, time)).into_iter().collect()
}

fn finding(context: &Context<'_>, time: &PythonTime<'_>) -> Option<Finding> {
    let calls_of =
        |frame| time.profile().calls.iter().find(|row| row.frame == frame).map_or(0, |row| row.calls);
    let rows = time.profile().calls.iter().filter(|row| is_plain(time, row));
    let repeated = rows.filter_map(|row| {
        let most = row.callers.iter().filter(|caller| caller.frame != row.frame);
        let most = most.max_by_key(|caller| (caller.calls, std::cmp::Reverse(caller.frame)))?;
        is_repeated(context, time, most).then_some((row, most))
    });
    let (row, caller) = repeated.max_by_key(|(_, caller)| caller.total_ns)?;
    let by = calls_of(caller.frame).max(1);
    if (caller.calls as f64) < context.threshold("repeated_calls.per_call") * by as f64 {
        return None;
    }
    let share = caller.total_ns.0 as f64 / time.whole as f64;
    let (callee, from) = (time.place(row.frame, caller.total_ns.0), time.place(caller.frame, 0));
    let mut finding = context.taking(RULE.name, share)?;
    finding.confidence = Confidence::Low;
    finding.title = format!(
        "Repeated calls: {} calls {} {} times, {} of the run; keep its results if arguments repeat",
        from.describe(),
        callee.describe(),
        caller.calls,
        percent(share),
    );
    let per_call = caller.total_ns.0 / caller.calls.max(1) as i64;
    finding.evidence = evidence! {
        "time in these calls" => Amount::Ns(caller.total_ns.0),
            "Time in the called function and in all that it called, in calls by this one caller.";
        "share of the run" => Amount::Share(share), "The same divided by all own times of the profile.";
        "calls" => Amount::Count(caller.calls), "How often the one called the other.";
        "calls of the caller" => Amount::Count(by), "How often the caller itself was called.";
        "per call" => Amount::Ns(per_call), "Time in these calls divided by their number.";
    };
    finding.why = format!(
        "Each call takes {}. If the same arguments come again, the same result is worked out again. This is a heuristic: the profile \
         counts calls and does not know arguments.",
        time_text(per_call)
    );
    finding.fix = "If the function always gives the same result for the same arguments, let functools.cache keep results, or take what \
                   does not change out of the loop."
        .to_owned();
    finding.code = Some(format!("@functools.cache\ndef {}(...):  # arguments must be hashable", callee.name));
    finding.source = Some(callee.frame());
    finding.verify = verify(context);
    Some(finding)
}

/// Whether a function could be cached at all: one of the program's own with a name of its own, that does not change things.
fn is_plain(time: &PythonTime<'_>, row: &CallRow) -> bool {
    let name = time.function(row.frame).name;
    let changes = [
        "add", "append", "clear", "insert", "next", "pop", "push", "put", "read", "remove", "send", "set",
        "step", "update", "write",
    ];
    let first = name.trim_start_matches('_').split('_').next().unwrap_or_default();
    time.is_own(row.frame) && !name.starts_with('<') && !name.starts_with("__") && !changes.contains(&first)
}

fn is_repeated(context: &Context<'_>, time: &PythonTime<'_>, caller: &Caller) -> bool {
    let (calls, ns) = (caller.calls as f64, caller.total_ns.0 as f64);
    calls >= context.threshold("repeated_calls.min_calls").max(1.0)
        && ns >= context.threshold("repeated_calls.min_share") * time.whole as f64
        && ns <= context.threshold("repeated_calls.max_us") * 1e3 * calls
        && ns >= context.threshold("repeated_calls.min_us") * 1e3 * calls
        && time.is_own(caller.frame)
}

//! Threads that take turns: several want to run, and together they use about one core.

use super::machine;
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};

pub(in super::super) const RULE: Rule = Rule {
    name: "gil_contention",
    about: "Several threads of a plain Python program want to run but together use about one core: they wait for \
            the GIL. A heuristic, from samples and the process's CPU counter.",
    thresholds: thresholds! {
        "gil_contention.min_threads" = 1.5, "threads that do not wait, on average over the run";
        "gil_contention.thread_share" = 0.2, "share of the run that a thread must be busy to count; two are needed";
        "gil_contention.max_cores" = 1.2, "cores that the process uses, on average";
        "gil_contention.max_machine" = 0.9, "busy share of all cores above which threads may wait for a core instead";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    finding(context).into_iter().collect()
}

fn finding(context: &Context<'_>) -> Option<Finding> {
    let time = context.python()?;
    let cores = machine::process_cores(context.trace())?;
    let share = |busy: &i64| *busy as f64 / time.whole as f64;
    let threads = time.busy_beside_main();
    let runnable: f64 = threads.iter().map(share).sum();
    let busy =
        threads.iter().map(share).filter(|s| *s >= context.threshold("gil_contention.thread_share")).count();
    let crowded = machine::machine_busy(context.trace())
        .is_some_and(|b| b > context.threshold("gil_contention.max_machine"));
    let contended = busy >= 2
        && runnable >= context.threshold("gil_contention.min_threads")
        && cores <= context.threshold("gil_contention.max_cores")
        && runnable >= 1.3 * cores;
    if !contended || crowded {
        return None;
    }
    let hot = context.hot()?.functions.rows.first()?;
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Medium;
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Threads take turns: {runnable:.1} threads want to run on average, together they use {cores:.1} cores"
    );
    finding.evidence = evidence! {
        "threads that want to run" => Amount::Number(runnable),
            "The time in which sampled threads did not wait, summed over all threads and divided by the longest.";
        "busy threads" => Amount::Count(busy as u64), "Threads that were busy for at least a fifth of the run.";
        "cores used by the process" => Amount::Number(cores), "The mean of the counter process CPU, where 1 is one core.";
        "busiest function" => Amount::Text(format!("{} ({})", hot.name, hot.place())),
            "The function with most time of its own, in all threads.";
    };
    finding.source = hot.file.as_ref().map(|file| format!("{file}({}): {}", hot.line.unwrap_or(0), hot.name));
    finding.why =
        "Only one thread at a time can run Python code, because all of them share the GIL. Threads help where they \
         wait for files or the network, or where libraries release the GIL; where they compute in Python, \
         switching between them only adds cost."
            .to_owned();
    finding.fix =
        "Move pure Python work into processes, or move the loop into NumPy or another library that releases the \
         GIL. A free-threaded build of Python (3.13t and later) runs threads side by side."
            .to_owned();
    finding.code = Some(format!(
        "with ProcessPoolExecutor() as pool: results = list(pool.map({}, items))  # not: threads",
        hot.name.rsplit('.').next().filter(|name| !name.starts_with('<')).unwrap_or("work")
    ));
    finding.verify =
        "Record again with `stepscope run`: the process should use about as many cores as threads want to run."
            .to_owned();
    Some(finding)
}

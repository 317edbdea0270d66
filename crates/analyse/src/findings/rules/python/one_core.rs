//! One core is busy and the others are not.

use super::machine;
use crate::findings::{Amount, Confidence, Context, Finding, Rule, USUAL, evidence, thresholds};

pub(in super::super) const RULE: Rule = Rule {
    name: "one_core",
    about: "A plain Python program keeps only one of many cores busy for a long time.",
    thresholds: thresholds! {
        "one_core.min_seconds" = 10.0, "seconds that the run takes";
        "one_core.min_cores" = 4.0, "cores of the machine, at least";
        "one_core.min_busy" = 0.8, "cores that the process uses, at least";
        "one_core.max_busy" = 1.2, "cores that the process uses, at most";
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
    let machine = machine::machine_busy(context.trace())?;
    // What the process uses is part of what the machine does, so there are at least so many cores.
    let there = (cores / machine.max(1e-3)).floor();
    let busy_threads = time.busy.iter().filter(|busy| **busy as f64 >= 0.2 * time.whole as f64).count();
    let alone = busy_threads == 1
        && time.whole as f64 >= context.threshold("one_core.min_seconds") * 1e9
        && there >= context.threshold("one_core.min_cores")
        && cores >= context.threshold("one_core.min_busy")
        && cores <= context.threshold("one_core.max_busy");
    if !alone {
        return None;
    }
    let mut finding = context.remark(RULE.name);
    finding.confidence = Confidence::Medium;
    finding.title = format!("One core: the program keeps {cores:.1} of at least {there:.0} cores busy");
    finding.evidence = evidence! {
        "cores used by the process" => Amount::Number(cores), "The mean of the counter process CPU, where 1 is one core.";
        "busy share of the machine" => Amount::Share(machine),
            "The mean of the counter CPU: busy time of all cores, by any process.";
        "cores, at least" => Amount::Number(there), "Cores used by the process divided by the busy share of the machine.";
    };
    finding.why = "One thread of Python runs at a time, so a program that computes in one process leaves the other cores idle. Whether its \
                   work can be divided is not in the file."
        .to_owned();
    finding.fix = "If items do not depend on each other, divide them among processes; libraries such as NumPy, pandas and PyTorch use \
                   several cores by themselves."
        .to_owned();
    finding.code = Some(
        "with ProcessPoolExecutor() as pool: results = list(pool.map(work, items, chunksize=64))".to_owned(),
    );
    finding.verify =
        "Record again with `stepscope run`: the counter process CPU should rise above 100%.".to_owned();
    Some(finding)
}

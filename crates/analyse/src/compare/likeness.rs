//! What two runs do not have in common, and why that matters.

use std::sync::Arc;

use crate::findings::how_to_mark_steps;
use crate::run::Run;

/// Fewer steps than this say little about the noise.
const FEW_STEPS: usize = 5;

/// Whether a run has something, if it says.
type Recorded = fn(&Run) -> Option<bool>;

/// Differences between the sides, and what makes either say little, in words, the gravest first.
pub(super) fn unlike(before: &[Arc<Run>], after: &[Arc<Run>]) -> Vec<String> {
    let mut found = differences(before, after);
    found.extend(few_steps(before, " before"));
    found.extend(few_steps(after, " after"));
    found
}

/// Differences between the sides alone.
pub(super) fn differences(before: &[Arc<Run>], after: &[Arc<Run>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&Run) -> String, why: &str| {
        let [a, b] = [before, after].map(|runs| {
            let mut values: Vec<String> =
                runs.iter().map(|run| of(run)).filter(|text| !text.is_empty()).collect();
            values.sort();
            values.dedup();
            values.join(" and ")
        });
        if !a.is_empty() && !b.is_empty() && a != b {
            found.push(format!("{what}: {a} before, {b} after{why}"));
        }
    };
    differ("GPU", &|run| devices(run), "; times and kernels of different devices are not like for like");
    differ(
        "framework",
        &|run| {
            let info = run.info();
            let version = info.framework_version.as_deref().map(|v| format!(" {v}")).unwrap_or_default();
            info.framework.as_deref().map(|name| format!("{name}{version}")).unwrap_or_default()
        },
        "",
    );
    differ(
        "samples per step",
        &|run| run.samples().map(|samples| number(samples.per_step())).unwrap_or_default(),
        "; compare samples/s, not steps",
    );
    differ(
        "steps",
        &|run| match &run.steps().found {
            Some(found) => format!("found by {}", found.what()),
            None if run.steps().synthetic => String::new(),
            None => "marked".to_owned(),
        },
        "; a step may not be the same thing on both sides",
    );
    differ(
        "processes in the job",
        &|run| {
            let size = run.info().distributed.as_ref().and_then(|job| job.world_size);
            size.map(|size| size.to_string()).unwrap_or_default()
        },
        "; each does another share of the work",
    );
    let recorded: [(&str, Recorded); 4] = [
        ("Python stacks", |run| run.info().options.with_stack),
        ("shapes", |run| run.info().options.record_shapes),
        ("memory", |run| run.info().options.profile_memory),
        ("modules", |run| run.info().options.with_modules),
    ];
    for (what, of) in recorded {
        let says = |run: &Run| match of(run) {
            Some(true) => "recorded".to_owned(),
            _ => "not recorded".to_owned(),
        };
        differ(what, &says, "; recording more makes the host slower");
    }
    let on_device = |runs: &[Arc<Run>]| runs.iter().any(|run| !run.streams().is_empty());
    if on_device(before) != on_device(after) {
        let with = if on_device(before) { "before" } else { "after" };
        found.push(format!(
            "only the runs {with} used a device: its time is compared with that of the other main thread"
        ));
    }
    found
}

/// What makes the steps of one side say little; `side` says when: ` before`, or nothing.
pub(super) fn few_steps(runs: &[Arc<Run>], side: &str) -> Option<String> {
    let steps: usize = runs.iter().map(|run| run.steps().counted().count()).sum();
    if runs.iter().all(|run| run.steps().synthetic) {
        let mark = runs.first().map_or("", |run| how_to_mark_steps(run.trace().meta()));
        return Some(format!("no steps are marked{side}: the whole recording is taken for one step; {mark}"));
    }
    let steps = match steps {
        FEW_STEPS.. => return None,
        1 => "one step".to_owned(),
        few => format!("{few} steps"),
    };
    Some(format!("only {steps}{side}: too few to tell a change from noise"))
}

/// `64`, `62.5`.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn devices(run: &Run) -> String {
    let mut names: Vec<&str> = run.info().devices.iter().map(|device| device.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

//! Some steps take much longer than others.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, SliceId};

use super::autotune;
use super::text::time;
use crate::causes::cause::{ByCause, CAUSES, Cause};
use crate::findings::{
    Amount, Confidence, Context, Estimate, Evidence, Finding, Needs, OtherFrameworks, Rule, Severity, USUAL,
    evidence, thresholds,
};
use crate::run::Saving;
use crate::steps::Step;
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "uneven_steps",
    about: "Some steps take much longer than the usual one: the first ones, every k-th, or a few in between.",
    thresholds: thresholds! {
        "uneven_steps.factor" = 1.5, "a step this many times the usual one is slow";
        "uneven_steps.min_steps" = 3.0, "whole steps needed to judge";
        "uneven_steps.variation" = 0.25,
            "standard deviation divided by the mean that is worth a remark if no single step is slow";
        "uneven_steps.explained" = 0.5,
            "share of a slow step's excess in compilation or loading that leaves the step to the rule compilation";
    },
    other_frameworks: OtherFrameworks::Same,
    needs: &[Needs::Steps],
    answers: &["host", "data_loading", "garbage_collection"],
    check,
    ..USUAL
};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Pattern {
    First(usize),
    Every(usize),
    Some(usize),
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let warm_up = context.warm_up();
    let whole: Vec<(usize, &Step)> =
        context.steps().steps.iter().enumerate().filter(|s| !s.1.partial).collect();
    let lengths: Vec<i64> = whole.iter().map(|(_, s)| (s.window().1 - s.window().0).0).collect();
    if (lengths.len() as f64) < context.threshold("uneven_steps.min_steps") {
        return Vec::new();
    }
    let Some((usual_at, usual)) = lower_median(&lengths) else { return Vec::new() };
    let factor = context.threshold("uneven_steps.factor");
    let trials = autotune::find(context, RULE.name, context.threshold("compilation.autotune_factor")).is_some();
    let explained = |i: usize| {
        if i == 0 && trials {
            return true;
        }
        let excess = lengths[i] - usual;
        warm_up.of_step(whole[i].0) as f64 >= context.threshold("uneven_steps.explained") * excess as f64
    };
    let above: Vec<usize> = (0..lengths.len()).filter(|&i| lengths[i] as f64 > factor * usual as f64).collect();
    let slow: Vec<usize> = above.iter().copied().filter(|&i| !explained(i)).collect();
    if slow.is_empty() {
        let rest: Vec<i64> =
            (0..lengths.len()).filter(|i| above.binary_search(i).is_err()).map(|i| lengths[i]).collect();
        return varied(context, &rest).into_iter().collect();
    }
    let account = ByStep::new(context);
    let excess = slow.iter().map(|&i| Ns(lengths[i] - usual)).sum::<Ns>().0;
    // Steps that were as uneven before, without the profiler, are the program's; others are the recording's.
    let most = context.bare_unevenness_ns().unwrap_or(i64::MAX);
    let saves = Saving {
        recorded_ns: excess / lengths.len() as i64,
        unprofiled_ns: most.min({
            let steps = context.without_recording().steps;
            let length = |i: usize| steps.get(whole[i].0).map_or(Ns(lengths[i]), |step| Ns(step.replayed_ns));
            let excess: Ns = slow.iter().map(|&i| (length(i) - length(usual_at)).max(Ns::ZERO)).sum();
            excess.0 / lengths.len() as i64
        }),
    };
    let Some(mut finding) = context.costing(RULE.name, saves, Estimate::UpperBound) else {
        return Vec::new();
    };
    // Two steps that are slow for reasons of their own have nothing in common, whatever their distance.
    let causes: Vec<Option<Cause>> = (slow.iter())
        .map(|&i| account.more(&[whole[i].1], whole[usual_at].1).first().map(|change| change.0))
        .collect();
    let mut steps_by_cause = [0; CAUSES + 1];
    causes.iter().for_each(|cause| steps_by_cause[cause.map_or(CAUSES, Cause::index)] += 1);
    let alike = steps_by_cause.into_iter().max().unwrap_or(0) * 3 >= causes.len() * 2;
    let pattern = match pattern(&slow, lengths.len()) {
        Pattern::Every(_) if !alike => Pattern::Some(slow.len()),
        pattern => pattern,
    };
    let changes = match alike {
        true => account.more(&slow.iter().map(|&i| whole[i].1).collect::<Vec<_>>(), whole[usual_at].1),
        false => Vec::new(),
    };
    let cause = changes.first().map(|c| c.0);
    let times = excess as f64 / slow.len() as f64 / usual.max(1) as f64 + 1.0;
    finding.title = title(pattern, times, cause, whole[slow[0]].1.step);
    // Whatever else runs on a machine makes programs uneven that compute on its processors, but not at equal distances.
    let regular = matches!(pattern, Pattern::Every(_)) && context.trace().meta().framework.is_none();
    let shared = !regular && context.device_work().next().is_none();
    if shared || matches!(pattern, Pattern::First(_)) {
        // A long run pays this once: it distorts the profile more than it costs the run.
        finding.severity = finding.severity.min(Severity::Low);
    }
    if !alike {
        // Nothing to change at once: a remark on where to look.
        finding.severity = finding.severity.min(Severity::Medium);
    }
    finding.confidence = match pattern {
        _ if !alike => Confidence::Medium,
        // What repeats twice may be chance.
        Pattern::Every(_) if slow.len() < 3 => Confidence::Medium,
        Pattern::Some(1) => Confidence::Medium,
        _ => Confidence::High,
    };
    let numbers: Vec<String> = slow.iter().take(8).map(|&i| whole[i].1.step.to_string()).collect();
    finding.evidence = evidence! {
        "slow steps" => Amount::Text(numbers.join(", ")),
            "Numbers of the steps longer than uneven_steps.factor times the usual one, the first eight.";
        "usual step" => Amount::Ns(usual), "The lower median of the whole steps' wall times.";
        "excess of a slow step" => Amount::Ns(excess / slow.len() as i64),
            "Mean wall time of the slow steps minus the usual step.";
    };
    if !alike {
        let steps = slow.iter().map(|&i| whole[i].1.step).zip(causes);
        finding.evidence.extend(steps.take(3).map(|(step, cause)| cause_of_one(step, cause)));
    }
    finding.evidence.extend(changes.iter().take(3).map(|&(cause, ns)| more_of(cause, ns)));
    let launched = slow.iter().map(|&i| whole[i].1.device_slices).sum::<u64>() / slow.len() as u64;
    finding.evidence.extend(launched_otherwise(launched, whole[usual_at].1.device_slices));
    let later = context.recorder().later();
    let advice = match context.trace().meta().framework {
        _ if !alike => (
            "These steps are slow for different reasons.",
            "Look at each of them: `stepscope account --step N` says where its time went.",
            None,
        ),
        Some(_) => advice_for_other_frameworks(cause, pattern),
        None => advice(cause, pattern, &later),
    };
    finding.why = advice.0.to_owned();
    finding.fix = advice.1.to_owned();
    finding.code = advice.2.map(str::to_owned);
    finding.verify = "Record again: `stepscope steps` should show steps of about the same length.".to_owned();
    let longest = slow.iter().copied().max_by_key(|&i| lengths[i]).map_or(whole[usual_at].1, |i| whole[i].1);
    let shown = during(context, longest, cause);
    finding.source = shown.first().and_then(|&id| context.source(id));
    finding.slices = context.shown(shown);
    finding.range_ns = Some((longest.start_ns, longest.end_ns));
    vec![finding]
}

fn title(pattern: Pattern, times: f64, cause: Option<Cause>, first: i64) -> String {
    let (verb, steps) = match pattern {
        Pattern::First(1) => ("takes", "The first recorded step".to_owned()),
        Pattern::First(n) => ("take", format!("The first {n} recorded steps")),
        Pattern::Every(k) => ("takes", format!("Every {} step", ordinal(k))),
        Pattern::Some(1) => ("takes", format!("Step {first}")),
        Pattern::Some(n) => ("take", format!("{n} steps")),
    };
    let reason = cause.map_or(String::new(), |cause| format!(", mostly: {}", bare(cause)));
    format!("{steps} {verb} {times:.1} times as long as the usual one{reason}")
}

fn cause_of_one(step: i64, cause: Option<Cause>) -> Evidence {
    let words = cause.map_or("nothing in particular", bare);
    Evidence::new(
        format!("step {step}, mostly more of"),
        Amount::Text(words.to_owned()),
        "The cause with the most time in this step beyond its time in the usual step, on the busiest device.",
    )
}

fn more_of(cause: Cause, ns: i64) -> Evidence {
    Evidence::new(
        format!("more of: {}", bare(cause)),
        Amount::Ns(ns),
        "Mean time of this cause in the slow steps minus its time in the usual step, on the busiest device.",
    )
}

fn launched_otherwise(launched: u64, usual: u64) -> Option<Evidence> {
    (launched != usual).then(|| {
        Evidence::new(
            format!("device work launched (usual step: {usual})"),
            Amount::Count(launched),
            "Kernels, copies and memsets launched in a slow step, on average.",
        )
    })
}

/// The lower median and where it is.
fn lower_median(lengths: &[i64]) -> Option<(usize, i64)> {
    let mut sorted: Vec<(i64, usize)> = lengths.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    sorted.get(lengths.len().saturating_sub(1) / 2).map(|&(ns, at)| (at, ns))
}

fn pattern(slow: &[usize], steps: usize) -> Pattern {
    let count = slow.len();
    if slow.iter().enumerate().all(|(i, &at)| i == at) {
        return Pattern::First(count);
    }
    let distance = slow.windows(2).map(|w| w[1] - w[0]).next().unwrap_or(0);
    let regular = slow.windows(2).all(|w| w[1] - w[0] == distance);
    // Before the first and after the last there must be no room for another.
    let complete = slow[0] < distance && slow[count - 1] + distance >= steps;
    if distance >= 2 && regular && complete { Pattern::Every(distance) } else { Pattern::Some(count) }
}

fn ordinal(k: usize) -> String {
    match k {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        _ => format!("{k}th"),
    }
}

/// What the busiest device did in each step, by cause.
struct ByStep {
    causes: HashMap<i64, ByCause, RandomState>,
}

impl ByStep {
    fn new(context: &Context<'_>) -> ByStep {
        let account = context.account();
        let busiest =
            account.devices.iter().max_by_key(|row| row.causes.get(Cause::Kernel)).and_then(|row| row.device);
        let mut causes: HashMap<i64, ByCause, RandomState> = HashMap::default();
        for row in account.rows_of(busiest) {
            causes.entry(row.step).or_insert(row.causes);
        }
        ByStep { causes }
    }

    /// What takes more time in slow steps than in the usual one, most first, per step on average.
    fn more(&self, slow: &[&Step], usual: &Step) -> Vec<(Cause, i64)> {
        let of = |step: &Step| self.causes.get(&step.step).copied();
        let Some(usual) = of(usual) else { return Vec::new() };
        let mut more = ByCause::default();
        for causes in slow.iter().filter_map(|step| of(step)) {
            for cause in Cause::all() {
                more.add(cause, causes.get(cause) - usual.get(cause));
            }
        }
        let mut all = more.by_size();
        all.retain(|c| c.1 > 0);
        all.iter_mut().for_each(|c| c.1 /= slow.len() as i64);
        all
    }
}

/// Host slices of a step in which the device waited for this activity.
fn during(context: &Context<'_>, step: &Step, cause: Option<Cause>) -> Vec<SliceId> {
    let (Some(Cause::Host(activity)), Some(main)) = (cause, context.host().main()) else { return Vec::new() };
    let mut pieces: Vec<(i64, SliceId)> = Vec::new();
    context.host().doing(main, step.window(), |piece| {
        if let Some(slice) = piece.slice.filter(|_| piece.activity == activity) {
            pieces.push(((piece.end - piece.start).0, slice));
        }
    });
    pieces.sort_unstable_by_key(|p| (std::cmp::Reverse(p.0), p.1));
    let mut longest: Vec<SliceId> = pieces.into_iter().map(|p| p.1).take(3).collect();
    longest.dedup();
    longest
}

/// A cause where it is clear that the device was idle.
fn bare(cause: Cause) -> &'static str {
    cause.label().strip_prefix("idle: ").unwrap_or(cause.label())
}

type Advice<'a> = (&'static str, &'static str, Option<&'a str>);

/// Why, what to do, and the code for it; `later` records later steps.
fn advice(cause: Option<Cause>, pattern: Pattern, later: &str) -> Advice<'_> {
    match cause {
        Some(Cause::Host(Activity::GarbageCollection)) => (
            "Python's garbage collector goes through all objects of the program while the device has nothing to do.",
            "Do not call gc.collect() in the loop. Freeze the objects created at start-up, and collect when you choose: between \
             epochs, or on all ranks in the same step.",
            Some(
                "gc.freeze()   # after start-up: the collector skips the objects created so far\ngc.disable()  # then gc.collect() between epochs",
            ),
        ),
        Some(Cause::Host(Activity::DataLoading)) => (
            "The loader's queue ran dry in these steps: a batch came late.",
            "More workers and a deeper queue even out slow batches; persistent workers avoid the pause at the start of each \
             epoch. If every k-th step is slow, k is often the number of workers: all of them together are too slow.",
            Some(
                "loader = DataLoader(dataset, ..., num_workers=min(16, os.cpu_count()), prefetch_factor=4,\n\
                 \x20                   persistent_workers=True, pin_memory=True)",
            ),
        ),
        Some(Cause::Host(Activity::Allocation)) => (
            "These steps allocated memory through the driver; the others reused theirs.",
            "Allocate the largest batch first, keep shapes stable, and let segments grow in place.",
            Some("os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"  # before import"),
        ),
        Some(Cause::Communication | Cause::Host(Activity::Communication)) => (
            "These steps waited longer for other ranks: one of them was late, or the network was busy.",
            "Record all ranks and compare the same steps: the rank that waits least is the late one.",
            None,
        ),
        Some(Cause::Kernel | Cause::Copy | Cause::Fill) => (
            "The device itself had more to do in these steps: longer sequences, larger batches, evaluation, or kernels \
             that the usual step does not run.",
            "Compare the kernels of a slow step with those of a usual one (`stepscope kernels --step N`). Group samples of \
             similar length into batches; if the extra work is intended (evaluation, logging), do it less often.",
            None,
        ),
        _ if matches!(pattern, Pattern::First(_)) => (
            "The first recorded steps are still warming up: caches fill, code is loaded, the profiler starts. A long run pays \
             that once; here it raises the averages.",
            "Skip more steps before recording, and judge by the later steps of this profile.",
            Some(later),
        ),
        _ => (
            "In these steps the host did something extra, such as logging, a checkpoint or an evaluation, or another program took \
             the processor.",
            "Look at what the host does in the slow step (with_stack=True shows the lines). Do such work less often, or in \
             another thread or process (asynchronous checkpoints, a queue for logs).",
            None,
        ),
    }
}

/// The same in a program of JAX or TensorFlow.
fn advice_for_other_frameworks(cause: Option<Cause>, pattern: Pattern) -> Advice<'static> {
    match cause {
        Some(Cause::Host(Activity::DataLoading)) => (
            "A batch came late in these steps.",
            "Let the input pipeline work ahead: more in parallel, and a deeper buffer of finished batches.",
            None,
        ),
        Some(Cause::Host(Activity::GarbageCollection)) => (
            "Python's garbage collector goes through all objects of the program while the device has nothing to do.",
            "Freeze the objects created at start-up (gc.freeze()), and collect between epochs.",
            None,
        ),
        Some(Cause::Kernel | Cause::Copy | Cause::Fill) => (
            "The device itself had more to do in these steps.",
            "Compare the kernels of a slow step with those of a usual one (`stepscope kernels --step N`).",
            None,
        ),
        Some(Cause::DEVICE_UNRECORDED) => (
            "The host waited for the device in these steps; what the device did is not recorded in full.",
            "Compare a slow step with a usual one (`stepscope account --step N`), and record what is missing if the profiler can.",
            None,
        ),
        _ if matches!(pattern, Pattern::First(_)) => (
            "The first recorded steps are still warming up: code is loaded, the profiler starts. A long run pays that once; \
             here it raises the averages.",
            "Run more steps before recording, and judge by the later steps of this profile.",
            None,
        ),
        _ => (
            "In these steps the host did something extra, such as logging, a checkpoint or an evaluation, or another program took \
             the processor.",
            "Look at what the host does in the slow step. Do such work less often, or on another thread.",
            None,
        ),
    }
}

/// Steps of which none sticks out but which differ much.
fn varied(context: &Context<'_>, lengths: &[i64]) -> Option<Finding> {
    if lengths.len() < 5 {
        return None;
    }
    let mean = lengths.iter().map(|&l| l as f64).sum::<f64>() / lengths.len() as f64;
    let variance = lengths.iter().map(|&l| (l as f64 - mean).powi(2)).sum::<f64>() / lengths.len() as f64;
    let variation = variance.sqrt() / mean.max(1.0);
    if variation < context.threshold("uneven_steps.variation") {
        return None;
    }
    let (low, high) = (lengths.iter().copied().min()?, lengths.iter().copied().max()?);
    let mut finding = context.remark(RULE.name);
    finding.confidence = Confidence::Medium;
    finding.title = format!("Step times vary widely: from {} to {}", time(low), time(high));
    finding.evidence = evidence! {
        "variation" => Amount::Share(variation),
            "Standard deviation of the whole steps' wall times divided by their mean, without steps that compile.";
        "steps" => Amount::Count(lengths.len() as u64), "Number of steps compared.";
    };
    finding.why =
        "No single step is slow, but step times vary. Batches of different sizes cause that, and so does a host \
                   that shares its processor with other programs."
            .to_owned();
    finding.fix =
        "Record more steps before comparing two runs, pin the program to free cores, and group samples of similar \
                   length into batches."
            .to_owned();
    finding.verify = "Record again: the variation should be lower.".to_owned();
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_steps_have_patterns() {
        assert_eq!(pattern(&[0], 5), Pattern::First(1));
        assert_eq!(pattern(&[0, 1], 5), Pattern::First(2));
        assert_eq!(pattern(&[0, 4], 8), Pattern::Every(4));
        assert_eq!(pattern(&[1, 4, 7], 9), Pattern::Every(3));
        assert_eq!(pattern(&[3], 8), Pattern::Some(1));
        assert_eq!(pattern(&[2, 3], 8), Pattern::Some(2));
        assert_eq!(pattern(&[0, 4], 20), Pattern::Some(2));
        assert_eq!(lower_median(&[9, 1, 5, 7]), Some((2, 5)));
    }
}

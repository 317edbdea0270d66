//! Code is compiled or loaded inside the measured steps.

use stepscope_model::Ns;

use super::autotune;
use super::text::{steps, time};
use crate::findings::{
    Amount, Confidence, Context, Estimate, Evidence, Finding, OtherFrameworks, Rule, USUAL, evidence,
    thresholds,
};

pub(super) const RULE: Rule = Rule {
    name: "compilation",
    about: "Code is compiled, loaded onto the device for the first time, or chosen by trial inside the measured steps.",
    thresholds: thresholds! {
        "compilation.step_share" = 0.05, "share of a step in compilation or loading that makes it a step that compiles";
        "compilation.recompiling_steps" = 2.0, "number of compiling steps that makes it recompilation";
        "compilation.autotune_factor" = 2.0,
            "convolution kernels in the first step, divided by those in a later one, that show trials of algorithms";
    },
    other_frameworks: OtherFrameworks::Same,
    answers: &["host", "compilation", "first_use"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let warm_up = context.warm_up();
    let all = &context.steps().steps;
    let limit = context.threshold("compilation.step_share");
    let above = |times: &[i64]| -> Vec<usize> {
        let share = |i: usize| times[i] as f64 / (all[i].window().1 - all[i].window().0).0.max(1) as f64;
        (0..times.len().min(all.len())).filter(|&i| share(i) >= limit).collect()
    };
    let (compiles, loads) = (above(&warm_up.compiling), above(&warm_up.loading));
    if compiles.is_empty() && loads.is_empty() {
        return autotune::find(context, RULE.name, context.threshold("compilation.autotune_factor"))
            .into_iter()
            .collect();
    }
    let again = compiles.len() as f64 >= context.threshold("compilation.recompiling_steps")
        && !context.steps().synthetic;
    // The step that was timed without the profiler does not contain what happens once.
    let finding = match !again && context.unprofiled().measured {
        true => Some(context.remark(RULE.name)),
        false => context.costing(RULE.name, context.saves(warm_up), Estimate::Replay),
    };
    let Some(mut finding) = finding else { return Vec::new() };
    let sum = |all: &[i64]| all.iter().map(|&ns| Ns(ns)).sum::<Ns>().0;
    let (compiling, loading) = (sum(&warm_up.compiling), sum(&warm_up.loading));
    let what = if compiling >= loading { "compiling code" } else { "loading code onto the device" };
    finding.confidence = if compiling >= loading { Confidence::High } else { Confidence::Medium };
    finding.title = if again {
        format!(
            "Recompilation: code is compiled in {} of {}, {} in total",
            compiles.len(),
            steps(all.len()),
            time(compiling)
        )
    } else if context.steps().synthetic {
        format!("Warm-up: {} of the recording goes into {what}", time(compiling.saturating_add(loading)))
    } else {
        let at = compiles.first().or(loads.first());
        let slow = at.and_then(|&i| all.get(i)).map_or(-1, |s| s.step);
        let when =
            if at == Some(&0) { "Warm-up inside the profile" } else { "Something runs for the first time" };
        format!("{when}: step {slow} spends {} {what}", time(compiling.saturating_add(loading)))
    };
    finding.evidence = evidence! {
        "compilation" => Amount::Ns(compiling),
            "Time in all steps in which the host traced, lowered or built code: torch.compile's own ranges, and Python calls \
             of its compilers where stacks were recorded.";
        "loading" => Amount::Ns(loading),
            "Time in all steps outside of compilation in which device code was loaded: pauses the profiler names lazy function \
             loading or module loading, and calls such as cuModuleLoadData and cuLibraryLoadData.";
        "steps that compile" => Amount::Count(compiles.len() as u64),
            "Steps in which compilation takes at least the share of the step given by compilation.step_share.";
        "steps that load" => Amount::Count(loads.len() as u64), "The same for loading.";
    };
    if let Some(ids) = compile_ids(context) {
        finding.evidence.push(Evidence::new(
            "compile ids",
            Amount::Text(ids),
            "Frame and attempt of torch.compile as its ranges name them: 3/2 is the second recompilation of frame 3.",
        ));
    }
    if again {
        finding.why = "A function is compiled again because a guard failed: a shape, a number or an object it was specialized on \
                       has changed. The device waits meanwhile."
            .to_owned();
        finding.fix = "Find the guard with TORCH_LOGS=recompiles, then make it hold: mark the changing dimension as dynamic, pad \
                       batches to a few lengths, keep changing Python numbers out of compiled code (or make them tensors), \
                       and drop the last small batch."
            .to_owned();
        finding.code = Some(
            "torch._dynamo.mark_dynamic(x, 0)            # this dimension changes\n\
             model = torch.compile(model, dynamic=True)  # or: any shape may change\n\
             # TORCH_LOGS=recompiles python program.py names the guard that failed"
                .to_owned(),
        );
        finding.verify =
            "Record again: no step should compile. torch._dynamo.utils.counters[\"stats\"][\"unique_graphs\"] \
                          should stop rising after the first steps."
                .to_owned();
    } else {
        finding.why = "Code is compiled or loaded onto the device when it first runs. A long run pays that once; in this profile \
                       it hides what a usual step costs."
            .to_owned();
        finding.fix = "Skip a few steps before recording. If start-up itself is too slow, keep the compiler's cache on a disk \
                       that persists, compile repeated blocks once (regional compilation), or ship compiled code."
            .to_owned();
        finding.code = Some(context.recorder().after_warm_up());
        finding.verify =
            "Record again after more warm-up steps: no step should compile or load code, and the first step \
                          should take as long as the others."
                .to_owned();
    }
    if let Some(framework) = &context.trace().meta().framework {
        reword(&mut finding, &framework.name, again);
    }
    finding.slices = context.shown(warm_up.slices.iter().copied());
    finding.source = warm_up.slices.first().and_then(|&id| context.source(id));
    let at = compiles.first().or(loads.first()).and_then(|&i| all.get(i));
    finding.range_ns = at.map(|step| (step.start_ns, step.end_ns));
    vec![finding]
}

/// The ids in `…, compile_id=1/0`, the first few.
fn compile_ids(context: &Context<'_>) -> Option<String> {
    let texts =
        context.trace().strings().iter().filter_map(|(_, text)| text.split_once("compile_id=")).map(|t| t.1);
    let mut ids: Vec<&str> = texts.filter(|id| id.len() < 16).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(8);
    (!ids.is_empty()).then(|| ids.join(", "))
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str, again: bool) {
    if let Some(evidence) = finding.evidence.first_mut() {
        evidence.definition = "Time in all steps in which the host traced, lowered or compiled functions, by the ranges and \
                               Python functions of the framework's compiler.";
    }
    if again {
        finding.why = "A function is traced and compiled again whenever the shapes, types or static arguments of its inputs \
                       differ from all those before."
            .to_owned();
        finding.fix = "Keep shapes the same from step to step: pad batches to a few lengths and drop the last small one. Pass \
                       numbers that change as arrays, and make jitted functions once, outside of the loop."
            .to_owned();
    } else {
        finding.why = "A function is traced and compiled when it first runs. A long run pays that once; in this profile it hides \
                       what a usual step costs."
            .to_owned();
        finding.fix = "Run a few steps before the profiler starts. If start-up itself is too slow, keep compiled code on a \
                       disk that persists."
            .to_owned();
    }
    finding.code = Some(match (framework, again) {
        ("TensorFlow", true) => TF_SIGNATURE.to_owned(),
        ("TensorFlow", false) => TF_WARM.to_owned(),
        (_, true) => JAX_RECOMPILES.to_owned(),
        (_, false) => JAX_WARM.to_owned(),
    });
    finding.verify =
        "Record again: no step should compile, and the first should take as long as the others.".to_owned();
}

const JAX_WARM: &str = "jax.block_until_ready(train_step(state, batch))  # compiles, before the profiler starts
with jax.profiler.trace(\"logs\"):
    ...
# jax.config.update(\"jax_compilation_cache_dir\", \"cache\") keeps compiled code between runs";

const JAX_RECOMPILES: &str = "jax.config.update(\"jax_log_compiles\", True)     # says what is compiled
jax.config.update(\"jax_explain_cache_misses\", True)  # and why";

const TF_WARM: &str = "train_step(batch)  # traces, before the profiler starts
tf.profiler.experimental.start(\"logs\")";

const TF_SIGNATURE: &str =
    "@tf.function(reduce_retracing=True)  # or input_signature=[tf.TensorSpec([None, 64])]
def train_step(batch): ...";

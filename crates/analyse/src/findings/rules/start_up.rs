//! The program takes long until its first iteration, and something can be done about it.

use stepscope_model::{Ns, PackageImport, ProgramPhases};

use super::text::{percent, time};
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, OtherFrameworks, Rule, Severity, USUAL, evidence,
    thresholds,
};
use crate::names::framework::FRAMEWORK_PACKAGES;

pub(super) const RULE: Rule = Rule {
    name: "start_up",
    about: "The program spends long on imports, weights or compilation before its first iteration. A heuristic: samples of the \
            main thread.",
    thresholds: thresholds! {
        "start_up.min_seconds" = 5.0, "seconds of start-up";
        "start_up.part_seconds" = 2.0, "seconds of one part of it: imports, weights or compilation";
        "start_up.part_share" = 0.2, "share of the start-up in that part";
        "start_up.program_share" = 0.1,
            "share of the whole program that start-up takes, where the recorder has seen its end";
    },
    other_frameworks: OtherFrameworks::Same,
    check,
    ..USUAL
};

/// A part that can be made shorter.
struct Part {
    name: String,
    ns: i64,
    why: &'static str,
    fix: &'static str,
    code: Option<String>,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(phases) = context.program_phases() else { return Vec::new() };
    let seconds = |name: &str| context.threshold(name) * 1e9;
    if (phases.start_up_ns as f64) < seconds("start_up.min_seconds") {
        return Vec::new();
    }
    let share_of_program =
        whole_ns(context, phases).map(|whole| phases.start_up_ns as f64 / whole.max(1) as f64);
    if share_of_program.is_some_and(|share| share < context.threshold("start_up.program_share")) {
        return Vec::new();
    }
    let largest = parts(context, phases).into_iter().max_by_key(|part| part.ns);
    let share = |part: &Part| part.ns as f64 / phases.start_up_ns.max(1) as f64;
    let Some(part) = largest.filter(|part| {
        part.ns as f64 >= seconds("start_up.part_seconds")
            && share(part) >= context.threshold("start_up.part_share")
    }) else {
        return Vec::new();
    };
    let mut finding = context.remark(RULE.name);
    // It saves no time of a step, and a program that runs for long pays it once.
    finding.severity = if share_of_program.is_some() { Severity::Low } else { Severity::Info };
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Start-up takes {}, {} of it ({}) for {}",
        time(phases.start_up_ns),
        time(part.ns),
        percent(share(&part)),
        part.name
    );
    finding.evidence = evidence! {
        "start-up" => Amount::Ns(phases.start_up_ns),
            "From the program's first line to the end of its first iteration, without the recorder's own time.";
        part.name.clone() => Amount::Ns(part.ns),
            "Time of it in which samples saw the main thread at this; the innermost function that is known decides.";
    };
    if let Some(share) = share_of_program {
        finding.evidence.push(Evidence::new(
            "of the program",
            Amount::Share(share),
            "Start-up divided by all of the program's time: start-up, iterations, pauses and what follows them.",
        ));
    }
    finding.why =
        format!("{} Every start of the program pays this, and so does every test of a change.", part.why);
    finding.fix = part.fix.to_owned();
    finding.code = part.code;
    finding.verify = "Run it again: `stepscope run` says at the end how long start-up took.".to_owned();
    vec![finding]
}

/// How long the program took in total, if its recorder has seen its end.
fn whole_ns(context: &Context<'_>, phases: &ProgramPhases) -> Option<i64> {
    let iteration = |ns: Option<i64>| ns.unwrap_or(context.step_ns());
    let steady = phases.steady.iter().map(|steady| {
        let count = i64::try_from(steady.iterations).unwrap_or(i64::MAX);
        iteration(steady.iteration_ns).saturating_mul(count)
    });
    let rest = [phases.start_up_ns, phases.warm_up_ns, phases.pauses_ns, phases.after_last_ns?];
    Some(rest.into_iter().chain(steady).map(Ns).sum::<Ns>().0)
}

fn parts(context: &Context<'_>, phases: &ProgramPhases) -> Vec<Part> {
    let Some(parts) = &phases.start_up else { return Vec::new() };
    let is_framework = |import: &&PackageImport| FRAMEWORK_PACKAGES.contains(&import.package.as_str());
    let frameworks = || parts.longest_imports.iter().filter(is_framework);
    let other = parts.longest_imports.iter().find(|import| !is_framework(import));
    let other = other.map_or("heavy_module", |import| import.package.as_str());
    let framework = context.trace().meta().framework.as_ref().map(|framework| framework.name.as_str());
    vec![
        Part {
            name: match frameworks().next() {
                Some(framework) => format!("imports besides {}", framework.package),
                None => "imports".to_owned(),
            },
            ns: parts.imports_ns.saturating_sub(frameworks().map(|import| import.import_ns).fold(0, i64::saturating_add)),
            why: "The first import of a module runs all of it and of what it imports in turn.",
            fix: "Import heavy modules inside the functions that need them, and remove imports that are not used. python -X \
                  importtime lists every module with its time.",
            code: Some(format!("import {other}  # in the function that needs it, not at the top of the file")),
        },
        Part {
            name: "weights".to_owned(),
            // Of PyTorch's modules.
            ns: if framework.is_none() { parts.weights_ns } else { 0 },
            why: "Constructors fill the weights of a model with random numbers on the host; then the weights are moved to the \
                  device, or overwritten by a checkpoint.",
            fix: "Make the model on its device, which fills the weights much faster. If a checkpoint follows, make the model \
                  without memory (the meta device, or torch.nn.utils.skip_init for one module) and take the checkpoint's \
                  tensors as its weights.",
            code: Some(
                "with torch.device(\"cuda\"):  # or \"meta\", if a checkpoint follows\n    model = Model()\n\
                 model.load_state_dict(torch.load(path, mmap=True), assign=True)  # takes the tensors as they are"
                    .to_owned(),
            ),
        },
        Part {
            name: "compilation".to_owned(),
            ns: parts.compilation_ns,
            why: "The first call of a compiled function compiles it, and so does every new shape.",
            fix: "Keep what was compiled in a folder that lasts until the next start. Compile one function around the model \
                  instead of many small ones, and give it batches of one shape.",
            code: match framework {
                None => Some("os.environ[\"TORCHINDUCTOR_CACHE_DIR\"] = \"compiled\"  # before import torch; a folder that lasts"),
                Some("JAX") => Some("jax.config.update(\"jax_compilation_cache_dir\", \"compiled\")  # a folder that lasts"),
                Some(_) => None,
            }
            .map(str::to_owned),
        },
    ]
}

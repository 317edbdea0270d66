//! Arguments that a compiled function could turn into its results, and copies instead.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Kind, Program, ResultShape};

use crate::findings::{
    Amount, Confidence, Context, Finding, OtherFrameworks, Rule, USUAL, evidence, thresholds,
};
use crate::programs::program_memory;

pub(super) const RULE: Rule = Rule {
    name: "donation",
    about: "JAX: a compiled function keeps arguments in memory while it makes results of the same shapes, as a training step \
            does whose state is not donated.",
    thresholds: thresholds! {
        "donation.min_mib" = 16.0, "MiB of arguments that results could take over";
        "donation.min_share" = 0.1, "share of all memory that the function was given";
    },
    other_frameworks: OtherFrameworks::Same,
    check,
    ..USUAL
};

/// Bytes of the largest of a program's results that have the shape of an argument each, and how many those are.
fn exchangeable(program: &Program) -> (u64, u64) {
    let graph = &program.graph;
    let Some(entry) = graph.entry() else { return (0, 0) };
    let mut arguments: BTreeMap<&ResultShape, u64> = BTreeMap::new();
    let mut root = None;
    for at in graph.nodes_of(entry) {
        let Some(node) = graph.node(at) else { continue };
        if node.opcode == "parameter" {
            *arguments.entry(node.shape).or_default() += 1;
        } else if graph.users(at).is_empty() {
            root = Some((at, node));
        }
    }
    let Some((at, root)) = root else { return (0, 0) };
    let results: Vec<&ResultShape> = match root.opcode {
        "tuple" => (graph.operands(at).iter())
            .filter_map(|&of| graph.node(of))
            // A gradient has the shape of its parameter, which the caller still needs.
            .filter(|node| !node.op_path().contains("transpose(jvp"))
            .map(|node| node.shape)
            .collect(),
        _ => vec![root.shape],
    };
    let (mut total, mut count) = (0u64, 0);
    for shape in results {
        if let Some(left) = arguments.get_mut(shape).filter(|left| **left > 0) {
            *left -= 1;
            count += 1;
            total = total.saturating_add(shape.bytes());
        }
    }
    (total, count)
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    if trace.programs().is_empty() {
        return Vec::new();
    }
    // Programs that ran inside of steps.
    let mut ran: HashMap<i64, (), RandomState> = HashMap::default();
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work() || slices.kind(id) == Kind::HostOp) {
        if let Some(program) = trace.args(id).int(Attr::Program)
            && context.steps().at(slices.start(id)).is_some()
        {
            ran.insert(program, ());
        }
    }
    let least = context.threshold("donation.min_mib") * f64::from(1 << 20);
    let of = |program: &Program| {
        let memory = program_memory(program)?;
        let (could, arrays) = exchangeable(program);
        let kept = could.min(memory.arguments).saturating_sub(memory.aliased).min(memory.results);
        let whole = memory.peak.unwrap_or(memory.total()).max(1);
        let share = kept as f64 / whole as f64;
        (kept as f64 >= least && share >= context.threshold("donation.min_share"))
            .then_some((kept, arrays, share, whole))
    };
    let running = trace.programs().iter().filter(|program| ran.contains_key(&program.id));
    let worst = running.filter_map(|program| Some((of(program)?, program))).max_by_key(|found| found.0.0);
    let Some(((kept, arrays, share, whole), program)) = worst else { return Vec::new() };
    let mut finding = context.remark(RULE.name);
    finding.confidence = Confidence::Medium;
    let mib = kept as f64 / f64::from(1 << 20);
    finding.title = format!(
        "Donation: {} keeps {mib:.0} MiB of old arrays while it makes new ones of the same shapes",
        program.name
    );
    let metric = |bytes: u64| Amount::Bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    finding.evidence = evidence! {
        "could be taken over" => metric(kept),
            "Bytes of results that have the shape of an argument each, without those that take one over already.";
        "share of its memory" => Amount::Share(share),
            "The same divided by the most memory that the compiler planned for the function at one time.";
        "planned memory" => metric(whole), "The most memory that the compiler planned at one time.";
        "arrays" => Amount::Count(arrays), "Results that have the shape of an argument each.";
    };
    finding.why = "A function must not change its arguments, so the compiler makes results of their own, and both are in memory \
                   until the call returns. Arguments that are donated become the results."
        .to_owned();
    finding.fix = "Donate what the caller replaces, such as weights and optimizer state. The old arrays cannot be used afterwards. \
                   The memory lets you train with a larger batch; a little time is saved too."
        .to_owned();
    finding.code = Some(
        "@functools.partial(jax.jit, donate_argnums=0)   # state is argument 0\n\
         def train_step(state, batch): ...\n\
         state, loss = train_step(state, batch)          # the old state is gone"
            .to_owned(),
    );
    finding.verify =
        "Record again: `stepscope memory` should show as many donated bytes as the state has.".to_owned();
    vec![finding]
}

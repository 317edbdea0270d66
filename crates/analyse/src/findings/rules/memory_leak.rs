//! Memory in use rises from step to step.

use std::cell::OnceCell;
use stepscope_model::Order;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::text::{size, steps};
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, Needs, Rule, Severity, USUAL, evidence, thresholds,
};
use crate::memory::{self, DeviceMemory};
use crate::statistics::growth;

pub(super) const RULE: Rule = Rule {
    name: "memory_leak",
    about: "Memory in use at the end of each step keeps growing. A heuristic: a robust slope over the steps; the thresholds `leak.*` say \
            when.",
    thresholds: thresholds! {
        "memory_leak.mib_per_step" = 1.0, "growth per step in MiB";
        "memory_leak.share_per_step" = 0.005, "growth per step as a share of the mean level";
    },
    needs: &[Needs::Memory, Needs::Steps],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    if context.steps().synthetic {
        return Vec::new();
    }
    let survivors = OnceCell::new();
    context.memory_marks().devices.iter().filter_map(|memory| of_device(context, memory, &survivors)).collect()
}

fn of_device(
    context: &Context<'_>,
    memory: &DeviceMemory,
    of_all: &OnceCell<HashMap<String, Survivors, RandomState>>,
) -> Option<Finding> {
    let levels = at_step_ends(context, memory)?;
    let points: Vec<(f64, f64)> =
        levels.iter().enumerate().map(|(at, level)| (at as f64, *level as f64)).collect();
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let least = (context.threshold("memory_leak.mib_per_step") * 1_048_576.0)
        .max(context.threshold("memory_leak.share_per_step") * mean);
    let between = points.len().saturating_sub(1) as f64;
    let found = growth(&points, least * between, &context.thresholds().growth_of_steps())?;
    if !found.grows {
        return None;
    }
    let growth = found.slope.slope;
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::Medium;
    finding.confidence = if levels.len() >= 8 { Confidence::High } else { Confidence::Medium };
    finding.title = format!("{}: memory in use grows by {} in each step", memory.device, size(growth as i64));
    finding.evidence = evidence! {
        "growth per step" => Amount::Bytes(growth as i64),
            "The median slope between all pairs of steps of the levels at their ends (Theil-Sen).";
        "growth per step, at least" => Amount::Bytes(found.slope.low as i64),
            "The lower end of the slope's interval (Sen), as sure as `leak.confidence` asks.";
        "fit of the line" => Amount::Number(found.fit),
            "R², the share of the levels' variance that a straight line explains; 1 is a perfect line.";
        "steps" => Amount::Count(levels.len() as u64),
            "Steps whose level was compared: memory in use when the step's host range ends.";
        "first level" => Amount::Bytes(levels[0]), "Memory in use at the end of the first step.";
        "last level" => Amount::Bytes(levels[levels.len() - 1]), "Memory in use at the end of the last step.";
    };
    if let Some(free) = super::memory_near_limit::capacity(context, memory)
        .map(|all| all.saturating_sub(levels[levels.len() - 1]))
    {
        let left = (free as f64 / growth) as u64;
        finding.evidence.push(Evidence::new(
            "steps until the device is full",
            Amount::Count(left),
            "Memory of the device minus the last level, divided by the growth per step.",
        ));
    }
    let never_released = of_all.get_or_init(|| survivors(context)).get(&memory.device);
    for &(ref operator, bytes) in never_released.into_iter().flatten().take(3) {
        finding.evidence.push(Evidence::new(
            format!("never released, from {operator}"),
            Amount::Bytes(bytes),
            "Bytes allocated in this operator, in all steps but the last, and not released by the end of the recording.",
        ));
    }
    finding.why = format!(
        "Something keeps what {} allocated. Most often a loss or an output is stored together with its graph, which keeps \
         all its activations alive; or a list, a cache or a hook grows.",
        steps(levels.len())
    );
    finding.fix = "Store numbers or detached tensors instead of results with a graph: loss.detach() or loss.item(), and outputs \
                   under torch.no_grad() when evaluating. Clear lists and caches in each step, remove hooks, and avoid \
                   retain_graph=True."
        .to_owned();
    finding.code = Some(
        "total += loss.detach()               # not: total += loss\n\
         history.append(loss.detach().cpu())  # not: history.append(loss)"
            .to_owned(),
    );
    finding.verify =
        "Record ten steps or more with profile_memory=True: the level at the end of each step should be the \
                      same. torch.cuda.memory._record_memory_history() shows who allocated what is left."
            .to_owned();
    Some(finding)
}

/// Memory in use at the end of each step's host range; `None` if the file does not say before the first step's end.
fn at_step_ends(context: &Context<'_>, memory: &DeviceMemory) -> Option<Vec<i64>> {
    // Memory that changes less than once per step does not grow from step to step.
    if memory.curve.len() < context.steps().steps.len() {
        return None;
    }
    let level = |at: i64| {
        let next = memory.curve.partition_point(|p| p.at_ns <= at);
        memory.curve[..next].last().map(|p| p.allocated_bytes)
    };
    context.steps().steps.iter().map(|step| level(step.host_end_ns)).collect()
}

/// Bytes by operator.
type Survivors = Vec<(String, i64)>;

/// Bytes that steps but the last allocated and no one released, by device and operator, most first.
fn survivors(context: &Context<'_>) -> HashMap<String, Survivors, RandomState> {
    let (Some(first), Some(last)) = (context.steps().steps.first(), context.steps().steps.last()) else {
        return HashMap::default();
    };
    let options = memory::Options { frames: 0, curve_points: 1, events: true, ..memory::Options::default() };
    let mut of_devices: HashMap<String, HashMap<String, i64, RandomState>, RandomState> = HashMap::default();
    for event in memory::analyze(context.trace(), &options).events {
        let in_steps = |at: i64| first.host_start_ns <= at && at < last.host_start_ns;
        if event.released_at_ns.is_none() && event.allocated_at_ns.is_some_and(in_steps) {
            let operator = event.operator.unwrap_or_else(|| memory::NO_OPERATOR.to_owned());
            let bytes = of_devices.entry(event.device).or_default().entry(operator).or_default();
            *bytes = bytes.saturating_add(event.bytes);
        }
    }
    let sorted = |by_operator: HashMap<String, i64, RandomState>| {
        let mut all: Vec<_> = by_operator.into_iter().collect();
        all.order_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    };
    of_devices.into_iter().map(|(device, by_operator)| (device, sorted(by_operator))).collect()
}

//! Chains of elementwise kernels that read and write the same large tensor again and again.

use stepscope_model::{Attr, Input, SliceId};

use super::matrix::total;
use crate::findings::{Confidence, Context, Edit, Estimate, Evidence, Figure, Finding, Rule, Threshold};
use crate::names::by_name::ByName;
use crate::roofline::{Family, OpCost};
use crate::threads::callers::at_or_under;

pub(super) const RULE: Rule = Rule {
    name: "unfused_pointwise",
    about: "Several elementwise operators in a row work on tensors of the same size, each in a kernel of its own.",
    thresholds: &[
        Threshold {
            name: "unfused_pointwise.min_chain",
            default: 3.0,
            text: "operators in a row that make a chain",
        },
        Threshold {
            name: "unfused_pointwise.min_elements",
            default: 65536.0,
            text: "elements of a chain's tensors",
        },
    ],
    check,
};

/// A run of elementwise calls on one size.
struct Chain<'a> {
    ops: Vec<&'a OpCost>,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let trace = context.trace();
    let chains = chains(context);
    if chains.is_empty() {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    let mut all: Vec<SliceId> = Vec::new();
    for chain in &chains {
        // One kernel in place of all takes about as long as the longest of them: it moves the same tensors once.
        let longest = chain.ops.iter().max_by_key(|op| op.device_ns);
        for op in &chain.ops {
            let kernels = context.costs().kernels_of(op);
            all.extend(kernels);
            if longest.is_some_and(|l| l.slice == op.slice) {
                continue;
            }
            kernels.iter().for_each(|&kernel| edit.device_length(kernel, 0));
            edit.remove_host(op.slice);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let steps = context.steps().steps.len().max(1);
    let costliest = chains.iter().max_by_key(|c| total(c.ops.iter().copied()));
    let names = |chain: &Chain<'_>| {
        let names: Vec<&str> =
            chain.ops.iter().map(|op| trace.name(op.slice).trim_start_matches("aten::")).collect();
        let shown = names.iter().take(10).copied().collect::<Vec<_>>().join(" → ");
        if names.len() > 10 { format!("{shown} → … ({} in total)", names.len()) } else { shown }
    };
    let ns = total(chains.iter().flat_map(|c| c.ops.iter().copied()));
    let count: usize = chains.iter().map(|c| c.ops.len()).sum();
    let what = costliest.map(|c| guess(&c.ops.iter().map(|op| trace.name(op.slice)).collect::<Vec<_>>()));
    finding.confidence = Confidence::Medium;
    finding.title = match what.flatten() {
        Some(what) => {
            format!("Unfused pointwise work: {what} and other chains take {} kernels per step", count / steps)
        }
        None => format!("Unfused pointwise work: chains of elementwise kernels, {} per step", count / steps),
    };
    finding.evidence = vec![
        Evidence::new(
            "in such chains per step",
            Figure::Ns(ns / steps as i64),
            "Device time of elementwise operators that follow each other on a stream, at least three in a row on tensors of the same size, per step.",
        ),
        Evidence::new(
            "chains per step",
            Figure::Count((chains.len() / steps) as u64),
            "Number of such chains, per step.",
        ),
    ];
    if let Some(chain) = costliest {
        finding.evidence.push(Evidence::new(
            "the costliest",
            Figure::Text(names(chain)),
            "Its operators in order.",
        ));
    }
    finding.why = "Each operator reads its input from memory and writes its result back; the arithmetic in between costs almost \
                   nothing. A chain of n operators moves the tensor n times where once would do."
        .to_owned();
    finding.fix = "Let torch.compile fuse the function around the chain, or call the framework's own function if there is one (F.gelu, \
                   F.silu, F.layer_norm, F.rms_norm)."
        .to_owned();
    finding.code = Some(
        "@torch.compile  # on the function around the chain: one kernel instead of many\n\
         def block(x, y):\n\
         \x20   ..."
            .to_owned(),
    );
    finding.source = costliest.and_then(|c| context.source(c.ops.first()?.slice));
    finding.verify =
        "Record again: `stepscope kernels` should show one fused kernel (triton_poi_…, gelu) per chain."
            .to_owned();
    finding.slices = context.shown(all);
    vec![finding]
}

/// What a chain of operators probably is: a heuristic over their names.
fn guess(names: &[&str]) -> Option<&'static str> {
    let has = |op: &str| names.iter().any(|n| n.trim_start_matches("aten::").trim_end_matches('_') == op);
    if has("erf") || has("tanh_backward") || (has("tanh") && has("pow")) {
        Some("a hand-written GELU")
    } else if has("sigmoid") && has("mul") {
        Some("a hand-written SiLU or gate")
    } else {
        None
    }
}

/// All chains, in the order of their streams. Work in the optimizer is another rule's.
fn chains<'a>(context: &'a Context<'_>) -> Vec<Chain<'a>> {
    let (trace, slices, costs) = (context.trace(), context.trace().slices(), context.costs());
    let least = context.limit("unfused_pointwise.min_chain") as usize;
    let elements = context.limit("unfused_pointwise.min_elements") as i64;
    let mut is_step = ByName::new(trace, |name| name.starts_with("Optimizer.step"));
    let in_optimizer = at_or_under(trace, context.tree(), |id| is_step.get(slices.name(id)));
    let mut sizes = Sizes { context, known: Vec::new() };
    // Device work in stream order, with the elementwise call it belongs to.
    let mut owner = hashbrown::HashMap::<SliceId, usize, foldhash::fast::RandomState>::default();
    for (at, op) in costs.ops.iter().enumerate() {
        if matches!(op.cost.family, Family::Elementwise | Family::Copy) && op.kernels == 1 {
            owner.extend(costs.kernels_of(op).iter().map(|&k| (k, at)));
        }
    }
    let mut found: Vec<Chain<'a>> = Vec::new();
    let mut current: Vec<&OpCost> = Vec::new();
    let mut size = 0;
    let mut close = |current: &mut Vec<&'a OpCost>| {
        let arithmetic = current.iter().filter(|op| op.cost.family == Family::Elementwise).count();
        if arithmetic >= least {
            found.push(Chain { ops: std::mem::take(current) });
        }
        current.clear();
    };
    let mut lane = None;
    for id in context.device_work() {
        let op = owner.get(&id).map(|&at| &costs.ops[at]).filter(|op| !in_optimizer[op.slice.index()]);
        let this = op.and_then(|op| sizes.of(op.slice)).filter(|&n| n >= elements);
        if lane != Some(slices.lane(id)) || this != Some(size) {
            close(&mut current);
        }
        lane = Some(slices.lane(id));
        if let (Some(op), Some(this)) = (op, this) {
            size = this;
            current.push(op);
        }
    }
    close(&mut current);
    found
}

/// Elements of the largest input, remembered by the text of the shapes.
struct Sizes<'a, 'b> {
    context: &'a Context<'b>,
    known: Vec<Option<Option<i64>>>,
}

impl Sizes<'_, '_> {
    fn of(&mut self, op: SliceId) -> Option<i64> {
        let trace = self.context.trace();
        let text = trace.args(op).text_id(Attr::InputShapes)?;
        if self.known.is_empty() {
            self.known = vec![None; trace.strings().len()];
        }
        *self.known[text.index()].get_or_insert_with(|| {
            let inputs = trace.args(op).input_shapes()?;
            let sizes = inputs.iter().filter_map(Input::tensor);
            sizes.filter_map(|s| s.iter().try_fold(1i64, |all, &n| all.checked_mul(n))).max()
        })
    }
}

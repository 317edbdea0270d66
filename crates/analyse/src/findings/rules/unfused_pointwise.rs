//! Chains of elementwise kernels that read and write large tensors again and again.
//!
//! Kernel names say what is elementwise, so no shapes are needed. A chain goes on through reductions (a normalization
//! written by hand has one in its middle), through copies, and past kernels too short to matter; it ends at a matrix
//! product, an attention or any other kernel that no one would fuse with it.

use stepscope_model::{Kind, Ns, Order, SliceId};

use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::kernel_family::{KernelFamily, kernel_family};
use crate::run::Run;
use crate::threads::callers::at_or_under;

pub(super) const RULE: Rule = Rule {
    name: "unfused_pointwise",
    about: "Several elementwise operators in a row, each in a kernel of its own: activations, normalizations and rotary \
            embeddings written by hand.",
    thresholds: thresholds! {
        "unfused_pointwise.min_chain" = 3.0, "kernels in a row that make a chain";
        "unfused_pointwise.min_share" = 0.03, "share of a step without the profiler that fusing would save";
        "unfused_pointwise.min_us" = 5.0, "µs of a kernel of a chain: shorter ones move too little to matter";
    },
    trials: &["compile", "compile-graphs"],
    answers: &["gpu"],
    check,
    ..USUAL
};

/// One kernel in place of a chain takes at least this share of it: inputs are read and results written all the same.
/// Measured on chains of 5 to 15 kernels against compiled functions, and against the framework's own.
const COMPILED_SHARE: f64 = 0.45;
const BUILT_IN_SHARE: f64 = 0.35;

/// What a kernel is to a chain.
#[derive(Copy, Clone, PartialEq, Eq)]
enum ChainLink {
    Arithmetic,
    /// A copy: part of it, but no reason for one.
    Move,
    /// Neither part nor end.
    Small,
    End,
}

/// Elementwise kernels in a row, with the operators that asked for them.
struct Chain<'a> {
    kernels: Vec<(SliceId, SliceId)>,
    /// All operators in it, also those whose kernels are too short to matter.
    ops: Vec<SliceId>,
    context: &'a Run,
}

impl Chain<'_> {
    fn ns(&self) -> i64 {
        self.kernels.iter().map(|k| self.context.trace().slices().dur(k.0)).sum::<Ns>().0
    }

    fn longest(&self) -> SliceId {
        let slices = self.context.trace().slices();
        self.kernels.iter().map(|k| k.0).max_by_key(|&kernel| slices.dur(kernel)).unwrap_or(self.kernels[0].0)
    }

    /// What it would take as one kernel.
    fn fused_ns(&self) -> i64 {
        let longest = self.context.trace().slices().dur(self.longest()).0;
        let share = match what(&self.names()) {
            Some(known) if known.built_in => BUILT_IN_SHARE,
            _ => COMPILED_SHARE,
        };
        longest.max((self.ns() as f64 * share) as i64)
    }

    /// Its operators, without the library's name before them.
    fn names(&self) -> Vec<&str> {
        let name = |&op: &SliceId| self.context.trace().name(op).trim_start_matches("aten::");
        self.ops.iter().map(name).collect()
    }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let chains = chains(context);
    if chains.is_empty() {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    for chain in &chains {
        let longest = chain.longest();
        for &(kernel, op) in &chain.kernels {
            if kernel == longest {
                edit.device_length(kernel, chain.fused_ns());
            } else {
                edit.device_length(kernel, 0);
                edit.remove_host(op);
            }
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    if finding.saves_unprofiled_share.unwrap_or(0.0) < context.threshold("unfused_pointwise.min_share") {
        return Vec::new();
    }
    let steps = context.steps().steps.len().max(1);
    // The forward pass is what people write, so the costliest chain that is recognized names the finding.
    let by_time = |c: &&Chain<'_>| c.ns();
    let known = chains.iter().filter(|c| what(&c.names()).is_some()).max_by_key(by_time);
    let Some(shown) = known.or(chains.iter().max_by_key(by_time)) else { return Vec::new() };
    let ns = chains.iter().map(|c| Ns(c.ns())).sum::<Ns>().0;
    let count: usize = chains.iter().map(|c| c.kernels.len()).sum();
    let what = what(&shown.names());
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Unfused pointwise work: {}, {} kernels per step",
        titles(&chains).unwrap_or_else(|| "chains of elementwise kernels".to_owned()),
        count / steps
    );
    finding.evidence = evidence! {
        "in such chains per step" => Amount::Ns(ns / steps as i64),
            "Device time of elementwise kernels, reductions and copies that follow each other on a stream, at least three in a \
             row of 5 µs or more, divided by the number of steps.";
        "chains per step" => Amount::Count((chains.len() / steps) as u64),
            "Number of such chains, divided by the number of steps.";
        "the costliest" => Amount::Text(in_order(&shown.names())), "Its operators in order.";
    };
    finding.why = "Each operator reads its input from memory and writes its result back; the arithmetic in between costs \
                   almost nothing. A chain of n operators moves the tensor n times where once would do."
        .to_owned();
    finding.fix = what.map_or(
        "Let torch.compile fuse the function that contains the chain, or use the framework's own function if there is one.",
        |w| w.fix,
    )
    .to_owned();
    finding.code = Some(
        what.map_or(
            "@torch.compile                   # one kernel instead of a chain\n\
             def forward(self, x):\n\
             \x20   ...",
            |w| w.code,
        )
        .to_owned(),
    );
    finding.source = shown.kernels.first().and_then(|k| context.source(k.1));
    finding.verify =
        "Record again: in `stepscope kernels` each chain should be a single kernel (the framework's own, or triton_…)."
            .to_owned();
    finding.slices = context.shown(chains.iter().flat_map(|c| c.kernels.iter().map(|k| k.0)));
    vec![finding]
}

/// What the chains probably are, the costliest first; none if no one knows.
fn titles(chains: &[Chain<'_>]) -> Option<String> {
    let mut sums: Vec<(&'static str, i64)> = Vec::new();
    for chain in chains {
        let Some(known) = what(&chain.names()) else { continue };
        match sums.iter_mut().find(|sum| sum.0 == known.title) {
            Some(sum) => sum.1 = sum.1.saturating_add(chain.ns()),
            None => sums.push((known.title, chain.ns())),
        }
    }
    sums.order_by_key(|sum| std::cmp::Reverse(sum.1));
    let titles: Vec<&str> = sums.iter().take(2).map(|sum| sum.0).collect();
    (!titles.is_empty()).then(|| titles.join(" and "))
}

fn in_order(names: &[&str]) -> String {
    let shown = names.iter().take(10).copied().collect::<Vec<_>>().join(" → ");
    if names.len() > 10 { format!("{shown} → … ({} in total)", names.len()) } else { shown }
}

struct HandWrittenPattern {
    title: &'static str,
    /// Whether the framework has a function for it.
    built_in: bool,
    fix: &'static str,
    code: &'static str,
}

const GELU: HandWrittenPattern = HandWrittenPattern {
    title: "a hand-written GELU",
    built_in: true,
    fix: "Use the framework's own GELU, which is one kernel forward and one backward.",
    code: "y = torch.nn.functional.gelu(x, approximate=\"tanh\")",
};
const SILU: HandWrittenPattern = HandWrittenPattern {
    title: "a hand-written SiLU",
    built_in: true,
    fix: "Use the framework's own SiLU, which is one kernel forward and one backward.",
    code: "y = torch.nn.functional.silu(x)",
};
const NORM: HandWrittenPattern = HandWrittenPattern {
    title: "a normalization written by hand",
    built_in: true,
    fix: "Use the framework's own normalization, which is one kernel forward, or let torch.compile fuse yours.",
    code: "y = torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)\n\
           # with a mean to subtract:\n\
           y = torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)",
};
const ROTARY: HandWrittenPattern = HandWrittenPattern {
    title: "a rotary embedding in separate kernels",
    built_in: false,
    fix: "Let torch.compile fuse the rotation, or use a kernel made for it (flash-attn's or Liger's rotary embedding).",
    code: "apply_rotary = torch.compile(apply_rotary)   # one kernel instead of five per tensor",
};

/// What a chain of operators probably is: a heuristic over their names.
fn what(names: &[&str]) -> Option<&'static HandWrittenPattern> {
    let has = |op: &str| names.iter().any(|n| n.trim_end_matches('_') == op);
    let squares = has("pow") || has("square") || has("var") || has("var_mean");
    if has("rsqrt") && (has("mean") || has("var") || has("var_mean")) && (squares || has("mul")) {
        Some(&NORM)
    } else if has("erf") || has("tanh_backward") || (has("tanh") && has("pow")) {
        Some(&GELU)
    } else if has("neg") && has("cat") && has("mul") {
        Some(&ROTARY)
    } else if has("sigmoid") && has("mul") && names.len() <= 4 {
        Some(&SILU)
    } else {
        None
    }
}

/// All chains, in the order of their streams. Work in the optimizer is another rule's.
fn chains<'a>(context: &'a Context<'_>) -> Vec<Chain<'a>> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let least = context.threshold("unfused_pointwise.min_chain") as usize;
    let short = Ns((context.threshold("unfused_pointwise.min_us") * 1e3) as i64);
    let mut is_step = ByName::new(trace, |name| name.starts_with("Optimizer.step"));
    let in_optimizer = at_or_under(trace, context.tree(), |id| is_step.get(slices.name(id)));
    let mut links = ByName::new(trace, link);
    let mut found: Vec<Chain<'a>> = Vec::new();
    let mut current: Vec<(SliceId, SliceId)> = Vec::new();
    let (mut ops, mut arithmetic): (Vec<SliceId>, usize) = (Vec::new(), 0);
    let mut lane = None;
    let mut close = |current: &mut Vec<(SliceId, SliceId)>, ops: &mut Vec<SliceId>, arithmetic: &mut usize| {
        if *arithmetic >= least.max(1) {
            found.push(Chain { kernels: std::mem::take(current), ops: std::mem::take(ops), context });
        }
        current.clear();
        ops.clear();
        *arithmetic = 0;
    };
    for id in context.device_work() {
        let op = context.op_of(id).filter(|op| !in_optimizer[op.index()]);
        let link = match slices.kind(id) {
            Kind::Memset => ChainLink::Small,
            _ if op.is_none() => ChainLink::End,
            _ => match links.get(slices.name(id)) {
                ChainLink::Arithmetic | ChainLink::Move if slices.dur(id) < short => ChainLink::Small,
                link => link,
            },
        };
        if lane != Some(slices.lane(id)) || link == ChainLink::End {
            close(&mut current, &mut ops, &mut arithmetic);
        }
        lane = Some(slices.lane(id));
        if link != ChainLink::End && slices.kind(id) != Kind::Memset {
            ops.extend(op);
        }
        if let (ChainLink::Arithmetic | ChainLink::Move, Some(op)) = (link, op) {
            current.push((id, op));
            arithmetic += usize::from(link == ChainLink::Arithmetic);
        }
    }
    close(&mut current, &mut ops, &mut arithmetic);
    found
}

/// Kernels and copies that only move data.
const MOVING_KERNELS: [&str; 4] = ["CatArrayBatchedCopy", "Memcpy DtoD", "_copy_kernel", "FillFunctor"];

/// What a kernel of this name is to a chain.
fn link(name: &str) -> ChainLink {
    // What a compiler made is fused as far as it goes; lists of tensors are optimizers'.
    if name.starts_with("triton_") || name.contains("multi_tensor_apply") {
        ChainLink::End
    } else if MOVING_KERNELS.iter().any(|word| name.contains(word)) {
        ChainLink::Move
    } else if kernel_family(name) == KernelFamily::Elementwise || name.contains("reduce_kernel<") {
        ChainLink::Arithmetic
    } else {
        ChainLink::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_by_what_people_write() {
        let title = |names: &[&str]| what(names).map(|w| w.title);
        assert_eq!(title(&["pow", "mean", "add", "rsqrt", "mul", "mul"]), Some(NORM.title));
        assert_eq!(title(&["pow", "mul", "add", "tanh", "add", "mul"]), Some(GELU.title));
        assert_eq!(title(&["mul", "neg", "cat", "mul", "add"]), Some(ROTARY.title));
        assert_eq!(title(&["sigmoid", "mul"]), Some(SILU.title));
        assert_eq!(title(&["add", "relu", "mul"]), None);
    }
}

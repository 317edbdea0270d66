//! Arguments that a compiled function could turn into its results, and copies instead.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Kind, Program};

use crate::findings::{Confidence, Context, Evidence, Figure, Finding, Rule, Threshold};

pub(super) const RULE: Rule = Rule {
    name: "donation",
    about: "JAX: a compiled function keeps arguments in memory while it makes results of the same shapes, as a training step \
            does whose state is not donated.",
    thresholds: &[
        Threshold {
            name: "donation.min_mib",
            default: 16.0,
            text: "MiB of arguments that results could take over",
        },
        Threshold {
            name: "donation.min_share",
            default: 0.1,
            text: "share of all memory that the function was given",
        },
    ],
    check,
};

/// Bytes of the largest of a program's results that have the shape of an argument each, and how many those are.
fn exchangeable(program: &Program) -> (u64, u64) {
    let graph = &program.graph;
    let Some(entry) = graph.entry() else { return (0, 0) };
    let mut arguments: BTreeMap<&str, u64> = BTreeMap::new();
    let mut root = None;
    for at in graph.nodes_of(entry) {
        let Some(node) = graph.node(at) else { continue };
        if node.opcode == "parameter" {
            *arguments.entry(plain(node.shape)).or_default() += 1;
        } else if graph.users(at).is_empty() {
            root = Some((at, node));
        }
    }
    let Some((at, root)) = root else { return (0, 0) };
    let results: Vec<&str> = match root.opcode {
        "tuple" => (graph.operands(at).iter())
            .filter_map(|&of| graph.node(of))
            // A gradient has the shape of its parameter, which the caller still needs.
            .filter(|node| !node.op_path.contains("transpose(jvp"))
            .map(|node| plain(node.shape))
            .collect(),
        _ => vec![plain(root.shape)],
    };
    let (mut total, mut count) = (0u64, 0);
    for shape in results {
        if let Some(left) = arguments.get_mut(shape).filter(|left| **left > 0) {
            *left -= 1;
            count += 1;
            total = total.saturating_add(bytes(shape).unwrap_or(0));
        }
    }
    (total, count)
}

/// A shape without its layout: `f32[8,16]` of `f32[8,16]{1,0}`.
fn plain(shape: &str) -> &str {
    shape.split('{').next().unwrap_or(shape)
}

/// How many bytes an array of this shape takes.
fn bytes(shape: &str) -> Option<u64> {
    let (element, rest) = shape.split_once('[')?;
    let size = match element {
        "pred" => 1,
        "c64" => 8,
        "c128" => 16,
        _ => {
            let digits: String = element
                .chars()
                .skip_while(char::is_ascii_alphabetic)
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse::<u64>().ok()?.div_ceil(8)
        }
    };
    let dims = rest.trim_end_matches(']').split(',').filter(|dim| !dim.is_empty());
    dims.map(|dim| dim.parse::<u64>().ok()).try_fold(size, |all, dim| Some(all.saturating_mul(dim?)))
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
    let least = context.limit("donation.min_mib") * f64::from(1 << 20);
    let of = |program: &Program| {
        let memory = program.memory.as_ref()?;
        let (could, arrays) = exchangeable(program);
        let kept = could.min(memory.arguments).saturating_sub(memory.aliased).min(memory.results);
        let whole = memory.peak.unwrap_or(memory.total()).max(1);
        let share = kept as f64 / whole as f64;
        (kept as f64 >= least && share >= context.limit("donation.min_share"))
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
    let figure = |bytes: u64| Figure::Bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    finding.evidence = vec![
        Evidence::new(
            "could be taken over",
            figure(kept),
            "Bytes of results that have the shape of an argument each, without those that take one over already.",
        ),
        Evidence::new(
            "share of its memory",
            Figure::Share(share),
            "The same divided by the most memory that the compiler planned for the function at one time.",
        ),
        Evidence::new(
            "planned memory",
            figure(whole),
            "The most memory that the compiler planned at one time.",
        ),
        Evidence::new("arrays", Figure::Count(arrays), "Results that have the shape of an argument each."),
    ];
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

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn shapes_have_sizes() {
        for (shape, size) in [
            ("f32[8,16]", Some(512)),
            ("bf16[3]", Some(6)),
            ("pred[]", Some(1)),
            ("f8e4m3fn[2,2]", Some(4)),
            ("s4[3]", Some(3)),
            ("c64[2]", Some(16)),
            ("(f32[2], f32[3])", None),
            ("token[]", None),
        ] {
            assert_eq!(bytes(shape), size, "{shape}");
        }
    }
}

//! Arithmetic in 64 bits, which is rarely meant: NumPy's default type went into a tensor.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Input, Kind, Ns, Order, SliceId, StrId, parse_shapes};

use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Needs, OtherFrameworks, Rule, USUAL, evidence,
    thresholds,
};
use crate::names::by_name::ByName;
use crate::names::shapes::texts;
use crate::scope::intervals::Collector;
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "double_precision",
    about: "Operators compute in 64 bits, which takes twice as long as 32 bits on a CPU and up to 64 times on a GPU. Needs \
            record_shapes=True.",
    thresholds: thresholds! {
        "double_precision.min_share" = 0.1, "share of the step in operators on tensors of 64-bit numbers";
    },
    other_frameworks: OtherFrameworks::Words(reword),
    needs: &[Needs::Shapes],
    answers: &["gpu"],
    check,
    ..USUAL
};

/// What 32 bits take of the time: half as many bytes, and twice as many numbers per instruction.
const SHARE_AT_32_BITS: f64 = 0.5;

/// Whether an input is a tensor of 64-bit numbers. One without dimensions is a number of Python's, mostly, and computes in
/// the type of the others.
fn has_double_tensor(types: &str, shapes: &str) -> bool {
    let shapes = parse_shapes(shapes).unwrap_or_default();
    let is_number = |at: usize| matches!(shapes.get(at), Some(Input::Tensor(sizes)) if sizes.is_empty());
    texts(types).iter().enumerate().any(|(at, name)| name == "double" && !is_number(at))
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut is_double: HashMap<(StrId, Option<StrId>), bool, RandomState> = HashMap::default();
    let mut moves = ByName::new(trace, |name| ["aten::to", "aten::_to_copy", "aten::copy_"].contains(&name));
    let programs = context.programs();
    let described =
        |id: SliceId| programs.cost_of(trace, id).is_some_and(|cost| matches!(cost.element, "f64" | "c128"));
    let mut doubles = |id: SliceId| {
        if !trace.programs().is_empty() {
            return described(id);
        }
        let args = trace.args(id);
        let (types, shapes) = (args.text_id(Attr::InputTypes), args.text_id(Attr::InputShapes));
        let double = types.is_some_and(|types| {
            *is_double.entry((types, shapes)).or_insert_with(|| {
                has_double_tensor(trace.text(types), shapes.map_or("", |shapes| trace.text(shapes)))
            })
        });
        slices.kind(id) == Kind::HostOp && double && !moves.get(slices.name(id))
    };
    let mut named = ByName::new(trace, |name| name.contains("gemm") && name.contains("f64"));
    let mut edit = Edit::new(trace);
    let mut by_op: HashMap<StrId, Ns, RandomState> = HashMap::default();
    for work in context.device_work() {
        let of_program = !trace.programs().is_empty();
        let op = if of_program { Some(work) } else { context.op_of(work) };
        // Kernels of libraries that run inside of a graph have no instruction, but a name.
        let by_name = of_program && programs.at(trace, work).is_none() && named.get(slices.name(work));
        if let Some(op) = op.filter(|&op| by_name || doubles(op)) {
            let ns = slices.dur(work);
            edit.device_length(work, (ns.0 as f64 * SHARE_AT_32_BITS) as i64);
            *by_op.entry(slices.name(op)).or_default() += ns;
        }
    }
    let on_device = !by_op.is_empty();
    let mut computing = Collector::default();
    if !on_device && !trace.programs().is_empty() {
        // Compiled programs compute on threads of their own, several at a time.
        for id in slices.ids().filter(|&id| slices.kind(id) == Kind::HostOp && described(id)) {
            if context.steps().at(slices.start(id)).is_some() {
                computing.add(slices.start(id), slices.end(id));
                *by_op.entry(slices.name(id)).or_default() += slices.dur(id);
            }
        }
    } else if !on_device && let Some(main) = context.host().main() {
        // The host computes itself: what no operator inside of it does.
        for segment in context.host().of_lane(main) {
            let Some(op) = segment.slice.filter(|&op| doubles(op)) else { continue };
            if context.steps().at(segment.start).is_some() {
                computing.add(segment.start, segment.end);
                *by_op.entry(slices.name(op)).or_default() += segment.end - segment.start;
            }
        }
    }
    let total: Ns = if on_device { by_op.values().copied().sum() } else { computing.finish().length() };
    let per_step = context.per_step(total.0);
    let share = per_step as f64 / context.step_ns().max(1) as f64;
    if share < context.threshold("double_precision.min_share") || total == Ns::ZERO {
        return Vec::new();
    }
    let saves = match on_device {
        true => context.saves(&edit),
        false => context.measured((per_step as f64 * (1.0 - SHARE_AT_32_BITS)) as i64),
    };
    let Some(mut finding) = context.costing(RULE.name, saves, Estimate::Model) else { return Vec::new() };
    let mut ops: Vec<(StrId, Ns)> = by_op.into_iter().collect();
    ops.order_by_key(|(op, ns)| (std::cmp::Reverse(*ns), *op));
    let names: Vec<&str> = ops.iter().take(3).map(|(op, _)| trace.text(*op)).collect();
    finding.confidence = Confidence::Medium;
    finding.title = format!("Double precision: {} of the step computes in 64 bits", percent(share));
    finding.evidence = evidence! {
        "in 64 bits" => Amount::Share(share),
            "Time of operators with a 64-bit floating-point input divided by the steps' time: their kernels' on the device, or \
             their own on the main thread where no device works for them.";
        "mostly" => Amount::Text(names.join(", ")), "The operators with most of that time.";
    };
    finding.why =
        "NumPy's default is 64 bits, and a tensor made from such an array keeps it. Twice as many bytes \
                   move, processors compute half as many values at once, and GPUs made for graphics far fewer."
            .to_owned();
    finding.fix =
        "Convert data once where it enters the program. Keep 64 bits only where the last digits matter."
            .to_owned();
    finding.code = Some(
        "x = torch.from_numpy(array).float()      # or array.astype(np.float32) when it is loaded\n\
         model = model.float()"
            .to_owned(),
    );
    finding.verify =
        "Record again with record_shapes=True: this finding should be gone, and the step shorter.".to_owned();
    vec![finding]
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "NumPy's default is 64 bits, and arrays made from it keep that where 64 bits are allowed. Twice as many bytes \
                   move, and processors compute half as many such numbers at once, GPUs made for graphics far fewer."
        .to_owned();
    finding.fix =
        "Convert data once where it enters the program. Keep 64 bits only where the last digits matter."
            .to_owned();
    let code = match framework {
        "TensorFlow" => "x = tf.cast(x, tf.float32)  # or array.astype(np.float32) when it is loaded",
        _ => {
            "jax.config.update(\"jax_enable_x64\", False)  # the default\n\
             x = jnp.asarray(array, dtype=jnp.float32)"
        }
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: `stepscope roofline` should show no fp64.".to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_python_is_no_tensor() {
        assert!(has_double_tensor("[\"double\", \"double\"]", "[[2, 2], [2, 2]]"));
        assert!(has_double_tensor("[\"float\", \"double\"]", "[[2, 2], [2]]"));
        assert!(!has_double_tensor("[\"float\", \"double\"]", "[[2, 2], []]"));
        assert!(!has_double_tensor("[\"float\"]", "[[2, 2]]"));
    }
}

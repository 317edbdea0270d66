//! Many tiny copies to the device, each with a wait.

use stepscope_model::{Kind, SliceId};

use crate::causes::transfers::bytes;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, USUAL, evidence, thresholds,
};
use crate::names::copies::{Direction, HostMemory, copy_name};

pub(super) const RULE: Rule = Rule {
    name: "small_copies",
    about: "Each step makes many small copies from pageable memory to the device, such as scalars one by one.",
    thresholds: thresholds! {
        "small_copies.min_per_step" = 10.0, "small copies per step";
        "small_copies.max_bytes" = 65536.0, "the largest copy that is small, in bytes";
    },
    answers: &["host", "copies"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let limit = context.threshold("small_copies.max_bytes") as i64;
    let is_small = |&id: &SliceId| {
        slices.kind(id) == Kind::Memcpy
            && copy_name(trace.name(id)) == (Direction::HostToDevice, HostMemory::Pageable)
            && bytes(trace, id).is_some_and(|b| b <= limit)
    };
    let copies: Vec<SliceId> = context.device_work().filter(is_small).collect();
    let steps = context.steps().steps.len().max(1);
    if (copies.len() as f64) < context.threshold("small_copies.min_per_step") * steps as f64 {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    let mut source = None;
    for &copy in &copies {
        edit.device_length(copy, 0);
        let Some(call) = trace.links().launch(copy) else { continue };
        let op = context.asked_for(call).filter(|&op| slices.kind(op) == Kind::HostOp);
        edit.no_wait(call);
        edit.remove_host(op.unwrap_or(call));
        source = source.or_else(|| context.source(call));
    }
    let wanted: hashbrown::HashSet<SliceId, foldhash::fast::RandomState> = copies.iter().copied().collect();
    for wait in context.waits().iter().filter(|w| w.until.is_none_or(|u| wanted.contains(&u))) {
        let near = context.asked_for(wait.call);
        if wait.until.is_some()
            || near.is_some_and(|op| {
                matches!(trace.name(op), "aten::to" | "aten::copy_" | "aten::_to_copy" | "aten::lift_fresh")
            })
        {
            edit.no_wait(wait.call);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let each = copies.len() as f64 / steps as f64;
    let moved = copies.iter().filter_map(|&c| bytes(trace, c)).fold(0, i64::saturating_add);
    finding.confidence = Confidence::High;
    finding.title =
        format!("Small copies: {each:.0} tiny tensors per step are created on the host and copied one by one");
    finding.evidence = evidence! {
        "small copies per step" => Amount::Number(each),
            "Copies of at most small_copies.max_bytes from pageable memory to the device, per step.";
        "bytes per step" => Amount::Bytes(moved / steps as i64), "Bytes of these copies, per step.";
    };
    finding.why =
        "Each copy costs a call, a pass through a staging buffer and a wait, whatever its size.".to_owned();
    finding.fix = "Create constants on the device once, outside the loop, and send what changes as one tensor."
        .to_owned();
    finding.code = Some(
        "scale = torch.full((), 0.5, device=device)     # once, created on the device\n\
         values = torch.tensor(all_values).pin_memory()\n\
         values = values.to(device, non_blocking=True)  # one copy instead of many"
            .to_owned(),
    );
    finding.source = source;
    finding.verify = "Record again: `stepscope transfers` should show few copies to the device.".to_owned();
    finding.slices = context.shown(copies);
    vec![finding]
}

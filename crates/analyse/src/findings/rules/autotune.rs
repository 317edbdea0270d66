//! Trials of algorithms: a library runs several for the same convolution and keeps the fastest (cudnn.benchmark).

use super::text::time;
use crate::findings::{Amount, Confidence, Context, Estimate, Finding, evidence};
use crate::names::by_name::ByName;

/// A finding of the rule `rule` if the first step's convolutions launch so many times the kernels of later steps.
pub(super) fn find(context: &Context<'_>, rule: &'static str, factor: f64) -> Option<Finding> {
    let (trace, slices, steps) = (context.trace(), context.trace().slices(), &context.steps().steps);
    if steps.len() < 3 {
        return None;
    }
    let mut is_convolution = ByName::new(trace, |name| name.contains("convolution"));
    let mut of_step = vec![(0u64, 0i64); steps.len()];
    let mut shown = Vec::new();
    for work in context.device_work() {
        let Some(launch) = trace.links().launch(work) else { continue };
        let at = slices.start(launch).0;
        let step = steps
            .partition_point(|s| s.host_start_ns <= at)
            .checked_sub(1)
            .filter(|&s| at < steps[s].host_end_ns);
        let Some(step) =
            step.filter(|_| context.op_of(work).is_some_and(|op| is_convolution.get(slices.name(op))))
        else {
            continue;
        };
        of_step[step] = (of_step[step].0 + 1, of_step[step].1.saturating_add(slices.dur(work).0));
        shown.extend((step == 0).then_some(work));
    }
    let mut later = of_step[1..].to_vec();
    later.sort_unstable();
    let (first, usual) = (of_step[0], later[later.len() / 2]);
    if usual.0 == 0 || (first.0 as f64) < factor * usual.0 as f64 {
        return None;
    }
    let extra = (first.1 - usual.1).max(0);
    let mut finding = context.costing(rule, context.measured(context.per_step(extra)), Estimate::UpperBound)?;
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Warm-up inside the profile: step {} tries convolution algorithms for {}",
        steps[0].step,
        time(extra)
    );
    finding.evidence = evidence! {
        "convolution kernels in the first step" => Amount::Count(first.0),
            "Kernels, copies and memsets launched by operators whose name contains convolution.";
        "in a later step" => Amount::Count(usual.0), "The same in the median of the later steps.";
        "device time of the trials" => Amount::Ns(extra),
            "Device time of these kernels in the first step, minus that of the median later step.";
    };
    finding.why = "With torch.backends.cudnn.benchmark = True, cuDNN tries several algorithms the first time it sees a convolution \
                   of a new shape. That pays off while shapes stay the same; each new shape means new trials."
        .to_owned();
    finding.fix = "Skip a few steps before recording, and keep input sizes the same (pad, drop the last small batch). If sizes \
                   keep changing, turn the trials off."
        .to_owned();
    finding.code = Some(
        "torch.backends.cudnn.benchmark = False  # if sizes keep changing: no trials\n\
         # if sizes stay the same: keep it on and record after a few steps"
            .to_owned(),
    );
    finding.verify =
        "Record again after warm-up: the first step should launch as many kernels as the others.".to_owned();
    finding.slices = context.shown(shown);
    finding.range_ns = Some((steps[0].start_ns, steps[0].end_ns));
    Some(finding)
}

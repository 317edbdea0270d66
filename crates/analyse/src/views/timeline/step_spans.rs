//! The steps as spans of a row, each with the range it was found by.

use stepscope_model::{Kind, Ns, Trace};

use super::spans::{StepSpan, drawn};
use crate::steps::Steps;

/// The steps, and the names of those whose name is not a text of the trace.
pub(super) fn find(trace: &Trace, steps: &Steps) -> (Vec<StepSpan>, Vec<String>) {
    let ranges = ranges(trace, steps);
    let mut own_names: Vec<String> = Vec::new();
    let spans = steps.steps.iter().map(|step| {
        let text = trace.strings().find(&step.name);
        let key = (Ns(step.host_start_ns), text.map_or(u32::MAX, |t| t.index() as u32));
        let range = ranges.partition_point(|r| (r.0, r.1) < key);
        let range = ranges.get(range).filter(|r| (r.0, r.1) == key && !steps.synthetic);
        let name = match text {
            Some(text) => text.index(),
            None => {
                let own = own_names.iter().position(|name| *name == step.name).unwrap_or_else(|| {
                    own_names.push(step.name.clone());
                    own_names.len() - 1
                });
                trace.strings().len() + own
            }
        };
        StepSpan {
            start: drawn(Ns(step.start_ns)),
            end: drawn(Ns(step.end_ns)),
            number: (!steps.synthetic).then_some(step.step),
            name: u32::try_from(name).unwrap_or(u32::MAX),
            slice: range.map(|r| r.2),
        }
    });
    (spans.collect(), own_names)
}

/// Host ranges named as steps are: start, name and number, in order.
fn ranges(trace: &Trace, steps: &Steps) -> Vec<(Ns, u32, u32)> {
    let slices = trace.slices();
    let mut wanted = vec![false; trace.strings().len()];
    for name in steps.steps.iter().filter_map(|step| trace.strings().find(&step.name)) {
        wanted[name.index()] = true;
    }
    let ranges = slices.ids().filter(|&id| matches!(slices.kind(id), Kind::HostAnnotation | Kind::HostOp));
    let ranges = ranges.filter(|&id| wanted[slices.name(id).index()]);
    let mut ranges: Vec<_> =
        ranges.map(|id| (slices.start(id), slices.name(id).index() as u32, id.index() as u32)).collect();
    ranges.sort_unstable();
    ranges
}

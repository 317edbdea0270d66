//! The allocator holds much more than the program uses.

use super::memory_near_limit::capacity;
use super::text::size;
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, Needs, Rule, Severity, USUAL, evidence, thresholds,
};
use crate::memory::DeviceMemory;
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "memory_fragmentation",
    about: "The allocator holds much more device memory than is ever in use.",
    thresholds: thresholds! {
        "memory_fragmentation.share" = 0.3, "share of the memory held that is not in use even at the peak";
        "memory_fragmentation.gib" = 1.0, "the minimum amount, in GiB";
        "memory_fragmentation.full_share" = 0.8, "share of the device's memory held that makes it medium";
    },
    trials: &["expandable-segments"],
    needs: &[Needs::Memory],
    check,
    ..USUAL
};

const GIB: f64 = 1_073_741_824.0;

fn check(context: &Context<'_>) -> Vec<Finding> {
    context.memory_marks().devices.iter().filter_map(|memory| of_device(context, memory)).collect()
}

fn of_device(context: &Context<'_>, memory: &DeviceMemory) -> Option<Finding> {
    let held = memory.peak_reserved_bytes.filter(|&held| held > 0)?;
    let unused = held.saturating_sub(memory.peak_allocated_bytes);
    let share = unused as f64 / held as f64;
    let enough = unused as f64 >= context.threshold("memory_fragmentation.gib") * GIB;
    if !enough || share < context.threshold("memory_fragmentation.share") {
        return None;
    }
    let grown = grown_while_unused(memory);
    let full = capacity(context, memory)
        .is_some_and(|all| held as f64 >= context.threshold("memory_fragmentation.full_share") * all as f64);
    let mut finding = context.remark(RULE.name);
    finding.severity = if full { Severity::Medium } else { Severity::Info };
    finding.confidence = if grown.is_some() { Confidence::Medium } else { Confidence::Low };
    finding.title = format!(
        "{}: the allocator holds {}, but {} ({}) of that is never in use",
        memory.device,
        size(held),
        size(unused),
        percent(share)
    );
    finding.evidence = evidence! {
        "peak held" => Amount::Bytes(held), "The most memory the allocator held from the device in the recording.";
        "peak in use" => Amount::Bytes(memory.peak_allocated_bytes), "The highest level of allocated memory in the recording.";
        "never in use" => Amount::Share(share), "Peak held minus peak in use, divided by peak held.";
    };
    if let Some(unused) = grown {
        finding.evidence.push(Evidence::new(
            "unused when more was asked of the device",
            Amount::Bytes(unused),
            "What the allocator held without use right after it had last asked the device for more: no free piece was \
             large enough.",
        ));
    }
    finding.why = match grown {
        Some(_) => "The free memory is in pieces too small for the next request, so the allocator asks the device for more although \
                    it has enough in total. Tensors whose sizes keep changing cause that.",
        None => "The allocator got this memory before the recording: it is left over from an earlier, larger need (start-up, \
                 another batch size, validation), or free memory is in pieces too small to be used.",
    }
    .to_owned();
    finding.fix = "Let segments grow in place instead of adding new ones, keep shapes to a few sizes (pad or bucket \
                   lengths), and allocate the largest batch first. Call torch.cuda.empty_cache() once after start-up or \
                   validation, never in the loop."
        .to_owned();
    finding.code = Some(
        "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"  # before import\n\
         # or, where segments cannot grow, do not split large blocks: \"max_split_size_mb:512\""
            .to_owned(),
    );
    finding.verify =
        "Record again with profile_memory=True: in `stepscope memory`, memory held should come close to memory in use. \
                      torch.cuda.memory._dump_snapshot() shows the pieces."
            .to_owned();
    finding.range_ns = memory.peak_reserved_at_ns.map(|at| (at, at));
    Some(finding)
}

/// What was unused right after the reserve last rose in the recording, if it did.
fn grown_while_unused(memory: &DeviceMemory) -> Option<i64> {
    let mut rises = memory
        .curve
        .windows(2)
        .filter(|w| w[0].reserved_bytes.is_some() && w[1].reserved_bytes > w[0].reserved_bytes);
    rises
        .next_back()
        .and_then(|w| Some(w[1].reserved_bytes?.saturating_sub(w[1].allocated_bytes)))
        .filter(|&unused| unused > 0)
}

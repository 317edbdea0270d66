//! The device's memory is nearly full.

use super::text::size;
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, Needs, Rule, Severity, USUAL, evidence, thresholds,
};
use crate::memory::DeviceMemory;
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "memory_near_limit",
    about: "The memory in use, or held by the allocator, comes close to what the device has.",
    thresholds: thresholds! {
        "memory_near_limit.share" = 0.9, "share of the device's memory in use or held at the peak";
    },
    trials: &["expandable-segments"],
    needs: &[Needs::Memory],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    context.memory_marks().devices.iter().filter_map(|memory| of_device(context, memory)).collect()
}

fn of_device(context: &Context<'_>, memory: &DeviceMemory) -> Option<Finding> {
    let capacity = capacity(context, memory)?;
    let share = |bytes: i64| bytes as f64 / capacity as f64;
    let limit = context.threshold("memory_near_limit.share");
    let (used, held) = (memory.peak_allocated_bytes, memory.peak_reserved_bytes);
    let in_use = share(used) >= limit;
    if !in_use && held.is_none_or(|held| share(held) < limit) {
        return None;
    }
    let mut finding = context.remark(RULE.name);
    // A cache that fills the device is normal until something else needs the memory.
    finding.severity = if in_use { Severity::Medium } else { Severity::Info };
    finding.confidence = if in_use { Confidence::High } else { Confidence::Medium };
    let most = if in_use { used } else { held.unwrap_or(used) };
    finding.title = format!(
        "{}: {} of {} ({}) {} at the peak",
        memory.device,
        size(most),
        size(capacity),
        percent(share(most)),
        if in_use { "in use" } else { "held by the allocator" }
    );
    finding.evidence = evidence! {
        "peak in use" => Amount::Bytes(used), "The highest level of allocated memory in the recording.";
        "memory of the device" => Amount::Bytes(capacity), "The device's total memory, as the profiler recorded it.";
        "share in use" => Amount::Share(share(used)), "Peak in use divided by the memory of the device.";
    };
    if let Some(held) = held {
        finding.evidence.push(Evidence::new(
            "peak held",
            Amount::Bytes(held),
            "The most memory the allocator held from the device, in use or cached.",
        ));
    }
    for live in memory.peak_by_operator.iter().filter(|_| in_use).take(3) {
        finding.evidence.push(Evidence::new(
            format!("alive at the peak from {}", live.operator),
            Amount::Bytes(live.bytes),
            "Bytes alive at the peak that this operator allocated.",
        ));
    }
    finding.why = if in_use {
        "Little is left: a slightly longer sequence or larger batch ends in an out-of-memory error, and the allocator may \
         have to return its cache to the driver in the middle of a step, which waits for the device."
    } else {
        "Most of this is the allocator's cache, which it returns only when it must. Doing so waits for the device, and \
         until then other processes on the device cannot use the memory."
    }
    .to_owned();
    finding.fix = if in_use {
        "Recompute activations instead of keeping them (activation checkpointing), split the batch and accumulate \
         gradients, train in bfloat16, shard optimizer state and parameters over the ranks (FSDP), or use an optimizer \
         with smaller state."
    } else {
        "Let segments grow in place so that the cache fits what is used, and check whether an earlier peak (start-up, \
         validation) can be lowered."
    }
    .to_owned();
    finding.code = Some(
        if in_use {
            "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)  # in forward\n\
             \n\
             # or: accumulate gradients over 4 small batches\n\
             for i, (x, y) in enumerate(loader):\n\
             \x20   (loss_fn(model(x), y) / 4).backward()\n\
             \x20   if i % 4 == 3:\n\
             \x20       optimizer.step()\n\
             \x20       optimizer.zero_grad(set_to_none=True)"
        } else {
            "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"  # before import"
        }
        .to_owned(),
    );
    finding.verify =
        "Record again with profile_memory=True: the peak in `stepscope memory` should leave a tenth of the \
                      device free."
            .to_owned();
    finding.range_ns = Some((memory.peak_at_ns, memory.peak_at_ns));
    Some(finding)
}

/// The name of a device whose memory in use or held is near its limit.
pub(super) fn full_device(context: &Context<'_>) -> Option<String> {
    let limit = context.threshold("memory_near_limit.share");
    let is_full = |memory: &&DeviceMemory| {
        let most = memory.peak_reserved_bytes.unwrap_or(0).max(memory.peak_allocated_bytes);
        capacity(context, memory).is_some_and(|capacity| most as f64 >= limit * capacity as f64)
    };
    context.memory_marks().devices.iter().find(is_full).map(|memory| memory.device.clone())
}

/// How much memory a device has. A job that sees one device of many may count it differently in its description:
/// if all described devices are alike, this one is too.
pub(super) fn capacity(context: &Context<'_>, memory: &DeviceMemory) -> Option<i64> {
    if crate::memory::device::is_host(memory.device_type) {
        return None;
    }
    let meta = context.trace().meta();
    let all = || meta.devices.iter().map(|d| d.total_memory_bytes);
    let alike = || all().next().flatten().filter(|&first| all().all(|other| other == Some(first)));
    let own = memory.device_id.and_then(|id| meta.device(id)).and_then(|d| d.total_memory_bytes);
    own.or_else(alike).filter(|&bytes| bytes > 0)
}

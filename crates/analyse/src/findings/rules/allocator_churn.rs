//! Device memory is asked of the driver and returned to it in every step.

use stepscope_model::{Ns, SliceId};

use super::memory_near_limit::full_device;
use super::text::time;
use crate::causes::waits::WaitKind;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Needs, Rule, ShownSlice, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::calls::{is_allocation, is_synchronization};

pub(super) const RULE: Rule = Rule {
    name: "allocator_churn",
    about: "Most steps allocate and free device memory through the driver (cudaMalloc, cudaFree) instead of reusing it.",
    thresholds: thresholds! {
        "allocator_churn.steps_share" = 0.5,
            "share of the steps after the first with calls that allocate or free device memory";
        "allocator_churn.calls_per_step" = 2.0, "such calls per step, on average";
    },
    trials: &["keep-cache", "expandable-segments"],
    needs: &[Needs::Steps],
    answers: &["memory_allocation"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices, steps) = (context.trace(), context.trace().slices(), &context.steps().steps);
    if steps.len() < 2 {
        return Vec::new();
    }
    let mut in_step = vec![0u64; steps.len()];
    let mut edit = Edit::new(context.trace());
    let mut calls: Vec<SliceId> = Vec::new();
    let mut is_churn = ByName::new(trace, is_device_memory);
    let mut waits_first = ByName::new(trace, is_synchronization);
    let mut before: Option<SliceId> = None;
    for id in slices.ids().filter(|&id| slices.kind(id).is_runtime()) {
        let last = before.replace(id).filter(|&last| slices.lane(last) == slices.lane(id));
        let at = slices.start(id).0;
        let step = steps
            .partition_point(|s| s.host_start_ns <= at)
            .checked_sub(1)
            .filter(|&s| at < steps[s].host_end_ns);
        let Some(step) = step.filter(|_| is_churn.get(slices.name(id))) else { continue };
        in_step[step] += 1;
        calls.push(id);
        // Some allocators wait for the device themselves before they return memory.
        let wait =
            last.filter(|&last| waits_first.get(slices.name(last)) && Ns(at) - slices.end(last) < Ns(50_000));
        for gone in [Some(id), wait].into_iter().flatten() {
            edit.remove_host(gone);
            edit.no_wait(gone);
        }
    }
    let later = &in_step[1..];
    let touched = later.iter().filter(|&&calls| calls > 0).count();
    let often = touched as f64 >= context.threshold("allocator_churn.steps_share") * later.len() as f64;
    let per_step = later.iter().sum::<u64>() as f64 / later.len() as f64;
    // Memory that is returned in every step is churn even in a short recording; memory that is only asked for may be growth.
    let returned = steps.len() == 2
        && in_step.iter().all(|&calls| calls > 0)
        && calls.iter().any(|&id| returns(trace.name(id)));
    if (touched < 2 && !returned) || !often || per_step < context.threshold("allocator_churn.calls_per_step") {
        return Vec::new();
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let spent = calls.iter().map(|&id| slices.dur(id)).sum::<Ns>().0;
    let frees = calls.iter().filter(|&&id| returns(trace.name(id))).count();
    let waits =
        context.waits().iter().filter(|w| w.kind == WaitKind::Free && calls.binary_search(&w.call).is_ok());
    let waited = waits.map(|w| Ns(w.wait_ns)).sum::<Ns>().0;
    finding.confidence = Confidence::High;
    finding.title = format!(
        "Allocator churn: {per_step:.0} calls per step allocate or free device memory and take {}",
        time(context.per_step(spent))
    );
    finding.evidence = evidence! {
        "calls per step" => Amount::Number(per_step),
            "Calls such as cudaMalloc, cudaFree, hipMalloc and cuMemCreate that start in a step, without the first step, per \
             step. Calls for host memory and stream-ordered ones do not count.";
        "steps with such calls" => Amount::Count(touched as u64), "Steps after the first that have any.";
        "time in them per step" => Amount::Ns(context.per_step(spent)), "Host time in these calls, per step.";
        "waiting for the device per step" => Amount::Ns(context.per_step(waited)),
            "The share of it in which a call that frees memory waited for device work launched before it.";
    };
    let full = full_device(context);
    finding.why = if full.is_some() {
        "The device's memory is nearly full, so the allocator returns its cache to the driver to make room and then \
         allocates again. Each cudaFree waits until the device is idle."
    } else if frees > 0 {
        "PyTorch caches freed memory so that it can reuse it without the driver. Something empties that cache in each \
         step: torch.cuda.empty_cache(), or a model that is built and thrown away. Each cudaFree waits until the device \
         is idle, and the memory then has to be allocated again."
    } else {
        "The allocator's cache has no block of the right size, so it asks the driver in each step. That happens when \
         tensor shapes keep changing or memory use is still growing."
    }
    .to_owned();
    finding.fix = if full.is_some() {
        "Use less memory (smaller batches, activation checkpointing), and let segments grow in place so that the cache \
         fits."
    } else {
        "Do not call torch.cuda.empty_cache() in the loop. Keep shapes stable (pad to a few lengths), and let segments \
         grow in place so that blocks of any size can be reused."
    }
    .to_owned();
    finding.code = Some(
        "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"  # before import\n\
         # and remove from the loop:\n\
         # torch.cuda.empty_cache()"
            .to_owned(),
    );
    finding.verify = "Record again: no step after the first should call cudaMalloc or cudaFree, and \
                      torch.cuda.memory_stats()[\"num_device_alloc\"] should stop rising."
        .to_owned();
    finding.source = calls
        .iter()
        .rev()
        .find(|&&id| returns(trace.name(id)))
        .or(calls.last())
        .and_then(|&id| context.source(id));
    finding.slices = context.shown(calls.iter().copied());
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

/// Calls for device memory that ask the driver: not for host memory, nor the stream-ordered ones, which have a pool.
fn is_device_memory(call: &str) -> bool {
    is_allocation(call) && !call.contains("Host") && !call.contains("Async")
}

fn returns(call: &str) -> bool {
    ["Free", "Release", "Unmap"].iter().any(|word| call.contains(word))
}

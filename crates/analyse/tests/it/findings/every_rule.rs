//! Every rule fires on some recorded or hand-made run and is silent on another.

use std::path::PathBuf;

use stepscope_analyse::findings::{Severity, Thresholds, findings};
use stepscope_analyse::names::copies::{Direction, HostMemory};
use stepscope_analyse::run::Run;

use crate::data::read;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch")
}

/// Rules and the program with a planted fault where each fires; it is silent on its fixed twin.
const FAULTS: &[(&str, &str)] = &[
    ("allocator_churn", "alloc_churn"),
    ("channels_last", "conv_nchw_norm"),
    ("data_loading", "slow_loader"),
    ("gemm_alignment", "odd_gemm"),
    ("launch_bound", "launch_bound"),
    ("mixed_precision", "fp32_matmul"),
    ("optimizer", "loop_optimizer"),
    ("pageable_copies", "pageable_copy"),
    ("profiler_overhead", "with_stack_overhead"),
    ("recomputation", "checkpointing"),
    ("round_trips", "ping_pong"),
    ("small_copies", "many_small_copies"),
    ("synchronization", "item_sync"),
    ("tf32_off", "tf32_off"),
    ("uneven_steps", "gc_pause"),
    ("unfused_attention", "math_attention"),
    ("unfused_pointwise", "manual_gelu"),
];

/// The other rules: a recorded trace where each fires and one where it is silent. Those of `profile.rs` and `verdicts.rs`
/// have tests of their own there, most on hand-made traces.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "blocked_launches",
        "2.11-h200/conv_fast_loader/conv_fast_loader.pt.trace.json.gz",
        "2.11-h200-twins/seen/slow_loader/fixed.shapes.json.zst",
    ),
    (
        "compilation",
        "2.11-h200-twins/seen/recompile/fault.shapes.json.zst",
        "2.11-h200-twins/seen/gc_pause/fixed.shapes.json.zst",
    ),
    (
        "exposed_copies",
        "2.11-h200-twins/seen/slow_loader/fixed.shapes.json.zst",
        "2.11-h200/multi_stream/multi_stream.pt.trace.json.gz",
    ),
    ("host_stalls", "2.11-h200/gloo_ddp/rank2.pt.trace.json.gz", "2.11-h200/gloo_ddp/rank0.pt.trace.json.gz"),
    (
        "low_utilization",
        "2.11-h200/conv_slow_loader/conv_slow_loader.pt.trace.json.gz",
        "2.11-h200-twins/seen/pageable_copy/fixed.shapes.json.zst",
    ),
];

#[test]
fn every_rule_fires_somewhere_and_is_silent_elsewhere() {
    let rules_of = |path: &str| {
        let run = Run::new(read(&root().join(path)));
        findings(&run, &Thresholds::default()).iter().map(|f| f.rule).collect::<Vec<_>>()
    };
    let twin = |case: &str, side: &str| format!("2.11-h200-twins/seen/{case}/{side}.shapes.json.zst");
    let faults = FAULTS.iter().map(|&(rule, case)| (rule, twin(case, "fault"), twin(case, "fixed")));
    let others = OTHERS.iter().map(|&(rule, fires, silent)| (rule, fires.to_owned(), silent.to_owned()));
    for (rule, fires, silent) in faults.chain(others) {
        assert!(rules_of(&fires).contains(&rule), "{rule} is silent on {fires}");
        assert!(!rules_of(&silent).contains(&rule), "{rule} fires on {silent}");
    }
    let tested = |rule: &str| {
        let listed = FAULTS.iter().map(|f| f.0).chain(OTHERS.iter().map(|o| o.0));
        let others = crate::findings::profile::RULES.into_iter().chain(crate::findings::verdicts::RULES);
        let others = others
            .chain(crate::findings::plain::RULES)
            .chain(crate::findings::program::RULES)
            .chain(crate::findings::snapshots::RULES)
            .chain(crate::xla::RULES);
        listed.chain(others).any(|known| known == rule)
    };
    for rule in stepscope_analyse::findings::RULES {
        assert!(tested(rule.name), "{} has no trace where it fires", rule.name);
    }
}

#[test]
fn slow_loading_is_told_from_fast_and_overlapped_copies_are_seen() {
    let of = |case: &str| read(&root().join("2.11-h200").join(case).join(format!("{case}.pt.trace.json.gz")));
    let first = |trace: &stepscope_model::Trace| {
        findings(&Run::new(trace.clone()), &Thresholds::default()).into_iter().next()
    };
    let slow = first(&of("conv_slow_loader")).unwrap();
    assert_eq!((slow.rule, slow.severity), ("data_loading", Severity::High));
    let fast = of("conv_fast_loader");
    let found = findings(&Run::new(fast.clone()), &Thresholds::default());
    assert!(found.iter().all(|f| f.rule != "data_loading"), "{found:?}");
    // Two streams: uploads run beside the kernels, and the report says how much of them.
    let multi = of("multi_stream");
    let report = stepscope_analyse::causes::transfers::transfers(&multi, &Default::default());
    let up = report.rows.iter().find(|r| r.direction == Direction::HostToDevice).unwrap();
    assert_eq!(up.memory, HostMemory::Pinned);
    assert!(up.exposed_ns * 2 < up.total_ns, "{up:?}");
}

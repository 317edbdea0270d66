//! Planted faults and their fixed twins, recorded on a GPU: the finding fires on the fault, not on the twin, and what
//! it promises is compared with what the fix really gave. The table in docs/planted-faults.md is the one made here.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;
use stepscope_analyse::findings::{Finding, Severity, Thresholds, findings};
use stepscope_analyse::names::copies::{Direction, HostMemory};
use stepscope_analyse::run::Run;
use stepscope_analyse::steps::Steps;

use crate::data::read;

/// The fault and the rule that must find it.
const PAIRS: &[(&str, &str)] = &[
    ("alloc_churn", "allocator_churn"),
    ("conv_nchw", "channels_last"),
    ("conv_nchw_norm", "channels_last"),
    ("first_step_compile", "compilation"),
    ("fp32_matmul", "mixed_precision"),
    ("gc_pause", "uneven_steps"),
    ("item_sync", "synchronization"),
    ("launch_bound", "launch_bound"),
    ("loop_optimizer", "optimizer"),
    ("manual_gelu", "unfused_pointwise"),
    ("many_small_copies", "small_copies"),
    ("math_attention", "unfused_attention"),
    ("odd_gemm", "gemm_alignment"),
    ("pageable_copy", "pageable_copies"),
    ("ping_pong", "round_trips"),
    ("recompile", "compilation"),
    ("slow_loader", "data_loading"),
    ("small_batch", "launch_bound"),
    ("tf32_off", "tf32_off"),
    ("with_stack_overhead", "profiler_overhead"),
];

fn root(set: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch").join(set)
}

fn side(set: &str, case: &str, which: &str) -> (i64, Vec<Finding>) {
    let trace = read(&root(set).join(case).join(format!("{which}.pt.trace.json.gz")));
    let steps = Steps::find(&trace);
    let whole: Vec<i64> = steps.steps.iter().filter(|s| !s.partial).map(|s| s.end_ns - s.start_ns).collect();
    let mean = whole.iter().sum::<i64>() / whole.len() as i64;
    (mean, findings(&Run::new(trace.clone()), &Thresholds::default()))
}

struct Pair {
    case: &'static str,
    rule: &'static str,
    /// None if the rule is silent.
    severity: Option<Severity>,
    predicted: Option<f64>,
    /// Part of the time a sample takes that the fix saved, with the profiler on and without it.
    profiled: f64,
    unprofiled: f64,
    still_there: bool,
}

fn pair(set: &str, case: &'static str, rule: &'static str) -> Pair {
    let (fault_ns, fault) = side(set, case, "fault");
    let (fixed_ns, fixed) = side(set, case, "fixed");
    let text = std::fs::read_to_string(root(set).join(case).join("answers.json")).unwrap();
    let answers: Value = serde_json::from_str(&text).unwrap();
    let number = |side: &str, key: &str| answers[side][key].as_f64().unwrap();
    let samples = number("fault", "samples_per_step") / number("fixed", "samples_per_step");
    let saved = |fault: f64, fixed: f64| 1.0 - fixed * samples / fault;
    let found = fault.iter().find(|f| f.rule == rule);
    Pair {
        case,
        rule,
        severity: found.map(|f| f.severity),
        predicted: found.and_then(|f| f.saves_share),
        profiled: saved(fault_ns as f64, fixed_ns as f64),
        unprofiled: saved(number("fault", "step_ms_unprofiled"), number("fixed", "step_ms_unprofiled")),
        still_there: fixed.iter().any(|f| f.rule == rule),
    }
}

fn off(predicted: f64, measured: f64) -> f64 {
    (predicted - measured).abs() / measured
}

/// The table of a set, and how many promises were near of how many: against the profiled and the unprofiled twins.
fn table(pairs: &[Pair]) -> (String, [usize; 3]) {
    let mut table = String::from(
        "| planted fault | finding | severity | predicted saving | measured, profiled | measured, unprofiled | off by |\n\
         |---|---|---|---:|---:|---:|---:|\n",
    );
    let [mut near_profiled, mut near_unprofiled, mut promised] = [0; 3];
    for p in pairs {
        let percent = |v: f64| format!("{:.1}%", v * 100.0);
        let (predicted, distance) = match p.predicted {
            Some(predicted) => (percent(predicted), format!("{:.0}%", off(predicted, p.profiled) * 100.0)),
            None => ("none claimed".to_owned(), "–".to_owned()),
        };
        let severity = p.severity.map_or("silent", Severity::label);
        let (profiled, unprofiled) = (percent(p.profiled), percent(p.unprofiled));
        writeln!(
            table,
            "| {} | {} | {severity} | {predicted} | {profiled} | {unprofiled} | {distance} |",
            p.case, p.rule
        )
        .unwrap();
        if let Some(predicted) = p.predicted {
            promised += 1;
            near_profiled += usize::from(off(predicted, p.profiled) <= 0.3);
            near_unprofiled += usize::from(off(predicted, p.unprofiled) <= 0.3);
        }
    }
    writeln!(
        table,
        "\nWithin 30% of the gain: {near_profiled} of {promised} pairs against the profiled twins, {near_unprofiled} of \
         {promised} against the unprofiled ones."
    )
    .unwrap();
    (table, [near_profiled, near_unprofiled, promised])
}

fn check(set: &str, part: &'static str) {
    let pairs: Vec<Pair> = PAIRS.iter().map(|&(case, rule)| pair(set, case, rule)).collect();
    let (table, [near_profiled, near_unprofiled, promised]) = table(&pairs);
    println!("{table}");
    for p in &pairs {
        assert!(p.severity.is_some(), "{}: {} is silent", p.case, p.rule);
        assert!(!p.still_there, "{}: {} fires on the fixed twin too", p.case, p.rule);
    }
    assert!(near_profiled * 3 >= promised * 2, "only {near_profiled} of {promised}");
    assert!(near_unprofiled * 3 >= promised * 2, "only {near_unprofiled} of {promised}");
    crate::findings::docs::hold("planted-faults.md", &[(part, table)]);
}

#[test]
fn findings_fire_on_planted_faults_and_their_promises_hold() {
    check("2.11-h200-faults", "development");
}

/// Rules that no planted fault shows: a recorded trace where each fires and one where it is silent. Those of
/// `profile.rs` have tests of their own there, most on hand-made traces.
const OTHERS: &[(&str, &str, &str)] = &[
    ("blocked_launches", "2.11-h200/conv_fast_loader/conv_fast_loader", "2.11-h200-faults/slow_loader/fixed"),
    ("exposed_copies", "2.11-h200-faults/slow_loader/fixed", "2.11-h200/multi_stream/multi_stream"),
    ("host_stalls", "2.11-h200/gloo_ddp/rank2", "2.11-h200/gloo_ddp/rank0"),
    ("low_utilization", "2.11-h200/conv_slow_loader/conv_slow_loader", "2.11-h200-faults/pageable_copy/fixed"),
];

#[test]
fn every_rule_fires_somewhere_and_is_silent_elsewhere() {
    let rules_of = |path: &str| {
        let trace = read(&root("").join(format!("{path}.pt.trace.json.gz")));
        findings(&Run::new(trace.clone()), &Thresholds::default()).iter().map(|f| f.rule).collect::<Vec<_>>()
    };
    for (rule, fires, silent) in OTHERS {
        assert!(rules_of(fires).contains(rule), "{rule} is silent on {fires}");
        assert!(!rules_of(silent).contains(rule), "{rule} fires on {silent}");
    }
    let tested = |rule: &str| {
        let listed = PAIRS.iter().map(|p| p.1).chain(OTHERS.iter().map(|o| o.0));
        let others = crate::findings::profile::RULES.into_iter().chain(crate::findings::verdicts::RULES);
        listed.chain(others).any(|known| known == rule)
    };
    for rule in stepscope_analyse::findings::RULES {
        assert!(tested(rule.name), "{} has no trace where it fires", rule.name);
    }
}

#[test]
fn slow_loading_is_told_from_fast_and_overlapped_copies_are_seen() {
    let of = |case: &str| read(&root("2.11-h200").join(case).join(format!("{case}.pt.trace.json.gz")));
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

//! Rules about memory snapshots: each fires on a recorded or hand-made fault and is silent on healthy programs.

use stepscope_analyse::findings::{Finding, Severity, Thresholds, findings};
use stepscope_analyse::run::Run;
use stepscope_model::{Action, Document, HistoryEntry, Ns, Snapshot, StackId};

use crate::memory::leaks::{Program, recorded};

pub(crate) const RULES: [&str; 7] = [
    "snapshot_churn",
    "snapshot_fragmentation",
    "snapshot_leak",
    "snapshot_near_limit",
    "snapshot_out_of_memory",
    "snapshot_peak",
    "snapshot_spike",
];

fn found(snapshot: Snapshot) -> Vec<Finding> {
    findings(&Run::from_document(Document::Snapshot(snapshot)), &Thresholds::default())
}

fn rules(name: &str) -> Vec<&'static str> {
    let mut rules: Vec<&str> = found(recorded(name)).iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules
}

#[test]
fn each_recorded_program_has_the_findings_of_its_fault_and_no_other() {
    let cases: [(&str, &[&str]); 11] = [
        ("kept_outputs.pickle.zst", &["snapshot_leak"]),
        ("out_of_memory_by_fragmentation.pickle.gz", &["snapshot_fragmentation", "snapshot_out_of_memory"]),
        ("out_of_memory_by_shortage.pickle.gz", &["snapshot_out_of_memory", "snapshot_peak"]),
        ("emptied_cache.pickle.gz", &["snapshot_churn"]),
        // Recomputing activations lowers the peak by a quarter, as its twin shows.
        ("activations_kept.pickle.gz", &["snapshot_peak"]),
        ("activations_recomputed.pickle.gz", &[]),
        // A limit of 4 GiB made the allocator give back its cache once.
        ("expandable_segments.pickle.gz", &["snapshot_near_limit"]),
        ("graph_pool.pickle.gz", &[]),
        ("loss_history.pickle.gz", &["snapshot_leak"]),
        ("pending_frees.pickle.gz", &[]),
        ("ring_buffer.pickle.gz", &[]),
    ];
    for (name, expected) in cases {
        assert_eq!(rules(name), expected, "{name}");
    }
}

#[test]
fn a_leak_names_its_line_and_what_is_a_guess_says_so() {
    let leak = found(recorded("kept_outputs.pickle.zst")).remove(0);
    assert!(
        leak.title.contains("collect.py:170") && leak.title.contains("62.5 MiB per iteration"),
        "{}",
        leak.title
    );
    assert!(leak.source.as_deref().is_some_and(|source| source.ends_with("collect.py(170): memory_snapshot")));
    let oom = found(recorded("out_of_memory_by_shortage.pickle.gz")).remove(0);
    assert_eq!((oom.rule, oom.severity), ("snapshot_out_of_memory", Severity::High));
    let held = oom.evidence.iter().filter(|evidence| evidence.label.starts_with("held by"));
    assert!(held.clone().count() > 2 && held.clone().all(|evidence| evidence.label.contains("a guess")));
}

fn with_memory_of(name: &str, bytes: u64) -> Snapshot {
    let mut snapshot = recorded(name);
    snapshot.settings.push(("stepscope.usable_bytes.0".to_owned(), bytes.to_string()));
    snapshot
}

#[test]
fn a_peak_near_what_there_is_is_found_and_one_with_room_is_not() {
    let near = |bytes: u64| {
        let found = found(with_memory_of("activations_kept.pickle.gz", bytes));
        found.into_iter().find(|finding| finding.rule == "snapshot_near_limit")
    };
    // 1.40 GiB in use and 1.52 reserved: of 1.53 it is 92% in use, of 1.65 it is 92% reserved, of 1.70 neither is 90%.
    let gib = |gib: f64| (gib * f64::from(1 << 30)) as u64;
    let full = near(gib(1.53)).unwrap();
    assert_eq!(full.severity, Severity::Medium, "{}", full.title);
    assert!(full.title.contains("1.4 GiB of 1.5 GiB (92%) in use"), "{}", full.title);
    let held = near(gib(1.65)).unwrap();
    assert_eq!(held.severity, Severity::Info);
    assert!(held.title.contains("(92%) reserved"), "{}", held.title);
    assert_eq!(near(gib(1.70)), None);
    // PyTorch's own count goes back further than a history.
    let mut counted = with_memory_of("activations_kept.pickle.gz", gib(80.0));
    counted.settings.push(("stepscope.num_alloc_retries.0".to_owned(), "7".to_owned()));
    let finding = found(counted).into_iter().find(|finding| finding.rule == "snapshot_near_limit").unwrap();
    assert_eq!(
        (finding.severity, finding.title.contains("7 times")),
        (Severity::Medium, true),
        "{}",
        finding.title
    );
}

#[test]
fn a_request_that_empties_the_cache_is_a_full_device_and_no_churn() {
    let rules = |program: Program| -> Vec<(&str, Severity)> {
        let found = found(program.snapshot);
        let of_these = found.iter().filter(|f| ["snapshot_near_limit", "snapshot_churn"].contains(&f.rule));
        of_these.map(|finding| (finding.rule, finding.severity)).collect()
    };
    // Four requests of a step each give back five segments and take one; the stack is that of the request.
    let full = |on_behalf: &str| {
        let mut program = Program::default();
        let asks = program.stack(&[("train.py", "main", 1), ("train.py", "step", 20)]);
        let gives = program.stack(&[("train.py", "main", 1), ("train.py", on_behalf, 20)]);
        for number in 0..4u64 {
            for segment in 0..5 {
                program.entry(Action::SegmentAlloc, (number * 8 + segment) << 30, 1 << 28, asks);
            }
            for segment in 0..5 {
                program.entry(Action::SegmentFree, (number * 8 + segment) << 30, 1 << 28, gives);
            }
            program.entry(Action::SegmentAlloc, (number * 8 + 7) << 30, 1 << 28, asks);
        }
        program
    };
    assert_eq!(rules(full("step")), [("snapshot_near_limit", Severity::Medium)]);
    assert_eq!(rules(full("empty_cache")), [("snapshot_churn", Severity::Low)]);
}

#[test]
fn where_half_of_the_device_is_left_a_peak_needs_no_advice() {
    let peak = |bytes: u64| {
        found(with_memory_of("activations_kept.pickle.gz", bytes))
            .iter()
            .any(|finding| finding.rule == "snapshot_peak")
    };
    assert!(peak(2 << 30) && !peak(4 << 30));
}

#[test]
fn one_long_iteration_is_a_spike_and_a_rising_level_is_none() {
    const GIB: u64 = 1 << 30;
    let spiking = |iteration: usize, count: usize| {
        let mut program = Program::default();
        program.iterations(count, true, |program, number| {
            if number == iteration {
                let long = program.alloc(77, GIB);
                program.free(long);
            }
        });
        let found = found(program.snapshot);
        found.into_iter().filter(|finding| finding.rule == "snapshot_spike").collect::<Vec<_>>()
    };
    let spike = spiking(6, 12);
    assert_eq!(spike.len(), 1);
    assert!(
        spike[0].source.as_deref().is_some_and(|source| source == "train.py(77): step"),
        "{:?}",
        spike[0].source
    );
    // The first iteration may need more, and few iterations say nothing.
    assert_eq!(spiking(0, 12), []);
    assert_eq!(spiking(1, 4), []);
    let mut program = Program::default();
    program.iterations(12, true, |program, _| {
        program.alloc(20, GIB);
    });
    let rising: Vec<&str> = found(program.snapshot).iter().map(|finding| finding.rule).collect();
    assert!(rising.contains(&"snapshot_leak") && !rising.contains(&"snapshot_spike"), "{rising:?}");
}

#[test]
fn thresholds_decide() {
    let mut strict = Thresholds::default();
    strict.set("snapshot_leak.mib", 1e6).unwrap();
    let run = Run::from_document(Document::Snapshot(recorded("kept_outputs.pickle.zst")));
    assert_eq!(findings(&run, &strict), []);
}

#[test]
fn a_snapshot_of_anything_is_looked_at_without_a_panic() {
    let entry = |action, address, bytes, at| HistoryEntry {
        device: 0,
        action,
        address,
        bytes,
        stream: 0,
        at,
        stack: StackId::EMPTY,
    };
    let extreme = [0, 1, u64::MAX / 2, u64::MAX];
    let mut snapshot = Snapshot::default();
    for action in
        [Action::Alloc, Action::FreeCompleted, Action::SegmentAlloc, Action::SegmentFree, Action::OutOfMemory]
    {
        for address in extreme {
            for bytes in extreme {
                for at in [None, Some(Ns(i64::MIN)), Some(Ns(i64::MAX)), Some(Ns(0))] {
                    snapshot.history.push(entry(action, address, bytes, at));
                }
            }
        }
    }
    found(snapshot);
    found(Snapshot::default());
}

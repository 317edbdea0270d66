//! Rules about memory snapshots: each fires on a recorded or hand-made fault and is silent on healthy programs.

use stepscope_analyse::findings::{Finding, Severity, Thresholds, findings};
use stepscope_analyse::run::Run;
use stepscope_model::{Action, Document, HistoryEntry, Ns, Snapshot, StackId};

use crate::memory::leaks::{Program, recorded};

pub(crate) const RULES: [&str; 6] = [
    "snapshot_churn",
    "snapshot_fragmentation",
    "snapshot_leak",
    "snapshot_out_of_memory",
    "snapshot_peak",
    "snapshot_spike",
];

fn found(snapshot: Snapshot) -> Vec<Finding> {
    findings(&Run::of_document(Document::Snapshot(snapshot)), &Thresholds::default())
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
        ("activations_kept.pickle.gz", &[]),
        ("activations_recomputed.pickle.gz", &[]),
        ("expandable_segments.pickle.gz", &[]),
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
    let run = Run::of_document(Document::Snapshot(recorded("kept_outputs.pickle.zst")));
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

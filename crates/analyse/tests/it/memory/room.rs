//! What would make room: requests that emptied the cache, peaks with less of one kind, and what Stepscope records beside
//! a snapshot.

use std::path::Path;

use serde_json::Value;
use stepscope_analyse::memory::capacity::{batch, usable};
use stepscope_analyse::memory::categories::{Categories, Category};
use stepscope_analyse::memory::peak_without::{MemorySaving, PeakWithout, peak_without};
use stepscope_analyse::memory::replay::histories;
use stepscope_analyse::memory::retries::retries;
use stepscope_model::Snapshot;

use crate::memory::leaks::{Program, recorded};

const MIB: u64 = 1 << 20;

#[test]
fn requests_that_emptied_the_cache_are_as_many_as_pytorch_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory");
    let (mut seen, mut counted) = (0, 0);
    for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".pickle.gz") else { continue };
        let stats = std::fs::read_to_string(path.with_file_name(format!("{stem}.json"))).unwrap();
        let stats: Value = serde_json::from_str(&stats).unwrap();
        let told = stats["stats"]["num_alloc_retries"].as_u64().unwrap();
        let found = retries(&recorded(&name), 0);
        assert_eq!(found.len() as u64, told, "{name}: {found:?}");
        let refused = found.iter().filter(|retry| retry.refused).count() as u64;
        assert_eq!(refused, stats["stats"]["num_ooms"].as_u64().unwrap(), "{name}");
        (seen, counted) = (seen + 1, counted + told);
    }
    assert!(seen >= 8 && counted >= 4, "{seen} files, {counted} retries");
}

fn with(snapshot: &Snapshot, change: MemorySaving) -> Option<PeakWithout> {
    let all = histories(snapshot);
    let history = all.first()?;
    peak_without(history, &Categories::new(snapshot, history), change)
}

#[test]
fn a_replay_with_activations_recomputed_has_the_peak_of_the_program_that_does_it() {
    // One program, recorded with and without torch.utils.checkpoint on an H200.
    let [kept, recomputed] = ["activations_kept.pickle.gz", "activations_recomputed.pickle.gz"].map(recorded);
    let truth = histories(&recomputed)[0].peak.allocated as f64;
    let then = with(&kept, MemorySaving::Recompute).unwrap();
    assert!((then.peak as f64 / truth - 1.0).abs() < 0.06, "{then:?}, truly {truth}");
    assert_eq!(then.blocks, 6, "{then:?}");
    // What is recomputed already cannot be saved again.
    let again = with(&recomputed, MemorySaving::Recompute).map_or(truth, |then| then.peak as f64);
    assert!(again > 0.95 * truth, "{again} of {truth}");
}

/// Four layers of two activations each, over parameters and an optimizer's state; sizes in MiB.
fn layers(program: &mut Program) {
    const MODULE: &str = "torch/nn/modules/module.py";
    let made = program.stack(&[("train.py", "main", 1), (MODULE, "_apply", 1)]);
    let forward = [
        program.stack(&[("train.py", "main", 2), (MODULE, "_call_impl", 2), ("model.py", "forward", 3)]),
        program.stack(&[("train.py", "main", 2), (MODULE, "_call_impl", 2), ("model.py", "forward", 4)]),
    ];
    let optimizer = program.stack(&[("train.py", "main", 9), ("torch/optim/adamw.py", "step", 1)]);
    program.alloc_from(made, 100 * MIB);
    program.alloc_from(optimizer, 200 * MIB);
    let kept: Vec<u64> =
        (0..4).flat_map(|_| forward.map(|stack| program.alloc_from(stack, 50 * MIB))).collect();
    for address in kept.into_iter().rev() {
        program.free(address);
    }
}

#[test]
fn less_of_one_kind_lowers_the_peak_by_what_it_held_there() {
    let mut program = Program::default();
    layers(&mut program);
    let peak = |change| with(&program.snapshot, change).unwrap();
    // 100 of parameters, 200 of states and 8 x 50 of activations: 700 at the peak.
    assert_eq!(histories(&program.snapshot)[0].peak.allocated, 700 * MIB);
    assert_eq!(peak(MemorySaving::HalfActivations).peak, 500 * MIB);
    assert_eq!(peak(MemorySaving::SmallStates).peak, 550 * MIB);
    // Four blocks of 100: one is computed again at a time, and each leaves one input of 50.
    let then = peak(MemorySaving::Recompute);
    assert_eq!((then.peak, then.blocks, then.block_input_bytes), (600 * MIB, 4, 50 * MIB));
    // Where something else makes the peak, nothing is saved.
    program.alloc(20, 900 * MIB);
    assert_eq!(with(&program.snapshot, MemorySaving::HalfActivations).unwrap().peak, 1200 * MIB);
    assert_eq!(with(&Program::default().snapshot, MemorySaving::Recompute).map(|then| then.peak), None);
}

#[test]
fn what_was_there_before_the_history_is_no_gradient() {
    // A ring that has lost who made the parameters and the states: 512 MiB of them are freed when the program ends.
    let snapshot = recorded("ring_buffer.pickle.gz");
    let history = &histories(&snapshot)[0];
    let sums = Categories::new(&snapshot, history).at(history.peak_moment);
    let of = |category: Category| sums.iter().find(|sum| sum.0 == category).unwrap().1;
    assert!(of(Category::Gradient) <= 130 * MIB && of(Category::Unknown) >= 384 * MIB, "{sums:?}");
}

#[test]
fn what_is_recorded_beside_a_snapshot_counts() {
    let mut snapshot = recorded("activations_kept.pickle.gz");
    let history = histories(&snapshot).remove(0);
    assert_eq!((usable(&snapshot, &history), batch(&snapshot)), (None, None));
    let mut set = |name: &str, value: &str| snapshot.settings.push((name.to_owned(), value.to_owned()));
    set("stepscope.usable_bytes.0", "2147483648");
    set("stepscope.usable_bytes.1", "-5");
    set("stepscope.batch", "4096");
    assert_eq!((usable(&snapshot, &history), batch(&snapshot)), (Some(2 << 30), Some(4096)));
}

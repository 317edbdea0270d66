//! What grows in memory snapshots: on recorded programs, and on hand-made histories whose answers are worked out here.

use std::path::{Path, PathBuf};

use stepscope_analyse::memory::across_snapshots::{AnalyzedSnapshot, across};
use stepscope_analyse::memory::categories::{Categories, Category};
use stepscope_analyse::memory::history::{History, Obstacle};
use stepscope_analyse::memory::iterations::IterationMark;
use stepscope_analyse::memory::leaks::{Grouping, Leaks, leaks};
use stepscope_analyse::memory::live_at::{By, Moment, live_at};
use stepscope_analyse::memory::out_of_memory::out_of_memory;
use stepscope_analyse::memory::places::Places;
use stepscope_analyse::memory::replay::histories;
use stepscope_analyse::statistics::GrowthRule;
use stepscope_formats::{OpenOptions, open};
use stepscope_model::{Action, Document, Frame, HistoryEntry, Mark, Ns, Snapshot, StackId};

const MIB: u64 = 1 << 20;
const LEAKING: [&str; 3] = ["kept_outputs", "leak", "loss_history"];

pub(crate) fn recorded(name: &str) -> Snapshot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory").join(name);
    read(&path)
}

fn read(path: &Path) -> Snapshot {
    match open(path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display())) {
        Document::Snapshot(snapshot) => snapshot,
        other => panic!("{}: {:?}", path.display(), other.kind()),
    }
}

fn found(snapshot: &Snapshot, by: Grouping) -> Leaks {
    let history = &histories(snapshot)[0];
    leaks(snapshot, history, &Places::new(snapshot), by, MIB, &GrowthRule::COUNTED)
}

/// A program that allocates and frees at lines of `train.py`, one microsecond per entry.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) snapshot: Snapshot,
    next: u64,
    timeless: bool,
}

impl Program {
    pub(crate) fn stack(&mut self, frames: &[(&str, &str, u32)]) -> StackId {
        let stacks = &mut self.snapshot.stacks;
        frames.iter().fold(StackId::EMPTY, |below, (file, name, line)| {
            let frame = Frame { name: stacks.intern(name), file: stacks.intern(file), line: *line };
            let frame = stacks.frame(frame);
            stacks.push(below, frame)
        })
    }

    fn at(&self) -> Ns {
        Ns(1_000_000 + 1_000 * self.snapshot.history.len() as i64)
    }

    pub(crate) fn entry(&mut self, action: Action, address: u64, bytes: u64, stack: StackId) {
        let at = (!self.timeless).then(|| self.at());
        self.snapshot.history.push(HistoryEntry { device: 0, action, address, bytes, stream: 0, at, stack });
    }

    pub(crate) fn alloc_from(&mut self, stack: StackId, bytes: u64) -> u64 {
        self.next += 1 << 32;
        self.entry(Action::Alloc, self.next, bytes, stack);
        self.next
    }

    pub(crate) fn alloc(&mut self, line: u32, bytes: u64) -> u64 {
        let stack = self.stack(&[("train.py", "main", 1), ("train.py", "step", line)]);
        self.alloc_from(stack, bytes)
    }

    pub(crate) fn free(&mut self, address: u64) {
        self.entry(Action::FreeRequested, address, 0, StackId::EMPTY);
        self.entry(Action::FreeCompleted, address, 0, StackId::EMPTY);
    }

    fn mark(&mut self, name: &str, begins: bool) {
        let name = self.snapshot.stacks.intern(name);
        let at = self.at() - Ns(1);
        self.snapshot.marks.push(Mark { name, begins, device: 0, at });
    }

    /// Iterations of a training loop: a batch, an activation, and what else happens.
    pub(crate) fn iterations(&mut self, count: usize, named: bool, mut more: impl FnMut(&mut Program, usize)) {
        for number in 0..count {
            if named {
                self.mark(&format!("step {number}"), true);
            }
            let batch = self.alloc(10, 8 * MIB);
            let activations = [self.alloc(11, 64 * MIB), self.alloc(12, 32 * MIB), self.alloc(13, 16 * MIB)];
            more(self, number);
            for address in activations.into_iter().chain([batch]) {
                self.free(address);
            }
            if named {
                self.mark(&format!("step {number}"), false);
            }
        }
    }
}

fn one_line(leaks: &Leaks) -> (u32, i64) {
    assert_eq!(leaks.rows.len(), 1, "{leaks:?}");
    (leaks.rows[0].line, leaks.rows[0].growth_bytes_each)
}

#[test]
fn a_line_that_keeps_its_outputs_is_named_with_its_rate() {
    // 12 steps of AdamW, the last 8 of which append `logits[:, :64]` of a batch of 8 to a list: 8 x 64 x 32,000 float32.
    let snapshot = recorded("kept_outputs.pickle.zst");
    let leaks = found(&snapshot, Grouping::Line);
    let row = &leaks.rows[0];
    assert_eq!(leaks.rows.len(), 1, "{:?}", leaks.rows);
    assert!(row.file.ends_with("collect.py") && row.line == 170, "{row:?}");
    let truth = 8.0 * 64.0 * 32_000.0 * 4.0;
    assert!((row.growth_bytes_each as f64 / truth - 1.0).abs() < 0.02, "{row:?}");
    assert!(row.growth_low <= row.growth_bytes_each && row.growth_bytes_each <= row.growth_high);
    assert_eq!(leaks.mark, Some(IterationMark::Range("Optimizer.step#AdamW.step".to_owned())));
    assert_eq!(leaks.per(), "iteration");
    // The same without its ranges: iterations are guessed from what comes back.
    let mut unnamed = snapshot.clone();
    unnamed.marks.clear();
    let guessed = found(&unnamed, Grouping::Line);
    assert_eq!(guessed.mark, Some(IterationMark::Allocations));
    assert!((guessed.rows[0].growth_bytes_each as f64 / truth - 1.0).abs() < 0.02, "{:?}", guessed.rows);
    assert_eq!((guessed.rows.len(), guessed.rows[0].line), (1, 170), "{:?}", guessed.rows);
    // By stack it is one too, and the stack is whole.
    let by_stack = found(&snapshot, Grouping::Stack);
    assert_eq!(by_stack.rows.len(), 1);
    assert!(
        by_stack.rows[0].stack[0].ends_with("collect.py(170): memory_snapshot"),
        "{:?}",
        by_stack.rows[0].stack
    );
}

#[test]
fn a_kept_loss_keeps_what_its_graph_holds() {
    // `history.append(loss)`: behind each loss stays the output of 1,024 x 1,024 that autocast turned into float32.
    let leaks = found(&recorded("loss_history.pickle.gz"), Grouping::Line);
    assert_eq!(one_line(&leaks), (50, 1024 * 1024 * 4));
    assert_eq!(leaks.mark, Some(IterationMark::Range("step #".to_owned())));
}

#[test]
fn programs_that_keep_nothing_do_not_leak() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory");
    let more = std::env::var_os("STEPSCOPE_SNAPSHOTS").map(PathBuf::from);
    let mut seen = 0;
    for folder in std::iter::once(folder).chain(more) {
        for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.contains(".pickle") || LEAKING.iter().any(|leaks| name.starts_with(leaks)) {
                continue;
            }
            let snapshot = read(&path);
            for by in [Grouping::Line, Grouping::Stack] {
                assert_eq!(found(&snapshot, by).rows, [], "{name}");
                let unnamed = Snapshot { marks: Vec::new(), ..snapshot.clone() };
                assert_eq!(found(&unnamed, by).rows, [], "{name} without its ranges");
            }
            seen += 1;
        }
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn a_kept_tensor_per_iteration_is_a_leak_at_its_own_rate() {
    for named in [true, false] {
        for timeless in [true, false] {
            let mut program = Program { timeless, ..Program::default() };
            program.iterations(12, named && !timeless, |program, _| {
                program.alloc(20, 3 * MIB);
            });
            let leaks = found(&program.snapshot, Grouping::Line);
            assert_eq!(one_line(&leaks), (20, 3 * MIB as i64), "named {named}, timeless {timeless}");
            assert_eq!(leaks.per(), "iteration");
        }
    }
    // Two lines, one of them twice per iteration: each has its own rate, the faster first.
    let mut program = Program::default();
    program.iterations(12, true, |program, _| {
        program.alloc(20, 3 * MIB);
        program.alloc(21, 2 * MIB);
        program.alloc(21, 2 * MIB);
    });
    let leaks = found(&program.snapshot, Grouping::Line);
    let rows: Vec<(u32, i64)> = leaks.rows.iter().map(|row| (row.line, row.growth_bytes_each)).collect();
    assert_eq!(rows, [(21, 4 * MIB as i64), (20, 3 * MIB as i64)]);
    assert_eq!(leaks.total(), 7 * MIB as i64);
}

#[test]
fn what_fills_and_stops_is_no_leak() {
    // A state made in the first iteration, a queue of five, a buffer that is replaced, a cache that fills for four.
    let mut program = Program::default();
    let (mut queue, mut buffer) = (std::collections::VecDeque::new(), None);
    program.iterations(16, true, |program, number| {
        if number == 0 {
            program.alloc(30, 100 * MIB);
        }
        queue.push_back(program.alloc(31, 9 * MIB));
        if queue.len() > 5 {
            program.free(queue.pop_front().unwrap());
        }
        let next = program.alloc(32, (10 + number as u64 % 3) * MIB);
        if let Some(old) = buffer.replace(next) {
            program.free(old);
        }
        if number < 4 {
            program.alloc(33, 7 * MIB);
        }
    });
    assert_eq!(found(&program.snapshot, Grouping::Line).rows, []);
}

#[test]
fn a_buffer_that_is_replaced_by_a_larger_one_each_time_grows() {
    let mut program = Program::default();
    let mut buffer: Option<u64> = None;
    program.iterations(12, true, |program, number| {
        let next = program.alloc(40, (number as u64 + 1) * 5 * MIB);
        if let Some(old) = buffer.replace(next) {
            program.free(old);
        }
    });
    assert_eq!(one_line(&found(&program.snapshot, Grouping::Line)), (40, 5 * MIB as i64));
}

#[test]
fn where_nothing_repeats_growth_is_per_second() {
    // 200 allocations of different sizes around 1 MiB at one line, one microsecond apart, all kept; others come and go.
    let mut program = Program::default();
    for number in 0..200u64 {
        program.alloc(50, MIB + (number * 7919) % 5000 * 512);
        let other = program.alloc(51, MIB + number * 1024);
        program.free(other);
    }
    let leaks = found(&program.snapshot, Grouping::Line);
    assert_eq!((leaks.mark.clone(), leaks.per()), (Some(IterationMark::Time), "second"));
    let kept: u64 = (0..200u64).map(|number| MIB + (number * 7919) % 5000 * 512).sum();
    let seconds = 800.0 * 1e-6;
    let (line, rate) = one_line(&leaks);
    assert_eq!(line, 50);
    assert!((rate as f64 / (kept as f64 / seconds) - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn when_memory_runs_out_is_worked_out_from_what_is_left() {
    let mut program = Program::default();
    program.entry(Action::SegmentAlloc, 0, 1 << 34, StackId::EMPTY);
    program.iterations(12, true, |program, _| {
        program.alloc(20, 1 << 28);
    });
    let leaks = found(&program.snapshot, Grouping::Line);
    // 16 GiB are reserved, 256 MiB per iteration: 24 GiB are full after 32 more, 40 GiB after 96.
    let full: Vec<(u64, u64, bool)> =
        leaks.full().iter().map(|row| (row.limit_bytes >> 30, row.iterations_left, row.known)).collect();
    assert_eq!(full, [(24, 32, false), (40, 96, false)]);
    // A refused request says how much there is: 16 GiB and the 2 that were left.
    program.entry(Action::OutOfMemory, 2 << 30, 3 << 30, StackId::EMPTY);
    let full = found(&program.snapshot, Grouping::Line).full();
    assert_eq!(full.len(), 1);
    assert_eq!((full[0].limit_bytes >> 30, full[0].iterations_left, full[0].known), (18, 8, true));
}

#[test]
fn lines_that_hold_more_in_each_snapshot_grow_across_them() {
    // After 2, 5 and 9 iterations: line 20 keeps 3 MiB in each, line 30 was made once, line 31 is freed for the last.
    let taken = |iterations: usize| {
        let mut program = Program::default();
        program.alloc(30, 100 * MIB);
        let held = program.alloc(31, iterations as u64 * 10 * MIB);
        program.iterations(iterations, true, |program, _| {
            program.alloc(20, 3 * MIB);
        });
        if iterations == 9 {
            program.free(held);
        }
        program.snapshot
    };
    let snapshots: Vec<Snapshot> = [2, 5, 9].into_iter().map(taken).collect();
    let worked: Vec<(Vec<History>, Places)> =
        snapshots.iter().map(|snapshot| (histories(snapshot), Places::new(snapshot))).collect();
    let seen: Vec<AnalyzedSnapshot<'_>> =
        snapshots.iter().zip(&worked).map(|(snapshot, (all, places))| (snapshot, &all[..], places)).collect();
    let rows = across(&seen, MIB);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0].name, "train.py(20): step");
    assert_eq!(rows[0].levels, [6 * MIB, 15 * MIB, 27 * MIB]);
    assert_eq!(rows[0].growth_bytes_per_snapshot, 21 * MIB / 2);
    assert_eq!(across(&seen[..1], MIB), []);
}

fn oom(name: &str) -> (Snapshot, History) {
    let snapshot = recorded(name);
    let history = histories(&snapshot).remove(0);
    (snapshot, history)
}

#[test]
fn refused_requests_are_explained_as_pytorch_did() {
    let gib = |gib: f64| (gib * 1_073_741_824.0) as u64;
    let near = |bytes: u64, want: u64| bytes.abs_diff(want) < 1 << 23;
    // "Tried to allocate 1.46 GiB … 1.76 GiB is allocated by PyTorch, and 2.15 GiB is reserved but unallocated."
    let (snapshot, history) = oom("out_of_memory_by_fragmentation.pickle.gz");
    let all = out_of_memory(&snapshot, &history, &Places::new(&snapshot), 5);
    let found = &all[0];
    assert_eq!(all.len(), 1);
    assert_eq!(found.obstacle, Obstacle::Fragmentation);
    assert!(found.limited && found.missing == 0 && found.expandable_helps());
    assert!(near(found.refusal.bytes, gib(1.4648)) && near(found.free, gib(2.15)), "{found:?}");
    assert!(near(found.refusal.level.allocated, gib(1.76)), "{found:?}");
    // What 200 pieces of 9 MiB hold, made at one line.
    assert_eq!(found.holders.len(), 1);
    assert_eq!(
        (found.holders[0].held_count, found.holders[0].function.as_str()),
        (200, "out_of_memory_by_fragmentation")
    );
    // "Tried to allocate 256.00 MiB … 5.97 GiB is allocated by PyTorch, and 16.74 MiB is reserved but unallocated."
    let (snapshot, history) = oom("out_of_memory_by_shortage.pickle.gz");
    let all = out_of_memory(&snapshot, &history, &Places::new(&snapshot), 5);
    let found = &all[0];
    assert_eq!(found.obstacle, Obstacle::Shortage);
    assert!(found.limited && !found.expandable_helps());
    assert_eq!(found.refusal.bytes, 256 << 20);
    assert!(near(found.refusal.level.allocated, gib(5.97)) && near(found.missing, (256 << 20) - gib(0.01635)));
    assert!(found.holders.len() > 2 && found.holders.is_sorted_by(|a, b| a.held_bytes >= b.held_bytes));
    assert_eq!(found.holders[0].category, "activation");
}

#[test]
fn what_lives_at_a_moment_adds_up_however_it_is_grouped() {
    let (snapshot, history) = oom("activations_kept.pickle.gz");
    let places = Places::new(&snapshot);
    for by in [By::Line, By::Stack(50), By::Module, By::Size, By::Category] {
        for (moment, level) in [
            (Moment::Peak, history.peak.allocated),
            (Moment::End, history.levels.last().unwrap().allocated),
            (Moment::After(Ns(0)), history.levels.get(0).unwrap().allocated),
        ] {
            let rows = live_at(&snapshot, &history, &places, moment, by);
            let sum: u64 = rows.iter().map(|row| row.live_bytes_then).sum();
            assert_eq!(sum, level, "{by:?} {moment:?}");
        }
    }
}

#[test]
fn categories_are_guessed_as_the_program_made_them() {
    // 6 blocks of LayerNorm(1024), Linear(1024, 4096), GELU, Linear(4096, 1024) in float32: parameters are known.
    let (snapshot, history) = oom("activations_kept.pickle.gz");
    let parameters = 6 * (2 * 1024 + 1024 * 4096 + 4096 + 4096 * 1024 + 1024) * 4u64;
    let categories = Categories::new(&snapshot, &history);
    let of = |moment: u32, category: Category| {
        categories.at(Some(moment)).into_iter().find(|sum| sum.0 == category).unwrap().1
    };
    let close = |bytes: u64, want: u64| (bytes as f64 / want as f64 - 1.0).abs() < 0.02;
    let peak = history.peak_moment.unwrap();
    assert!(close(of(peak, Category::Parameter), parameters), "{:?}", categories.at(Some(peak)));
    assert!(close(of(peak, Category::OptimizerState), 2 * parameters), "{:?}", categories.at(Some(peak)));
    // Recomputing activations leaves fewer of them at the peak.
    let (less_snapshot, less_history) = oom("activations_recomputed.pickle.gz");
    let less = Categories::new(&less_snapshot, &less_history);
    let activations =
        |sums: Vec<(Category, u64)>| sums.iter().find(|sum| sum.0 == Category::Activation).unwrap().1;
    let (kept, recomputed) =
        (activations(categories.at(Some(peak))), activations(less.at(less_history.peak_moment)));
    assert!(kept > 2 * recomputed, "{kept} and {recomputed}");
}

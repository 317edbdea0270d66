//! What all analyses of a trace cost beside loading it: `cargo bench -p stepscope-analyse -- TRACE…`.
//!
//! Each round loads the file and then asks every analysis once, as one program would: what several of them need is made
//! once and shared. Best of five rounds. Ends with status 1 if the analyses cost more than loading.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use stepscope_analyse::devices::{copies, utilization};
use stepscope_analyse::findings::{Context, Thresholds, in_context};
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::replay::critical_path;
use stepscope_analyse::replay::what_if::{Change, what_if};
use stepscope_analyse::roofline::{RooflineQuery, roofline_of};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_analyse::steps::breakdown::breakdown;
use stepscope_analyse::tables::ops::{self, OpGroup, OpsQuery};
use stepscope_analyse::tables::{kernels, modules, run_info};
use stepscope_formats::{OpenOptions, open_trace};

const ROUNDS: usize = 5;

/// Times of one round, in the order they were taken.
#[derive(Default)]
struct Round(Vec<(&'static str, Duration)>);

impl Round {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = black_box(work());
        self.0.push((name, start.elapsed()));
        result
    }
}

fn round(path: &Path) -> Round {
    let mut round = Round::default();
    let trace = round.time("loading", || open_trace(path, &OpenOptions::default()).unwrap());
    let run = Run::new(trace);
    let trace = run.trace();
    let steps = round.time("steps", || Steps::find(trace));
    let all = Selection::all;
    round.time("info", || run_info::analyze(trace));
    round.time("breakdown of steps", || breakdown(trace, &steps, CommRule::default()));
    round.time("device use", || utilization::gpu(trace, &steps));
    round.time("operators", || ops::ops(trace, &OpsQuery::default()));
    let by_shape = OpsQuery { by: OpGroup::Shapes, ..OpsQuery::default() };
    round.time("operators by shape", || ops::ops(trace, &by_shape));
    round.time("kernels", || kernels::kernels(trace, &kernels::KernelsQuery::default()));
    round.time("copies", || copies::copies(trace, &all()));
    round.time("modules", || modules::analyze(trace, &all()));
    let thresholds = Thresholds::default();
    round.time("host time, streams, waits", || (run.host().main(), run.waits().len()));
    let context = Context::new(&run, &thresholds);
    round.time("memory", || context.memory_marks().devices.len());
    round.time("account", || context.account().rows().count());
    round.time("gaps", || context.gaps(None, 20));
    round.time("launches", || context.launches().len());
    round.time("waits by place", || context.wait_rows().calls);
    round.time("transfers", || context.transfers().rows.len());
    round.time("data loading", || context.loading().loading_ns);
    round.time("roofline", || roofline_of(trace, &RooflineQuery::default(), context.costs()));
    round.time("replay", || context.replay().unchanged().replayed_ns);
    round.time("critical path", || critical_path::critical_path(trace, &steps, context.replay()).report(trace));
    round.time("what if, four changes", || {
        [Change::NoDataLoading, Change::NoSynchronization, Change::OverlapTransfers, Change::FreeLaunches]
            .map(|change| what_if(trace, context.replay(), &[change]).is_ok())
    });
    round.time("findings", || in_context(&context));
    round
}

fn main() -> ExitCode {
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/pytorch/2.11-h200/conv_slow_loader/conv_slow_loader.pt.trace.json.gz"
    );
    let given = std::env::args().skip(1).filter(|a| !a.starts_with('-')).map(PathBuf::from);
    let mut paths: Vec<PathBuf> = given.collect();
    if paths.is_empty() {
        paths.push(PathBuf::from(fixture));
    }
    let mut reached = true;
    for path in paths {
        let rounds: Vec<Round> = (0..ROUNDS).map(|_| round(&path)).collect();
        let best = |i: usize| rounds.iter().map(|r| r.0[i].1).min().unwrap_or_default().as_secs_f64() * 1e3;
        let names: Vec<&str> = rounds[0].0.iter().map(|r| r.0).collect();
        let load = best(0);
        println!("### {}\n", path.file_name().unwrap_or_default().to_string_lossy());
        println!("| analysis | best of {ROUNDS} | of loading |\n|---|---:|---:|");
        println!("| loading | {load:.1} ms | 100% |");
        let mut sum = 0.0;
        for (i, name) in names.iter().enumerate().skip(1) {
            sum += best(i);
            println!("| {name} | {:.1} ms | {:.1}% |", best(i), best(i) / load * 100.0);
        }
        println!("| all analyses | {sum:.1} ms | {:.0}% |\n", sum / load * 100.0);
        let word = if sum < load { "reached" } else { "not reached" };
        reached &= sum < load;
        println!("- {word}: all analyses together cost less than loading the file: {:.2}x\n", sum / load);
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

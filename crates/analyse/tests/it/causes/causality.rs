//! Time closes, replays reproduce, the critical path has no holes: on every trace there is.

use std::path::PathBuf;

use stepscope_analyse::causes::account::account;
use stepscope_analyse::replay::critical_path::critical_path;
use stepscope_analyse::replay::{Replay, Unchanged};
use stepscope_analyse::steps::Steps;
use stepscope_formats::{OpenOptions, open_trace};
use stepscope_model::Trace;

use crate::data::{all_fixtures, peer, read};

fn peers() -> Vec<PathBuf> {
    let Some(root) = peer("") else { return Vec::new() };
    let mut folders = vec![root];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if (name.ends_with(".json") || name.ends_with(".json.gz")) && !name.contains("memory_") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn each(mut check: impl FnMut(&str, &Trace, &Steps)) {
    let peers = peers().into_iter();
    // Some of theirs are no traces: tables and settings have the same ending.
    let theirs = peers.filter_map(|path| Some((open_trace(&path, &OpenOptions::default()).ok()?, path)));
    let own = all_fixtures().into_iter().map(|path| (read(&path), path));
    for (trace, path) in own.chain(theirs) {
        check(&path.file_name().unwrap().to_string_lossy(), &trace, &Steps::find(&trace));
    }
}

#[test]
fn every_nanosecond_of_every_step_has_one_cause() {
    let mut rows = 0;
    each(|name, trace, steps| {
        let account = account(trace, steps);
        for row in account.rows() {
            rows += 1;
            assert_eq!(row.causes.total(), row.wall_ns, "{name} step {} device {:?}", row.step, row.device);
            assert!(row.causes.0.iter().all(|&ns| ns >= 0), "{name} {row:?}");
        }
    });
    assert!(rows > 50, "{rows}");
}

#[test]
fn an_unchanged_replay_gives_the_measured_times() {
    each(|name, trace, steps| {
        let replay = Replay::new(trace, steps);
        let run = replay.run(&Unchanged);
        let error = (run.replayed_ns - run.measured_ns).abs() as f64 / run.measured_ns.max(1) as f64;
        // The graph is built from what was measured, so anything but equality is a lost tie.
        assert!(error < 1e-6, "{name}: measured {} replayed {}", run.measured_ns, run.replayed_ns);
    });
}

#[test]
fn the_critical_path_has_no_holes() {
    each(|name, trace, steps| {
        let replay = Replay::new(trace, steps);
        let path = critical_path(trace, steps, &replay);
        let Some(window) = steps.window() else { panic!("{name} has no steps") };
        let report = path.report(trace);
        assert_eq!(report.wall_ns, (window.1 - window.0).0, "{name}");
        assert!(path.pieces.windows(2).all(|w| w[0].end == w[1].start), "{name}");
    });
}

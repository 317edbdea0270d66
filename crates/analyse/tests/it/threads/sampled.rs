//! What a sampler saw of a thread, where nothing else was recorded of it.

use stepscope_analyse::findings::{Thresholds, findings};

use stepscope_analyse::run::Run;
use stepscope_analyse::threads::activity::Activity;
use stepscope_formats::{OpenOptions, read_trace};
use stepscope_model::Ns;

/// Events of thread 1 and of what a sampler saw of it, in microseconds.
fn run(events: &[(&str, &str, &str, i64, i64)]) -> Run {
    let events: Vec<String> = events
        .iter()
        .map(|(cat, name, tid, ts, dur)| {
            format!(r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
        })
        .collect();
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    Run::new(read_trace(text.as_bytes(), "sampled", &OpenOptions::default()).unwrap())
}

const SAMPLES: &str = r#""samples of 1""#;

#[test]
fn a_program_without_steps_has_its_python_between_operators() {
    let run = run(&[
        ("cpu_op", "aten::mm", "1", 200, 100),
        ("cpu_op", "aten::mm", "1", 500, 100),
        ("python_function", "train.py(1): main", SAMPLES, 0, 450),
        ("python_function", "train.py(8): read", SAMPLES, 100, 300),
        ("python_function", "train.py(1): main", SAMPLES, 550, 250),
    ]);
    let main = run.host().main().unwrap();
    let mut seen = Vec::new();
    run.host().doing(main, (Ns(0), Ns(1_000_000)), |piece| {
        let name = piece.slice.map_or("", |id| run.trace().name(id));
        seen.push((piece.start.0 / 1_000, piece.end.0 / 1_000, piece.activity, name));
    });
    use Activity::{Operator, Python, Unrecorded};
    assert_eq!(
        seen,
        [
            (0, 100, Python, "train.py(1): main"),
            (100, 200, Python, "train.py(8): read"),
            (200, 300, Operator, "aten::mm"),
            (300, 400, Python, "train.py(8): read"),
            (400, 450, Python, "train.py(1): main"),
            (450, 500, Unrecorded, ""),
            (500, 600, Operator, "aten::mm"),
            (600, 800, Python, "train.py(1): main"),
            (800, 1000, Unrecorded, ""),
        ]
    );
}

/// Steps of 10 ms, 6 of them in PyTorch's loader, with what a sampler saw of each.
fn loading(samples: &[(&'static str, i64, i64)]) -> String {
    let steps = ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"];
    let mut events = Vec::new();
    for (start, step) in (0..).step_by(10_000).zip(steps) {
        let iterator = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        events.push(("user_annotation", step, "1", start, 10_000));
        events.push(("user_annotation", iterator, "1", start, 6_000));
        events.push(("cpu_op", "aten::mm", "1", start + 6_000, 4_000));
        let seen = samples.iter().map(|&(name, at, dur)| ("python_function", name, SAMPLES, start + at, dur));
        events.extend(seen);
    }
    let found = findings(&run(&events), &Thresholds::default());
    found.into_iter().find(|finding| finding.rule == "data_loading").unwrap().fix
}

#[test]
fn loading_of_data_is_said_with_the_function_of_the_program_that_does_it() {
    let fix = loading(&[
        ("train.py(1): <module>", 0, 6_000),
        ("torch/utils/data/dataloader.py(700): __next__", 0, 6_000),
        ("train.py(4): __getitem__", 500, 5_000),
        ("json/decoder.py(340): decode", 1_000, 4_000),
    ]);
    assert!(fix.starts_with("Start with __getitem__ (train.py:4), where most of it goes by. "), "{fix}");
}

#[test]
fn a_sample_from_after_the_loading_does_not_say_what_loaded() {
    // The one look of each step saw the model; until then nothing was looked at.
    let fix = loading(&[
        ("train.py(1): <module>", 0, 8_000),
        ("torch/nn/modules/linear.py(130): forward", 0, 8_000),
        ("train.py(1): <module>", 8_000, 1_000),
    ]);
    assert!(!fix.contains("train.py"), "{fix}");
    // These saw the loader, but nothing of the program in it.
    let fix = loading(&[
        ("train.py(1): <module>", 0, 5_000),
        ("torch/utils/data/_utils/collate.py(340): default_collate", 0, 5_000),
    ]);
    assert!(!fix.contains("train.py"), "{fix}");
}

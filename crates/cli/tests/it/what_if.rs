//! `what-if`: changes on the command line, and those tried where none is given.

use crate::errors::refused;
use crate::{fixture, gpt, json, stdout};

#[test]
fn without_a_change_all_are_tried() {
    let loader = fixture("conv_slow_loader/conv_slow_loader.pt.trace.json.gz");
    let found = json(&["what-if", &loader]);
    let rows = found["what_if"].as_array().unwrap();
    assert_eq!(rows[0]["change"], "no data loading");
    let saves: Vec<i64> = rows.iter().map(|r| r["saves_ns"].as_i64().unwrap()).collect();
    assert!(saves.is_sorted_by(|a, b| a >= b), "{saves:?}");
    for word in ["no synchronization", "overlapped transfers", "free launches"] {
        assert!(rows.iter().any(|r| r["change"].as_str().unwrap().contains(word)), "{word}");
    }
    assert!(found["steps"].as_array().unwrap().is_empty());
    let shown = stdout(&["what-if", &loader]);
    assert!(shown.contains("What would help most") && shown.contains("the replay without a change"), "{shown}");
    assert_eq!(json(&["what-if", &loader, "--top", "2"])["what_if"].as_array().unwrap().len(), 2);
}

#[test]
fn pairs_and_flags_are_one_replay() {
    let found = json(&[
        "what-if",
        &gpt(),
        "--op",
        "aten::mm",
        "--speedup",
        "2",
        "--kernel",
        "nvjet",
        "--speedup",
        "1.5x",
        "--no-sync",
    ]);
    let rows = found["what_if"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["change"], "aten::mm 2x faster, kernels named 'nvjet' 1.5x faster, no synchronization");
    assert!(rows[0]["replay_error"].as_f64().unwrap() < 0.05);
    assert_eq!(found["steps"].as_array().unwrap().len(), 3);
    let free = json(&["what-if", &gpt(), "--free-launches"]);
    assert!(free["what_if"][0]["speedup"].as_f64().unwrap() > 1.2);
}

#[test]
fn mistakes_are_explained() {
    let gpt = gpt();
    for speedup in ["0", "-1", "nan", "inf", "fast", ""] {
        let err = refused(&["what-if", &gpt, "--op", "aten::mm", "--speedup", speedup]);
        assert!(
            err.contains("is not a speedup") && err.contains("hint: give a number above 0"),
            "{speedup}: {err}"
        );
    }
    let err = refused(&["what-if", &gpt, "--op", "mm", "--speedup", "2"]);
    assert!(err.contains("called 'mm'") && err.contains("did you mean aten::mm"), "{err}");
    let err = refused(&["what-if", &gpt, "--op", "qqqqqqqq", "--speedup", "2"]);
    assert!(err.contains("hint: `stepscope ops`"), "{err}");
    let err = refused(&["what-if", &gpt, "--kernel", "no such kernel", "--speedup", "2"]);
    assert!(err.contains("no kernel here") && err.contains("hint:"), "{err}");
    let err = refused(&["what-if", &gpt, "--op", "aten::mm"]);
    assert!(err.contains("needs a --speedup") && err.contains("--op aten::mm --speedup 2"), "{err}");
    let err = refused(&["what-if", &gpt, "--speedup", "2"]);
    assert!(err.contains("follows neither"), "{err}");
    let err = refused(&["what-if", &gpt, "--op", "aten::mm", "--speedup", "2", "--speedup", "3"]);
    assert!(err.contains("follows neither"), "{err}");
}

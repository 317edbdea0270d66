//! Activation checkpointing: what runs twice counts once toward MFU.

use stepscope_analyse::roofline::{Roofline, RooflineQuery, roofline};

use crate::data::{read, traces_in};

fn report(case: &str) -> Roofline {
    let paths = traces_in("2.11-h200-checkpointing").into_iter();
    let path =
        paths.into_iter().find(|path| path.ends_with(format!("{case}/{case}.pt.trace.json.gz"))).unwrap();
    roofline(&read(&path), &RooflineQuery::default())
}

/// The model of the recordings: two blocks that widen 256 to 1024 and back, a head of 256 by 256, 512 rows.
#[test]
fn recomputed_layers_are_no_model_flops() {
    let (up, head) = (2 * 512 * 256 * 1024, 2 * 512 * 256 * 256);
    let forward = 2 * (2 * up) + head;
    for (case, recomputed) in [
        ("kept", 0),
        // All of both blocks again.
        ("reentrant", 2 * (2 * up)),
        // The hooks stop as soon as the last tensor they want is there: before the second product of a block.
        ("hooks", 2 * up),
    ] {
        let report = report(case);
        assert_eq!(report.steps.len(), 2, "{case}");
        for step in &report.steps {
            // A backward pass has two products for each of the forward pass.
            assert_eq!((step.model_flops, step.recomputed_flops), (3 * forward, recomputed), "{case}");
            let (mfu, hfu) = (step.mfu.unwrap(), step.hfu.unwrap());
            let more = recomputed as f64 / (3 * forward) as f64;
            assert!((hfu / mfu - 1.0 - more).abs() < 1e-12, "{case} {step:?}");
            assert!(step.coverage.unwrap() > 0.99 && !step.lower_bound, "{case} {step:?}");
        }
    }
    // A gradient that is differentiated again is computed once: nothing of it is a forward pass.
    let report = report("create_graph");
    assert!(report.steps.iter().all(|step| step.recomputed_flops == 0 && step.model_flops > 3 * forward));
}

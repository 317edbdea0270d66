//! The roofline on recorded traces, and beside PyTorch's own counts of operations.

use stepscope_analyse::roofline::{
    Family, NoCost, Precision, Roofline, RooflineBy, RooflineQuery, op_costs, roofline,
};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::flops;
use stepscope_analyse::tables::ops::{OpsQuery, ops};
use stepscope_model::{SliceId, Trace};

use crate::data::{all_fixtures, fixtures, read};

fn fixture(name: &str) -> Trace {
    let path = fixtures().into_iter().find(|path| path.ends_with(format!("{name}/{name}.pt.trace.json.gz")));
    read(&path.unwrap())
}

fn report(trace: &Trace, by: RooflineBy) -> Roofline {
    roofline(trace, &RooflineQuery { by, ..RooflineQuery::default() })
}

pub(crate) fn argument<'a>(trace: &'a Trace, id: SliceId, key: &str) -> &'a str {
    trace.args(id).get(key).and_then(|value| value.as_text()).unwrap_or("")
}

#[test]
fn every_trace_closes_and_nothing_beats_its_roofline_unsaid() {
    for path in all_fixtures() {
        let trace = read(&path);
        let by_name = report(&trace, RooflineBy::Name);
        for report in [&by_name, &report(&trace, RooflineBy::NameAndShape)] {
            let path = path.display();
            let rows: i64 = report.rows.iter().map(|row| row.device_ns).sum();
            let rest: i64 = report.unmodeled.iter().map(|row| row.device_ns).sum();
            assert_eq!((rows, rows + rest), (report.modeled_ns, report.device_ns), "{path}");
            for row in &report.rows {
                let over = row.of_roofline.is_some_and(|share| share > 1.0);
                assert_eq!(over, row.note.is_some(), "{path} {row:?}");
                assert!(row.of_roofline.is_none_or(|share| share < 3.0), "{path} {row:?}");
            }
            for step in &report.steps {
                assert!(step.mfu.is_none_or(|mfu| mfu < 1.0), "{path} {step:?}");
            }
            // However rows are cut, the sums are the same.
            assert_eq!((report.flops, report.bytes), (by_name.flops, by_name.bytes), "{path}");
        }
    }
}

#[test]
fn most_device_time_has_a_model() {
    for (name, least) in [("gpt_bf16", 0.76), ("conv_fast_loader", 0.98), ("gpt_stack", 0.99)] {
        let report = report(&fixture(name), RooflineBy::Name);
        assert!(report.modeled_share.unwrap() > least, "{name}: {:?}", report.modeled_share);
        assert_eq!(report.devices[0].hardware.unwrap().name, "H200 SXM");
        // What is left are lists whose sizes this version did not write.
        assert!(
            report.unmodeled.iter().all(|row| row.reason != NoCost::NoModel),
            "{name}: {:?}",
            report.unmodeled
        );
    }
    // Recorded without shapes: nothing is made up.
    let report = report(&fixture("infer_eager_small"), RooflineBy::Name);
    assert_eq!((report.rows.len(), report.flops, report.mean.mfu), (0, 0, None));
    assert!(report.unmodeled.iter().all(|row| row.reason == NoCost::NotRecorded));
}

/// The model of the fixture: 6 layers of width 768 with 12 heads, 32,000 words, 8 sequences of 512.
#[test]
fn a_transformers_flops_are_those_of_its_formula() {
    let report = report(&fixture("gpt_bf16"), RooflineBy::Name);
    let (layers, width, words, tokens) = (6, 768, 32_000, 8 * 512);
    let weights = layers * 12 * width * width + words * width;
    // Causal attention: two products forward, four backward, half of the pairs each.
    let attention = layers * 6 * 8 * 512 * 512 * width;
    for step in &report.steps {
        assert_eq!(step.model_flops, 6 * weights * tokens + attention, "{step:?}");
        assert_eq!(step.recomputed_flops, attention / 6);
        assert_eq!((step.precision, step.devices), (Some(Precision::Bf16), 1));
    }
    assert_eq!(report.steps.len(), 3);
    let mfu = report.mean.mfu.unwrap();
    let wall: i64 = report.steps.iter().map(|step| step.wall_ns).sum();
    let flops: u64 = report.steps.iter().map(|step| step.model_flops).sum();
    assert!((mfu - flops as f64 / (wall as f64 * 989.4e3)).abs() < 1e-12, "{mfu}");
}

#[test]
fn torch_counts_the_same() {
    let mut compared = 0;
    for path in fixtures() {
        let trace = read(&path);
        let costs = op_costs(&trace, &Selection::all());
        for op in costs.ops.iter().filter(|op| op.cost.family == Family::Gemm) {
            let formula = flops::formula(trace.name(op.slice)).unwrap();
            let inputs = trace.args(op.slice).input_shapes().unwrap();
            let types = argument(&trace, op.slice, "Input type");
            assert_eq!(flops::count(formula, &inputs, Some(types), None), Some(op.cost.flops));
            compared += 1;
        }
        // `conv2d` has the formula there, `convolution` inside it the cost here.
        let torch = ops(&trace, &OpsQuery::default());
        let theirs: u64 = torch.ops.iter().filter(|row| row.name == "aten::conv2d").map(|row| row.flops).sum();
        let forward = costs.ops.iter().filter(|op| trace.name(op.slice) == "aten::convolution");
        // Under autocast a call is inside a call of its name beside the casts, and PyTorch counts both.
        let ours: u64 = forward.map(|op| op.cost.flops).sum();
        assert_eq!(theirs, 2 * ours, "{}", path.display());
        compared += usize::from(ours > 0);
    }
    assert!(compared > 500, "{compared}");
}

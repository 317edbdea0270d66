//! Device time by kind of work and phase: worked examples, recorded traces, and TraceLens' categories.

use std::path::Path;

use stepscope_analyse::names::category::Category;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::phases::{PhaseRow, PhasesReport, phases};
use stepscope_model::{Kind, Trace};
use stepscope_testkit::{self as testkit, Slice};

use crate::csv;
use crate::data::{all_fixtures, peer, read};
use crate::memory::curves::fixture;

fn report_of(run: &Run) -> PhasesReport {
    phases(run.trace(), run.host(), run.tree(), run.steps(), None)
}

fn row(report: &PhasesReport, category: Category) -> &PhaseRow {
    report
        .phases
        .iter()
        .find(|r| r.category == category)
        .unwrap_or_else(|| panic!("no {category:?}: {report:?}"))
}

fn in_us(row: &PhaseRow) -> [i64; 5] {
    [row.forward_ns, row.backward_ns, row.recompute_ns, row.update_ns, row.other_ns].map(|ns| ns / 1000)
}

/// A training step with a checkpointed layer; every piece of work has its own length.
fn worked() -> Trace {
    let mut run = testkit::RunBuilder::new();
    let (op, named) = (Kind::HostOp, Kind::HostAnnotation);
    run.host(named, "ProfilerStep#1", 1, (0, 1000))
        // 100 forward.
        .host(op, "aten::addmm", 1, (10, 40))
        .launch(1, (12, 14), Kind::Kernel, "nvjet_sm90", 7, (2000, 2100))
        // 3 of input.
        .launch(1, (50, 52), Kind::Memcpy, "Memcpy HtoD (Pinned -> Device)", 7, (2100, 2103))
        // 200 backward, after 101 that the node computes again, and 20 of the bias.
        .host(op, "autograd::engine::evaluate_function: AddmmBackward0", 2, (100, 200))
        .host(op, "AddmmBackward0", 2, (102, 180))
        .add(
            Slice::new(op, "aten::linear", (104, 130))
                .thread(2)
                .arg("Sequence number", 7)
                .arg("Fwd thread id", 0),
        )
        .host(op, "aten::addmm", 2, (106, 125))
        .launch(2, (108, 110), Kind::Kernel, "nvjet_sm90", 7, (2200, 2301))
        .host(op, "aten::mm", 2, (140, 170))
        .launch(2, (142, 144), Kind::Kernel, "nvjet_sm90", 7, (2301, 2501))
        .host(op, "aten::sum", 2, (182, 195))
        .launch(2, (184, 186), Kind::Kernel, "void at::native::reduce_kernel<512>()", 7, (2501, 2521))
        // 50 of the update, 6 of clipping before it.
        .host(op, "aten::_foreach_norm", 1, (280, 295))
        .launch(1, (282, 284), Kind::Kernel, "multi_tensor_apply_kernel<A>", 7, (2521, 2527))
        .host(named, "Optimizer.step#AdamW.step", 1, (300, 400))
        .host(op, "aten::mul_", 1, (310, 330))
        .launch(1, (312, 314), Kind::Kernel, "vectorized_elementwise_kernel<4>", 7, (2527, 2577))
        // 9 that no one launched.
        .add(Slice::new(Kind::Memset, "Memset (Device)", (500, 509)));
    run.finish()
}

#[test]
fn a_worked_example() {
    let report = report_of(&Run::new(worked()));
    assert_eq!(in_us(row(&report, Category::Gemm)), [100, 200, 101, 0, 0]);
    assert_eq!(in_us(row(&report, Category::Copy)), [3, 0, 0, 0, 0]);
    assert_eq!(in_us(row(&report, Category::Reduction)), [0, 20, 0, 0, 0]);
    assert_eq!(in_us(row(&report, Category::Optimizer)), [0, 0, 0, 6, 0]);
    assert_eq!(in_us(row(&report, Category::Pointwise)), [0, 0, 0, 50, 0]);
    assert_eq!(in_us(row(&report, Category::Memset)), [0, 0, 0, 0, 9]);
    assert_eq!(report.totals.total_device_ns, 489_000);
    assert_eq!(report.phases.len(), 6);
}

/// With `create_graph=True` operators of the backward pass have numbers too, and backward operators of their own.
#[test]
fn a_gradient_of_a_gradient_repeats_nothing() {
    use stepscope_model::{Domain, FlowKind, FlowSide, LaneKey, NewFlow, Ns, Tag};
    let mut run = testkit::RunBuilder::new();
    let op = Kind::HostOp;
    run.host(op, "aten::pow", 1, (0, 5))
        .host(op, "autograd::engine::evaluate_function: PowBackward0", 2, (10, 40))
        .add(Slice::new(op, "aten::mul", (12, 30)).thread(2).arg("Sequence number", 3).arg("Fwd thread id", 0))
        .launch(2, (14, 16), Kind::Kernel, "vectorized_elementwise_kernel<4>", 7, (100, 110))
        .host(op, "autograd::engine::evaluate_function: MulBackward0", 2, (50, 60));
    for (at, side) in [(12, FlowSide::Start), (50, FlowSide::Finish)] {
        let process = Tag::Int(testkit::HOST_PROCESS);
        let lane = run.builder().lane(LaneKey { domain: Domain::Host, process, thread: Tag::Int(2) });
        let kind = FlowKind::ForwardBackward;
        run.builder().flow(NewFlow { at: Ns(at * 1000), id: 5, lane, kind, side, ..NewFlow::default() });
    }
    let report = report_of(&Run::new(run.finish()));
    assert_eq!(in_us(row(&report, Category::Pointwise)), [0, 10, 0, 0, 0]);
}

#[test]
fn the_table_adds_up_to_all_device_time() {
    for path in all_fixtures() {
        let run = Run::new(read(&path));
        let (report, slices) = (report_of(&run), run.trace().slices());
        let all: i64 =
            slices.ids().filter(|&id| slices.kind(id).is_device_work()).map(|id| slices.dur(id).0).sum();
        let rows: i64 = report.phases.iter().map(|r| r.total_ns).sum();
        assert_eq!(rows, report.totals.total_device_ns, "{}", path.display());
        assert_eq!(rows + report.totals.outside_steps_ns, all, "{}", path.display());
        for row in &report.phases {
            let phases = row.forward_ns + row.backward_ns + row.recompute_ns + row.update_ns + row.other_ns;
            assert_eq!(phases, row.total_ns, "{}: {row:?}", path.display());
        }
    }
}

#[test]
fn recorded_training_has_three_phases_and_inference_one() {
    let run = Run::new(read(&fixture("gpt_bf16/gpt_bf16.pt.trace.json.gz")));
    let report = report_of(&run);
    let sum = |of: fn(&PhaseRow) -> i64| report.phases.iter().map(of).sum::<i64>();
    let (forward, backward, update) = (sum(|r| r.forward_ns), sum(|r| r.backward_ns), sum(|r| r.update_ns));
    assert!(backward > forward && forward > update && update > 0, "{forward} {backward} {update}");
    assert_eq!(sum(|r| r.recompute_ns), 0);
    let gemm = row(&report, Category::Gemm);
    // Two products backward for each one forward.
    let ratio = gemm.backward_ns as f64 / gemm.forward_ns as f64;
    assert!((1.6..2.6).contains(&ratio), "{ratio}");
    assert!(row(&report, Category::Attention).forward_ns > 0);
    let inference = Run::new(read(&fixture("infer_eager_small/infer_eager_small.pt.trace.json.gz")));
    let report = report_of(&inference);
    assert!(report.phases.iter().all(|r| r.total_ns == r.forward_ns), "{report:?}");
}

#[test]
fn checkpointing_computes_the_forward_pass_again() {
    let twin = |name: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200-twins/seen");
        let run = Run::new(read(&root.join(format!("checkpointing/{name}.shapes.json.zst"))));
        let report = report_of(&run);
        let gemm = row(&report, Category::Gemm).clone();
        (gemm.forward_ns, gemm.recompute_ns)
    };
    let (forward, again) = twin("fault");
    // Recomputation stops before the last product of each block, which nothing in the backward pass needs: 8 of 12 parts.
    let ratio = again as f64 / forward as f64;
    assert!((0.5..0.75).contains(&ratio), "{again} of {forward}");
    assert_eq!(twin("fixed").1, 0);
}

/// TraceLens sums kernel time by categories of operators; where both have a category, the sums are equal.
#[test]
fn categories_agree_with_tracelens() {
    for name in ["h100/Qwen_Qwen1.5-0.5B-Chat__1016005", "h100/gaunernst_bert-small-uncased__1016001"] {
        let Some(path) = peer(&format!("tracelens/{name}.json.gz")) else { return };
        let run = Run::new(read(&path));
        let report = report_of(&run);
        let ours = |category: Category| {
            report.phases.iter().find(|r| r.category == category).map_or(0, |r| r.forward_ns) as f64 / 1e6
        };
        let csvs = peer(&format!("tracelens/{name}_perf_report_csvs")).unwrap();
        let by_category = csv::read(&csvs.join("ops_summary_by_category.csv"));
        let by_op = csv::read(&csvs.join("ops_summary.csv"));
        let theirs = |key: &str, table: &csv::Table, column: &str| {
            let rows = table.rows().filter(|row| row.get(column) == key);
            rows.map(|row| row.get("total_direct_kernel_time_ms").parse::<f64>().unwrap()).sum::<f64>()
        };
        let category = |key: &str| theirs(key, &by_category, "op category");
        let op = |key: &str| theirs(key, &by_op, "name");
        let near = |ours: f64, theirs: f64, what: &str| {
            assert!((ours - theirs).abs() < 1e-3, "{name}: {what}: {ours} ms, TraceLens {theirs} ms");
        };
        // Kernels without an operator are no one's there, and memsets belong to the product that asked for them.
        near(ours(Category::Gemm) + ours(Category::Memset), category("GEMM"), "GEMM");
        near(ours(Category::Normalization), category("NORM_fwd"), "normalization");
        near(ours(Category::Reduction), category("reduce"), "reduction");
        near(ours(Category::Attention), op("aten::_flash_attention_forward"), "attention");
    }
}

//! Named ranges: worked examples, PyTorch's own numbers, and what must hold for every recorded trace.

use stepscope_analyse::run::Run;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::ops::{OpsQuery, ops};
use stepscope_analyse::tables::regions::{Query, RegionRow, RegionsReport, regions};
use stepscope_model::{Domain, FlowKind, FlowSide, Kind, LaneKey, NewFlow, Ns, Tag, Trace};
use stepscope_testkit as testkit;
use testkit::{HOST_PROCESS, Slice};

use crate::data::{all_fixtures, read};
use crate::memory::curves::fixture;

fn report_of(run: &Run) -> RegionsReport {
    let selection = Selection::all();
    let pytorch = ops(run.trace(), &OpsQuery::default());
    let query = Query { selection: &selection, steps: run.steps(), pytorch: &pytorch };
    regions(run.trace(), run.host(), run.tree(), &query)
}

fn row<'a>(report: &'a RegionsReport, name: &str) -> &'a RegionRow {
    report.regions.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("no region {name}"))
}

/// Joins the operator that begins at one moment on thread 1 to the one that begins at another on thread 2.
fn arrow(run: &mut testkit::RunBuilder, id: i64, forward: i64, backward: i64) {
    for (thread, at, side) in [(1, forward, FlowSide::Start), (2, backward, FlowSide::Finish)] {
        let process = Tag::Int(HOST_PROCESS);
        let lane = run.builder().lane(LaneKey { domain: Domain::Host, process, thread: Tag::Int(thread) });
        let kind = FlowKind::ForwardBackward;
        run.builder().flow(NewFlow { at: Ns(at * 1000), id, lane, kind, side, ..NewFlow::default() });
    }
}

/// A step: `forward` with `layer` inside, `backward` in which thread 2 works, and work that no one named.
///
/// | launched                                   | device, µs |
/// |--------------------------------------------|------------|
/// | in `layer` in `forward`                    | 100        |
/// | in `forward` beside `layer`                | 10         |
/// | thread 2, backward of `layer`'s operator   | 200        |
/// | thread 2, accumulating gradients           | 5          |
/// | thread 2, under a range of its own         | 40         |
/// | thread 2, while the main thread runs `aten::busy` | 1000 |
/// | main thread, after `backward`              | 7          |
/// | nowhere                                    | 3          |
fn worked() -> Trace {
    let mut run = testkit::RunBuilder::new();
    let (op, named) = (Kind::HostOp, Kind::HostAnnotation);
    let node = "autograd::engine::evaluate_function: AddmmBackward0";
    run.host(named, "ProfilerStep#1", 1, (0, 1000))
        .host(named, "forward", 1, (10, 100))
        .host(named, "layer", 1, (20, 60))
        .host(op, "aten::addmm", 1, (22, 50))
        .launch(1, (30, 32), Kind::Kernel, "gemm", 7, (2000, 2100))
        .host(op, "aten::relu", 1, (70, 80))
        .launch(1, (72, 74), Kind::Kernel, "relu", 7, (2100, 2110))
        .host(named, "backward", 1, (200, 500))
        .host(op, "aten::busy", 1, (450, 490))
        .host(op, node, 2, (210, 260))
        .host(op, "aten::mm", 2, (215, 250))
        .launch(2, (220, 222), Kind::Kernel, "dgemm", 7, (2200, 2400))
        .host(op, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 2, (270, 280))
        .launch(2, (272, 274), Kind::Kernel, "add", 7, (2400, 2405))
        .host(named, "hook", 2, (300, 320))
        .launch(2, (305, 307), Kind::Kernel, "hook", 7, (2405, 2445))
        .host(op, "autograd::engine::evaluate_function: MulBackward0", 2, (455, 470))
        .launch(2, (460, 462), Kind::Kernel, "elsewhere", 7, (2445, 3445))
        .host(op, "aten::add_", 1, (600, 620))
        .launch(1, (605, 607), Kind::Kernel, "update", 7, (3445, 3452))
        .add(Slice::new(Kind::Memset, "Memset", (3460, 3463)));
    arrow(&mut run, 77, 22, 210);
    run.finish()
}

#[test]
fn a_worked_example() {
    let report = report_of(&Run::new(worked()));
    let us = |r: &RegionRow| {
        [r.host_step_ns, r.device_ns, r.device_self_ns, r.backward_device_ns].map(|ns| ns / 1000)
    };
    assert_eq!(us(row(&report, "forward")), [90, 110, 10, 200]);
    assert_eq!(us(row(&report, "layer")), [40, 100, 100, 200]);
    // 200 + 5 of the thread, 40 of its own range; not the 1000 launched while the main thread was busy.
    assert_eq!(us(row(&report, "backward")), [300, 245, 205, 0]);
    assert_eq!(us(row(&report, "hook")), [20, 40, 40, 0]);
    let ledger = &report.ledger;
    let parts = [ledger.total_device_ns, ledger.in_regions_ns, ledger.handed_over_ns, ledger.outside_ns];
    assert_eq!(parts.map(|ns| ns / 1000), [1365, 355, 205, 1007]);
    assert_eq!(ledger.unlinked_ns, 3000);
    let share = row(&report, "backward").share.unwrap();
    assert!((share - 245.0 / 1365.0).abs() < 1e-12, "{share}");
    assert!(report.regions.iter().all(|r| !r.name.starts_with("ProfilerStep")));
}

#[test]
fn a_range_inside_its_own_name_counts_once() {
    let mut run = testkit::RunBuilder::new();
    run.host(Kind::HostAnnotation, "block", 1, (0, 100))
        .host(Kind::HostAnnotation, "other", 1, (5, 90))
        .host(Kind::HostAnnotation, "block", 1, (10, 60))
        .launch(1, (20, 22), Kind::Kernel, "inner", 7, (200, 230))
        .launch(1, (70, 72), Kind::Kernel, "outer", 7, (230, 235));
    let report = report_of(&Run::new(run.finish()));
    let block = row(&report, "block");
    assert_eq!(
        (block.calls, block.host_ns, block.device_ns, block.device_self_ns),
        (2, 100_000, 35_000, 30_000)
    );
    assert_eq!(row(&report, "other").device_self_ns, 5_000);
}

#[test]
fn numbers_are_per_step_and_of_the_selection() {
    let mut run = testkit::RunBuilder::new();
    for step in 0..2 {
        let at = step * 100;
        run.host(Kind::HostAnnotation, &format!("ProfilerStep#{step}"), 1, (at, at + 90))
            .host(Kind::HostAnnotation, "work", 1, (at + 10, at + 30))
            .launch(1, (at + 12, at + 14), Kind::Kernel, "k", 7, (at + 40, at + 60));
    }
    // After the steps: counted in the sums, not per step.
    run.host(Kind::HostAnnotation, "work", 1, (300, 340)).launch(
        1,
        (310, 312),
        Kind::Kernel,
        "k",
        7,
        (350, 450),
    );
    let run = Run::new(run.finish());
    let all = report_of(&run);
    let work = row(&all, "work");
    assert_eq!((work.calls, work.host_ns, work.device_ns), (3, 80_000, 140_000));
    assert_eq!((work.host_step_ns, work.device_step_ns), (20_000, 20_000));
}

#[test]
fn recorded_runs_show_their_backward_pass() {
    let run = Run::new(read(&fixture("gpt_bf16/gpt_bf16.pt.trace.json.gz")));
    let report = report_of(&run);
    let (forward, backward) = (row(&report, "forward"), row(&report, "backward"));
    // Recomputed from the file by a script that compares the times of calls and ranges, one by one.
    let recomputed =
        [("forward", 6_889_465), ("backward", 13_675_550), ("optimizer", 6_060_459), ("to_device", 18_273)];
    for (name, ns) in recomputed {
        assert_eq!(row(&report, name).device_ns, ns, "{name}");
    }
    // By PyTorch's rule the backward pass is next to nothing; it is the largest part of a training step.
    assert!(backward.pytorch_device_ns * 100 < forward.pytorch_device_ns, "{backward:?}");
    assert!(backward.device_ns > forward.device_ns, "{backward:?} {forward:?}");
    // What ran forward has no other way to be counted: both rules agree.
    assert_eq!(forward.device_ns, forward.pytorch_device_ns);
    // All that came of forward operators ran while the main thread waited in `backward`.
    assert!(forward.backward_device_ns <= backward.device_ns);
    assert!(forward.backward_device_ns * 10 > backward.device_ns * 8, "{forward:?} {backward:?}");
    assert_eq!(row(&report, "optimizer").device_ns, row(&report, "Optimizer.step#AdamW.step").device_ns);
}

#[test]
fn regions_never_add_up_to_more_than_there_is() {
    let mut with_regions = 0;
    for path in all_fixtures() {
        let run = Run::new(read(&path));
        let report = report_of(&run);
        let ledger = &report.ledger;
        let slices = run.trace().slices();
        let all: i64 =
            slices.ids().filter(|&id| slices.kind(id).is_device_work()).map(|id| slices.dur(id).0).sum();
        assert_eq!(ledger.total_device_ns, all, "{}", path.display());
        assert_eq!(ledger.in_regions_ns + ledger.outside_ns + ledger.unlinked_ns, all, "{}", path.display());
        let of_all: i64 = report.regions.iter().map(|r| r.device_self_ns).sum();
        assert_eq!(of_all, ledger.in_regions_ns, "{}", path.display());
        for r in &report.regions {
            assert!(r.device_ns >= r.device_self_ns, "{r:?}");
            // Only more than PyTorch's: what it gives a range was launched inside of it.
            assert!(r.device_ns >= r.pytorch_device_ns, "{}: {r:?}", path.display());
            assert!(r.device_ns <= all, "{}: {r:?}", path.display());
            assert!(r.calls > 0, "{r:?}");
        }
        // These follow each other in the recorded programs.
        let apart = ["data_loading", "to_device", "forward", "backward", "optimizer"];
        let sum: i64 =
            report.regions.iter().filter(|r| apart.contains(&r.name.as_str())).map(|r| r.device_ns).sum();
        assert!(sum <= all, "{}: {sum} of {all}", path.display());
        with_regions += usize::from(sum > 0);
    }
    assert!(with_regions >= 4, "{with_regions}");
}

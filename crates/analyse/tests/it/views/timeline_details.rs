//! What is said about one slice.

use stepscope_analyse::tables::flops;
use stepscope_analyse::views::timeline::{Counter, Details, INSTANT, NO_SLICE, Relation, Timeline, Unit};
use stepscope_model::{Decimal, Kind, PointKind, SliceId, Trace};
use stepscope_testkit::{Point, RunBuilder, Slice, Value};

use crate::data::{all_fixtures, peer, read};
use crate::memory::curves::fixture;
use crate::views::timeline_tools::timeline;

fn find(trace: &Trace, name: &str) -> SliceId {
    trace.slices().ids().find(|&id| trace.name(id) == name).unwrap_or_else(|| panic!("no {name}"))
}

fn details(timeline: &Timeline, trace: &Trace, name: &str) -> Details {
    timeline.details(trace, find(trace, name).index() as u32).unwrap()
}

fn linked(details: &Details, relation: Relation) -> Vec<&str> {
    details.links.iter().filter(|l| l.relation == relation).map(|l| l.to.name.as_str()).collect()
}

fn small() -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::HostAnnotation, "ProfilerStep#4", (100, 900)));
    run.add(Slice::new(Kind::PythonFunction, "train.py(1): main", (110, 890)));
    run.add(Slice::new(Kind::PythonFunction, "nn.Module: Net_0", (120, 600)));
    run.add(Slice::new(Kind::HostOp, "aten::linear", (130, 400)));
    let json = |text: &str| Value::Json(text.to_owned());
    let mm = Slice::new(Kind::HostOp, "aten::mm", (140, 300)).external(7);
    let mm = mm.arg("Input Dims", json("[[8,16],[16,4]]")).arg("Input type", json(r#"["float","float"]"#));
    run.add(mm.arg("price", Decimal { mantissa: 1250, scale: 2 }).arg("big", i64::MAX));
    run.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", (150, 170)).correlation(31).external(7));
    run.add(Slice::new(Kind::Runtime, "cudaLaunchKernelExC", (180, 190)).correlation(32));
    run.mark(Point::new(PointKind::Instant, "[memory]", 1, 155));
    run.add(Slice::new(Kind::Kernel, "gemm", (400, 500)).correlation(31).external(7));
    run.add(Slice::new(Kind::Kernel, "relu", (500, 540)).correlation(32));
    run.finish()
}

#[test]
fn a_kernel_leads_to_its_launch_its_operator_and_its_python() {
    let trace = small();
    let timeline = timeline(&trace);
    let kernel = details(&timeline, &trace, "gemm");
    assert_eq!((kernel.reference.start_ns, kernel.reference.dur_ns, kernel.self_ns), (300, 100, 100));
    assert_eq!((kernel.kind, kernel.kernel, kernel.step), ("kernel", true, Some(4)));
    assert_eq!(linked(&kernel, Relation::LaunchedBy), ["cudaLaunchKernel"]);
    assert_eq!(linked(&kernel, Relation::Operator), ["aten::mm"]);
    assert_eq!(kernel.stack, ["nn.Module: Net_0", "train.py(1): main"]);
    assert_eq!(kernel.op.as_deref(), Some("aten::mm"));
    assert_eq!(details(&timeline, &trace, "relu").op.as_deref(), Some("aten::mm"));
    let launch = details(&timeline, &trace, "cudaLaunchKernel");
    assert_eq!(linked(&launch, Relation::Launches), ["gemm"]);
    assert_eq!(linked(&launch, Relation::Operator), ["aten::mm"]);
    assert_eq!(timeline.layout(&trace).groups[1].label, "GPU 0 · stream 7");
}

#[test]
fn an_operator_tells_its_inputs_its_work_and_its_surroundings() {
    let trace = small();
    let timeline = timeline(&trace);
    let mm = details(&timeline, &trace, "aten::mm");
    assert_eq!(mm.shapes.as_deref(), Some("[[8, 16], [16, 4]]"));
    assert_eq!(mm.types.as_deref(), Some(r#"["float","float"]"#));
    assert_eq!(mm.flops, Some(2 * 8 * 16 * 4));
    let args: Vec<_> = mm.args.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(args[2..], [("price", "12.50"), ("big", "9223372036854775807")]);
    assert_eq!(linked(&mm, Relation::DeviceWork), ["gemm", "relu"]);
    let around: Vec<&str> = mm.parents.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(around, ["aten::linear", "nn.Module: Net_0", "train.py(1): main", "ProfilerStep#4"]);
    assert_eq!(mm.self_ns, 160 - 20 - 10);
    assert_eq!(mm.children.iter().map(|c| c.total_ns).collect::<Vec<_>>(), [20, 10]);
    // What is inside an operator's operators is its work too.
    assert_eq!(linked(&details(&timeline, &trace, "aten::linear"), Relation::DeviceWork).len(), 2);
    assert!(flops::formula("aten::mm").is_some());
}

#[test]
fn an_instant_tells_what_runs_around_it() {
    let trace = small();
    let timeline = timeline(&trace);
    let memory = timeline.details(&trace, INSTANT).unwrap();
    assert_eq!((memory.reference.name.as_str(), memory.kind), ("[memory]", "instant"));
    assert_eq!((memory.reference.start_ns, memory.step), (55, Some(4)));
    assert_eq!(memory.op.as_deref(), Some("aten::mm"));
    assert_eq!(memory.parents[0].name, "cudaLaunchKernel");
    let layout = timeline.layout(&trace);
    assert_eq!(layout.rows[memory.reference.row as usize].label, "instants");
    for id in [INSTANT | 1, NO_SLICE, trace.slices().len() as u32, INSTANT - 1] {
        assert!(timeline.details(&trace, id).is_none(), "{id}");
    }
}

#[test]
fn steps_and_modules_are_derived_and_lead_to_their_slices() {
    let trace = small();
    let timeline = timeline(&trace);
    let layout = timeline.layout(&trace);
    let labels: Vec<_> = layout.groups.iter().map(|g| (g.label.as_str(), g.derived, g.slices)).collect();
    let wanted =
        [("Steps", true, 1), ("GPU 0 · stream 7", false, 2), ("thread 1", false, 7), ("Modules", true, 1)];
    assert_eq!(labels, wanted);
    assert_eq!((layout.steps[0].step, layout.steps[0].start_ns, layout.steps[0].end_ns), (4, 0, 800));
    let items = timeline.row_items(&trace, layout.groups[0].rows[0], 0);
    assert_eq!((items[0].id as usize, items[0].category), (find(&trace, "ProfilerStep#4").index(), 13));
    let modules = timeline.row_items(&trace, layout.groups[3].rows[0], 0);
    assert_eq!(timeline.name(&trace, modules[0].name), "nn.Module: Net_0");
}

#[test]
fn a_trace_without_steps_is_one_with_a_name_of_its_own() {
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::HostOp, "aten::mm", (5, 10)));
    let trace = run.finish();
    let timeline = timeline(&trace);
    let step = &timeline.row_items(&trace, 0, 3)[0];
    assert_eq!((step.id, timeline.name(&trace, step.name)), (NO_SLICE, "whole trace"));
    assert_eq!(timeline.name(&trace, step.name + 1), "");
    assert_eq!(details(&timeline, &trace, "aten::mm").step, None);
}

#[test]
fn forward_and_backward_know_each_other_in_a_recorded_trace() {
    let trace = read(&fixture("gpt_stack/gpt_stack.pt.trace.json.gz"));
    let timeline = timeline(&trace);
    let with_backward =
        trace.slices().ids().find(|&id| trace.links().backward_of(id).next().is_some()).unwrap();
    let forward = timeline.details(&trace, with_backward.index() as u32).unwrap();
    let backward = forward.links.iter().find(|l| l.relation == Relation::Backward).unwrap();
    let backward = timeline.details(&trace, backward.to.id).unwrap();
    assert!(backward.links.iter().any(|l| l.relation == Relation::Forward && l.to.id == forward.reference.id));
    assert_eq!(backward.stack, forward.stack);
    assert!(!forward.stack.is_empty());
}

#[test]
fn every_slice_of_some_fixtures_has_details() {
    for path in all_fixtures().into_iter().step_by(13) {
        let trace = read(&path);
        let timeline = timeline(&trace);
        let rows = timeline.layout(&trace).rows.len() as u32;
        let mut own = 0;
        for id in trace.slices().ids() {
            let details = timeline.details(&trace, id.index() as u32).unwrap();
            assert!(details.reference.row < rows && details.self_ns >= 0, "{details:?}");
            assert!(details.self_ns <= details.reference.dur_ns);
            assert!(details.links.len() <= 64 && details.parents.len() <= 64 && details.children.len() <= 20);
            own += details.self_ns;
        }
        // The same as all areas together.
        let all: Vec<u32> =
            timeline.layout(&trace).groups.iter().filter(|g| !g.derived).flat_map(|g| g.rows.clone()).collect();
        let area = timeline.area(&trace, 0, i64::MAX, &all);
        if area.names_more == 0 {
            assert_eq!(area.names.iter().map(|n| n.self_ns).sum::<i64>(), own, "{}", path.display());
        }
    }
}

#[test]
fn recorded_stacks_of_older_files_are_told() {
    let Some(path) = peer("tb_plugin/resnet50_num_workers_0.pt.trace.json.gz") else { return };
    let trace = read(&path);
    let timeline = timeline(&trace);
    let told = trace.slices().ids().find(|&id| trace.args(id).get("Call stack").is_some());
    let id = told.expect("this file has recorded stacks");
    let text = trace.args(id).get("Call stack").and_then(|value| value.as_text()).unwrap();
    let stack = timeline.details(&trace, id.index() as u32).unwrap().stack;
    assert_eq!(stack, text.split(';').filter(|frame| !frame.is_empty()).collect::<Vec<_>>());
}

fn counter<'a>(counters: &'a [Counter], id: &str) -> &'a Counter {
    counters.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn counters_of_a_recorded_trace() {
    let trace = read(&fixture("gpt_stack/gpt_stack.pt.trace.json.gz"));
    let timeline = timeline(&trace);
    let extent = timeline.layout(&trace).extent_ns;
    let counters = timeline.counters(&trace, 0, extent, 100);
    for counter in &counters {
        assert!(counter.t.len() == counter.lo.len() && counter.t.len() == counter.hi.len(), "{counter:?}");
        assert!(counter.t.is_sorted_by(|a, b| a < b) && counter.t.len() <= 100, "{}", counter.id);
        assert!(counter.lo.iter().zip(&counter.hi).all(|(lo, hi)| lo <= hi && *hi <= counter.max));
        assert!(!counter.definition.is_empty() && !counter.label.is_empty());
    }
    // One part is the mean over all of it: kernels of this file run on one stream and do not overlap.
    let whole = timeline.counters(&trace, 0, extent, 1);
    let slices = trace.slices();
    let kernels = slices.ids().filter(|&id| slices.kind(id) == Kind::Kernel);
    let busy: i64 = kernels.map(|id| slices.dur(id).0).sum();
    let utilization = counter(&whole, "utilization:0");
    assert!((utilization.hi[0] - busy as f64 / extent as f64).abs() < 1e-9);
    assert!(counter(&whole, "sm_efficiency:0").hi[0] <= utilization.hi[0]);
    let memory = counters.iter().find(|c| c.label == "CUDA 0 memory allocated").unwrap();
    let report = stepscope_analyse::memory::analyze(&trace, &stepscope_analyse::memory::Options::default());
    let peak = report.devices.iter().find(|d| d.device == "CUDA 0").unwrap().peak_allocated_bytes;
    assert_eq!(memory.hi.iter().copied().fold(0.0, f64::max), peak as f64);
    assert_eq!((memory.max, memory.unit), (peak as f64, Unit::Bytes));
    let queue = stepscope_analyse::causes::launches::queue(&trace, Some(0));
    let most = queue.iter().map(|p| p.queued).max().unwrap() as f64;
    assert_eq!(counter(&counters, "queue:0").hi.iter().copied().fold(0.0, f64::max), most);
}

#[test]
fn counters_of_the_file_are_shown_one_an_argument() {
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::HostOp, "op", (0, 100)));
    for (at, used, free) in [(10, 5i64, 95i64), (50, 60, 40), (90, 0, 100)] {
        run.mark(Point::new(PointKind::Counter, "cache", 1, at).arg("used", used).arg("free", free));
    }
    let trace = run.finish();
    let counters = timeline(&trace).counters(&trace, 0, 100, 2);
    let labels: Vec<&str> = counters.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["cache: used", "cache: free"]);
    assert_eq!((counters[0].t.clone(), counters[0].hi.clone()), (vec![10, 50], vec![5.0, 60.0]));
    assert_eq!((counters[1].lo.clone(), counters[1].max), (vec![95.0, 40.0], 100.0));
}

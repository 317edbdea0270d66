//! Worked answers, one habit of the table each.

use proptest::prelude::*;
use stepscope_model::{
    ArgValue, ArgsId, Attr, Domain, Kind, LaneId, LaneKey, NewAllocation, NewSlice, Ns, Tag, Trace,
    TraceBuilder,
};

use super::*;

/// A host with threads and one device, filled by hand.
struct Bench(TraceBuilder);

impl Bench {
    fn new() -> Bench {
        Bench(TraceBuilder::new())
    }

    fn lane(&mut self, domain: Domain, thread: i64) -> LaneId {
        let process = Tag::Int(if domain == Domain::Host { 1 } else { 0 });
        self.0.lane(LaneKey { domain, process, thread: Tag::Int(thread) })
    }

    /// A slice `[start, end)`; `external` is an operator's own id, or the id it names.
    fn slice(
        &mut self,
        kind: Kind,
        name: &str,
        thread: i64,
        span: (i64, i64),
        external: i64,
        correlation: i64,
    ) {
        let lane = self.lane(if kind.is_device() { Domain::Device } else { Domain::Host }, thread);
        let name = self.0.intern(name);
        self.0.slice(NewSlice {
            start: Ns(span.0),
            dur: Ns(span.1.saturating_sub(span.0)),
            name,
            kind,
            lane,
            external: (external != 0).then_some(external),
            correlation: (correlation != 0).then_some(correlation),
            ..NewSlice::default()
        });
    }

    fn op(&mut self, name: &str, thread: i64, span: (i64, i64), id: i64) {
        self.slice(Kind::HostOp, name, thread, span, id, 0);
    }

    fn memory(&mut self, at: i64, bytes: i64, device_type: i64) {
        self.memory_on(at, bytes, device_type, if device_type == 0 { -1 } else { 0 });
    }

    fn memory_on(&mut self, at: i64, bytes: i64, device_type: i64, device: i64) {
        let name = self.0.intern("[memory]");
        let args = [
            (Attr::AllocatedBytes, bytes),
            (Attr::MemoryDeviceKind, device_type),
            (Attr::MemoryDevice, device),
        ];
        for (attr, value) in args {
            let key = self.0.key(&format!("{attr:?}"), attr);
            self.0.push_arg(key, ArgValue::Int(value));
        }
        let args: ArgsId = self.0.commit_args();
        let lane = self.lane(Domain::Host, 9);
        self.0.allocation(name, NewAllocation { at: Ns(at), args, lane, ..NewAllocation::default() });
    }

    fn ops(self) -> OpsReport {
        ops(&self.0.finish(), &OpsQuery::default())
    }
}

fn row<'a>(rows: &'a [OpRow], name: &str) -> &'a OpRow {
    rows.iter().find(|r| r.name == name).unwrap()
}

#[test]
fn self_time_leaves_out_calls_and_pauses() {
    let mut b = Bench::new();
    b.op("aten::mm", 1, (0, 100), 1);
    b.slice(Kind::Runtime, "cudaLaunchKernel", 1, (10, 30), 1, 7);
    // The file does not say on which thread the profiler paused; there is one main thread to take it.
    b.slice(Kind::Overhead, "Buffer Flush", -1, (50, 55), 0, 0);
    b.slice(Kind::PythonFunction, "f", 1, (60, 90), 0, 0);
    b.slice(Kind::Kernel, "gemm", 7, (200, 240), 1, 7);
    let report = b.ops();
    let mm = row(&report.ops, "aten::mm");
    assert_eq!((mm.host_total_ns, mm.host_self_ns), (100, 75));
    assert_eq!((mm.device_total_ns, mm.device_self_ns), (40, 40));
    assert_eq!(report.calls.len(), 2);
    assert_eq!(report.total_host_self_ns, 100);
    assert_eq!(report.device[0].name, "gemm");
}

#[test]
fn only_children_of_the_same_name_are_folded() {
    let mut b = Bench::new();
    b.op("aten::add", 1, (0, 100), 1);
    b.op("aten::add", 1, (10, 90), 2);
    b.op("aten::add", 1, (20, 80), 3);
    b.slice(Kind::Runtime, "cudaLaunchKernel", 1, (30, 40), 3, 7);
    b.slice(Kind::Kernel, "k", 7, (200, 211), 3, 7);
    // Two children: neither is folded.
    b.op("aten::mul", 1, (300, 400), 4);
    b.op("aten::mul", 1, (310, 320), 5);
    b.op("aten::mul", 1, (330, 340), 6);
    let report = b.ops();
    let add = row(&report.ops, "aten::add");
    assert_eq!((add.calls, add.host_total_ns, add.host_self_ns), (1, 100, 90));
    assert_eq!((add.device_self_ns, add.device_total_ns), (11, 11));
    let mul = row(&report.ops, "aten::mul");
    assert_eq!((mul.calls, mul.host_total_ns, mul.host_self_ns), (3, 120, 100));
    assert_eq!(report.folded_calls, 2);
}

#[test]
fn hidden_names_have_no_row_and_their_children_move_up() {
    let mut b = Bench::new();
    b.op("outer", 1, (0, 100), 1);
    b.op("profiler::_record_function_enter_new", 1, (10, 60), 2);
    b.op("aten::empty", 1, (20, 30), 3);
    let report = b.ops();
    assert_eq!(report.ops.len(), 2);
    assert_eq!(row(&report.ops, "outer").host_self_ns, 90);
}

#[test]
fn ranges_are_apart_and_their_shadow_is_no_device_time() {
    let mut b = Bench::new();
    b.slice(Kind::HostAnnotation, "ProfilerStep#3", 1, (0, 100), 1, 0);
    b.slice(Kind::HostAnnotation, "ProfilerStep#4", 1, (100, 200), 2, 0);
    b.op("aten::mm", 1, (10, 20), 3);
    b.slice(Kind::Kernel, "k", 7, (50, 60), 3, 0);
    b.slice(Kind::DeviceAnnotation, "ProfilerStep#3", 7, (40, 90), 1, 0);
    let report = b.ops();
    assert_eq!(report.ops.len(), 1);
    let step = row(&report.annotations, "ProfilerStep*");
    assert_eq!((step.calls, step.host_self_ns), (2, 190));
    assert_eq!((step.device_total_ns, step.device_self_ns), (10, 0));
    assert_eq!(report.total_device_self_ns, 10);
}

#[test]
fn memory_counts_both_ends_and_every_thread() {
    let mut b = Bench::new();
    b.op("outer", 1, (100, 200), 1);
    b.op("inner", 1, (120, 140), 2);
    for (at, bytes, device) in [(100, 1, 0), (120, 10, 0), (140, 100, 1), (200, -1000, 1), (201, 7, 0)] {
        b.memory(at, bytes, device);
    }
    let report = b.ops();
    let (outer, inner) = (row(&report.ops, "outer"), row(&report.ops, "inner"));
    assert_eq!((inner.host_memory_bytes, inner.device_memory_bytes), (10, 100));
    assert_eq!((outer.host_memory_bytes, outer.device_memory_bytes), (11, -900));
    assert_eq!((outer.host_self_memory_bytes, outer.device_self_memory_bytes), (1, -1000));
    let outside = report.memory_outside.unwrap();
    assert_eq!((outside.calls, outside.host_memory_bytes), (1, 7));
}

#[test]
fn memory_of_other_devices_is_left_out() {
    let mut b = Bench::new();
    b.op("op", 1, (0, 100), 1);
    // Of CUDA 0, CUDA 1, the host and MKLDNN, which is the host's too; then twice outside of the operator.
    let marks =
        [(10, 1, 1, 0), (20, 10, 1, 1), (30, 100, 0, -1), (40, 1000, 2, -1), (200, 7, 1, 0), (201, 70, 1, 1)];
    for (at, bytes, device_type, device) in marks {
        b.memory_on(at, bytes, device_type, device);
    }
    let trace = b.0.finish();
    for (device, inside, outside) in [(None, 11, 77), (Some(0), 1, 7), (Some(1), 10, 70), (Some(2), 0, 0)] {
        let selection = Selection { device, ..Selection::all() };
        let report = ops(&trace, &OpsQuery { selection, ..OpsQuery::default() });
        let op = row(&report.ops, "op");
        assert_eq!((op.host_memory_bytes, op.device_memory_bytes), (1100, inside), "{device:?}");
        assert_eq!(report.memory_outside.map_or(0, |r| r.device_memory_bytes), outside, "{device:?}");
    }
}

#[test]
fn a_step_has_a_number_everywhere() {
    let mut b = Bench::new();
    b.slice(Kind::HostAnnotation, "ProfilerStep#3", 1, (0, 100), 1, 0);
    b.slice(Kind::HostAnnotation, "ProfilerStep#x", 1, (100, 200), 2, 0);
    b.op("ProfilerStep#", 1, (200, 300), 3);
    let trace = b.0.finish();
    let report = ops(&trace, &OpsQuery::default());
    let names: Vec<_> = report.annotations.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["ProfilerStep#x", "ProfilerStep*"]);
    assert_eq!((report.ops.len(), report.ops[0].name.as_str()), (1, "ProfilerStep#"));
    assert_eq!(crate::tables::run_info::analyze(&trace).steps, ["ProfilerStep#3"]);
    assert_eq!(crate::steps::Steps::find(&trace).steps.len(), 1);
}

#[test]
fn a_call_without_operator_is_charged_to_the_main_thread_or_its_own() {
    let trace = || {
        let mut b = Bench::new();
        b.op("main work", 1, (0, 100), 1);
        b.op("other work", 2, (0, 50), 2);
        b.slice(Kind::Runtime, "cudaHostAlloc", 2, (10, 40), 0, 3);
        b.0.finish()
    };
    let query = OpsQuery { stray_calls: StrayCalls::OwnThread, ..OpsQuery::default() };
    let own = ops(&trace(), &query);
    assert_eq!(row(&own.ops, "main work").host_self_ns, 100);
    assert_eq!(row(&own.ops, "other work").host_self_ns, 20);
    let pytorch = ops(&trace(), &OpsQuery::default());
    assert_eq!(row(&pytorch.ops, "main work").host_self_ns, 70);
    assert_eq!(row(&pytorch.ops, "other work").host_self_ns, 50);
}

#[test]
fn kernels_of_a_graph_find_their_operator_by_launch() {
    let trace = || {
        let mut b = Bench::new();
        b.op("replay", 1, (0, 100), 1);
        b.slice(Kind::Runtime, "cudaGraphLaunch", 1, (10, 20), 0, 5);
        b.slice(Kind::Kernel, "a", 7, (200, 230), 0, 5);
        b.slice(Kind::Kernel, "b", 8, (210, 220), 0, 5);
        b.slice(Kind::Kernel, "before recording", 7, (0, 4), 0, 99);
        b.0.finish()
    };
    let plain = ops(&trace(), &OpsQuery::default());
    assert_eq!((plain.total_device_self_ns, plain.device_time_unlinked_ns), (44, 44));
    assert_eq!((plain.device_time_by_launch_ns, plain.device_time_overlap_ns), (40, 10));
    let query = OpsQuery { attribution: Attribution::Launch, ..OpsQuery::default() };
    let found = ops(&trace(), &query);
    assert_eq!(row(&found.ops, "replay").device_self_ns, 40);
    assert_eq!((found.device_time_unlinked_ns, found.device_time_by_launch_ns), (4, 40));
}

#[test]
fn a_selection_closes_as_well() {
    let mut b = Bench::new();
    b.op("long", 1, (0, 100), 1);
    b.op("late", 1, (60, 70), 2);
    b.slice(Kind::Runtime, "cudaLaunchKernel", 1, (55, 58), 1, 5);
    b.slice(Kind::Kernel, "k", 7, (200, 230), 1, 5);
    b.slice(Kind::Kernel, "k", 7, (230, 231), 2, 0);
    let selection = Selection { ranges: Some(vec![(Ns(50), Ns(300))]), device: None };
    let report = ops(&b.0.finish(), &OpsQuery { selection, ..OpsQuery::default() });
    // The long operator began before the range, its kernel was launched inside: neither dropped nor given away.
    assert_eq!(report.ops.len(), 1);
    assert_eq!(report.total_device_self_ns, 31);
    assert_eq!((report.device_time_in_ops_ns, report.device_time_elsewhere_ns), (1, 30));
}

fn any_trace() -> impl Strategy<Value = Trace> {
    let kinds = [
        Kind::HostOp,
        Kind::HostAnnotation,
        Kind::PythonFunction,
        Kind::Runtime,
        Kind::Overhead,
        Kind::Kernel,
        Kind::Memcpy,
        Kind::DeviceAnnotation,
    ];
    let names = ["aten::mm", "aten::add", "ProfilerStep#1", "aten::is_leaf", "[memory]"];
    let time = prop_oneof![0..40i64, Just(i64::MAX - 5), Just(i64::MIN + 5)];
    let one = (0..kinds.len(), 0..names.len(), 0..3i64, time, 0..30i64, 0..6i64, 0..4i64);
    proptest::collection::vec(one, 0..40).prop_map(move |all| {
        let mut b = Bench::new();
        for (kind, name, thread, start, dur, external, correlation) in all {
            let span = (start, start.saturating_add(dur));
            b.slice(kinds[kind], names[name], thread, span, external, correlation);
            b.memory(start, dur, correlation);
        }
        b.0.finish()
    })
}

proptest! {
    #[test]
    fn any_trace_closes(trace in any_trace(), launch: bool, main: bool, by in 0..4usize) {
        let by = [OpGroup::Name, OpGroup::Shapes, OpGroup::ShapesWithLists, OpGroup::Stack(2), OpGroup::Overload][by];
        let attribution = if launch { Attribution::Launch } else { Attribution::PyTorch };
        let stray_calls = if main { StrayCalls::MainThread } else { StrayCalls::OwnThread };
        let report = ops(&trace, &OpsQuery { by, attribution, stray_calls, ..OpsQuery::default() });
        let slices = trace.slices();
        let of = |counts: fn(Kind) -> bool| slices.ids().filter(move |&id| counts(slices.kind(id)));
        let device: i64 = of(Kind::is_device_work).map(|id| slices.dur(id).0).sum();
        prop_assert_eq!(report.total_device_self_ns, device);
        prop_assert_eq!(report.device.iter().map(|r| r.device_self_ns).sum::<i64>(), device);
        prop_assert!(report.device_time_elsewhere_ns >= 0 && report.device_time_unlinked_ns >= 0);
        let hidden = ["aten::is_leaf", "[memory]"];
        let host = of(|k| k.is_host() && k != Kind::PythonFunction)
            .filter(|&id| !hidden.contains(&trace.name(id))).count() as u64;
        let rows = report.ops.iter().chain(&report.annotations).chain(&report.calls);
        prop_assert_eq!(rows.map(|r| r.calls).sum::<u64>() + report.folded_calls, host);
        crate::tables::kernels::kernels(&trace, &crate::tables::kernels::KernelsQuery { attribution, ..Default::default() });
        crate::devices::copies::copies(&trace, &Selection::all());
    }
}

//! Traces filled by hand: who takes which kernel, what it is compared with, and what is left over.

use proptest::prelude::*;
use stepscope_model::{ArgValue, Attr, Device, Domain, Kind, LaneKey, NewSlice, Ns, Tag, Trace, TraceBuilder};

use super::*;

struct Bench(TraceBuilder);

impl Bench {
    fn new(device: &str) -> Bench {
        let mut builder = TraceBuilder::new();
        builder.meta().devices.push(Device { index: 0, name: device.to_owned(), ..Device::default() });
        Bench(builder)
    }

    fn add(&mut self, kind: Kind, name: &str, span: (i64, i64), external: Option<i64>, args: &[(Attr, &str)]) {
        let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
        let process = Tag::Int(if domain == Domain::Host { 1 } else { 0 });
        let lane = self.0.lane(LaneKey { domain, process, thread: Tag::Int(1) });
        for &(attr, value) in args {
            let (key, value) = (self.0.key(&format!("{attr:?}"), attr), self.0.intern(value));
            self.0.push_arg(key, ArgValue::Json(value));
        }
        let args = self.0.commit_args();
        let name = self.0.intern(name);
        let (start, dur) = (Ns(span.0), Ns(span.1.saturating_sub(span.0)));
        self.0.slice(NewSlice { start, dur, name, kind, lane, args, external, ..NewSlice::default() });
    }

    fn op(&mut self, name: &str, span: (i64, i64), id: i64, dims: &str, types: &str) {
        self.add(Kind::HostOp, name, span, Some(id), &[(Attr::InputShapes, dims), (Attr::InputTypes, types)]);
    }

    fn kernel(&mut self, name: &str, span: (i64, i64), op: i64) {
        self.add(Kind::Kernel, name, span, Some(op), &[]);
    }

    fn finish(self) -> Trace {
        self.0.finish()
    }
}

const MM: &str = "[[4096, 4096], [4096, 4096]]";
const BF16: &str = r#"["c10::BFloat16", "c10::BFloat16"]"#;
const FP32: &str = r#"["float", "float"]"#;

#[test]
fn rates_and_shares_of_a_peak() {
    let mut b = Bench::new("NVIDIA H200");
    b.op("aten::mm", (0, 10), 1, MM, BF16);
    b.kernel("nvjet_sm90_tst_1", (100, 200_100), 1);
    let report = roofline(&b.finish(), &RooflineQuery::default());
    let [row] = &report.rows[..] else { panic!("{report:?}") };
    // 2 * 4096^3 in 200 us.
    assert_eq!((row.flops, row.bytes), (137_438_953_472, 3 * 2 * 4096 * 4096));
    assert!((row.tflops.unwrap() - 687.19476736).abs() < 1e-9);
    assert!((row.gbs.unwrap() - 503.31648).abs() < 1e-9);
    // 137,438,953,472 / 989.4e3 per ns = 138,911.4 ns; the bytes take 20,971.5 ns.
    assert_eq!((row.ideal_ns, row.bound), (Some(138_912), Some(Bound::Compute)));
    assert!((row.of_roofline.unwrap() - 0.694_557).abs() < 1e-6);
    assert!((row.of_bandwidth.unwrap() - 0.104_858).abs() < 1e-6);
    assert_eq!((row.share, row.note, report.modeled_share), (Some(1.0), None, Some(1.0)));
    let hardware = report.devices[0].hardware.unwrap();
    let cost = op_costs_first(MM, BF16).cost;
    assert_eq!(ideal_ns(&cost, hardware, Precision::Bf16), Some(Ns(138_912)));
    assert_eq!(ideal_ns(&cost, hardware, Precision::Fp4), None);
}

fn op_costs_first(dims: &str, types: &str) -> OpCost {
    let mut b = Bench::new("NVIDIA H200");
    b.op("aten::mm", (0, 10), 1, dims, types);
    b.kernel("k", (100, 200), 1);
    op_costs(&b.finish(), &Selection::all()).ops[0].clone()
}

#[test]
fn every_kernel_has_one_taker() {
    let mut b = Bench::new("NVIDIA H200");
    // A wrapper leaves its work to what it calls.
    b.op("aten::linear", (0, 50), 1, "[[4, 8], [16, 8]]", FP32);
    b.op("aten::mm", (10, 20), 2, "[[4, 8], [8, 16]]", FP32);
    b.kernel("k", (100, 110), 2);
    // And takes it itself where that has no cost.
    b.op("aten::linear", (60, 90), 3, "[[4, 8], [16, 8]]", FP32);
    b.op("aten::unheard_of", (70, 80), 4, "[[4, 8], [16, 8]]", FP32);
    b.kernel("k", (110, 120), 4);
    // The fill inside is part of the loss.
    let concrete = (Attr::ConcreteInputs, r#"["", "", "", "", "1", "-100", ""]"#);
    let dims = (Attr::InputShapes, "[[], [64, 1000], [64], [], [], [], []]");
    let types = (Attr::InputTypes, r#"["float", "float", "long int", "", "", "", "float"]"#);
    b.add(Kind::HostOp, "aten::nll_loss_backward", (200, 300), Some(5), &[dims, types, concrete]);
    b.op("aten::zero_", (210, 220), 6, "[[64, 1000]]", r#"["float"]"#);
    b.kernel("fill", (400, 430), 6);
    b.kernel("nll", (430, 435), 5);
    // Without a model, without shapes, without an operator, without need of one.
    b.op("aten::sort", (310, 320), 7, "[[64]]", r#"["float"]"#);
    b.kernel("sort", (500, 507), 7);
    b.add(Kind::HostOp, "aten::mm", (330, 340), Some(8), &[]);
    b.kernel("gemm", (510, 521), 8);
    b.kernel("lost", (530, 543), 99);
    b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", (550, 567), 7);
    let trace = b.finish();
    let costs = op_costs(&trace, &Selection::all());
    let took: Vec<_> = costs
        .ops
        .iter()
        .map(|op| (trace.name(op.slice), op.kernels, op.device_ns, costs.kernels_of(op).len()))
        .collect();
    assert_eq!(
        took,
        [("aten::mm", 1, 10, 1), ("aten::linear", 1, 10, 1), ("aten::nll_loss_backward", 2, 35, 2)]
    );
    let report = roofline_of(&trace, &RooflineQuery::default(), &costs);
    let left: Vec<_> =
        report.unmodeled.iter().map(|row| (row.name.as_str(), row.reason, row.device_ns)).collect();
    assert_eq!(
        left,
        [
            ("aten::sort", NoCost::Communication, 17),
            ("lost", NoCost::NoOperator, 13),
            ("aten::mm", NoCost::NotRecorded, 11),
            ("aten::sort", NoCost::NoModel, 7),
        ]
    );
    // The parts close to the whole.
    assert_eq!((report.device_ns, report.modeled_ns), (103, 55));
    assert_eq!(report.modeled_ns + left.iter().map(|row| row.2).sum::<i64>(), report.device_ns);
}

#[test]
fn float_on_tensor_cores_is_tf32() {
    let precision = |kernel: &str| {
        let mut b = Bench::new("NVIDIA H200");
        b.op("aten::mm", (0, 10), 1, MM, FP32);
        b.kernel(kernel, (100, 200), 1);
        op_costs(&b.finish(), &Selection::all()).ops[0].precision
    };
    assert_eq!(precision("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_execute"), Precision::Tf32);
    assert_eq!(
        precision("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>()"),
        Precision::Tf32
    );
    assert_eq!(precision("ampere_sgemm_128x64_nn"), Precision::Fp32);
    assert_eq!(precision("Cijk_Ailk_Bljk_SB_MT64x64x8_MI16x16x1_SE_K1"), Precision::Fp32);
}

#[test]
fn too_fast_is_said_and_unknown_is_not_guessed() {
    let add = |device: &str, ns: i64| {
        let mut b = Bench::new(device);
        b.op("aten::add", (0, 10), 1, "[[1000000], [1000000]]", FP32);
        b.kernel("k", (100, 100 + ns), 1);
        roofline(&b.finish(), &RooflineQuery::default()).rows.remove(0)
    };
    // 12 MB at 4.8 TB/s take 2.5 us.
    let fast = add("NVIDIA H200", 2_000);
    assert_eq!((fast.of_roofline, fast.note), (Some(1.25), Some(OverPeak::Cache)));
    assert_eq!(add("NVIDIA H200", 2_500).note, None);
    let unknown = add("Someone's accelerator", 2_000);
    assert_eq!(
        (unknown.gbs, unknown.ideal_ns, unknown.of_roofline, unknown.bound),
        (Some(6_000.0), None, None, None)
    );
    assert_eq!(add("NVIDIA H200", 0).gbs, None);
}

#[test]
fn copies_from_the_host_are_held_against_its_bus() {
    let mut b = Bench::new("NVIDIA H200");
    b.op("aten::copy_", (0, 10), 1, "[[16000000], [16000000]]", FP32);
    b.add(Kind::Memcpy, "Memcpy HtoD (Pinned -> Device)", (100, 2_000_100), Some(1), &[]);
    let row = roofline(&b.finish(), &RooflineQuery::default()).rows.remove(0);
    // 64 MB at 64 GB/s take a millisecond.
    assert_eq!((row.bound, row.ideal_ns, row.of_roofline), (Some(Bound::HostBus), Some(1_000_000), Some(0.5)));
}

#[test]
fn utilization_of_steps() {
    let mut b = Bench::new("NVIDIA H200");
    for (step, start) in [(1, 0), (2, 1_000_000)] {
        b.add(Kind::HostAnnotation, &format!("ProfilerStep#{step}"), (start, start + 1_000_000), None, &[]);
        b.op("aten::mm", (start + 10, start + 20), step, MM, BF16);
        b.kernel("nvjet_sm90_tst_1", (start + 100, start + 200_100), step);
        // Arithmetic that is not a product does not count.
        b.op("aten::add", (start + 30, start + 40), 10 + step, "[[1000000], [1000000]]", FP32);
        b.kernel("k", (start + 300_000, start + 300_100), 10 + step);
    }
    let trace = b.finish();
    let report = roofline(&trace, &RooflineQuery { by: RooflineBy::Name, ..RooflineQuery::default() });
    assert_eq!(report.steps.len(), 2);
    let step = &report.steps[0];
    assert_eq!(
        (step.wall_ns, step.model_flops, step.precision),
        (1_000_000, 137_438_953_472, Some(Precision::Bf16))
    );
    // 138.9114 us of 1 ms.
    assert!((step.mfu.unwrap() - 0.138_911_4).abs() < 1e-6);
    assert!((report.mean.mfu.unwrap() - 0.138_911_4).abs() < 1e-6);
    assert_eq!(report.rows.len(), 2);
    // One step alone.
    let steps = crate::steps::Steps::find(&trace);
    let one = roofline(&trace, &RooflineQuery { selection: steps.selection(&[2]), ..RooflineQuery::default() });
    assert_eq!(one.steps.iter().map(|s| s.step).collect::<Vec<_>>(), [2]);
    assert_eq!(one.rows.iter().map(|row| row.calls).sum::<u64>(), 2);
}

/// What a random slice is called, and its shapes.
const CALLS: &[(&str, &str)] = &[
    ("aten::linear", "[[4, 8], [16, 8]]"),
    ("aten::mm", "[[4, 8], [8, 16]]"),
    ("aten::add", "[[4, 8], [8]]"),
    ("aten::mm", "[[9223372036854775807, 2], [2, 9223372036854775807]]"),
    ("aten::sort", "[[4]]"),
    ("ProfilerStep#1", ""),
];

fn build(rows: &[(u8, usize, i64, i64, i64)]) -> Trace {
    let mut b = Bench::new("NVIDIA H200");
    for &(kind, call, start, dur, id) in rows {
        let (name, dims) = CALLS[call];
        let args = [(Attr::InputShapes, dims), (Attr::InputTypes, FP32)];
        let kind =
            [Kind::HostOp, Kind::Runtime, Kind::Kernel, Kind::Memcpy, Kind::HostAnnotation][usize::from(kind)];
        b.add(kind, name, (start, start.saturating_add(dur)), Some(id), &args);
    }
    b.finish()
}

fn rows(times: impl Strategy<Value = (i64, i64)>) -> impl Strategy<Value = Vec<(u8, usize, i64, i64, i64)>> {
    let row = (0..5u8, 0..CALLS.len(), times, 0..6i64);
    prop::collection::vec(row.prop_map(|(kind, call, (start, dur), id)| (kind, call, start, dur, id)), 0..40)
}

proptest! {
    #[test]
    fn any_trace_closes(rows in rows((0..200i64, 0..90i64))) {
        let report = roofline(&build(&rows), &RooflineQuery::default());
        let rest: i64 = report.unmodeled.iter().map(|row| row.device_ns).sum();
        prop_assert_eq!(report.modeled_ns + rest, report.device_ns);
        let kernels = rows.iter().filter(|row| row.0 == 2 || row.0 == 3).count() as u64;
        let counted = report.rows.iter().map(|row| row.kernels).sum::<u64>();
        prop_assert_eq!(counted + report.unmodeled.iter().map(|row| row.kernels).sum::<u64>(), kernels);
    }

    #[test]
    fn times_at_the_edge_do_not_panic(rows in rows((any::<i64>(), 0..i64::MAX))) {
        roofline(&build(&rows), &RooflineQuery { by: RooflineBy::Name, ..RooflineQuery::default() });
    }
}

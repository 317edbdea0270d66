//! Instructions of compiled programs: what each took, in graphs and on worker threads, and what it costs to ask.

use std::path::PathBuf;

use stepscope_analyse::programs::{BufferUse, program_memory};
use stepscope_analyse::roofline::instructions::{
    InstructionRow, Instructions, InstructionsBy, InstructionsQuery, instructions,
};
use stepscope_formats::{OpenOptions, open_trace, read_trace};
use stepscope_model::Trace;
use stepscope_testkit::hlo::{chain, training};
use stepscope_testkit::xplane::{Event, Plane, space};

use crate::growth::{assert_linear, timed};

fn read(file: &[u8]) -> Trace {
    read_trace(file, "t.xplane.pb", &OpenOptions::default()).unwrap()
}

fn of(trace: &Trace, by: InstructionsBy) -> Instructions {
    instructions(trace, &InstructionsQuery { by, ..InstructionsQuery::default() })
}

fn row<'r>(rows: &'r [InstructionRow], name: &str) -> &'r InstructionRow {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn kernels_of_a_captured_graph_are_their_instructions() {
    let trace = read(&training());
    let found = of(&trace, InstructionsBy::Instruction);
    let ns = |name: &str| (row(&found.rows, name).calls, row(&found.rows, name).self_ns);
    assert_eq!(ns("custom-call.1"), (3, 120_000));
    assert_eq!(ns("custom-call.2"), (3, 180_000));
    // One kernel runs both.
    assert_eq!(ns("loop_multiply_fusion"), (3, 30_000));
    assert_eq!(ns("loop_multiply_fusion.1"), (3, 30_000));
    assert_eq!(found.rows.iter().map(|row| row.self_ns).sum::<i64>(), found.totals.device_named_ns);
    assert_eq!((found.totals.device_named_ns, found.totals.device_unnamed_ns), (360_000, 15_000));
    assert_eq!(found.totals.device_by_order_ns, 360_000);
    let product = row(&found.rows, "custom-call.1");
    // 2 * 512 * 1024 * 1024 per call; operands of 2 and 4 MiB, a result of 2 MiB.
    assert_eq!((product.flops, product.bytes), (Some(3 << 30), Some(3 * (8 << 20))));
    assert_eq!(product.category, Some("matmul"));
    assert_eq!((product.source.as_deref(), product.line), (Some("train.py:12"), Some(12)));
    let rate = product.tflops.unwrap();
    assert!((rate - (3u64 << 30) as f64 / 120_000.0 / 1e3).abs() < 1e-9, "{rate}");
    assert!(product.of_peak_flops.is_some_and(|share| share > 0.0 && share < 1.0));
    let fused = row(&found.rows, "loop_multiply_fusion").fused.as_deref();
    assert_eq!(fused, Some("tanh, multiply"));
    assert_eq!(found.unnamed[0].1, 15_000);
}

#[test]
fn groups_add_up_to_the_same() {
    let trace = read(&training());
    for by in [InstructionsBy::Category, InstructionsBy::Line, InstructionsBy::Path, InstructionsBy::Program] {
        let found = of(&trace, by);
        assert_eq!(found.rows.iter().map(|row| row.self_ns).sum::<i64>(), 360_000, "{by:?}");
        assert_eq!(found.rows.iter().map(|row| row.instructions).sum::<u64>(), 4, "{by:?}");
    }
    let lines = of(&trace, InstructionsBy::Line).rows;
    assert_eq!((lines[0].line, lines[0].self_ns), (Some(12), 300_000));
}

#[test]
fn what_runs_inside_a_loop_counts_once() {
    let op = |name: &str, time| Event::new(name, time).text("hlo_op", name).int("program_id", 1);
    let worker = [
        op("while.1", (0, 100)),
        op("call.2", (10, 60)),
        op("dot.3", (20, 50)),
        op("add.4", (70, 90)),
        op("dot.3", (110, 130)),
    ];
    let trace = read(&space([Plane::new("/host:CPU").line(2, "tf_XLAEigen/2", 0, &worker)]));
    let found = of(&trace, InstructionsBy::Instruction);
    let times = |name: &str| (row(&found.rows, name).total_ns, row(&found.rows, name).self_ns);
    assert_eq!(times("while.1"), (100, 30));
    assert_eq!(times("call.2"), (50, 20));
    assert_eq!(times("dot.3"), (50, 50));
    assert_eq!(times("add.4"), (20, 20));
    assert_eq!(found.totals.host_named_ns, 120);
    assert!(found.rows.iter().all(|row| !row.on_device && row.category.is_none()));
}

#[test]
fn the_plan_of_a_program_is_followed_to_its_peak() {
    let trace = read(&training());
    let program = trace.programs().get(7).unwrap();
    let memory = program_memory(program).unwrap();
    const MIB: u64 = 1 << 20;
    assert_eq!((memory.arguments, memory.results, memory.temporary), (10 * MIB, 2 * MIB, 6 * MIB));
    // Two of the three temporaries live together.
    assert_eq!(memory.peak, Some(16 * MIB));
    assert_eq!(memory.peak_node.and_then(|at| program.graph.node(at)).unwrap().name, "loop_multiply_fusion");
    let live: Vec<(&str, u64, BufferUse)> = memory
        .live
        .iter()
        .map(|b| (program.graph.node(b.node).unwrap().name, b.bytes / MIB, b.usage))
        .collect();
    assert_eq!(live[0], ("weights_0_", 4, BufferUse::Argument));
    assert!(live.contains(&("custom-call.1", 2, BufferUse::Temporary)));
    assert!(!live.iter().any(|(name, ..)| *name == "custom-call.2"));
    assert_eq!(live.iter().map(|b| b.1).sum::<u64>(), 16);
}

#[test]
fn programs_of_many_instructions_take_no_longer_than_they_are_long() {
    assert_linear(|times| {
        let length = 25_000 * times;
        let file = chain(length as u64);
        let trace = timed("read", || read(&file));
        timed("instructions", || of(&trace, InstructionsBy::Line));
        let graph = &trace.programs().get(1).unwrap().graph;
        assert_eq!(graph.len() as i64, length);
        assert_eq!(graph.users(0).len() as i64, length - 1);
        timed("find", || graph.find(&format!("add.{length}")).unwrap());
    });
}

/// The sums of XProf 2.24.2's `hlo_stats` for these files, in picoseconds divided by 1000.
#[test]
fn recorded_programs_have_the_sums_that_xprof_has() {
    let Some(folder) = std::env::var_os("STEPSCOPE_XPLANE_DATA").map(PathBuf::from) else {
        println!("skipped: STEPSCOPE_XPLANE_DATA is not set");
        return;
    };
    let cases: [(&str, &[(&str, i64)]); 2] = [
        (
            "mi300_conv_jax08_8gpu.xplane.pb",
            &[
                ("input_transpose_fusion", 14_344_140),
                ("cudnn-conv.1", 12_531_616),
                ("input_transpose_fusion.1", 481_400),
                ("loop_transpose_fusion", 193_520),
            ],
        ),
        (
            "gfx950_te_fused_attn.xplane.pb",
            &[
                ("te_fused_attn_forward_ffi.15", 1_026_290),
                ("gemm_fusion_dot", 857_328),
                ("gemm_fusion_dot.3", 855_927),
                ("gemm_fusion_dot.6", 835_887),
                ("gemm_fusion_dot.7", 593_445),
            ],
        ),
    ];
    for (file, wanted) in cases {
        let path = folder.join("jax-rocm-gpu").join(file);
        let trace = open_trace(&path, &OpenOptions::default()).unwrap();
        let found = of(&trace, InstructionsBy::Instruction);
        for &(name, ns) in wanted {
            let own = row(&found.rows, name).self_ns;
            assert!((own - ns).abs() <= 50, "{name}: {own} and {ns}");
        }
    }
}

/// The peaks of XProf 2.24.2's `memory_viewer`.
#[test]
fn recorded_plans_have_the_peaks_that_xprof_has() {
    let Some(folder) = std::env::var_os("STEPSCOPE_XPLANE_DATA").map(PathBuf::from) else {
        println!("skipped: STEPSCOPE_XPLANE_DATA is not set");
        return;
    };
    let path = folder.join("jax-cpu/plugins/profile/2026_11_15_00_46_32/vm.xplane.pb");
    let trace = open_trace(&path, &OpenOptions::default()).unwrap();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for (program, peak, total) in [
        (40, 6.955_448_150_634_766, 6.955_505_371_093_75),
        (10, 0.250_114_440_917_968_75, 0.250_785_827_636_718_75),
    ] {
        let memory = program_memory(trace.programs().get(program).unwrap()).unwrap();
        assert_eq!((mib(memory.peak.unwrap()), mib(memory.total())), (peak, total), "program {program}");
    }
}

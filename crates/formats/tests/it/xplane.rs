//! XPlane profiles: what threads, streams and names become, and what hostile files cost.

use std::path::PathBuf;

use stepscope_formats::{OpenOptions, ReadError, choose, discover, open, rank_of, read, read_trace};
use stepscope_ground::protobuf::Put;
use stepscope_model::{Attr, Domain, Kind, SliceId, Trace};
use stepscope_testkit::xplane::{Event, Plane, Stat, space};

pub(crate) fn opened(file: &[u8]) -> Trace {
    read_trace(file, "t.xplane.pb", &OpenOptions::default()).unwrap()
}

pub(crate) fn named(trace: &Trace, name: &str) -> SliceId {
    let mut found = trace.slices().ids().filter(|&id| trace.name(id) == name);
    let first = found.next().unwrap_or_else(|| panic!("no {name}"));
    assert!(found.next().is_none(), "several {name}");
    first
}

pub(crate) fn kinds(trace: &Trace) -> Vec<(String, Kind)> {
    let of = |id| (trace.name(id).to_owned(), trace.slices().kind(id));
    let mut all: Vec<_> = trace.slices().ids().map(of).collect();
    all.sort();
    all
}

/// A GPU that runs one kernel of a step and a copy to it.
pub(crate) fn gpu() -> Vec<u8> {
    let kernel = Event::new("gemm_fusion_dot_9", (50_000, 60_000))
        .int("correlation_id", 7)
        .text("kernel_details", "regs:32 static_shared:0 dynamic_shared:64 grid:8,2,1 block:128,1,1 occ_pct:50")
        .text("name", "jit(f)/dot_general")
        .text("hlo_op", "gemm_fusion_dot.9")
        .int("program_id", 3);
    let copy = Event::new("MemcpyH2D", (20_000, 25_000))
        .int("correlation_id", 6)
        .text("memcpy_details", "kind_src:pinned kind_dst:device size:4096 dest:0 async:1");
    let device = Plane::new("/device:GPU:0")
        .line(14, "Stream #14(Compute)", 1_000, &[kernel])
        .line(15, "Stream #15(MemcpyH2D)", 1_000, &[copy])
        .stat("device_vendor", Stat::Text("Nvidia".to_owned()))
        .stat("gpu_device_name", Stat::Text("NVIDIA H200".to_owned()))
        .stat("core_count", Stat::Unsigned(132))
        .stat("memory_size", Stat::Unsigned(150_109_880_320))
        .stat("compute_cap_major", Stat::Unsigned(9))
        .stat("compute_cap_minor", Stat::Unsigned(0));
    let events = [
        Event::new("train", (1_000, 90_000)).int("_r", 1).int("step_num", 4),
        Event::new("$train.py:12 step", (2_000, 80_000)),
        Event::new("load_batch", (3_000, 9_000)),
        Event::new("PjitFunction(f)", (10_000, 45_000)),
        Event::new("jit_f:XLA GPU module", (12_000, 44_000)),
        Event::new("gemm_fusion_dot.9", (30_000, 43_000)),
        Event::new("gemm_fusion_dot_9", (31_000, 40_000)).int("correlation_id", 7).int("device_id", 0),
        Event::new("MemoryAllocation", (41_000, 41_000))
            .text("allocator_name", "GPU_0_bfc")
            .int("allocation_bytes", 256)
            .int("bytes_allocated", 1_024)
            .with("fragmentation", Stat::Float(0.25))
            .int("addr", 77),
        Event::new("end: gemm_fusion_dot.9", (43_000, 43_000)).int("_ct", 0).int("_c", 5),
    ];
    let worker = [Event::new("MemcpyH2D", (15_000, 19_000))
        .int("correlation_id", 6)
        .int("_pt", 5)
        .with("_p", Stat::Unsigned(u64::MAX))
        .text("memcpy_details", "kind_src:unknown kind_dst:unknown size:4096 dest:0 async:1")];
    let host = Plane::new("/host:CPU")
        .line(-5, "python3", 500, &events)
        .line(9, "pjrt_async_work_runner/9", 500, &worker)
        .stat("process_id", Stat::Int(42));
    let metadata = Plane::new("/host:metadata")
        .described("jit_f(3)", &[("Hlo Proto", Stat::Bytes(program())), ("program_id", Stat::Int(3))])
        .stat("jax_version", Stat::Text("0.11.2".to_owned()));
    let task =
        Plane::new("Task Environment").stat("profile_start_time", Stat::Unsigned(1_794_702_725_230_482_750));
    space([metadata, device, host, task])
}

/// f32[4,8] times f32[8,16], fused into one instruction.
fn program() -> Vec<u8> {
    let shape = |dims: &[u64]| {
        let mut out = Vec::new();
        out.nonzero(2, 11);
        let mut packed = Vec::new();
        dims.iter().for_each(|&dim| packed.varint(dim));
        out.bytes(3, &packed);
        out
    };
    let instruction = |name: &str, opcode: &str, id: u64, dims: &[u64], more: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        out.bytes(1, name.as_bytes());
        out.bytes(2, opcode.as_bytes());
        out.bytes(3, shape(dims));
        more(&mut out);
        out.nonzero(35, id);
        out
    };
    let computation = |name: &str, id: u64, root: u64, list: &[Vec<u8>]| {
        let mut out = Vec::new();
        out.bytes(1, name.as_bytes());
        list.iter().for_each(|instruction| out.bytes(2, instruction));
        out.nonzero(5, id);
        out.nonzero(6, root);
        out
    };
    let parameters = |first: u64| {
        [
            instruction("a", "parameter", first, &[4, 8], &|_| {}),
            instruction("b", "parameter", first + 1, &[8, 16], &|out| out.nonzero(9, 1)),
        ]
    };
    let [a, b] = parameters(11);
    let dot = instruction("dot", "dot", 13, &[4, 16], &|out| {
        out.bytes(30, b"\x0a\x01\x01\x12\x01\x00");
        out.bytes(36, [11, 12]);
    });
    let fused = computation("fused", 1, 13, &[a, b, dot]);
    let [a, b] = parameters(21);
    let fusion = instruction("gemm_fusion_dot.9", "fusion", 23, &[4, 16], &|out| {
        let mut metadata = Vec::new();
        metadata.bytes(2, b"jit(f)/dot_general");
        metadata.nonzero(15, 1);
        out.bytes(7, &metadata);
        out.bytes(36, [21, 22]);
        out.bytes(38, [1]);
    });
    let entry = computation("main", 2, 23, &[a, b, fusion]);
    let mut frames = Vec::new();
    frames.bytes(1, b"/home/me/train.py");
    frames.bytes(3, b"\x08\x01\x18\x0c");
    frames.bytes(4, b"\x08\x01");
    let mut module = Vec::new();
    module.bytes(1, b"jit_f");
    module.bytes(3, &fused);
    module.bytes(3, &entry);
    module.bytes(17, &frames);
    let mut proto = Vec::new();
    proto.bytes(1, &module);
    proto
}

#[test]
fn threads_and_streams_become_what_they_are() {
    let trace = opened(&gpu());
    let expected = [
        ("LaunchKernel", Kind::Runtime),
        ("Memcpy HtoD (Pinned -> Device)", Kind::Memcpy),
        ("MemcpyAsync", Kind::Runtime),
        ("PjitFunction(f)", Kind::FrameworkCall),
        ("gemm_fusion_dot.9", Kind::HostOp),
        ("gemm_fusion_dot_9", Kind::Kernel),
        ("jit_f:XLA GPU module", Kind::FrameworkCall),
        ("load_batch", Kind::HostAnnotation),
        ("train (step 4)", Kind::HostAnnotation),
        ("train.py(12): step", Kind::PythonFunction),
    ];
    assert_eq!(kinds(&trace), expected.map(|(name, kind)| (name.to_owned(), kind)));
    let kernel = named(&trace, "gemm_fusion_dot_9");
    let slices = trace.slices();
    assert_eq!((slices.start(kernel).0 + trace.origin().0, slices.dur(kernel).0), (50_000, 10_000));
    let launch = trace.links().launch(kernel).unwrap();
    assert_eq!(trace.name(launch), "LaunchKernel");
    assert_eq!(trace.name(trace.links().op(kernel).unwrap()), "gemm_fusion_dot.9");
    let args = trace.args(kernel);
    assert_eq!(args.int(Attr::RegistersPerThread), Some(32));
    assert_eq!(args.int(Attr::SharedMemory), Some(64));
    assert_eq!(args.value(Attr::Grid).and_then(|grid| grid.as_text()), Some("[8, 2, 1]"));
    assert_eq!(args.value(Attr::OpPath).and_then(|path| path.as_text()), Some("jit(f)/dot_general"));
    let copy = named(&trace, "Memcpy HtoD (Pinned -> Device)");
    assert_eq!(trace.args(copy).int(Attr::Bytes), Some(4_096));
    assert_eq!(trace.name(trace.links().launch(copy).unwrap()), "MemcpyAsync");
    let lane = trace.lanes().get(slices.lane(copy));
    assert_eq!(
        (lane.key.domain, lane.key.process.as_int(), lane.key.thread.as_int()),
        (Domain::Device, Some(0), Some(15))
    );
}

#[test]
fn what_planes_say_about_the_run_is_kept() {
    let trace = opened(&gpu());
    let meta = trace.meta();
    let framework = meta.framework.as_ref().unwrap();
    assert_eq!((framework.name.as_str(), framework.version.as_deref()), ("JAX", Some("0.11.2")));
    assert_eq!(meta.base_ns, Some(1_794_702_725_230_482_750));
    assert_eq!(meta.source.format, "XPlane");
    assert_eq!(meta.source.worker.as_deref(), Some("host"));
    let device = meta.device(0).unwrap();
    assert_eq!((device.name.as_str(), device.sms, device.compute_major), ("NVIDIA H200", Some(132), Some(9)));
    // A mark, its arrow's end, one arrow's start: all counted, the mark set aside.
    assert_eq!((meta.events_in_file, meta.events_set_aside), (14, 1));
    assert_eq!(trace.events() as u64 + meta.events_set_aside, meta.events_in_file);
    assert_eq!(
        trace.notes().iter().map(|note| (note.kind.code(), note.count)).collect::<Vec<_>>(),
        [("marks", 1)]
    );
    let allocation = trace.allocation(trace.allocations().ids().next().unwrap());
    assert_eq!(
        (allocation.bytes, allocation.allocated, allocation.address),
        (Some(256), Some(1_024), Some(77))
    );
    assert_eq!((allocation.device_kind, allocation.device), (Some(1), Some(0)));
}

#[test]
fn kernels_know_their_instruction_its_shape_and_its_line() {
    let trace = opened(&gpu());
    let kernel = named(&trace, "gemm_fusion_dot_9");
    let program = trace.programs().get(trace.args(kernel).int(Attr::Program).unwrap()).unwrap();
    let instruction = program.instruction(program.position(trace.name(kernel)).unwrap()).unwrap();
    assert_eq!((instruction.name, instruction.opcode), ("gemm_fusion_dot.9", "fusion"));
    let source = instruction.source.unwrap();
    assert_eq!((source.file, source.line), ("/home/me/train.py", 12));
    assert_eq!(instruction.shape.text(), "f32[4,16]");
    let dot = program.graph.node(program.graph.find("dot").unwrap()).unwrap();
    assert_eq!((dot.opcode, dot.details.contracts.as_deref()), ("dot", Some(&[1][..])));
}

#[test]
fn operators_of_cpus_and_of_tensorflow_are_operators() {
    let xla = [
        Event::new("dot.4", (10, 90)).text("hlo_op", "dot.4").text("hlo_module", "jit_f").int("program_id", 1),
        Event::new("ThunkExecutor::Execute", (100, 120)),
    ];
    let tensorflow = [
        Event::new("ExecutorState::Process", (0, 100)),
        Event::new("mlp/matmul:_MklMatMul", (10, 90)),
        Event::new("ThreadpoolListener::Record", (95, 95)).int("_pt", 15).int("_p", 7),
    ];
    let python = [
        Event::new("Profiled batch", (0, 100)).int("step_num", 2),
        Event::new("step", (5, 60)).text("tf_function_call", "notTraced-nonXla").int("tracing_count", 1),
        Event::new("EagerExecute", (10, 50)).text("eager_op", "__inference_step_74"),
    ];
    let host = Plane::new("/host:CPU")
        .line(1, "tf_XLAEigen/1", 0, &xla)
        .line(2, "tf_Compute/2", 0, &tensorflow)
        .line(3, "python", 0, &python);
    let trace = opened(&space([host]));
    let expected = [
        ("EagerExecute", Kind::FrameworkCall),
        ("ExecutorState::Process", Kind::FrameworkCall),
        ("Profiled batch (step 2)", Kind::HostAnnotation),
        ("ThunkExecutor::Execute", Kind::FrameworkCall),
        ("dot.4", Kind::HostOp),
        ("mlp/matmul:_MklMatMul", Kind::HostOp),
        ("step", Kind::FrameworkCall),
    ];
    assert_eq!(kinds(&trace), expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(trace.meta().framework.as_ref().unwrap().name, "TensorFlow");
}

#[test]
fn calls_on_a_line_of_their_own_go_to_the_thread_that_made_them() {
    let module = |start| Event::new("jit_f:XLA GPU module", (start, start + 50_000));
    let calls: Vec<Event> = [10_000, 110_000, 210_000]
        .iter()
        .map(|&at| {
            Event::new("hipModuleLaunchKernel", (at + 5_000, at + 9_000)).int("correlation_id", at as i64)
        })
        .collect();
    let host = Plane::new("/host:CPU")
        .line(7, "Host Threads/7", 0, &calls)
        .line(1, "python3", 0, &[10_000, 110_000, 210_000].map(module))
        .line(2, "other", 0, &[module(5_000)]);
    let trace = opened(&space([host]));
    let lane = |name: &str| {
        let id = trace.slices().ids().find(|&id| trace.name(id) == name).unwrap();
        trace.slices().lane(id)
    };
    assert_eq!(trace.text(trace.lanes().get(lane("hipModuleLaunchKernel")).thread_name), "python3");
    assert!(trace.notes().iter().any(|note| note.kind.code() == "moved-calls" && note.count == 3));
}

#[test]
fn files_that_end_early_or_hold_nothing_say_so() {
    let whole = gpu();
    let options = OpenOptions::default();
    let mut read_in_part = 0;
    for length in (0..whole.len()).step_by(7) {
        match read(&whole[..length], "cut.xplane.pb", &options) {
            Ok(document) => {
                read_in_part += 1;
                let lost =
                    document.notes().iter().any(|note| note.kind.severity() == stepscope_model::Severity::Lost);
                assert!(lost, "{length} of {} bytes", whole.len());
            }
            Err(error) => assert!(!error.hint().is_empty() && error.to_string().contains("cut.xplane.pb")),
        }
    }
    assert!(read_in_part > 10);
    let error = read(&b""[..], "t.xplane.pb", &options).unwrap_err();
    assert!(matches!(error, ReadError::Empty { .. }) && error.hint().contains("2 GB"), "{}", error.hint());
    let mut nothing = space([Plane::new("/host:CPU")]);
    nothing.bytes(2, b"libcupti not found");
    let error = read(&nothing[..], "t.xplane.pb", &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this XPlane profile holds no events (the profiler says: libcupti not found): t.xplane.pb"
    );
    let riegeli = b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00";
    let error = read(&riegeli[..], "vm.xplane.riegeli", &options).unwrap_err();
    assert!(error.to_string().contains("Riegeli"), "{error}");
}

#[test]
fn lengths_that_a_file_only_claims_cost_nothing() {
    // A plane, a line and an event that each claim 2^62 bytes.
    for head in [
        &b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x09/host:CPU"[..],
        b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x09/host:CPU\x1a\x80\x80\x80\x80\x80\x80\x80\x80\x20\x08\x01",
        b"\x0a\x20\x12\x09/host:CPU\x1a\x0c\x22\x80\x80\x80\x80\x80\x80\x80\x80\x40\x08\x01",
    ] {
        let error = read(head, "t.xplane.pb", &OpenOptions::default()).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { .. }), "{error}");
    }
    let small = OpenOptions { max_held_bytes: 100, ..OpenOptions::default() };
    let error = read(&gpu()[..], "t.xplane.pb", &small).unwrap_err();
    assert!(matches!(error, ReadError::Limit { .. }), "{error}");
    let few = OpenOptions { max_events: 3, ..OpenOptions::default() };
    let trace = read_trace(&gpu()[..], "t.xplane.pb", &few).unwrap();
    assert!(trace.slices().len() <= 3, "{}", trace.slices().len());
    assert!(trace.notes().iter().any(|note| note.kind.code() == "limit-reached"));
}

/// A logdir with two runs, the newer of two hosts.
fn logdir(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("stepscope-xplane-{name}-{}", std::process::id()));
    let put = |path: &str, bytes: &[u8]| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put("plugins/profile/2026_01_01_00_00_00/a.xplane.pb", &gpu());
    put("plugins/profile/2026_01_02_00_00_00/b.xplane.pb", &gpu());
    put("plugins/profile/2026_01_02_00_00_00/a.xplane.pb", &gpu());
    put("plugins/profile/2026_01_02_00_00_00/a.trace.json.gz", b"{}");
    put("plugins/profile/2026_01_02_00_00_00/ALL_HOSTS.op_stats_v2.pb", b"\x0a\x04\x08\x01\x10\x02");
    root
}

#[test]
fn of_a_logdir_the_newest_run_is_read_and_its_hosts_are_ranks() {
    let root = logdir("runs");
    let found = discover(&root).unwrap();
    let options = OpenOptions::default();
    let look = |rank| {
        let open = &mut |file: &stepscope_formats::TraceFile| open(&file.path, &options);
        choose(&root, rank, stepscope_formats::Look::AtAll, open).unwrap()
    };
    let first = look(None);
    let second = look(Some(1));
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!((first.found, first.older_runs.len(), rank_of(&first.document)), (2, 1, Some(0)));
    assert!(first.file.path.ends_with("2026_01_02_00_00_00/a.xplane.pb"));
    assert!(second.file.path.ends_with("2026_01_02_00_00_00/b.xplane.pb"));
    assert_eq!(first.other_ranks, [1]);
}

#[test]
fn as_a_chrome_trace_it_is_json_and_keeps_the_names_of_threads() {
    let trace = opened(&gpu());
    let mut copy = Vec::new();
    stepscope_formats::write_chrome(&trace, &mut copy).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&copy).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let named = |name: &str| {
        events.iter().any(|e| e["ph"] == "M" && e["name"] == "thread_name" && e["args"]["name"] == name)
    };
    for (_, lane) in trace.lanes().iter() {
        assert!(named(trace.text(lane.thread_name)), "{}", String::from_utf8_lossy(&copy));
    }
    let kernel = events.iter().find(|e| e["name"] == "gemm_fusion_dot_9" && e["cat"] == "kernel").unwrap();
    assert_eq!((&kernel["ts"], &kernel["dur"]), (&serde_json::json!(50.0), &serde_json::json!(10.0)));
    let again = read_trace(&copy[..], "t.json", &OpenOptions::default()).unwrap();
    assert_eq!(again.slices().len(), trace.slices().len());
}

#[test]
fn compressed_profiles_are_read_too() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&gpu()).unwrap();
    let trace = opened(&packed.finish().unwrap());
    assert_eq!((trace.slices().len(), trace.meta().source.format.as_str()), (10, "XPlane, gzip"));
}

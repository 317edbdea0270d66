//! XProf's tables on small profiles with answers worked by hand, and what hostile ones cost.

use stepscope_analyse::peers::xprof::groups::groups;
use stepscope_analyse::peers::xprof::hlo::hlo;
use stepscope_analyse::peers::xprof::kernels::kernels;
use stepscope_analyse::peers::xprof::memory::memory;
use stepscope_analyse::peers::xprof::not_seen::not_seen;
use stepscope_analyse::peers::xprof::ops::{XprofSide, ops};
use stepscope_analyse::peers::xprof::steps::{InputBound, steps};
use stepscope_formats::{OpenOptions, read_trace};
use stepscope_model::Trace;
use stepscope_testkit::damage;
use stepscope_testkit::xplane::{Event, Plane, Stat, space};

use crate::growth::{assert_linear, timed};

fn opened(planes: Vec<Plane>) -> Trace {
    read_trace(&space(planes)[..], "t.xplane.pb", &OpenOptions::default()).unwrap()
}

fn train(number: u64, times: (u64, u64)) -> Event {
    Event::new("train", times).int("_r", 1).int("step_num", number as i64)
}

/// Steps of 100 us on the host: 30 us of waiting for input, 40 us of an operator with another one of 10 us in it.
fn on_the_host(count: u64) -> Trace {
    let mut events = Vec::new();
    for number in 0..count {
        let at = number * 200_000;
        events.push(train(number, (at, at + 100_000)));
        events.push(Event::new("IteratorGetNext:IteratorGetNext", (at, at + 30_000)));
        events.push(Event::new("mlp/matmul:MatMul", (at + 40_000, at + 80_000)));
        events.push(Event::new("mlp/relu:Relu", (at + 50_000, at + 60_000)));
    }
    opened(vec![Plane::new("/host:CPU").line(1, "python", 0, &events)])
}

#[test]
fn steps_on_the_host_are_divided_by_importance() {
    let found = steps(&on_the_host(5));
    assert_eq!(found.rows.len(), 5);
    let row = &found.rows[3];
    assert_eq!((row.step.as_str(), row.time_ns), ("train 3", 100_000));
    assert_eq!((row.input_ns, row.host_compute_ns, row.all_others_ns), (30_000, 40_000, 30_000));
    assert_eq!(found.summary.input_bound, InputBound::Highly);
    assert!((found.summary.input_share - 0.3).abs() < 1e-12 && found.summary.sd_ns == 0.0);
    // Of six, the first and the last are left out.
    let found = steps(&on_the_host(6));
    let names: Vec<&str> = found.rows.iter().map(|row| row.step.as_str()).collect();
    assert_eq!(names, ["train 1", "train 2", "train 3", "train 4"]);
    assert_eq!(found.summary.left_out, 2);
}

#[test]
fn operators_have_time_of_their_own_and_threads_are_idle_between_them() {
    let rows = ops(&on_the_host(2));
    let of = |name: &str| rows.iter().find(|row| row.operation == name).unwrap();
    assert!(rows.iter().all(|row| row.side == XprofSide::Host));
    let matmul = of("mlp/matmul");
    assert_eq!((matmul.kind.as_str(), matmul.occurrences), ("MatMul", 2));
    assert_eq!((matmul.total_ns, matmul.self_ns), (80_000, 60_000));
    // From 0 to 280 us: 2 x 30 of input, 2 x 40 of operators.
    assert_eq!(of("IDLE").self_ns, 280_000 - 140_000);
    assert!((matmul.share - 60.0 / 280.0).abs() < 1e-12);
    assert!((matmul.busy_share.unwrap() - 60.0 / 140.0).abs() < 1e-12);
    assert_eq!(of("IDLE").busy_share, None);
}

const DETAILS: &str = "regs:32 static_shared:16 dynamic_shared:64 grid:8,2,1 block:128,1,1 occ_pct:50";

/// Two steps that launch two kernels and a copy each; the device runs them later.
fn on_a_device() -> Trace {
    let (mut host, mut device) = (Vec::new(), Vec::new());
    for number in 0..2 {
        let at = number * 100_000;
        host.push(train(number, (at, at + 50_000)));
        let launch = |name, from, correlation: u64| {
            Event::new(name, (at + from, at + from + 2_000))
                .int("correlation_id", (10 * number + correlation) as i64)
        };
        let work = |name, from, to, correlation: u64| {
            let event = Event::new(name, (at + from, at + to));
            event.int("correlation_id", (10 * number + correlation) as i64).text("tf_op", "XlaModule:")
        };
        host.extend([
            launch("gemm_s1688", 10_000, 1),
            launch("gemm_fp16", 20_000, 2),
            launch("copy", 30_000, 3),
        ]);
        device.push(work("gemm_s1688", 60_000, 70_000, 1).text("kernel_details", DETAILS));
        device.push(work("gemm_fp16", 72_000, 76_000, 2).text("kernel_details", DETAILS));
        device.push(
            work("MemcpyD2H", 78_000, 80_000, 3)
                .text("memcpy_details", "kind_src:device kind_dst:pinned size:64 async:1"),
        );
    }
    opened(vec![
        Plane::new("/host:CPU").line(1, "python", 0, &host),
        Plane::new("/device:GPU:0").line(14, "Stream #14(Compute)", 0, &device),
    ])
}

#[test]
fn steps_on_a_device_last_from_its_first_work_to_its_last() {
    let trace = on_a_device();
    let found = steps(&trace);
    assert_eq!(found.rows.len(), 2);
    let row = &found.rows[1];
    assert_eq!((row.step.as_str(), row.time_ns), ("1", 20_000));
    // XProf does not know CUDA's name for a copy and counts it as a kernel.
    assert_eq!((row.device_compute_32_ns, row.device_compute_16_ns, row.output_ns), (12_000, 4_000, 0));
    assert_eq!(row.all_others_ns, 4_000);
    assert!((found.summary.compute_16_share - 0.25).abs() < 1e-12);
    let not_seen = not_seen(&trace, &found);
    assert_eq!((not_seen.copies_as_compute_ns, not_seen.copied_bytes), (4_000, 128));
    assert_eq!(not_seen.kernels_ns, 28_000);
}

#[test]
fn kernels_have_a_row_for_each_way_of_launching() {
    let rows = kernels(&on_a_device());
    assert_eq!(rows.len(), 2);
    let row = &rows[0];
    assert_eq!((row.kernel.as_str(), row.op.as_str()), ("gemm_s1688", "XlaModule"));
    assert_eq!((row.registers, row.shared_bytes, row.occupancy), (Some(32), Some(80), Some(0.5)));
    assert_eq!((row.grid.as_str(), row.block.as_str()), ("8,2,1", "128,1,1"));
    assert!(row.uses_tensor_cores && row.tensor_core_eligible && !rows[1].uses_tensor_cores);
    assert_eq!(
        (row.occurrences, row.total_ns, row.mean_ns, row.min_ns, row.max_ns),
        (2, 20_000, 10_000, 10_000, 10_000)
    );
}

#[test]
fn device_work_without_a_program_counts_for_its_operator() {
    let trace = on_a_device();
    let rows = hlo(&trace);
    let names: Vec<&str> = rows.iter().map(|row| row.hlo.as_str()).collect();
    assert_eq!(names, ["XlaModule/gemm_s1688", "XlaModule/gemm_fp16", "XlaModule/MemcpyD2H"]);
    assert_eq!((rows[0].program, rows[0].occurrences, rows[0].total_ns), (0, 2, 20_000));
    // From 60 to 180 us.
    assert!((rows[0].share - 20.0 / 120.0).abs() < 1e-12);
    let rows = ops(&trace);
    let device: Vec<_> = rows.iter().filter(|row| row.side == XprofSide::Device).collect();
    assert_eq!((device[0].operation.as_str(), device[0].self_ns), ("IDLE", 120_000 - 32_000));
    assert_eq!(
        (device[1].operation.as_str(), device[1].occurrences, device[1].self_ns),
        ("XlaModule", 2, 32_000)
    );
}

#[test]
fn the_last_of_the_highest_levels_counts() {
    let change = |at, heap: i64, free: i64, fragmentation| {
        Event::new("MemoryAllocation", (at, at))
            .text("allocator_name", "GPU_0_bfc")
            .int("bytes_allocated", heap)
            .int("bytes_reserved", 5)
            .int("bytes_available", free)
            .int("peak_bytes_in_use", 700)
            .with("fragmentation", Stat::Float(fragmentation))
    };
    let events = [
        Event::new("f", (1_000, 90_000)),
        change(2_000, 100, 900, 0.5),
        change(3_000, 400, 600, 0.25),
        change(4_000, 400, 610, 0.125),
        change(5_000, 200, 800, f64::NAN),
    ];
    let rows = memory(&opened(vec![Plane::new("/host:CPU").line(1, "python", 0, &events)]));
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.allocator.as_str(), row.changes, row.lifetime_peak_bytes), ("GPU_0_bfc", 4, 700));
    assert_eq!((row.peak_bytes, row.heap_bytes, row.stack_bytes, row.free_bytes), (405, 400, 5, 610));
    assert_eq!((row.capacity_bytes, row.fragmentation, row.peak_at_ns), (1_015, Some(0.125), 3_000));
}

/// A step that hands work to a thread pool, which takes it on at 40 us and works until 90 us.
#[test]
fn a_thread_pool_that_takes_on_work_makes_waiting_host_compute() {
    let python = [
        train(3, (0, 100_000)),
        Event::new("PjitFunction(f)", (10_000, 20_000)),
        Event::new("ThreadpoolListener::Record", (15_000, 15_000)).int("_pt", 15).int("_p", 7),
        Event::new("Await", (95_000, 96_000)),
    ];
    let pool = [
        Event::new("ThreadpoolListener::StartRegion", (40_000, 40_000)).int("_ct", 15).int("_c", 7),
        Event::new("dot.1", (41_000, 90_000)).text("hlo_op", "dot.1").int("program_id", 1),
    ];
    let host = Plane::new("/host:CPU").line(1, "python", 0, &python).line(2, "tf_XLAEigen/2", 0, &pool);
    let trace = opened(vec![host]);
    assert_eq!(groups(&trace).marks.len(), 1);
    let found = steps(&trace);
    let row = &found.rows[0];
    // 10 to 20 us; from the mark at 40 us to the end of the next event at 96 us.
    assert_eq!((row.step.as_str(), row.host_compute_ns, row.all_others_ns), ("train 3", 66_000, 34_000));
    let not_seen = not_seen(&trace, &found);
    assert_eq!((not_seen.cpu_busy_ns, not_seen.cpu_steps_ns), (49_000, 100_000));
}

#[test]
fn what_two_roots_reach_belongs_to_the_first() {
    let python = [
        train(0, (0, 10_000)),
        Event::new("send", (1_000, 2_000)).int("_pt", 1).int("_p", 9),
        train(1, (20_000, 30_000)),
        Event::new("send", (21_000, 22_000)).int("_pt", 1).int("_p", 9),
    ];
    let other = [
        Event::new("receive", (25_000, 26_000)).int("_ct", 1).int("_c", 9),
        Event::new("alone", (50_000, 51_000)),
    ];
    let trace = opened(vec![Plane::new("/host:CPU").line(1, "python", 0, &python).line(2, "other", 0, &other)]);
    let groups = groups(&trace);
    assert_eq!(
        groups.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(),
        ["train 0", "train 1"]
    );
    let named = |name: &str| trace.slices().ids().find(|&id| trace.name(id) == name).unwrap();
    assert_eq!((groups.group_of(named("receive")), groups.group_of(named("alone"))), (Some(0), None));
}

/// Every bit of a profile the other way round, and the profile cut at every byte.
#[test]
fn damaged_profiles_do_not_stop_the_tables() {
    let python = [
        train(3, (0, 100_000)),
        Event::new("mlp/matmul:MatMul", (10_000, 20_000)).int("_pt", 1).int("_p", 7),
        Event::new("MemoryAllocation", (30_000, 30_000))
            .text("allocator_name", "GPU_0_bfc")
            .int("bytes_allocated", 5),
        Event::new("k", (40_000, 41_000)).int("correlation_id", 2),
    ];
    let work = Event::new("k", (50_000, 60_000)).int("correlation_id", 2).text("kernel_details", DETAILS);
    let whole = space([
        Plane::new("/host:CPU").line(1, "python", 0, &python),
        Plane::new("/device:GPU:0").line(14, "Stream #14(Compute)", 0, &[work.text("tf_op", "XlaModule:")]),
    ]);
    let (mut read, mut looked_at) = (0, 0);
    let flipped =
        (0..whole.len()).flat_map(|at| damage::bits(at).map(move |bit| (at, bit))).map(|(at, bit)| {
            let mut damaged = whole.clone();
            damaged[at] ^= bit;
            damaged
        });
    let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
    for damaged in flipped.chain(cut) {
        read += 1;
        let Ok(trace) = read_trace(&damaged[..], "t.xplane.pb", &OpenOptions::default()) else { continue };
        looked_at += 1;
        let found = steps(&trace);
        assert!(found.rows.iter().all(|row| row.time_ns > 0 && row.all_others_ns >= 0));
        not_seen(&trace, &found);
        ops(&trace);
        hlo(&trace);
        kernels(&trace);
        memory(&trace);
    }
    assert!(looked_at > read / 2, "{looked_at} of {read}");
}

#[test]
fn time_grows_like_the_profile() {
    assert_linear(|times| {
        let n = 3_000 * times as u64;
        // Roots of ever other levels inside of each other.
        let nested: Vec<Event> = (0..n)
            .map(|i| Event::new("train", (i, 4 * n - i)).int("_r", i as i64 + 1).int("step_num", 1))
            .collect();
        // Arrows of one number: 60 beginnings and many ends, then many of both.
        let arrow = |i: u64, kind: &str, id: &str, number| {
            Event::new("a", (5 * n + i, 5 * n + i + 1)).int(kind, 1).int(id, number)
        };
        let from: Vec<Event> = (0..60)
            .map(|i| arrow(i, "_pt", "_p", 1))
            .chain((60..n).map(|i| arrow(i, "_pt", "_p", 2)))
            .collect();
        let to: Vec<Event> = (0..n).map(|i| arrow(i, "_ct", "_c", 1 + (i % 2) as i64)).collect();
        // A step for each piece of work, on as many devices.
        let marks: Vec<Event> = (0..n).map(|i| train(i, (9 * n + 4 * i, 9 * n + 4 * i + 3))).collect();
        let host = Plane::new("/host:CPU")
            .line(1, "a", 0, &nested)
            .line(2, "b", 0, &from)
            .line(3, "c", 0, &to)
            .line(4, "d", 0, &marks);
        let trace = timed("read", || opened(vec![host]));
        let found = timed("steps", || steps(&trace));
        timed("blind", || not_seen(&trace, &found));
        timed("ops", || ops(&trace));
        timed("hlo", || hlo(&trace));
        timed("kernels", || kernels(&trace));
    });
}

#[test]
fn time_grows_like_the_devices() {
    assert_linear(|times| {
        let n = 500 * times as u64;
        let mut planes = Vec::new();
        let steps_of: Vec<Event> = (0..n).map(|i| train(i, (10 * i, 10 * i + 9))).collect();
        let launches: Vec<Event> = (0..n)
            .map(|i| Event::new("k", (10 * i + 1, 10 * i + 2)).int("correlation_id", i as i64 + 1))
            .collect();
        let mut events = steps_of;
        events.extend(launches);
        planes.push(Plane::new("/host:CPU").line(1, "python", 0, &events));
        for device in 0..n {
            let work =
                Event::new("k", (10 * device + 3, 10 * device + 5)).int("correlation_id", device as i64 + 1);
            planes.push(Plane::new(&format!("/device:GPU:{device}")).line(
                1,
                "Stream #1",
                0,
                &[work.text("kernel_details", DETAILS)],
            ));
        }
        let trace = timed("read", || opened(planes));
        let found = timed("steps", || steps(&trace));
        assert_eq!(found.rows.len() as u64 + found.summary.left_out, n);
        timed("blind", || not_seen(&trace, &found));
        timed("hlo", || hlo(&trace));
        timed("kernels", || kernels(&trace));
    });
}

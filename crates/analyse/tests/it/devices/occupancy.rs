//! Our estimate of occupancy against every value that a profiler wrote into a trace.

use stepscope_analyse::devices::occupancy::{DEFAULT_SHARED_BYTES, Launch, Limits};
use stepscope_analyse::devices::utilization::gpu;
use stepscope_analyse::steps::Steps;
use stepscope_analyse::tables::kernels::{KernelGroup, KernelsQuery, kernels};
use stepscope_model::{Attr, Kind, Trace};

use crate::data;

fn list(text: &str) -> i64 {
    text.trim_matches(['[', ']']).split(',').map(|n| n.trim().parse::<i64>().unwrap()).product()
}

/// Compares every kernel with a recorded occupancy; how many there were, and how many with a block too large for it.
fn compare(trace: &Trace) -> (u64, u64) {
    let slices = trace.slices();
    let (mut compared, mut beyond) = (0, 0);
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::Kernel) {
        let args = trace.args(id);
        let Some(recorded) = args.float(Attr::OccupancyPercent) else { continue };
        let device = trace.meta().described(args.int(Attr::Device)).unwrap();
        let Some(limits) = Limits::for_device(device) else { continue };
        let launch = Launch {
            threads: list(args.text(Attr::Block).unwrap()),
            registers: args.int(Attr::RegistersPerThread).unwrap(),
            shared_bytes: args.int(Attr::SharedMemory).unwrap(),
            blocks_per_sm: list(args.text(Attr::Grid).unwrap()) as f64 / device.sms.unwrap() as f64,
        };
        let percent = limits.percent(&launch);
        if launch.shared_bytes > DEFAULT_SHARED_BYTES {
            assert_eq!(recorded, 0.0, "{}: {launch:?}", trace.name(id));
            assert!(percent.is_some_and(|p| p > 0.0), "{}: {launch:?}", trace.name(id));
            beyond += 1;
        } else {
            // Whole percent are written, from a `float` that may stand on either side of a half.
            let off = (percent.unwrap() - recorded).abs();
            assert!(off <= 0.5 + 1e-4, "{}: {launch:?} {percent:?} {recorded}", trace.name(id));
            compared += 1;
        }
    }
    (compared, beyond)
}

#[test]
fn every_recorded_value_is_reproduced() {
    let mut sum = (0, 0);
    for path in data::all_fixtures().into_iter().chain(data::twins()) {
        let (compared, beyond) = compare(&data::read(&path));
        sum = (sum.0 + compared, sum.1 + beyond);
    }
    println!("H200: {} values reproduced, {} written as 0 and made here", sum.0, sum.1);
    assert!(sum.0 > 10_000 && sum.1 > 1_000, "{sum:?}");
}

#[test]
fn every_recorded_value_of_other_devices_is_reproduced() {
    let Some(peers) = data::peer("") else { return };
    for (path, least) in [
        ("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 4_000),
        ("tb_plugin/resnet50_num_workers_0.pt.trace.json.gz", 8_000),
        ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 1_000),
        ("tracelens/b200/eager_trace.json.gz", 500),
    ] {
        let (compared, beyond) = compare(&data::read(&peers.join(path)));
        println!("{path}: {compared} values reproduced, {beyond} written as 0 and made here");
        assert!(compared >= least, "{path}: {compared}");
    }
}

#[test]
fn matrix_products_have_an_occupancy() {
    let path =
        data::fixtures().into_iter().find(|p| p.ends_with("gpt_bf16/gpt_bf16.pt.trace.json.gz")).unwrap();
    let trace = data::read(&path);
    let query = KernelsQuery { by: KernelGroup::LAUNCH, ..KernelsQuery::default() };
    let mut seen = 0;
    for row in kernels(&trace, &query).rows {
        let full = row.registers == Some(168) && row.block.as_deref() == Some("[384, 1, 1]");
        if row.name.starts_with("nvjet") && full && row.blocks_per_sm.unwrap() >= 1.0 {
            // 12 of 64 warps.
            assert!((row.occupancy_percent.unwrap() - 18.75).abs() < 1e-9, "{row:?}");
            seen += 1;
        }
    }
    assert!(seen > 0);
    let device = &gpu(&trace, &Steps::find(&trace)).devices[0];
    assert_eq!(device.occupancy_known_ns, device.kernel_ns);
}

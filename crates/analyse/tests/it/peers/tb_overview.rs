//! The overview of PyTorch's TensorBoard plugin on its own sample run, to the digit.

use stepscope_analyse::devices::utilization::gpu;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::steps::breakdown::{Parts, breakdown};
use stepscope_analyse::steps::{StepRule, Steps};

use crate::data::{peer, read};

/// Whole microseconds, as the plugin prints them: half rounds to even.
fn us(ns: i64) -> i64 {
    (ns as f64 / 1000.0).round_ties_even() as i64
}

fn shown(p: &Parts) -> [i64; 7] {
    assert_eq!(p.communication_ns, 0);
    [p.kernel_ns, p.memcpy_ns, p.memset_ns, p.runtime_ns, p.data_loading_ns, p.host_ns, p.other_ns].map(us)
}

fn percent(share: Option<f64>) -> f64 {
    (share.unwrap() * 10_000.0).round() / 100.0
}

#[test]
fn resnet50_overview_matches() {
    let Some(path) = peer("tb_plugin/resnet50_num_workers_0.pt.trace.json.gz") else { return };
    let trace = read(&path);
    for (rule, comm) in [(StepRule::All, CommRule::ByName), (StepRule::TensorBoard, CommRule::TensorBoard)] {
        let steps = Steps::find_by(&trace, rule);
        let b = breakdown(&trace, &steps, comm);
        let rows: Vec<_> = b.rows.iter().map(|r| (r.step, shown(&r.parts))).collect();
        assert_eq!(
            rows,
            [
                (5, [98598, 1941, 90, 2796, 69317, 14091, 1115]),
                (6, [98570, 1947, 89, 2762, 57669, 12968, 1148]),
                (7, [98596, 1931, 91, 2877, 61257, 13768, 1213]),
                (8, [98623, 1938, 89, 2841, 56453, 13420, 1200]),
                (9, [98504, 1937, 87, 2788, 62690, 15025, 1141]),
                (10, [98641, 1798, 88, 3381, 48185, 12773, 1117]),
            ]
        );
        let walls: Vec<i64> = b.rows.iter().map(|r| us(r.parts.wall_ns)).collect();
        assert_eq!(walls[..5], [187948, 175153, 179733, 174564, 182172]);
        let average = b.average.unwrap();
        assert_eq!(us(average.wall_ns), 177592);
        assert_eq!(shown(&average), [98589, 1915, 89, 2908, 59262, 13674, 1156]);

        let report = gpu(&trace, &steps);
        assert_eq!(report.devices.len(), 1);
        let device = &report.devices[0];
        assert_eq!(device.name.as_deref(), Some("Tesla V100-DGXS-32GB"));
        assert_eq!(percent(device.utilization), 55.51);
        assert_eq!(percent(device.sm_efficiency), 54.68);
        assert_eq!(percent(device.occupancy), 49.13);
        assert_eq!(percent(device.tensor_core_share), 0.0);
        // Its advice: "Kernels with 68% time are launched by Tensor Cores eligible operators".
        assert_eq!(percent(device.eligible_share).round(), 68.0);
    }
}

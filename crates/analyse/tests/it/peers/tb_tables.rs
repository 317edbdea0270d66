//! The operator and kernel tables against those of the TensorBoard profiler plugin 0.4.3, for its own example.

use serde_json::Value;
use stepscope_analyse::tables::kernels::{KernelsQuery, kernels};
use stepscope_analyse::tables::ops::{OpsQuery, ops};
use stepscope_model::Trace;

use crate::data;

fn peer() -> Option<(Trace, Vec<Value>)> {
    let folder = data::peer("tb_plugin")?;
    let trace = data::read(&folder.join("resnet50_num_workers_0.pt.trace.json.gz"));
    let views = std::fs::read_to_string(folder.join("resnet50_num_workers_0.expected.txt")).unwrap();
    let views = views.lines().filter(|l| !l.trim().is_empty()).map(|l| serde_json::from_str(l).unwrap());
    Some((trace, views.collect()))
}

#[test]
fn operators() {
    let Some((trace, views)) = peer() else { return };
    let report = ops(&trace, &OpsQuery::default());
    let theirs = views[2]["data"].as_array().unwrap();
    assert_eq!(report.ops.len(), 76);
    assert_eq!(theirs.len(), 76);
    for want in theirs {
        let have = report.ops.iter().find(|r| r.name == want["name"].as_str().unwrap()).unwrap();
        let us = |column: &str| want[column].as_i64().unwrap() * 1000;
        assert_eq!(have.calls as i64, want["calls"].as_i64().unwrap(), "{have:?}");
        assert_eq!(have.device_self_ns, us("device_self_duration"), "{have:?}");
        assert_eq!(have.device_total_ns, us("device_total_duration"), "{have:?}");
        assert_eq!(have.host_self_ns, us("host_self_duration"), "{have:?}");
        assert_eq!(have.host_total_ns, us("host_total_duration"), "{have:?}");
        assert_eq!(have.tc_self_share.unwrap_or(0.0), want["tc_self_ratio"].as_f64().unwrap(), "{have:?}");
    }
    println!("TensorBoard plugin: {} operators compared, 0 wrong", theirs.len());
}

#[test]
fn kernel_table() {
    let Some((trace, views)) = peer() else { return };
    let report = kernels(&trace, &KernelsQuery::default());
    let theirs = views[3]["data"]["rows"].as_array().unwrap();
    assert_eq!(report.rows.len(), 67);
    assert_eq!(theirs.len(), 67);
    let us = |ns: f64| ns / 1000.0;
    for want in theirs {
        let have = report.rows.iter().find(|r| r.name == want[0].as_str().unwrap()).unwrap();
        let int = |column: usize| want[column].as_i64().unwrap();
        assert_eq!(have.calls as i64, int(2), "{have:?}");
        assert_eq!(have.total_ns, int(3) * 1000, "{have:?}");
        // Python rounds halves to even; so does this.
        assert_eq!(us(have.mean_ns).round_ties_even() as i64, int(4), "{have:?}");
        assert_eq!(have.max_ns, int(5) * 1000, "{have:?}");
        assert_eq!(have.min_ns, int(6) * 1000, "{have:?}");
        for (figure, column) in [(have.blocks_per_sm, 7), (have.occupancy_percent, 8)] {
            // Two digits are printed; a binary float may stand on either side of a half.
            let off = (figure.unwrap_or(0.0) - want[column].as_f64().unwrap()).abs();
            assert!(off <= 0.005 + 1e-9, "{have:?} against {}", want[column]);
        }
    }
    println!("TensorBoard plugin: {} kernels compared, 0 wrong", theirs.len());
}

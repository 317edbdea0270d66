//! The kernel table against TraceLens' kernel summaries, and the copies against what PyTorch counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stepscope_analyse::devices::copies::{copies, copies_of};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::kernels::{KernelGroup, KernelsQuery, kernels};
use stepscope_analyse::tables::ops::{Attribution, OpsQuery, ops};

use crate::{csv, data};

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200");
    root.join(name).join(format!("{name}.pt.trace.json.gz"))
}

fn tracelens(name: &str) {
    let Some(folder) = data::peer("tracelens/h100") else { return };
    let trace = data::read(&folder.join(format!("{name}.json.gz")));
    let by = KernelGroup { op: true, launch: false, stream: true };
    let query = KernelsQuery { by, attribution: Attribution::Launch, ..KernelsQuery::default() };
    let report = kernels(&trace, &query);
    let shares: f64 = report.rows.iter().map(|r| r.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let mut ours = BTreeMap::new();
    for row in &report.rows {
        let key = (row.op.clone().unwrap_or_default(), row.name.clone(), row.streams[0]);
        assert!(ours.insert(key, row).is_none());
    }
    let table = csv::read(&folder.join(format!("{name}_perf_report_csvs")).join("kernel_summary.csv"));
    let (mut compared, mut copies_seen) = (0, 0);
    for want in table.rows() {
        let kernel = want.get("Kernel name");
        if kernel.starts_with("Memcpy") || kernel.starts_with("Memset") {
            copies_seen += 1;
            continue;
        }
        let op = want.get("Parent cpu_op").to_owned();
        let key = (op, kernel.to_owned(), want.get("Kernel stream").parse::<f64>().unwrap() as i64);
        let have = ours.get(&key).unwrap_or_else(|| panic!("not in ours: {key:?}"));
        let us = |column: &str| want.get(&format!("Kernel duration (µs)_{column}")).parse::<f64>().unwrap();
        let near = |ns: f64, us: f64| (ns - us * 1000.0).abs() < 0.5;
        assert_eq!(have.calls as f64, us("count"), "{key:?}");
        assert!(near(have.total_ns as f64, us("sum")), "{key:?} {have:?}");
        assert!(near(have.mean_ns, us("mean")), "{key:?} {have:?}");
        assert!(near(have.min_ns as f64, us("min")), "{key:?} {have:?}");
        assert!(near(have.max_ns as f64, us("max")), "{key:?} {have:?}");
        compared += 1;
    }
    assert_eq!(compared, report.rows.len());
    println!(
        "TraceLens {name}: {compared} kernels compared, 0 wrong; {copies_seen} copies and fills set aside"
    );
}

#[test]
fn tracelens_qwen() {
    tracelens("Qwen_Qwen1.5-0.5B-Chat__1016005");
}

#[test]
fn tracelens_bert() {
    tracelens("gaunernst_bert-small-uncased__1016001");
}

#[test]
fn copies_are_those_pytorch_counted() {
    let mut compared = 0;
    for name in ["multi_stream", "conv_fast_loader", "conv_slow_loader", "gpt_bf16", "infer_eager_small"] {
        let path = fixture(name);
        let report = copies(&data::read(&path), &Selection::all());
        let table = csv::read(&path.with_file_name("key_averages.csv"));
        for want in
            table.rows().filter(|r| r.get("key").starts_with("Mem") && r.get("device_type").contains("CUDA"))
        {
            let have = report.rows.iter().find(|r| r.name == want.get("key")).unwrap();
            assert_eq!(have.calls.to_string(), want.get("count"));
            let ns = want.get("self_device_time_total").parse::<f64>().unwrap() * 1000.0;
            assert!((have.total_ns as f64 - ns).abs() < 0.5, "{have:?}");
            compared += 1;
        }
    }
    println!("copies and fills: {compared} rows compared, 0 wrong");
    assert!(compared >= 8);
    let report = copies(&data::read(&fixture("multi_stream")), &Selection::all());
    let upload = report.rows.iter().find(|r| r.name == "Memcpy HtoD (Pinned -> Device)").unwrap();
    // Twenty times 256 MiB in 97.141978 ms.
    assert_eq!((upload.calls, upload.bytes), (20, Some(20 << 28)));
    assert!((upload.bytes_per_second.unwrap() / 1e9 - 55.2666).abs() < 1e-3);
}

#[test]
fn every_nanosecond_of_a_kernel_is_in_one_row() {
    for name in ["multi_stream", "gpt_bf16"] {
        let trace = data::read(&fixture(name));
        let slices = trace.slices();
        let all: i64 = slices
            .ids()
            .filter(|&id| slices.kind(id) == stepscope_model::Kind::Kernel)
            .map(|id| slices.dur(id).0)
            .sum();
        for by in [KernelGroup::NAME, KernelGroup::LAUNCH, KernelGroup { stream: true, ..KernelGroup::NAME }] {
            let report = kernels(&trace, &KernelsQuery { by, ..KernelsQuery::default() });
            assert_eq!(report.rows.iter().map(|r| r.total_ns).sum::<i64>(), all);
            assert_eq!(report.total_ns, all);
        }
    }
}

#[test]
fn the_work_of_one_operator_is_its_device_time() {
    let mut compared = 0;
    for path in data::fixtures() {
        let trace = data::read(&path);
        let report = ops(&trace, &OpsQuery::default());
        for row in report.ops.iter().chain(&report.annotations).filter(|r| r.name != "ProfilerStep*") {
            let query = KernelsQuery { op: Some(row.name.clone()), ..KernelsQuery::default() };
            let kernels = kernels(&trace, &query);
            let copies = copies_of(&trace, &Selection::all(), Some(&row.name));
            let sum = kernels.total_ns + copies.memcpy_ns + copies.memset_ns;
            assert_eq!(sum, row.device_self_ns, "{}: {}", path.display(), row.name);
            let shares: f64 = kernels.rows.iter().map(|r| r.share).sum();
            assert!(kernels.total_ns == 0 || (shares - 1.0).abs() < 1e-9);
            compared += u64::from(sum > 0);
        }
        let none = KernelsQuery { op: Some("no such operator".to_owned()), ..KernelsQuery::default() };
        assert_eq!(kernels(&trace, &none).calls, 0);
        assert!(copies_of(&trace, &Selection::all(), Some("no such operator")).rows.is_empty());
    }
    assert!(compared > 50, "{compared}");
}

//! Collectives of recorded traces, worked by hand from what the files say.

use stepscope_analyse::names::collective::Operation;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::collectives::{Side, collectives};
use stepscope_model::Kind;
use stepscope_testkit::{RunBuilder, Slice};

use crate::data;

#[test]
fn four_ranks_over_gloo() {
    let path = data::fixtures().into_iter().find(|p| p.ends_with("gloo_ddp/rank0.pt.trace.json.gz")).unwrap();
    let report = collectives(&data::read(&path), &Selection::all());
    // Two buckets in each of three steps; their copies on the devices' lanes are annotations.
    assert_eq!(report.calls, 6);
    assert!(
        report
            .rows
            .iter()
            .all(|r| (r.operation, r.side, r.ranks) == (Operation::AllReduce, Side::Host, Some(4)))
    );
    let row = report.rows.iter().find(|r| r.bytes == Some(4 * 8_192_000)).unwrap();
    assert_eq!((row.dtype.as_deref(), row.bus_factor), (Some("float"), Some(1.5)));
    let bandwidth = row.bytes.unwrap() as f64 / (row.total_ns as f64 / row.calls as f64) * 1e9;
    assert!((row.algorithm_bytes_per_second.unwrap() - bandwidth).abs() < 1.0);
    assert!((row.bus_bytes_per_second.unwrap() - 1.5 * bandwidth).abs() < 1.0);
    assert!(row.exposed_ns <= row.total_ns && row.exposed_ns > 0);
}

#[test]
fn an_all_gather_of_eight_b200() {
    let Some(path) = data::peer("tracelens/b200/eager_trace.json.gz") else { return };
    let report = collectives(&data::read(&path), &Selection::all());
    let row = report.rows.iter().find(|r| r.operation == Operation::AllGather).unwrap();
    // 201,088 bf16 arrive in 21.953 us.
    assert_eq!((row.ranks, row.bytes, row.calls, row.total_ns), (Some(8), Some(402_176), 1, 21_953));
    assert_eq!(
        (row.dtype.as_deref(), row.group.as_deref(), row.side),
        (Some("BFloat16"), Some("3"), Side::Device)
    );
    assert!((row.bus_bytes_per_second.unwrap() / 1e9 - 402_176.0 / 21_953.0 * 0.875).abs() < 1e-9);
}

#[test]
fn exposed_is_what_no_kernel_hides() {
    let mut run = RunBuilder::in_nanoseconds();
    let described = |at: (i64, i64), elements: i64| {
        Slice::new(Kind::Kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at)
            .device(0)
            .stream(9)
            .arg("Collective name", "allreduce")
            .arg("In msg nelems", elements)
            .arg("Out msg nelems", elements)
            .arg("Group size", 2i64)
            .arg("dtype", "Float")
            .arg("Process Group Name", "dp")
    };
    run.add(described((0, 100), 1_000));
    run.add(described((200, 400), 1_000));
    run.add(described((500, 501), 7));
    // Hides 60 of the first 100 and nothing of the rest.
    run.add(Slice::new(Kind::Kernel, "gemm", (40, 150)).device(0).stream(7));
    // Another device hides nothing here.
    run.add(Slice::new(Kind::Kernel, "gemm", (200, 400)).device(1).stream(7));
    // Of a symmetric-memory kernel only the name is known.
    let by_hand = "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(int)";
    run.add(Slice::new(Kind::Kernel, by_hand, (600, 650)).device(0).stream(9));
    // Asks the device for it, and is no call of its own.
    run.host(Kind::HostAnnotation, "nccl:all_reduce", 1, (0, 5));
    let report = collectives(&run.finish(), &Selection::all());
    let rows: Vec<_> =
        report.rows.iter().map(|r| (r.bytes, r.calls, r.total_ns, r.p50_ns, r.exposed_ns)).collect();
    assert_eq!(rows, [(Some(4_000), 2, 300, 100, 240), (None, 1, 50, 50, 50), (Some(28), 1, 1, 1, 1)]);
    // 4,000 bytes in 150 ns on average; two ranks have a factor of one.
    let first = &report.rows[0];
    assert_eq!((first.bus_factor, first.group.as_deref()), (Some(1.0), Some("dp")));
    assert!((first.bus_bytes_per_second.unwrap() - 4_000.0 / 150.0 * 1e9).abs() < 1.0);
    assert_eq!((report.calls, report.moved_bytes, report.exposed_ns), (4, 8_028, 291));
    assert_eq!(report.rows[1].operation, Operation::AllReduce);
}

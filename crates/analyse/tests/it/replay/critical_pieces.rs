//! The critical path piece by piece.

use stepscope_analyse::replay::Replay;
use stepscope_analyse::replay::critical_path::{PathClass, critical_path};
use stepscope_analyse::steps::Steps;
use stepscope_model::Kind;
use stepscope_testkit::RunBuilder;

use crate::causes::worked::{MAIN, done};
use crate::data::{fixtures, read};

#[test]
fn every_piece_says_where_it_was() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 560))
        .launch(MAIN, (10, 20), Kind::Kernel, "long", 7, (30, 500))
        .host(Kind::HostOp, "aten::item", MAIN, (35, 515))
        .host(Kind::Runtime, "cudaStreamSynchronize", MAIN, (40, 510))
        .launch(MAIN, (520, 530), Kind::Kernel, "short", 7, (540, 600));
    let (trace, steps) = done(run);
    let rows = critical_path(&trace, &steps, &Replay::new(&trace, &steps)).rows(&trace);
    let shown: Vec<_> = rows
        .iter()
        .map(|r| (r.start_ns / 1000, r.dur_ns / 1000, r.class, r.name.as_str(), r.lane.as_deref().unwrap()))
        .collect();
    let (host, gpu) = ("thread 1", "GPU 0 stream 7");
    assert_eq!(
        shown,
        [
            (0, 10, PathClass::Host, "ProfilerStep#1", host),
            // The call, then its work on its way.
            (10, 10, PathClass::Launch, "cudaLaunchKernel", host),
            (20, 10, PathClass::Launch, "long", gpu),
            (30, 470, PathClass::Kernel, "long", gpu),
            (500, 10, PathClass::Synchronization, "cudaStreamSynchronize", host),
            (510, 5, PathClass::Host, "aten::item", host),
            (515, 5, PathClass::Host, "ProfilerStep#1", host),
            (520, 10, PathClass::Launch, "cudaLaunchKernel", host),
            (530, 10, PathClass::Launch, "short", gpu),
            (540, 60, PathClass::Kernel, "short", gpu),
        ]
    );
    for row in &rows {
        let slice = trace.slices().ids().nth(row.slice.unwrap() as usize).unwrap();
        assert_eq!(trace.name(slice), row.name);
    }
}

#[test]
fn the_pieces_are_the_path_without_holes() {
    for path in fixtures() {
        let trace = read(&path);
        let steps = Steps::find(&trace);
        let found = critical_path(&trace, &steps, &Replay::new(&trace, &steps));
        let (rows, report) = (found.rows(&trace), found.report(&trace));
        assert!(!rows.is_empty(), "{}", path.display());
        assert!(rows.windows(2).all(|pair| pair[0].start_ns + pair[0].dur_ns == pair[1].start_ns));
        assert_eq!(rows.iter().map(|r| r.dur_ns).sum::<i64>(), report.wall_ns);
        assert!(rows.iter().all(|r| r.lane.is_some() == r.slice.is_some() && r.dur_ns > 0));
        for named in &report.rows {
            let same = rows.iter().filter(|r| (&r.name, r.class) == (&named.name, named.class));
            assert_eq!(same.map(|r| r.dur_ns).sum::<i64>(), named.on_path_ns, "{}", named.name);
        }
    }
}

//! Captured graphs: worked by hand, and against sums over the events of recorded traces.

use std::path::Path;

use stepscope_analyse::devices::graphs::{Graphs, graphs};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_model::{Kind, Trace};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data;

fn all(trace: &Trace) -> Graphs {
    graphs(trace, &Steps::find(trace), &Selection::all())
}

/// A call that replays nodes one after the other, each with its length and the gap before it.
fn replay(run: &mut RunBuilder, id: i64, call: (i64, i64), from: i64, nodes: &[(&str, i64, i64)]) {
    run.add(Slice::new(Kind::Runtime, "cudaGraphLaunch", call).correlation(id));
    let mut at = from;
    for (name, gap, length) in nodes {
        at += gap;
        run.add(Slice::new(Kind::Kernel, name, (at, at + length)).correlation(id));
        at += length;
    }
}

#[test]
fn replays_of_the_same_kernels_are_one_graph() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", 1, (0, 1000));
    replay(&mut run, 1, (0, 7), 10, &[("gemm", 0, 20), ("norm", 5, 10), ("gemm", 0, 30)]);
    replay(&mut run, 2, (100, 103), 110, &[("gemm", 0, 22), ("norm", 7, 10), ("gemm", 0, 30)]);
    replay(&mut run, 3, (200, 204), 210, &[("gemm", 0, 24), ("norm", 3, 40), ("gemm", 0, 30)]);
    replay(&mut run, 4, (300, 302), 310, &[("copy", 0, 5)]);
    // Not of a graph.
    run.launch(1, (400, 405), Kind::Kernel, "gemm", 7, (410, 900));
    // Its work is not in the trace.
    run.add(Slice::new(Kind::Runtime, "cudaGraphLaunch", (500, 501)).correlation(99));
    let found = all(&run.finish());
    assert_eq!(found.calls_without_work, 1);
    let [a, b] = &found.graphs[..] else { panic!("{:?}", found.graphs) };
    assert_eq!((a.graph.as_str(), a.recorded, a.replays, a.nodes), ("A", false, 3, 3.0));
    // 65, 69 and 97 µs, of which 60, 62 and 94 busy.
    assert_eq!((a.device_p50_ns, a.device_p95_ns), (69_000, 97_000));
    assert_eq!((a.busy_ns, a.gap_ns), (216_000, 15_000));
    assert!((a.gap_share - 15.0 / 231.0).abs() < 1e-12);
    assert!((a.share - 0.216).abs() < 1e-12);
    assert_eq!((a.call_p50_ns, a.call_ns), (4_000, 14_000));
    assert_eq!(a.longest, "gemm");
    assert_eq!((b.graph.as_str(), b.replays, b.nodes, b.busy_ns), ("B", 1, 1.0, 5_000));
    let nodes: Vec<_> =
        found.nodes.iter().map(|n| (n.graph.as_str(), n.node, n.name.as_str(), n.total_ns, n.max_ns)).collect();
    assert_eq!(
        nodes,
        [
            ("A", 1, "gemm", 66_000, 24_000),
            ("A", 2, "norm", 60_000, 40_000),
            ("A", 3, "gemm", 90_000, 30_000),
            ("B", 1, "copy", 5_000, 5_000),
        ]
    );
    let norm = &found.nodes[1];
    assert_eq!((norm.p50_ns, norm.p95_ns, norm.replays), (10_000, 40_000, 3));
    assert!((norm.mean_ns - 20_000.0).abs() < 1e-9 && (norm.before_ns - 5_000.0).abs() < 1e-9);
    assert!((norm.share - 60.0 / 216.0).abs() < 1e-12);
}

#[test]
fn recorded_ids_tell_graphs_and_nodes_apart() {
    let mut run = RunBuilder::new();
    for (id, graph, at) in [(1, 11, 0), (2, 12, 100), (3, 11, 200)] {
        run.add(Slice::new(Kind::Runtime, "hipGraphLaunch", (at, at + 5)).correlation(id));
        // The nodes of graph 11 change places.
        let nodes = if id == 3 { [8, 7] } else { [7, 8] };
        for (place, node) in (0..).zip(nodes) {
            let start = at + 10 + place * 10;
            let kernel = Slice::new(Kind::Kernel, "gemm", (start, start + node)).correlation(id);
            run.add(kernel.arg("graph id", graph).arg("graph node id", node));
        }
    }
    let found = all(&run.finish());
    let graphs: Vec<_> = found.graphs.iter().map(|g| (g.graph.as_str(), g.recorded, g.replays)).collect();
    assert_eq!(graphs, [("11", true, 2), ("12", true, 1)]);
    let nodes: Vec<_> = found.nodes.iter().map(|n| (n.graph.as_str(), n.node, n.p50_ns, n.total_ns)).collect();
    // By name they would be 7 and 8 µs in the first replay, 8 and 7 in the second.
    assert_eq!(
        nodes,
        [("11", 1, 7_000, 14_000), ("11", 2, 8_000, 16_000), ("12", 1, 7_000, 7_000), ("12", 2, 8_000, 8_000)]
    );
}

#[test]
fn nodes_on_several_streams_may_start_in_any_order() {
    let mut run = RunBuilder::new();
    for (id, at, late) in [(1, 0, "left"), (2, 100, "right")] {
        run.add(Slice::new(Kind::Runtime, "cudaGraphLaunch", (at, at + 5)).correlation(id));
        for (stream, name) in [(7, "left"), (8, "right")] {
            let start = at + 10 + i64::from(name == late);
            run.add(Slice::new(Kind::Kernel, name, (start, start + 20)).stream(stream).correlation(id));
        }
    }
    let found = all(&run.finish());
    assert_eq!(found.graphs.len(), 1);
    // 21 µs from the first start to the last end, all of it busy.
    assert_eq!((found.graphs[0].device_p50_ns, found.graphs[0].busy_ns), (21_000, 42_000));
    assert_eq!(found.nodes.len(), 2);
}

fn fixture(path: &str) -> Trace {
    data::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch").join(path))
}

#[test]
fn a_recorded_replay_takes_what_its_events_say() {
    let found = all(&fixture("2.11-h200-features/cuda_graph/cuda_graph.pt.trace.json.gz"));
    let [graph] = &found.graphs[..] else { panic!("{:?}", found.graphs) };
    assert_eq!((graph.replays, graph.nodes, graph.recorded), (4, 3.0, false));
    // The file's cudaGraphLaunch calls: 43.377, 13.675, 15.719 and 10.118 µs.
    assert_eq!(graph.call_ns, 43_377 + 13_675 + 15_719 + 10_118);
    // Its range `replay` on the device: 8.61, 7.97, 7.97 and 7.971 µs.
    assert!((graph.device_p50_ns - 7_970).abs() <= 2 && (graph.device_p95_ns - 8_610).abs() <= 2, "{graph:?}");
    let sum: i64 = found.nodes.iter().map(|n| n.total_ns).sum();
    // Nothing overlaps, so busy is the sum of the nodes.
    assert_eq!(sum, graph.busy_ns);
    assert!(all(&fixture("2.11-h200-features/compiled/compiled.pt.trace.json.gz")).graphs.is_empty());
}

#[test]
fn a_decode_iteration_of_sglang_is_one_replay() {
    let Some(path) = data::peer("tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz") else {
        return;
    };
    let found = all(&data::read(&path));
    let [graph] = &found.graphs[..] else { panic!("{:?}", found.graphs) };
    assert_eq!((graph.replays, graph.call_ns), (1, 1_572_609));
    // 36 layers of 15 kernels, and what is before and after them.
    let layers = found.nodes.iter().filter(|n| n.name.contains("paged_attention_ll4mi_QKV")).count();
    assert_eq!(layers, 36);
    assert_eq!(found.nodes.len() as f64, graph.nodes);
}

//! The flame graph: a worked tree, and the numbers of `stacks` and `modules` to the nanosecond.

use std::collections::BTreeMap;

use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_analyse::tables::modules;
use stepscope_analyse::tables::stacks::{self, Options, folded_text};
use stepscope_analyse::views::flame::{Clock, Flame, FlameQuery, FlameWeight, flame};
use stepscope_model::{Domain, Kind, LaneKey, NewSlice, Ns, Tag, Trace, TraceBuilder};

use crate::data::{fixtures, read};

fn slice(b: &mut TraceBuilder, thread: i64, kind: Kind, name: &str, at: (i64, i64), join: Option<i64>) {
    let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
    let lane = b.lane(LaneKey { domain, process: Tag::Int(0), thread: Tag::Int(thread) });
    let name = b.intern(name);
    let (start, dur) = (Ns(at.0), Ns(at.1 - at.0));
    b.slice(NewSlice { start, dur, name, kind, lane, correlation: join, ..NewSlice::default() });
}

/// Two steps; in each a module calls an operator that launches a kernel. A copy has no launch in the file.
fn worked() -> Trace {
    let mut b = TraceBuilder::new();
    for step in 0..2 {
        let at = |from: i64, to: i64| (1_000 * step + from, 1_000 * step + to);
        slice(&mut b, 1, Kind::HostAnnotation, &format!("ProfilerStep#{step}"), at(0, 900), None);
        slice(&mut b, 1, Kind::PythonFunction, "nn.Module: Net_0", at(100, 500), None);
        slice(&mut b, 1, Kind::PythonFunction, "nn.Module: Linear_0", at(150, 400), None);
        slice(&mut b, 1, Kind::HostOp, "aten::mm", at(200, 300), None);
        slice(&mut b, 1, Kind::Runtime, "cudaLaunchKernel", at(220, 230), Some(step));
        slice(&mut b, 7, Kind::Kernel, "gemm", at(400, 440 + step), Some(step));
        slice(&mut b, 1, Kind::Runtime, "cudaLaunchKernel", at(600, 650), Some(10 + step));
        slice(&mut b, 7, Kind::Kernel, "adam", at(700, 707), Some(10 + step));
    }
    slice(&mut b, 7, Kind::Memcpy, "Memcpy HtoD", (1_890, 1_895), None);
    b.finish()
}

fn query(weight: FlameWeight) -> FlameQuery {
    FlameQuery { weight, ..FlameQuery::default() }
}

/// Checks what holds for every flame graph and gives its nodes as (depth, name, self, total, count, category).
fn nodes(flame: &Flame) -> Vec<(usize, &str, i64, i64, u64, u8)> {
    let len = flame.name.len();
    for column in [flame.parent.len(), flame.self_ns.len(), flame.total_ns_of.len(), flame.count.len()] {
        assert_eq!(column, len);
    }
    assert_eq!(flame.category.len(), len);
    assert_eq!(flame.self_ns.iter().sum::<i64>(), flame.total_ns);
    let mut sums = flame.self_ns.clone();
    let mut depth = vec![0; len];
    let mut last_sibling: BTreeMap<i32, i64> = BTreeMap::new();
    let is_rest = |i: usize| flame.names[flame.name[i] as usize].ends_with(" smaller)");
    for i in (0..len).rev() {
        let (parent, own) = (flame.parent[i], sums[i]);
        assert!(parent < i as i32 && parent >= -1);
        assert!(flame.self_ns[i] >= 0);
        if parent >= 0 {
            sums[parent as usize] += own;
        }
        // Backwards, siblings grow; what is put together is the last of them.
        if is_rest(i) {
            assert!(!last_sibling.contains_key(&parent));
            last_sibling.insert(parent, 0);
        } else {
            let smaller = last_sibling.insert(parent, own).unwrap_or(0);
            assert!(smaller <= own);
        }
    }
    assert_eq!(sums, flame.total_ns_of);
    let rest: i64 = (0..len).filter(|&i| is_rest(i)).map(|i| flame.self_ns[i]).sum();
    assert_eq!(rest, flame.pruned_ns);
    for i in 0..len {
        depth[i] = usize::try_from(flame.parent[i]).map_or(0, |parent| depth[parent] + 1);
    }
    (0..len)
        .map(|i| {
            let name = flame.names[flame.name[i] as usize].as_str();
            (depth[i], name, flame.self_ns[i], flame.total_ns_of[i], flame.count[i], flame.category[i])
        })
        .collect()
}

#[test]
fn host_time_worked_out_by_hand() {
    let found = flame(&worked(), &query(FlameWeight::Host));
    assert_eq!(
        nodes(&found),
        [
            (0, "thread 1", 0, 1_800, 0, 15),
            (1, "ProfilerStep*", 900, 1_800, 2, 13),
            (2, "nn.Module: Net_0", 300, 800, 2, 1),
            (3, "nn.Module: Linear_0", 300, 500, 2, 1),
            (4, "aten::mm", 180, 200, 2, 0),
            (5, "cudaLaunchKernel", 20, 20, 2, 3),
            (2, "cudaLaunchKernel", 100, 100, 2, 3),
        ]
    );
    assert_eq!((found.clock, found.total_ns, found.pruned_nodes), (Clock::Host, 1_800, 0));
    // A name is listed once in the list, however many nodes bear it.
    assert_eq!(found.names.iter().filter(|n| *n == "cudaLaunchKernel").count(), 1);

    let apart = flame(&worked(), &FlameQuery { merge_steps: false, ..query(FlameWeight::Host) });
    let steps: Vec<_> = nodes(&apart).into_iter().filter(|n| n.5 == 13).map(|n| (n.1, n.3)).collect();
    assert_eq!(steps, [("ProfilerStep#0", 900), ("ProfilerStep#1", 900)]);
}

#[test]
fn device_time_worked_out_by_hand() {
    let found = flame(&worked(), &query(FlameWeight::Device));
    assert_eq!(
        nodes(&found),
        [
            (0, "thread 1", 0, 95, 4, 15),
            (1, "ProfilerStep*", 0, 95, 4, 13),
            (2, "nn.Module: Net_0", 0, 81, 2, 1),
            (3, "nn.Module: Linear_0", 0, 81, 2, 1),
            (4, "aten::mm", 0, 81, 2, 0),
            (5, "cudaLaunchKernel", 0, 81, 2, 3),
            (6, "gemm", 81, 81, 2, 5),
            (2, "cudaLaunchKernel", 0, 14, 2, 3),
            (3, "adam", 14, 14, 2, 11),
            (0, "(no launch in this file)", 0, 5, 1, 15),
            (1, "Memcpy HtoD", 5, 5, 1, 10),
        ]
    );
    assert_eq!((found.clock, found.total_ns), (Clock::Device, 100));
    let selection = Steps::find(&worked()).selection(&[1]);
    let second = flame(&worked(), &FlameQuery { selection, ..query(FlameWeight::Device) });
    // The kernels of the second step, and the copy, which starts in it.
    assert_eq!(second.total_ns, 41 + 7 + 5);
    nodes(&second);
}

#[test]
fn modules_worked_out_by_hand() {
    let found = flame(&worked(), &query(FlameWeight::Module));
    assert_eq!(
        nodes(&found),
        [
            (0, "Net_0", 0, 81, 2, 1),
            (1, "Linear_0", 81, 81, 2, 1),
            (0, "(outside modules)", 14, 14, 0, 15),
            (0, "(no launch in this file)", 5, 5, 0, 15),
        ]
    );
    assert_eq!((found.clock, found.total_ns), (Clock::Device, 100));

    // Without device work the host's time is shown.
    let mut b = TraceBuilder::new();
    slice(&mut b, 1, Kind::PythonFunction, "nn.Module: Net_0", (0, 100), None);
    slice(&mut b, 1, Kind::PythonFunction, "nn.Module: Linear_0", (10, 40), None);
    let found = flame(&b.finish(), &query(FlameWeight::Module));
    assert_eq!(nodes(&found), [(0, "Net_0", 70, 100, 1, 1), (1, "Linear_0", 30, 30, 1, 1)]);
    assert_eq!(found.clock, Clock::Host);
}

/// The stacks of a flame graph, as `stacks` writes them.
fn folded(flame: &Flame) -> BTreeMap<String, i64> {
    let mut stacks: Vec<String> = Vec::new();
    let mut folded = BTreeMap::new();
    for (i, &name) in flame.name.iter().enumerate() {
        let name = folded_text(&flame.names[name as usize]).into_owned();
        let stack = match usize::try_from(flame.parent[i]) {
            Ok(parent) => format!("{};{name}", stacks[parent]),
            Err(_) => name,
        };
        if flame.self_ns[i] > 0 {
            *folded.entry(stack.clone()).or_default() += flame.self_ns[i];
        }
        stacks.push(stack);
    }
    folded
}

#[test]
fn every_stack_is_that_of_stacks() {
    let mut compared = 0;
    for path in fixtures() {
        let trace = read(&path);
        let one_step = Steps::find(&trace).steps.first().map(|s| Steps::find(&trace).selection(&[s.step]));
        for selection in [Some(Selection::all()), one_step].into_iter().flatten() {
            for (weight, of) in [
                (FlameWeight::Host, stacks::Weight::HostSelf),
                (FlameWeight::Device, stacks::Weight::DeviceSelf),
            ] {
                let options = Options { weight: of, selection: selection.clone(), ..Options::default() };
                let theirs = stacks::analyze(&trace, &options);
                let whole = FlameQuery {
                    selection: selection.clone(),
                    min_share: 0.0,
                    max_nodes: usize::MAX,
                    merge_steps: false,
                    ..query(weight)
                };
                let ours = flame(&trace, &whole);
                nodes(&ours);
                assert_eq!(ours.total_ns, theirs.total_ns, "{}", path.display());
                let theirs: BTreeMap<String, i64> =
                    theirs.rows.into_iter().map(|r| (r.stack, r.value_ns)).collect();
                assert_eq!(folded(&ours), theirs, "{}", path.display());
                compared += theirs.len();

                // What is drawn is smaller, and still all of it.
                let drawn = flame(&trace, &FlameQuery { selection: selection.clone(), ..query(weight) });
                nodes(&drawn);
                assert_eq!(drawn.total_ns, ours.total_ns);
                assert!(drawn.name.len() <= ours.name.len());
            }
        }
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn every_module_is_that_of_modules() {
    let mut compared = 0;
    for path in fixtures() {
        let trace = read(&path);
        let report = modules::analyze(&trace, &Selection::all());
        let all = FlameQuery { min_share: 0.0, max_nodes: usize::MAX, ..query(FlameWeight::Module) };
        let found = flame(&trace, &all);
        nodes(&found);
        if report.modules.is_empty() {
            assert!(found.name.is_empty() && found.total_ns == 0);
            continue;
        }
        assert_eq!(found.total_ns, report.ledger.device_ns, "{}", path.display());
        let folded = folded(&found);
        for module in report.modules {
            let path = module.path.replace('/', ";");
            let ours = |stack: &str| folded.get(stack).copied().unwrap_or(0);
            assert_eq!(ours(&path), module.device_self_ns, "{path}");
            assert_eq!(ours(&format!("{path};(backward)")), module.backward_device_self_ns, "{path}");
            compared += 1;
        }
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn what_is_too_small_is_put_together() {
    let mut b = TraceBuilder::new();
    slice(&mut b, 1, Kind::HostOp, "all", (0, 100_000), None);
    for i in 0..1_000 {
        let length = if i < 10 { 60 } else { 1 };
        slice(&mut b, 1, Kind::HostOp, &format!("op {i}"), (i * 100, i * 100 + length), None);
    }
    let trace = b.finish();
    for (min_share, max_nodes, kept) in [(0.0, 5_000, 1_002), (0.0005, 5_000, 12), (0.0, 7, 7), (0.0, 1, 1)] {
        let found = flame(&trace, &FlameQuery { min_share, max_nodes, ..query(FlameWeight::Host) });
        let nodes = nodes(&found);
        assert_eq!(found.total_ns, 100_000);
        assert_eq!(found.pruned_nodes, 1_002 - kept);
        let shown = nodes.iter().filter(|n| !n.1.ends_with(" smaller)")).count();
        assert_eq!(shown as u64, kept);
    }
    let found = flame(&trace, &FlameQuery { min_share: 0.0005, ..query(FlameWeight::Host) });
    assert_eq!(nodes(&found).last(), Some(&(2, "(990 smaller)", 990, 990, 990, 15)));
    assert_eq!(found.pruned_ns, 990);
}

#[test]
fn an_empty_trace_has_an_empty_flame_graph() {
    let trace = TraceBuilder::new().finish();
    for weight in [FlameWeight::Host, FlameWeight::Device, FlameWeight::Module] {
        let found = flame(&trace, &query(weight));
        assert!(nodes(&found).is_empty());
        assert_eq!(found.total_ns, 0);
    }
}

#[test]
fn deep_recursion_is_no_recursion_here() {
    const DEPTH: i64 = 100_000;
    let mut b = TraceBuilder::new();
    for i in 0..DEPTH {
        slice(&mut b, 1, Kind::PythonFunction, "f", (i, 2 * DEPTH - i), None);
    }
    slice(&mut b, 1, Kind::Runtime, "cudaLaunchKernel", (DEPTH - 1, DEPTH), Some(1));
    slice(&mut b, 7, Kind::Kernel, "k", (DEPTH, DEPTH + 5), Some(1));
    let trace = b.finish();
    for max_depth in [2_000, usize::MAX] {
        let query = |weight| FlameQuery { max_depth, ..query(weight) };
        let host = flame(&trace, &query(FlameWeight::Host));
        assert_eq!(host.total_ns, 2 * DEPTH);
        assert!(nodes(&host).len() <= 40_000);
        let deeper = if max_depth == usize::MAX { 0 } else { DEPTH as u64 + 1 - 1_999 };
        assert_eq!(host.deeper_slices, deeper);
        assert_eq!(nodes(&flame(&trace, &query(FlameWeight::Device))).iter().map(|n| n.2).sum::<i64>(), 5);
    }
}

//! Whatever a file holds, the numbers of steps and devices close and nothing panics.

use std::sync::Arc;

use proptest::prelude::*;
use stepscope_analyse::compare::{DiffQuery, diff};
use stepscope_analyse::devices::graphs::graphs;
use stepscope_analyse::devices::utilization::gpu;
use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::peers::tracelens::{
    TimelineOptions, device_timeline, temporal_breakdown, timeline_of_steps,
};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::breakdown::breakdown;
use stepscope_analyse::steps::serving::serving;
use stepscope_analyse::steps::{StepRule, Steps};
use stepscope_analyse::tables::compiled::compiled;
use stepscope_analyse::views::flame::{FlameQuery, FlameWeight, flame};
use stepscope_model::{ArgValue, Decimal, Domain, Kind, LaneKey, NewSlice, Ns, Tag, Trace};

const KINDS: [Kind; 14] = [
    Kind::HostOp,
    Kind::HostAnnotation,
    Kind::PythonFunction,
    Kind::Runtime,
    Kind::Driver,
    Kind::Overhead,
    Kind::Kernel,
    Kind::Memcpy,
    Kind::Memset,
    Kind::DeviceAnnotation,
    Kind::DeviceSync,
    Kind::Collective,
    Kind::Span,
    Kind::Other,
];

const NAMES: [&str; 14] = [
    "ProfilerStep#1",
    "ProfilerStep#2",
    "ProfilerStep#",
    "nccl:all_reduce",
    "ncclDevKernel",
    "aten::mm",
    "enumerate(DataPipe)#x",
    "cudaGraphLaunch",
    "Torch-Compiled Region: 0/1",
    "## Call CompiledFxGraph f ##",
    "CompiledFunctionBackward",
    "compile_inner (dynamo_timed)",
    "execute_context_1(5)_generation_2(2)",
    "",
];

/// Kind, name, start, length, thread or stream, correlation and external id.
type Row = (usize, usize, i64, i64, i64, i64);

fn rows(times: impl Strategy<Value = (i64, i64)>) -> impl Strategy<Value = Vec<Row>> {
    let row = (0..KINDS.len(), 0..NAMES.len(), times, 0..3i64, 0..6i64);
    prop::collection::vec(row.prop_map(|(k, n, (start, dur), lane, id)| (k, n, start, dur, lane, id)), 0..40)
}

fn build(rows: &[Row]) -> Trace {
    let mut b = crate::data::builder();
    for &(kind, name, start, dur, thread, id) in rows {
        let kind = KINDS[kind];
        let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
        let lane = b.lane(LaneKey { domain, process: Tag::Int(id % 2), thread: Tag::Int(thread) });
        let key = b.intern("blocks per SM");
        b.push_arg(key, ArgValue::Decimal(Decimal { mantissa: dur, scale: 2 }));
        let (name, args) = (b.intern(NAMES[name]), b.commit_args());
        let (correlation, external) = (Some(id), Some(id));
        let (start, dur) = (Ns(start), Ns(dur));
        b.slice(NewSlice { start, dur, name, kind, lane, args, correlation, external, ..NewSlice::default() });
    }
    b.finish()
}

fn ask_all(trace: &Trace, closes: bool) {
    for weight in [FlameWeight::Host, FlameWeight::Device, FlameWeight::Module] {
        let found = flame(trace, &FlameQuery { weight, min_share: 0.1, max_nodes: 9, ..FlameQuery::default() });
        assert!(found.self_ns.iter().all(|&ns| ns >= 0), "{found:?}");
        if closes {
            assert_eq!(found.self_ns.iter().sum::<i64>(), found.total_ns, "{found:?}");
        }
    }
    let (steps, all) = (Steps::find(trace), Selection::all());
    let replayed = graphs(trace, &steps, &all);
    let served = serving(trace, &all);
    let run = compiled(trace, &steps, &all);
    assert!(run.regions.iter().all(|r| r.host_ns >= 0 && r.breaks <= r.calls), "{run:?}");
    assert!(replayed.graphs.iter().all(|g| g.gap_ns >= 0 && g.busy_ns >= 0), "{replayed:?}");
    if closes {
        let walls: i64 = served.iterations.iter().map(|i| i.wall_ns).sum();
        assert_eq!(walls + served.between_ns, served.span_ns, "{served:?}");
        assert!(served.iterations.iter().all(|i| i.busy_ns <= i.wall_ns), "{served:?}");
    }
    for rule in [StepRule::All, StepRule::TensorBoard] {
        let steps = Steps::find_by(trace, rule);
        assert!(steps.windows().windows(2).all(|w| w[0].1 <= w[1].0), "{steps:?}");
        let options =
            TimelineOptions { linked_only: rule == StepRule::TensorBoard, ..TimelineOptions::default() };
        let per_step = timeline_of_steps(trace, &steps, &options);
        let report = gpu(trace, &steps);
        for comm in [CommRule::ByName, CommRule::TensorBoard] {
            let b = breakdown(trace, &steps, comm);
            for p in b.rows.iter().map(|r| &r.parts).chain(&b.average).filter(|_| closes) {
                assert_eq!(p.exclusive().iter().sum::<i64>(), p.wall_ns, "{p:?}");
                assert!(p.exclusive().iter().all(|&part| part >= 0), "{p:?}");
            }
        }
        if !closes {
            continue;
        }
        for row in per_step.iter().flat_map(|s| &s.rows).chain(&device_timeline(trace, &options).rows) {
            assert_eq!(row.computation_ns + row.exposed_comm_ns + row.exposed_memcpy_ns, row.busy_ns);
            assert_eq!(row.busy_ns + row.idle_ns, row.total_ns);
        }
        for row in temporal_breakdown(trace, &options) {
            assert_eq!(row.idle_ns + row.compute_ns + row.non_compute_ns, row.kernel_time_ns);
        }
        for device in report.devices {
            assert!(device.kernel_busy_ns <= device.busy_ns && device.busy_ns <= device.window_ns);
            assert!(device.sm_efficiency.is_none_or(|s| (0.0..=1.0).contains(&s)), "{device:?}");
        }
    }
}

fn compare_both(before: &[Row], after: &[Row], closes: bool) {
    let [before, after] = [before, after].map(|rows| [Arc::new(Run::new(build(rows)))]);
    let found = diff(&before, &after, &DiffQuery::default(), &Thresholds::default());
    if closes {
        assert_eq!(found.rows.iter().map(|row| row.delta_ns).sum::<i64>(), found.delta_ns, "{found:?}");
        assert_eq!(found.causes.iter().map(|row| row.delta_ns).sum::<i64>(), found.delta_ns, "{found:?}");
    }
    let same = diff(&before, &before, &DiffQuery::default(), &Thresholds::default());
    assert!(same.delta_ns == 0 && same.rows.iter().all(|row| row.delta_ns == 0), "{same:?}");
}

proptest! {
    #[test]
    fn changes_close_on_any_two_traces(a in rows((-40..200i64, 0..90i64)), b in rows((-40..200i64, 0..90i64))) {
        compare_both(&a, &b, true);
    }

    #[test]
    fn traces_at_the_edge_can_be_compared(
        a in rows((any::<i64>(), any::<i64>())),
        b in rows((any::<i64>(), any::<i64>())),
    ) {
        compare_both(&a, &b, false);
    }

    #[test]
    fn parts_close_on_any_trace(rows in rows((-40..200i64, 0..90i64))) {
        ask_all(&build(&rows), true);
    }

    #[test]
    fn times_at_the_edge_do_not_panic(rows in rows((any::<i64>(), any::<i64>()))) {
        ask_all(&build(&rows), false);
    }
}

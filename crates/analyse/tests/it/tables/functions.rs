//! Functions and lines: worked examples, and Python's own numbers of the fixtures.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::{EdgeRow, FunctionRow, NoCalls, callees, callers, calls, functions};
use stepscope_analyse::tables::lines::lines;
use stepscope_formats::{OpenOptions, open};
use stepscope_model::{
    Document, Domain, Kind, LaneKey, LineIs, NewPoint, NewSlice, Ns, PointKind, Profile, Tag, TraceBuilder,
};

fn fixture(name: &str) -> Document {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles").join(name);
    open(&path, &OpenOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn folded(text: &str) -> Profile {
    match stepscope_formats::read(text.as_bytes(), "test", &OpenOptions::default()) {
        Ok(Document::Profile(profile)) => profile,
        other => panic!("{other:?}"),
    }
}

fn named<'r>(rows: &'r [FunctionRow], name: &str) -> &'r FunctionRow {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

/// Recursion: `f` calls itself through `g`.
const WORKED: &str = "main;f;g;f 10\nmain;f;g 5\nmain;f 3\nmain;h 2\n";

#[test]
fn a_function_on_a_stack_twice_counts_once() {
    let report = functions(&folded(WORKED), 0);
    assert_eq!((report.total, report.samples, report.calls), (20, Some(4), None));
    let sums = |name| {
        let row = named(&report.rows, name);
        (row.self_samples, row.total_samples, row.self_ns)
    };
    assert_eq!(sums("main"), (Some(0), Some(20), None));
    assert_eq!(sums("f"), (Some(13), Some(18), None));
    assert_eq!(sums("g"), (Some(5), Some(15), None));
    assert_eq!(sums("h"), (Some(2), Some(2), None));
    assert_eq!(named(&report.rows, "f").self_share, 13.0 / 20.0);
    assert_eq!(report.rows[0].name, "f");
}

#[test]
fn callers_and_callees_share_their_numbers() {
    let profile = folded(WORKED);
    let edges = |rows: Vec<EdgeRow>| {
        let edge =
            |row: EdgeRow| (row.caller, row.callee, row.self_samples.unwrap(), row.total_samples.unwrap());
        rows.into_iter().map(edge).collect::<Vec<_>>()
    };
    let edge = |caller: &str, callee: &str, own, total| (caller.to_owned(), callee.to_owned(), own, total);
    assert_eq!(
        edges(callers(&profile, 0, |name| name == "f")),
        [edge("main", "f", 3, 18), edge("g", "f", 10, 10)]
    );
    assert_eq!(
        edges(callees(&profile, 0, |name| name == "main")),
        [edge("main", "f", 3, 18), edge("main", "h", 2, 2)]
    );
    assert_eq!(calls(&profile, 0), Err(NoCalls::NoTimes));
}

#[test]
fn frames_of_one_function_at_other_lines_are_one() {
    let profile = folded("main (a.py:3);load (a.py:9) 4\nmain (a.py:3);load (a.py:10) 6\nmain (a.py:4) 1\n");
    let report = functions(&profile, 0);
    assert_eq!(report.rows.len(), 2);
    let load = named(&report.rows, "load");
    assert_eq!((load.self_samples, load.place().as_str()), (Some(10), "a.py"));
    let lines = lines(&profile, 0);
    let seen: Vec<_> = lines.rows.iter().map(|row| (row.line, row.samples, row.share)).collect();
    assert_eq!(seen, [(9, Some(4), 0.4), (10, Some(6), 0.6), (4, Some(1), 1.0)]);
    assert_eq!(lines.total, 11);
}

#[test]
fn cprofile_and_viztracer_count_the_same_calls() {
    // `main(20)` of demo.py: what cProfile counts, Python's functions first.
    let want: &[(&str, u64, u64)] = &[
        ("batches", 8, 8),
        ("fib", 67, 1),
        ("encode", 7, 7),
        ("even", 6, 1),
        ("odd", 5, 1),
        ("main", 1, 1),
        ("<lambda>", 20, 20),
        ("<genexpr>", 207, 207),
        ("len", 201, 201),
        ("upper", 200, 200),
    ];
    let run = Run::from_document(fixture("viztracer.json.gz"));
    let profile = run.profile().unwrap();
    assert_eq!(profile.line_is, LineIs::Start);
    let report = functions(profile, 0);
    for &(name, all, primitive) in want {
        let row = report.rows.iter().find(|row| row.name.rsplit('.').next() == Some(name));
        let row = row.unwrap_or_else(|| panic!("{name}"));
        assert_eq!((row.calls, row.primitive_calls), (Some(all), Some(primitive)), "{name}");
    }
    // Its own times add up to the one call of main.
    let main = named(&report.rows, "main");
    assert_eq!(Some(report.total), main.total_ns);
    assert_eq!((main.file.as_deref(), main.line), (Some("demo.py"), Some(29)));
    // Stacks of the same calls add up to the same.
    let stacked: i64 = profile.samples().iter().map(|sample| sample.amounts[0]).sum();
    assert_eq!(stacked, report.total);
}

#[test]
fn functions_of_pstats_are_its_rows() {
    let Document::Profile(profile) = fixture("demo-3.11.pstats") else { panic!() };
    let report = functions(&profile, 0);
    assert_eq!((report.calls, report.primitive_calls), (Some(40_944), Some(32_575)));
    let fib = named(&report.rows, "fib");
    assert_eq!((fib.calls, fib.primitive_calls, fib.place().as_str()), (Some(8361), Some(1), "demo.py:13"));
    assert_eq!(fib.total_per_call_ns, fib.total_ns.map(|ns| ns as f64));
    assert_eq!(fib.self_per_call_ns, fib.self_ns.map(|ns| ns as f64 / 8361.0));
    let shares: f64 = report.rows.iter().map(|row| row.self_share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}

/// A trace as `stepscope run` records it: a thread that works and waits, and one that only waits.
fn sampled() -> Run {
    let mut b = TraceBuilder::new();
    let mut put = |thread: i64, name: &str, from: i64, to: i64| {
        let lane = b.lane(LaneKey { domain: Domain::Host, process: Tag::Int(1), thread: Tag::Int(thread) });
        let (name, cat) = (b.intern(name), b.category("python_function"));
        let (start, dur) = (Ns(from), Ns(to - from));
        b.slice(NewSlice { start, dur, name, cat, kind: Kind::PythonFunction, lane, ..NewSlice::default() });
        lane
    };
    let main = put(1, "a.py(1): main", 0, 1000);
    put(1, "a.py(5): work", 0, 600);
    put(1, "a.py(9): fetch", 600, 1000);
    put(1, "(waiting)", 700, 1000);
    let pool = put(2, "pool.py(3): get", 0, 1000);
    put(2, "(waiting)", 0, 1000);
    for (lane, name) in [(main, "samples of thread 1 (MainThread)"), (pool, "samples of thread 2 (Thread-1)")] {
        let text = b.intern(name);
        b.lane_mut(lane).thread_name = text;
        b.point(NewPoint { lane, kind: PointKind::Metadata, ..NewPoint::default() });
    }
    Run::new(b.finish())
}

#[test]
fn waiting_is_told_apart_from_work() {
    let run = sampled();
    let report = functions(run.profile().unwrap(), 0);
    let row = |name| {
        let row = named(&report.rows, name);
        (row.self_ns.unwrap(), row.total_ns.unwrap(), row.waiting_ns.unwrap())
    };
    assert_eq!(row("main"), (0, 700, 0));
    assert_eq!(row("work"), (600, 600, 0));
    assert_eq!(row("fetch"), (100, 100, 300));
    assert_eq!(row("get"), (0, 0, 1000));
    assert!(report.rows.iter().all(|row| row.name != "(waiting)"));
    assert_eq!((report.total, report.waiting_ns, report.calls), (700, Some(1300), None));
    // Formats that know no waiting get it as time of the function that waits.
    let rows = calls(run.profile().unwrap(), 0).unwrap();
    let by_name: BTreeMap<&str, (i64, i64)> = rows
        .iter()
        .map(|row| (run.profile().unwrap().stacks.name(row.frame), (row.self_ns.0, row.total_ns.0)))
        .collect();
    let want = [("main", (0, 1000)), ("work", (600, 600)), ("fetch", (400, 400)), ("get", (1000, 1000))];
    assert_eq!(by_name, BTreeMap::from(want));
}

#[test]
fn the_verdict_names_functions() {
    let verdict = sampled().verdict().unwrap();
    assert_eq!(
        verdict.text,
        "The main thread waits for 30% of its time, most of it in fetch (a.py:9). Over all threads, work (a.py:5) takes 86% \
         of the time in its own code, fetch (a.py:9) 14%"
    );
    assert_eq!(verdict.bound_by, "python");
    let Document::Profile(profile) = fixture("demo-3.13.pstats") else { panic!() };
    let run = Run::from_document(Document::Profile(profile));
    assert!(run.verdict().unwrap().text.contains("(demo.py:"), "{:?}", run.verdict());
}

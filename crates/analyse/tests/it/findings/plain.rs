//! Rules about plain Python, on profiles and recordings made by hand: each fires where it should, with numbers worked out
//! here, and none speaks about healthy programs.

use stepscope_analyse::findings::{Amount, Confidence, Estimate, Finding, Severity, Thresholds, findings};
use stepscope_analyse::run::Run;
use stepscope_formats::OpenOptions;
use stepscope_model::{
    CallRow, Caller, Decimal, Document, Domain, Frame, FrameId, Kind, LaneId, LaneKey, LineIs, LineRow,
    NewSlice, Ns, Profile, Series, Tag, TraceBuilder, ValueKind, ValueUnit,
};

pub(crate) const RULES: [&str; 17] = [
    "deep_copy",
    "file_io",
    "garbage_collection",
    "gil_contention",
    "growing_memory",
    "hot_function",
    "imports",
    "json",
    "logging",
    "one_core",
    "pandas_rows",
    "pickling",
    "python_loop",
    "regex_compile",
    "repeated_calls",
    "text_formatting",
    "waiting",
];

fn found(run: &Run) -> Vec<Finding> {
    findings(run, &Thresholds::default()).into_iter().filter(|f| RULES.contains(&f.rule)).collect()
}

fn rules(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.rule).collect()
}

fn folded(text: &str) -> Run {
    let read = stepscope_formats::read(text.as_bytes(), "test", &OpenOptions::default());
    Run::from_document(read.unwrap_or_else(|error| panic!("{error}")))
}

/// Counted calls as cProfile writes them, in milliseconds.
struct Counted(Profile);

impl Counted {
    fn new() -> Counted {
        let mut profile =
            Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
        profile.line_is = LineIs::Start;
        Counted(profile)
    }

    fn frame(&mut self, text: &str) -> FrameId {
        let stacks = &mut self.0.stacks;
        let (name, place) = text.split_once(" @ ").unwrap_or((text, ""));
        let (file, line) = place.rsplit_once(':').unwrap_or((place, "0"));
        let (name, file) = (stacks.intern(name), stacks.intern(file));
        stacks.frame(Frame { name, file, line: line.parse().unwrap() })
    }

    /// A function with so many calls, and so many microseconds of its own and in total; all calls are by one caller.
    fn row(mut self, name: &str, calls: u64, own_us: i64, total_us: i64, caller: &str) -> Counted {
        let (frame, by) = (self.frame(name), self.frame(caller));
        let (self_ns, total_ns) = (Ns(own_us * 1000), Ns(total_us * 1000));
        let caller = Caller { frame: by, calls, primitive_calls: calls, self_ns, total_ns };
        let callers = vec![caller];
        self.0.calls.push(CallRow { frame, calls, primitive_calls: calls, self_ns, total_ns, callers });
        self
    }

    fn main(mut self, own_us: i64, total_us: i64) -> Counted {
        let frame = self.frame("main @ app.py:1");
        let (self_ns, total_ns) = (Ns(own_us * 1000), Ns(total_us * 1000));
        self.0.calls.push(CallRow {
            frame,
            calls: 1,
            primitive_calls: 1,
            self_ns,
            total_ns,
            callers: Vec::new(),
        });
        self
    }

    fn run(self) -> Run {
        Run::from_document(Document::Profile(self.0))
    }
}

const MAIN: &str = "main @ app.py:1";
const LIB: &str = "/usr/lib/python3.11";

fn figure<'f>(finding: &'f Finding, label: &str) -> &'f Amount {
    let seen = finding.evidence.iter().find(|evidence| evidence.label == label);
    &seen.unwrap_or_else(|| panic!("no {label} in {:?}", finding.evidence)).value
}

#[test]
fn json_in_samples_is_charged_to_the_line_that_asks_for_it() {
    // 30 + 10 of 100 samples are below json; 30 of them under line 12. `raw_decode` below `loads` counts once.
    let run = folded(
        "main (app.py:3);load (app.py:12);loads (json/__init__.py:346);raw_decode (json/decoder.py:355) 20\n\
         main (app.py:3);load (app.py:12);loads (json/__init__.py:346) 10\n\
         main (app.py:4);save (app.py:20);dumps (json/__init__.py:231) 10\n\
         main (app.py:5);work (app.py:30) 60\n",
    );
    let all = found(&run);
    assert_eq!(rules(&all), ["json"]);
    let json = &all[0];
    assert_eq!(json.source.as_deref(), Some("app.py(12): load"));
    assert_eq!((json.saves_ns, json.saves_share), (None, Some(0.4)));
    assert_eq!((json.severity, json.estimate), (Severity::High, Estimate::UpperBound));
    assert_eq!(figure(json, "encoding and decoding JSON"), &Amount::Count(40));
    assert_eq!(figure(json, "for load (app.py:12)"), &Amount::Count(30));
    assert!(json.title.contains("40%") && json.title.contains("load (app.py:12)"), "{}", json.title);
    assert!(json.code.as_deref().unwrap().contains("orjson.loads"), "{:?}", json.code);
}

#[test]
fn calls_are_counted_from_outside_of_a_library_only() {
    // json takes 300 of 1000 ms: `loads` calls `decode`, whose calls come from inside and do not count again.
    let loads = format!("loads @ {LIB}/json/__init__.py:299");
    let run = Counted::new()
        .main(650_000, 1_000_000)
        .row("load @ app.py:5", 1, 50_000, 350_000, MAIN)
        .row(&loads, 4000, 100_000, 300_000, "load @ app.py:5")
        .row(&format!("decode @ {LIB}/json/decoder.py:332"), 4000, 200_000, 200_000, &loads)
        .run();
    let all = found(&run);
    let json = all.iter().find(|f| f.rule == "json").unwrap();
    assert_eq!((json.saves_ns, json.saves_share), (Some(300_000_000), Some(0.3)));
    assert_eq!(figure(json, "calls"), &Amount::Count(4000));
    assert_eq!(json.source.as_deref(), Some("app.py(5): load"));
}

#[test]
fn libraries_are_known_by_their_functions() {
    let cases: &[(&str, &str, &str)] = &[
        ("logging", "info @ LIB/logging/__init__.py:1", "log.info"),
        ("logging", "<built-in method builtins.print>", "print(index)"),
        ("deep_copy", "deepcopy @ LIB/copy.py:128", "{**old"),
        ("regex_compile", "_compile @ LIB/re/__init__.py:272", "re.compile"),
        ("pandas_rows", "iterrows @ /x/site-packages/pandas/core/frame.py:1", "sum()"),
        ("pandas_rows", "apply @ /x/site-packages/pandas/core/frame.py:1", "frame[\"a\"] + frame[\"b\"]"),
        ("text_formatting", "_strptime @ LIB/_strptime.py:309", "fromisoformat"),
        ("text_formatting", "<method 'format' of 'str' objects>", "join"),
        ("pickling", "<built-in method _pickle.dumps>", "chunksize"),
        ("file_io", "<built-in method _io.open>", "read_text"),
        ("file_io", "<method 'write' of '_io.TextIOWrapper' objects>", "join(lines)"),
        ("file_io", "<built-in method posix.stat>", "scandir"),
        ("garbage_collection", "<built-in method gc.collect>", "gc.freeze"),
        ("imports", "_find_and_load @ <frozen importlib._bootstrap>:1165", "import "),
        ("waiting", "<built-in method time.sleep>", "ready.wait"),
        ("waiting", "<method 'recv' of '_socket.socket' objects>", "ThreadPoolExecutor"),
        ("waiting", "<method 'acquire' of '_thread.lock' objects>", "with lock"),
        ("waiting", "<built-in method posix.waitpid>", "Popen"),
    ];
    for (rule, function, code) in cases {
        let function = function.replace("LIB", LIB);
        // Half of a run of 2 s, in 5,000 calls.
        let with = |own: i64| {
            let run = Counted::new().main(2_000_000 - own, 2_000_000).row(&function, 5000, own, own, MAIN);
            found(&run.run())
        };
        let all = with(1_000_000);
        assert!(rules(&all).contains(rule), "{rule} is silent on {function}: {:?}", rules(&all));
        let finding = all.iter().find(|f| f.rule == *rule).unwrap();
        assert_eq!((finding.saves_share, finding.estimate), (Some(0.5), Estimate::UpperBound), "{function}");
        assert!(finding.code.as_deref().unwrap().contains(code), "{function}: {:?}", finding.code);
        assert_eq!(finding.source.as_deref(), Some("app.py(1): main"), "{function}");
        assert!(finding.title.contains("50%"), "{}", finding.title);
        // A fiftieth is not worth a word.
        assert!(!rules(&with(40_000)).contains(rule), "{rule} speaks about 2%");
    }
}

#[test]
fn imports_name_the_module_and_leave_short_programs_alone() {
    let import = "_find_and_load @ <frozen importlib._bootstrap>:1165";
    let module = "<module> @ /x/site-packages/pandas/__init__.py:1";
    let run = |scale: i64| {
        let counted = Counted::new().main(1000 * scale, 3000 * scale);
        counted.row(import, 300, 500 * scale, 2000 * scale, MAIN).row(
            module,
            1,
            1500 * scale,
            1500 * scale,
            import,
        )
    };
    let all = found(&run(1000).run());
    let imports = all.iter().find(|f| f.rule == "imports").unwrap();
    assert!(imports.code.as_deref().unwrap().contains("import pandas"), "{:?}", imports.code);
    // The same in 3 ms.
    assert!(!rules(&found(&run(1).run())).contains(&"imports"));
}

/// Lines of one function: line, hits, microseconds.
fn timed(lines: &[(u32, u64, i64)]) -> Run {
    let mut profile = Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
    profile.line_is = LineIs::Start;
    let (name, file) = (profile.stacks.intern("total"), profile.stacks.intern("/home/me/app.py"));
    let function = profile.stacks.frame(Frame { name, file, line: 7 });
    profile.lines =
        lines.iter().map(|&(line, hits, us)| LineRow { function, line, hits, ns: Ns(us * 1000) }).collect();
    Run::from_document(Document::Profile(profile))
}

#[test]
fn a_loop_of_cheap_lines_is_seen_and_one_of_heavy_calls_is_not() {
    let all = found(&timed(&[(8, 1, 1), (9, 1_000_001, 200_000), (10, 1_000_000, 400_000), (11, 1, 399_999)]));
    assert_eq!(rules(&all), ["python_loop"]);
    let (share, source) = (all[0].saves_share.unwrap(), all[0].source.as_deref());
    assert_eq!(source, Some("/home/me/app.py(10): total"));
    assert!((share - 0.6).abs() < 1e-9, "{share}");
    assert_eq!(all[0].confidence, Confidence::Low);
    assert_eq!(figure(&all[0], "turns"), &Amount::Count(1_000_001));
    assert!(all[0].why.contains("heuristic"), "{}", all[0].why);
    // Each turn takes 50 µs: it calls something that does the work.
    assert_eq!(found(&timed(&[(8, 1, 1), (9, 20_001, 4_000), (10, 20_000, 1_000_000)])), []);
    // A function that is called often, without a loop.
    assert_eq!(found(&timed(&[(8, 1_000_000, 400_000), (9, 1_000_000, 400_000)])), []);
}

#[test]
fn a_function_that_does_all_itself_is_a_loop_unless_it_uses_arrays() {
    let long = || Counted::new().main(100_000, 1_000_000).row("score @ app.py:9", 3, 900_000, 900_000, MAIN);
    let all = found(&long().run());
    assert_eq!(rules(&all), ["python_loop"]);
    assert_eq!(all[0].source.as_deref(), Some("app.py(9): score"));
    let arrays = long().row("<method 'reduce' of 'numpy.ufunc' objects>", 3, 10, 10, "score @ app.py:9");
    assert_eq!(found(&arrays.run()), []);
    // An algorithm that uses a heap is no arithmetic.
    let heap = long().row("<built-in method _heapq.heappush>", 60_000, 100, 100, "score @ app.py:9");
    assert_eq!(found(&heap.run()), []);
}

#[test]
fn many_cheap_calls_by_one_caller_may_be_worth_keeping() {
    let of = |calls: u64, us: i64| {
        let counted = Counted::new().main(100_000, 1_000_000 + us);
        found(&counted.row("price @ app.py:9", calls, us, us, MAIN).run())
    };
    // 50,000 calls of 10 µs.
    let all = of(50_000, 500_000);
    assert_eq!(rules(&all), ["repeated_calls"]);
    assert_eq!((all[0].confidence, figure(&all[0], "per call")), (Confidence::Low, &Amount::Ns(10_000)));
    assert!(all[0].code.as_deref().unwrap().contains("def price("), "{:?}", all[0].code);
    // 100 calls of 5 ms are no repetition; a million of half a microsecond are not worth a table.
    assert_eq!(of(100, 500_000), []);
    assert_eq!(of(1_000_000, 500_000), []);
}

/// A recording as `stepscope run` writes it: threads with samples, and counters of the monitor every 100 ms.
struct Recorded {
    b: TraceBuilder,
    ms: i64,
}

impl Recorded {
    fn new(ms: i64) -> Recorded {
        Recorded { b: TraceBuilder::new(), ms }
    }

    /// A stack on a thread, in milliseconds; the first thread is the main one.
    fn stack(mut self, thread: i64, from: i64, to: i64, frames: &[&str]) -> Recorded {
        let lane = self.lane(thread);
        let word = if thread == 1 { "MainThread".to_owned() } else { format!("Thread-{thread}") };
        self.b.lane_mut(lane).thread_name = self.b.intern(&format!("samples of thread {thread} ({word})"));
        for name in frames {
            let (name, kind) = (self.b.intern(name), Kind::PythonFunction);
            let (start, dur) = (Ns(from * 1_000_000), Ns((to - from) * 1_000_000));
            self.b.slice(NewSlice { start, dur, name, kind, lane, ..NewSlice::default() });
        }
        self
    }

    /// A stack on the main thread of a child process.
    fn child(mut self, process: i64, from: i64, to: i64, frames: &[&str]) -> Recorded {
        let key = LaneKey { domain: Domain::Host, process: Tag::Int(process), thread: Tag::Int(process) };
        let lane = self.b.lane(key);
        self.b.lane_mut(lane).process_name = self.b.intern(&format!("Worker (pid {process})"));
        self.b.lane_mut(lane).thread_name = self.b.intern(&format!("samples of thread {process} (MainThread)"));
        for name in frames {
            let (name, kind) = (self.b.intern(name), Kind::PythonFunction);
            let (start, dur) = (Ns(from * 1_000_000), Ns((to - from) * 1_000_000));
            self.b.slice(NewSlice { start, dur, name, kind, lane, ..NewSlice::default() });
        }
        self
    }

    fn lane(&mut self, thread: i64) -> LaneId {
        self.b.lane(LaneKey { domain: Domain::Host, process: Tag::Int(1), thread: Tag::Int(thread) })
    }

    fn counter(mut self, name: &str, part: &str, of: impl Fn(i64) -> i64) -> Recorded {
        let lane = self.lane(1);
        let (name, part) = (self.b.intern(name), self.b.intern(part));
        let series = self.b.series(Series { name, part, lane, ..Series::default() }).unwrap();
        for at in (0..self.ms).step_by(100) {
            self.b.count(Ns(at * 1_000_000), &[(series, Decimal { mantissa: of(at), scale: 0 })]);
        }
        self
    }

    fn cpu(self, process: i64, machine: i64) -> Recorded {
        self.counter("process CPU (100 = one core)", "%", |_| process).counter("CPU", "%", |_| machine)
    }

    fn run(self) -> Run {
        Run::new(self.b.finish())
    }

    fn found(self) -> Vec<Finding> {
        found(&self.run())
    }
}

const WORK: [&str; 2] = ["app.py(1): main", "app.py(5): work"];

#[test]
fn threads_that_take_turns_are_told_from_threads_that_run_side_by_side() {
    let three = |process, machine| {
        let recorded = Recorded::new(6000).stack(1, 0, 6000, &WORK).stack(2, 0, 6000, &WORK);
        recorded.stack(3, 0, 6000, &WORK).cpu(process, machine).found()
    };
    let all = three(100, 15);
    assert_eq!(rules(&all), ["gil_contention"]);
    assert_eq!(figure(&all[0], "threads that want to run"), &Amount::Number(3.0));
    assert_eq!(figure(&all[0], "cores used by the process"), &Amount::Number(1.0));
    assert_eq!((all[0].saves_ns, all[0].estimate), (None, Estimate::None));
    assert!(all[0].code.as_deref().unwrap().contains("pool.map(work"), "{:?}", all[0].code);
    // Three cores are used; or the machine is full, and they may wait for a core.
    assert_eq!(three(290, 40), []);
    assert_eq!(three(100, 99), []);
}

#[test]
fn processes_do_not_take_turns() {
    let wait = ["app.py(1): main", "multiprocessing/pool.py(767): get", "(waiting)"];
    let all = Recorded::new(6000)
        .stack(1, 0, 6000, &wait)
        .child(2, 0, 6000, &WORK)
        .child(3, 0, 6000, &WORK)
        .child(4, 0, 6000, &WORK)
        .cpu(3, 40)
        .found();
    assert!(!rules(&all).contains(&"gil_contention"), "{:?}", rules(&all));
}

#[test]
fn one_busy_core_of_many_is_a_remark_after_a_while() {
    let of = |ms: i64, process, machine| Recorded::new(ms).stack(1, 0, ms, &WORK).cpu(process, machine).found();
    let all = of(20_000, 100, 13);
    assert_eq!(rules(&all), ["one_core"]);
    // 1 core is 13% of the machine, so it has at least 7.
    assert_eq!((all[0].severity, figure(&all[0], "cores, at least")), (Severity::Info, &Amount::Number(7.0)));
    assert_eq!(of(2_000, 100, 13), [], "short runs need no second core");
    assert_eq!(of(20_000, 100, 60), [], "a machine of two cores");
    assert_eq!(of(20_000, 700, 90), [], "the others work too");
}

#[test]
fn memory_that_grows_is_told_from_memory_that_is_filled_once() {
    const MIB: i64 = 1 << 20;
    let of = |level: &dyn Fn(i64) -> i64| {
        Recorded::new(8000).stack(1, 0, 8000, &WORK).counter("process memory (RSS)", "bytes", level).found()
    };
    // 50 MiB per second.
    let all = of(&|at| 100 * MIB + 50 * MIB * at / 1000);
    assert_eq!(rules(&all), ["growing_memory"]);
    let Amount::BytesPerSecond(slope) = figure(&all[0], "growth per second") else { panic!() };
    assert!((slope - 50.0 * MIB as f64).abs() < 1.0, "{slope}");
    // Data is read in the first second and kept; a cache breathes; growth of a few MiB.
    assert_eq!(of(&|at| 100 * MIB + 400 * MIB * at.min(1000) / 1000), []);
    assert_eq!(of(&|at| 400 * MIB + 100 * MIB * (at / 400 % 2)), []);
    assert_eq!(of(&|at| 100 * MIB + MIB * at / 1000), []);
}

#[test]
fn a_main_thread_that_waits_is_told_from_one_whose_workers_work() {
    let join = ["app.py(1): main", "threading.py(1087): join", "(waiting)"];
    let alone = Recorded::new(4000).stack(1, 0, 1000, &WORK).stack(1, 1000, 4000, &join);
    let all = alone.found();
    assert_eq!(rules(&all), ["waiting"]);
    assert_eq!((all[0].saves_share, all[0].source.as_deref()), (Some(0.75), Some("app.py(1): main")));
    assert!(all[0].title.contains("a lock, a queue or another thread"), "{}", all[0].title);
    let helped = Recorded::new(4000).stack(1, 0, 1000, &WORK).stack(1, 1000, 4000, &join);
    assert_eq!(helped.stack(2, 1000, 4000, &["app.py(5): work"]).found(), []);
    // Sleep is not Python's: only the waiting is seen.
    let sleep =
        Recorded::new(4000).stack(1, 0, 1000, &WORK).stack(1, 1000, 4000, &["app.py(9): poll", "(waiting)"]);
    let all = sleep.found();
    assert_eq!((rules(&all), all[0].source.as_deref()), (vec!["waiting"], Some("app.py(9): poll")));
    // A server that waits for events is not slow.
    let idle = [
        "app.py(1): main",
        "asyncio/base_events.py(607): run_forever",
        "selectors.py(451): select",
        "(waiting)",
    ];
    assert_eq!(Recorded::new(4000).stack(1, 0, 4000, &idle).found(), []);
    let server =
        ["app.py(1): main", "socketserver.py(233): serve_forever", "selectors.py(451): select", "(waiting)"];
    assert_eq!(Recorded::new(4000).stack(1, 0, 4000, &server).found(), []);
    // Another process is waited for in a call that also selects.
    let child =
        ["app.py(1): main", "subprocess.py(1209): communicate", "selectors.py(415): select", "(waiting)"];
    let all = Recorded::new(4000).stack(1, 0, 4000, &child).found();
    assert!(all[0].title.contains("waits for another process"), "{all:?}");
}

/// Programs that spend their time on what they are for.
#[test]
fn healthy_programs_get_no_finding() {
    let numpy = "<method 'dot' of 'numpy.ndarray' objects>";
    let healthy: Vec<(&str, Run)> = vec![
        (
            "matrix products in NumPy",
            Counted::new()
                .main(10_000, 1_000_000)
                .row("train @ app.py:4", 1, 20_000, 990_000, MAIN)
                .row(numpy, 300, 970_000, 970_000, "train @ app.py:4")
                .run(),
        ),
        (
            "a parser with many functions of a few hundred nanoseconds",
            Counted::new()
                .main(100_000, 1_000_000)
                .row("token @ parse.py:4", 900_000, 350_000, 350_000, MAIN)
                .row("node @ parse.py:40", 700_000, 300_000, 300_000, MAIN)
                .row("join @ parse.py:80", 500_000, 250_000, 250_000, MAIN)
                .run(),
        ),
        (
            "a tree walk that logs and reads a little",
            folded(
                "main (app.py:3);walk (tree.py:9);walk (tree.py:9) 700\n\
                 main (app.py:3);walk (tree.py:9);visit (tree.py:30) 230\n\
                 main (app.py:3);info (logging/__init__.py:1489) 30\n\
                 main (app.py:3);loads (json/__init__.py:346) 20\n\
                 main (app.py:3);_find_and_load (<frozen importlib._bootstrap>:1165) 20\n",
            ),
        ),
        ("a worker pool", {
            let mut recorded = Recorded::new(8000);
            for thread in 2..5 {
                recorded = recorded.stack(thread, 0, 8000, &["app.py(5): work"]);
            }
            let join = ["app.py(1): main", "concurrent/futures/_base.py(428): result", "(waiting)"];
            recorded.stack(1, 0, 8000, &join).cpu(300, 40).run()
        }),
        (
            "a service between requests",
            Recorded::new(8000)
                .stack(1, 0, 8000, &["serve.py(1): main", "asyncio/runners.py(86): run", "(waiting)"])
                .cpu(2, 5)
                .counter("process memory (RSS)", "bytes", |at| (200 << 20) + at)
                .run(),
        ),
        (
            "a function with lines of equal weight",
            timed(&[(8, 500, 100_000), (9, 500, 120_000), (10, 500, 90_000)]),
        ),
    ];
    for (what, run) in healthy {
        assert_eq!(found(&run), [], "{what}");
    }
}

#[test]
fn a_few_samples_say_nothing() {
    let of = |samples: i64| {
        let text =
            format!("main (app.py:3);loads (json/__init__.py:346) {samples}\nmain (app.py:4) {samples}\n");
        found(&folded(&text))
    };
    assert_eq!((rules(&of(10)), rules(&of(40))), (vec![], vec!["json"]));
}

#[test]
fn profiles_of_memory_and_empty_ones_are_left_alone() {
    let mut profile = Profile::new(vec![ValueKind { name: "size".to_owned(), unit: ValueUnit::Bytes }]);
    let name = profile.stacks.intern("deepcopy");
    let file = profile.stacks.intern("copy.py");
    let frame = profile.stacks.frame(Frame { name, file, line: 1 });
    let stack = profile.stacks.push(stepscope_model::StackId::EMPTY, frame);
    profile.add(stepscope_model::Sample::new(0, stack, &[1 << 30]));
    assert_eq!(found(&Run::from_document(Document::Profile(profile))), []);
    assert_eq!(found(&Run::from_document(Document::Profile(Profile::default()))), []);
}

/// Two steps of 10 ms on a thread: 2 ms in an operator, the rest in Python; and what a sampler saw of it.
fn steps_beside_samples() -> Run {
    let mut events = vec![
        r#"{"ph":"M","name":"thread_name","pid":1,"tid":"samples of 1","ts":0,"args":{"name":"samples of thread 1 (MainThread)"}}"#
            .to_owned(),
    ];
    let mut add = |cat: &str, name: &str, tid: &str, from_us: i64, us: i64| {
        events.push(format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{from_us},"dur":{us}}}"#
        ));
    };
    let samples = r#""samples of 1""#;
    // Before the steps: a long start, of which the profiler takes half.
    add("python_function", "train.py(1): <module>", samples, 0, 120_000);
    add("python_function", "stepscope/_launch/late_import.py(69): exec_module", samples, 0, 100_000);
    add("python_function", "torch/__init__.py(1): <module>", samples, 0, 50_000);
    add("python_function", "stepscope/_launch/torch_join.py(70): _imported", samples, 50_000, 50_000);
    add("python_function", "torch/profiler/profiler.py(1551): _transit_action", samples, 50_000, 50_000);
    for step in 0..2 {
        let start = 100_000 + step * 10_000;
        add("user_annotation", &format!("ProfilerStep#{step}"), "1", start, 10_000);
        add("python_function", "train.py(9): step", samples, start, 10_000);
        add("python_function", "train.py(4): augment", samples, start, 6_000);
        add("python_function", "torch/nn/modules/module.py(1700): _call_impl", samples, start + 6_000, 4_000);
        add("cpu_op", "aten::mm", "1", start + 7_000, 2_000);
    }
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    let read = stepscope_formats::read(text.as_bytes(), "test", &OpenOptions::default());
    Run::from_document(read.unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn a_function_of_the_program_that_holds_steps_without_a_device_up() {
    let run = steps_beside_samples();
    let verdict = run.verdict().map(|verdict| verdict.text).unwrap_or_default();
    assert_eq!(verdict, "The main thread spent 80% of the time in Python, most of it in augment (train.py:4)");
    let found = findings(&run, &Thresholds::default());
    let hot = found.iter().find(|finding| finding.rule == "hot_function").expect("it is found");
    assert_eq!(
        hot.title,
        "Python: augment (train.py:4) takes 60% of each step in its own code, outside of operators"
    );
    assert_eq!(hot.source.as_deref(), Some("train.py(4): augment"));
    assert_eq!((hot.saves_ns, hot.estimate), (Some(6_000_000), Estimate::UpperBound));
    assert!(!found.iter().any(|finding| finding.rule == "growing_memory"));
}

#[test]
fn what_a_profiler_does_is_not_the_programs() {
    let run = steps_beside_samples();
    let profile = run.profile().expect("its functions");
    let sum: i64 = profile.samples().iter().map(|sample| sample.amounts[0]).sum();
    assert_eq!(sum, 70_000_000, "50 ms of importing and 20 ms of steps; not 50 ms of starting a profiler");
    // The table of code is about the steps.
    let selection = stepscope_analyse::scope::selection::Selection::default();
    let code = run.code(stepscope_analyse::tables::code::CodeBy::Function, &selection);
    let host = |name: &str| code.rows.iter().find(|row| row.function == name).map(|row| row.host_ns);
    assert_eq!((host("augment"), host("step"), host("<module>")), (Some(12_000_000), Some(8_000_000), None));
}

//! Timelines of calls: what is written is read, whole, cut anywhere, put together and damaged.

use stepscope_formats::{CallStream, CallWords, OpenOptions, READERS, ThreadCalls, read, read_trace};
use stepscope_model::{Kind, Trace};

const NS: u64 = 1 << 32;

fn functions(number: u32) -> impl Iterator<Item = (u32, String, u32, String)> {
    (0..number).map(|at| (at, "a.py".to_owned(), at + 1, format!("f{at}")))
}

fn opened(bytes: &[u8]) -> Trace {
    read_trace(bytes, "test.calls", &OpenOptions::default()).expect("it can be read")
}

/// (name, start, end) of every slice, by lane and start.
fn slices(trace: &Trace) -> Vec<(String, i64, i64)> {
    let all = trace.slices();
    all.ids().map(|id| (trace.name(id).to_owned(), all.start(id).0, all.end(id).0)).collect()
}

fn codes(trace: &Trace) -> Vec<&'static str> {
    trace.notes().iter().map(|note| note.kind.code()).collect()
}

/// f0 from 0 to 100, with f1 from 10 to 30 and f5000 from 2^31 ns later on.
fn file(pid: u32, done: bool) -> Vec<u8> {
    let mut words = CallWords::new(1_000, 8);
    words.enter(0, 1_000);
    words.enter(1, 1_010);
    words.leave(1_030);
    words.enter(5000, 1_030 + (1 << 31));
    words.leave(1_040 + (1 << 31));
    words.leave(1_100 + (1 << 33));
    let mut stream = CallStream::new(Vec::new(), pid, 1, 1_000_000, 90, "python").unwrap();
    stream.thread(0, 40, "main").unwrap();
    let far = std::iter::once((5000, "~".to_owned(), 0, "<built-in method len>".to_owned()));
    stream.functions(functions(2).chain(far)).unwrap();
    let (list, base) = words.words();
    assert_eq!(base, 1_000);
    stream.calls(ThreadCalls { thread: 0, base_ns: 1_000_000, ns_per_tick: NS, words: list }).unwrap();
    if done {
        stream.done(2_000_000, 3, "").unwrap();
    }
    let bytes = stream.bytes();
    let out = stream.into_inner();
    assert_eq!(out.len() as u64, bytes);
    out
}

#[test]
fn what_is_written_is_read() {
    let trace = opened(&file(7, true));
    let later = 1 << 31;
    assert_eq!(
        slices(&trace),
        [
            ("a.py(1): f0".to_owned(), 0, 100 + (1 << 33)),
            ("a.py(2): f1".to_owned(), 10, 30),
            ("<built-in method len>".to_owned(), 30 + later, 40 + later),
        ]
    );
    assert!(trace.slices().ids().all(|id| trace.slices().kind(id) == Kind::PythonFunction));
    let lane = trace.lanes().iter().next().unwrap().1;
    assert_eq!(trace.text(lane.thread_name), "thread 40 (main)");
    assert_eq!(trace.text(lane.process_name), "python");
    assert_eq!(codes(&trace), Vec::<&str>::new());
    assert_eq!(trace.origin().0, 1_000_000);
    assert_eq!(trace.meta().extra("python_call_cost_ns"), Some("90"));
}

#[test]
fn a_folder_of_timelines_is_one() {
    let folder = std::env::temp_dir().join(format!("stepscope-calls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for pid in [7, 8] {
        std::fs::write(folder.join(format!("a.{pid}.calls")), file(pid, pid == 7)).unwrap();
    }
    let files = stepscope_formats::discover(&folder).unwrap();
    assert_eq!(files.iter().map(|file| &file.path).collect::<Vec<_>>(), [&folder]);
    let document = stepscope_formats::open(&folder, &OpenOptions::default()).unwrap();
    let stepscope_model::Document::Trace(trace) = document else { panic!("no trace") };
    assert_eq!((trace.slices().len(), codes(&trace)), (6, vec!["calls-cut"]));
    // Beside other traces each is a trace of its own.
    std::fs::write(folder.join("b.trace.json"), "[]").unwrap();
    assert_eq!(stepscope_formats::discover(&folder).unwrap().len(), 3);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_example_is_what_its_comment_says() {
    let reader = READERS.iter().find(|reader| reader.name == "a timeline of calls").unwrap();
    let trace = opened(reader.example);
    assert_eq!(slices(&trace), [("a.py(1): main".to_owned(), 0, 100), ("a.py(2): work".to_owned(), 10, 30)]);
    assert_eq!(codes(&trace), Vec::<&str>::new());
}

#[test]
fn a_call_takes_eight_bytes() {
    let mut words = CallWords::new(0, 8);
    for at in 0..10_000u64 {
        words.enter(at as u32 % 4_000, at * 100);
        words.leave(at * 100 + 50);
    }
    assert_eq!(words.len(), 20_000);
}

#[test]
fn short_calls_are_forgotten_and_time_goes_on() {
    let mut words = CallWords::new(0, 8);
    words.enter(0, 10);
    let mark = words.mark();
    words.enter(1, 20);
    words.leave(25);
    words.roll_back(mark);
    words.leave(60);
    let mut stream = CallStream::new(Vec::new(), 7, 1, 0, 0, "").unwrap();
    stream.functions(functions(2)).unwrap();
    stream.calls(ThreadCalls { thread: 0, base_ns: 0, ns_per_tick: NS, words: words.words().0 }).unwrap();
    stream.done(100, 1, "").unwrap();
    assert_eq!(slices(&opened(&stream.into_inner())), [("a.py(1): f0".to_owned(), 0, 50)]);
}

#[test]
fn a_process_that_was_killed_leaves_what_it_had_written() {
    let whole = file(7, true);
    let mut most = 0;
    for at in 8..whole.len() {
        let trace = opened(&whole[..at]);
        let found = trace.slices().len();
        assert!(found >= most, "less of a longer file: {at}");
        most = found;
        // Only the last chunk says that all is there.
        assert!(
            codes(&trace).iter().any(|code| code.starts_with("calls-") || *code == "bad-chunk") || at < 48,
            "{at}"
        );
    }
    assert_eq!(most, 3);
    let killed = opened(&file(7, false));
    assert_eq!(killed.slices().len(), 3);
    assert_eq!(codes(&killed), ["calls-cut"]);
}

#[test]
fn calls_that_are_open_end_with_their_thread() {
    let mut words = CallWords::new(0, 8);
    words.enter(0, 10);
    words.enter(1, 20);
    words.leave(50);
    let mut stream = CallStream::new(Vec::new(), 7, 1, 0, 0, "").unwrap();
    stream.functions(functions(2)).unwrap();
    stream.calls(ThreadCalls { thread: 0, base_ns: 0, ns_per_tick: NS, words: words.words().0 }).unwrap();
    let trace = opened(&stream.into_inner());
    assert_eq!(slices(&trace), [("a.py(1): f0".to_owned(), 0, 40), ("a.py(2): f1".to_owned(), 10, 40)]);
    assert_eq!(codes(&trace), ["calls-cut", "calls-left-open"]);
}

#[test]
fn files_one_after_the_other_are_processes() {
    let both = [file(7, true), file(8, true)].concat();
    let trace = opened(&both);
    assert_eq!(trace.slices().len(), 6);
    let processes: Vec<_> = trace.lanes().iter().map(|(_, lane)| lane.key.process.as_int()).collect();
    assert_eq!(processes, [Some(7), Some(8)]);
    assert_eq!(codes(&trace), Vec::<&str>::new());
}

#[test]
fn why_recording_ended_early_is_a_note() {
    let mut stream = CallStream::new(Vec::new(), 7, 1, 0, 0, "").unwrap();
    stream.done(5, 0, "10 calls were recorded (--max-calls)").unwrap();
    let trace = opened(&stream.into_inner());
    let notes: Vec<_> = trace.notes().iter().collect();
    assert_eq!(notes[0].kind.code(), "calls-ended-early");
    assert_eq!(notes[0].detail, "10 calls were recorded (--max-calls)");
}

#[test]
fn limits_hold() {
    let options = OpenOptions { max_events: 2, ..OpenOptions::default() };
    let trace = read_trace(&*file(7, true), "test", &options).unwrap();
    assert!(trace.slices().len() <= 2);
    assert!(codes(&trace).contains(&"limit-reached"));
    // A chunk that says it is longer than any is.
    let mut long = file(7, true);
    long[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let trace = opened(&long);
    assert_eq!((trace.slices().len(), codes(&trace)), (0, vec!["bad-chunk"]));
}

#[test]
fn random_bytes_are_read_or_refused() {
    let whole = file(7, true);
    // A small generator of our own, so that a failure can be repeated.
    let mut state = 12_345u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random() % 8 {
            let at = random() % bytes.len();
            bytes[at] = random() as u8;
        }
        let _ = read(&*bytes, "test", &OpenOptions::default());
    }
    for _ in 0..500 {
        let mut bytes = whole[..8].to_vec();
        bytes.extend((0..random() % 300).map(|_| random() as u8));
        let _ = read(&*bytes, "test", &OpenOptions::default());
    }
    // Words of a chunk that can hold anything: calls that never end, ends without a beginning, times that overflow.
    for _ in 0..500 {
        let words: Vec<u32> = (0..random() % 200).map(|_| (random() as u32) << (random() % 8)).collect();
        let mut stream = CallStream::new(Vec::new(), 7, 1, 0, 0, "").unwrap();
        let ns_per_tick = if random() % 2 == 0 { NS } else { u64::MAX };
        stream.calls(ThreadCalls { thread: 3, base_ns: i64::MAX - 5, ns_per_tick, words: &words }).unwrap();
        let trace = opened(&stream.into_inner());
        assert!(trace.slices().ids().all(|id| trace.slices().end(id) >= trace.slices().start(id)));
    }
}

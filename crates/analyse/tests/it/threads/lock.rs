//! What threads did with the interpreter's lock, worked out by hand.

use stepscope_analyse::threads::lock::{
    HOLDS_LOCK, IDLE_SLICE, LOCK_CATEGORY, TASK_CATEGORY, WAITS_FOR_LOCK, WITHOUT_LOCK, locks,
};
use stepscope_model::{Domain, LaneKey, NewSlice, Ns, Tag, Trace, TraceBuilder};

/// Lanes as `stepscope run` writes them: process, process name, thread name, category and slices.
type Written<'a> = (i64, &'a str, &'a str, &'a str, &'a [(&'a str, i64, i64)]);

fn trace(lanes: &[Written<'_>]) -> Trace {
    let mut b = TraceBuilder::new();
    for (number, (process, process_name, thread_name, category, slices)) in lanes.iter().enumerate() {
        let thread = Tag::Int(number as i64);
        let lane = b.lane(LaneKey { domain: Domain::Host, process: Tag::Int(*process), thread });
        let (process_name, thread_name) = (b.intern(process_name), b.intern(thread_name));
        b.lane_mut(lane).process_name = process_name;
        b.lane_mut(lane).thread_name = thread_name;
        for (name, from, to) in *slices {
            let (name, cat) = (b.intern(name), b.category(category));
            b.slice(NewSlice { start: Ns(*from), dur: Ns(to - from), name, cat, lane, ..NewSlice::default() });
        }
    }
    b.finish()
}

#[test]
fn each_state_has_its_share_and_the_process_one_lock() {
    let found = locks(&trace(&[
        (
            1,
            "python",
            "lock of thread 1 (MainThread)",
            LOCK_CATEGORY,
            &[(HOLDS_LOCK, 0, 300), (WAITS_FOR_LOCK, 300, 800), (HOLDS_LOCK, 800, 1000)],
        ),
        (
            1,
            "python",
            "lock of thread 2 (worker)",
            LOCK_CATEGORY,
            &[(IDLE_SLICE, 100, 300), (HOLDS_LOCK, 300, 800), (WITHOUT_LOCK, 800, 900)],
        ),
        (7, "Pool-1 (pid 7)", "lock of thread 7 (MainThread)", LOCK_CATEGORY, &[(WITHOUT_LOCK, 500, 600)]),
        // Something else that a producer put on lanes of its own.
        (1, "python", "lock of thread 3 (x)", "other", &[(HOLDS_LOCK, 0, 9)]),
    ]));
    let threads: Vec<_> = found
        .threads
        .iter()
        .map(|row| (row.thread.as_str(), row.seen_ns, row.holds_ns, row.without_ns, row.waits_ns, row.idle_ns))
        .collect();
    let expected = [
        ("thread 1 (MainThread)", 1000, 500, 0, 500, 0),
        ("thread 2 (worker)", 800, 500, 100, 0, 200),
        ("thread 7 (MainThread)", 100, 0, 100, 0, 0),
    ];
    // The two that held it equally long: the one that ran longer without it comes first.
    assert_eq!(threads, [expected[1], expected[0], expected[2]]);
    let main = found.threads.iter().find(|row| row.thread.starts_with("thread 1 ")).unwrap();
    assert_eq!((main.holds_share, main.waits_share, main.idle_share), (0.5, 0.5, 0.0));
    let processes: Vec<_> = found
        .processes
        .iter()
        .map(|row| {
            (row.process.as_str(), row.threads, row.span_ns, row.held_ns, row.held_share, row.waiting_ns)
        })
        .collect();
    assert_eq!(processes, [("python", 2, 1000, 1000, 1.0, 500), ("Pool-1 (pid 7)", 1, 100, 0, 0.0, 0)]);
}

#[test]
fn tasks_share_the_time_of_their_loop() {
    let slices = [("Task-1 (main)", 0, 100), ("fetch (get)", 100, 250), ("Task-1 (main)", 300, 350)];
    let found =
        locks(&trace(&[(1, "python", "asyncio tasks of thread 1 (MainThread)", TASK_CATEGORY, &slices)]));
    let tasks: Vec<_> = found
        .tasks
        .iter()
        .map(|row| {
            (row.task.as_str(), row.thread.as_str(), row.running_ns, row.share, row.first_ns, row.last_ns)
        })
        .collect();
    let thread = "thread 1 (MainThread)";
    assert_eq!(
        tasks,
        [("Task-1 (main)", thread, 150, 0.5, 0, 350), ("fetch (get)", thread, 150, 0.5, 100, 250)]
    );
    assert!(found.threads.is_empty());
}

#[test]
fn a_trace_without_samples_has_no_rows() {
    let found = locks(&TraceBuilder::new().finish());
    assert!(found.threads.is_empty() && found.processes.is_empty() && found.tasks.is_empty());
}

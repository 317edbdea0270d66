//! The main thread waits: it sleeps, or stands in line for the network, another process or a lock, while nobody works.

use super::super::words::percent;
use super::library::{evidence, verify};
use crate::findings::{Confidence, Context, Evidence, Figure, Finding, Rule, Threshold};
use crate::names::python_frame::WAITING;
use crate::run::{Count, Function, PythonTime};

pub(in super::super) const RULE: Rule = Rule {
    name: "waiting",
    about: "The main thread of a plain Python program sleeps, or waits for the network, another process or a lock, \
            while no other thread works.",
    thresholds: &[
        Threshold {
            name: "waiting.min_share",
            default: 0.2,
            text: "share of the run in which the main thread waits",
        },
        Threshold {
            name: "waiting.max_busy",
            default: 0.6,
            text: "busy time of all threads, divided by the run, above which others work meanwhile",
        },
    ],
    check,
};

/// One thing to wait for.
struct Kind {
    what: &'static str,
    is: fn(Function<'_>) -> bool,
    why: &'static str,
    fix: &'static str,
    code: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        what: "the network",
        is: |f| {
            ["socket.py", "ssl.py", "http/", "urllib/", "urllib3/", "requests/", "httpx/", "botocore/"]
                .iter()
                .any(|place| f.is_in(place))
                || f.is_native(&["_socket.", "'recv", "'connect' of", "_ssl.", "of '_ssl", "getaddrinfo"])
        },
        why: "One request is answered before the next is sent, so the program takes the sum of all delays.",
        fix: "Send requests side by side, from a few threads or with asyncio, and reuse one connection (a Session).",
        code: "with ThreadPoolExecutor(16) as pool: pages = list(pool.map(fetch, urls))  # not: one after the other",
    },
    Kind {
        what: "another process",
        is: |f| {
            f.is_in("subprocess.py")
                || f.is_in("multiprocessing/pool.py")
                || f.is_in("multiprocessing/connection.py")
                || f.is_in("multiprocessing/popen_fork.py")
                || f.is_native(&["posix.waitpid", "'poll' of 'select.poll'"])
        },
        why: "The program is blocked until the other process responds or exits; what it does is not in this file.",
        fix: "Start the other process earlier and collect its result later, start several at once, and profile the other process.",
        code: "jobs = [subprocess.Popen(command) for command in commands]; [job.wait() for job in jobs]",
    },
    Kind {
        what: "a lock, a queue or another thread",
        is: |f| {
            let waits =
                ["wait", "join", "acquire", "_wait_for_tstate_lock", "get", "put", "result", "__enter__"];
            let file = f.is_in("threading.py") || f.is_in("queue.py") || f.is_in("concurrent/futures/_base.py");
            file && waits.contains(&f.name.rsplit('.').next().unwrap_or_default())
                || f.is_native(&["'acquire' of '_thread", "'__enter__' of '_thread", "'join' of '_thread"])
        },
        why: "Another thread or process holds the lock, or has not put anything into the queue yet. If others do \
              the work, look at those.",
        fix: "See what the other side does while this one waits, hold locks as briefly as possible, and give the \
              waiting thread something to do.",
        code: "with lock: results.append(result)  # hold the lock only to store; compute before",
    },
    Kind {
        what: "time.sleep",
        is: |f| f.is_native(&["time.sleep"]),
        why: "The program sleeps for a fixed time, whether or not what it waits for is ready.",
        fix: "Wait for the event itself, with a timeout, instead of sleeping.",
        code: "ready.wait(timeout=1)  # a threading.Event; not: time.sleep(1) in a loop",
    },
];

/// What recordings call a wait in code that is not Python's.
const OTHER: Kind = Kind {
    what: "something that is not Python's: sleep, files, or a library",
    is: |f| f.name == WAITING,
    why: "The thread used less than a tenth of a processor: it sleeps, reads files, or waits in a library.",
    fix: "Wait for events instead of sleeping; read files ahead in a thread; ask for several things at once.",
    code: "with ThreadPoolExecutor(8) as pool: parts = list(pool.map(read, paths))  # not: one after the other",
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(time) = context.python() else { return Vec::new() };
    let busy = time.busy.iter().copied().fold(0, i64::saturating_add) as f64 / time.whole as f64;
    if time.knows_waiting() && busy > context.limit("waiting.max_busy") {
        return Vec::new();
    }
    let count = if time.knows_waiting() { Count::Waiting } else { Count::Main };
    let mut found = Vec::new();
    for (at, kind) in KINDS.iter().enumerate() {
        // Each stack counts for the first kind that it holds, and none in an event loop.
        let is_not = |f: Function<'_>| f.is_in("asyncio/") || KINDS[..at].iter().any(|earlier| (earlier.is)(f));
        found.extend(of_kind(context, time, count, kind, &is_not));
    }
    if time.knows_waiting() {
        let is_not = |f: Function<'_>| f.is_in("asyncio/") || KINDS.iter().any(|kind| (kind.is)(f));
        found.extend(of_kind(context, time, count, &OTHER, &is_not));
    }
    found
}

fn of_kind(
    context: &Context<'_>,
    time: &PythonTime<'_>,
    count: Count,
    kind: &Kind,
    is_not: &dyn Fn(Function<'_>) -> bool,
) -> Option<Finding> {
    let spent = time.counted(count, kind.is, is_not)?;
    if spent.share < context.limit("waiting.min_share") {
        return None;
    }
    let mut finding = context.taking(RULE.name, spent.share)?;
    finding.confidence = if time.knows_waiting() { Confidence::High } else { Confidence::Medium };
    let by = spent.places.first().map(|place| format!(", most of it in {}", place.words())).unwrap_or_default();
    finding.title =
        format!("Waiting: for {} of the run the main thread waits for {}{by}", percent(spent.share), kind.what);
    finding.evidence = evidence(time, &spent, "waiting");
    if time.knows_waiting() {
        let busy = time.busy.iter().copied().fold(0, i64::saturating_add) as f64 / time.whole as f64;
        finding.evidence.push(Evidence::new(
            "busy threads, on average",
            Figure::Number(busy),
            "The time in which threads did not wait, summed over all of them and divided by the run.",
        ));
    }
    finding.why = kind.why.to_owned();
    finding.fix = kind.fix.to_owned();
    finding.code = Some(kind.code.to_owned());
    finding.source = spent.places.first().map(|place| place.frame());
    finding.verify = verify(context);
    Some(finding)
}

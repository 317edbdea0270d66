//! The main thread waits: it sleeps, or queues for the network, another process or a lock, while no other thread works.

use super::super::text::percent;
use super::library::{evidence, verify};
use crate::findings::{Amount, Confidence, Context, Evidence, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;
use crate::names::python_frame::WAITING;
use crate::names::waiting::{WaitKind, waits_inside};
use crate::run::{PythonTime, SampleFilter};

pub(in super::super) const RULE: Rule = Rule {
    name: "waiting",
    about: "The main thread of a plain Python program sleeps, or waits for the network, another process or a lock, \
            while no other thread works.",
    thresholds: thresholds! {
        "waiting.min_share" = 0.2, "share of the run in which the main thread waits";
        "waiting.max_busy" = 0.6, "busy time of all threads, divided by the run, above which others work meanwhile";
    },
    check,
    ..USUAL
};

struct WaitAdvice {
    what: &'static str,
    kinds: &'static [WaitKind],
    why: &'static str,
    fix: &'static str,
    code: &'static str,
}

const WAIT_ADVICE: [WaitAdvice; 4] = [
    WaitAdvice {
        what: "the network",
        kinds: &[WaitKind::Network],
        why: "One request is answered before the next is sent, so the program takes the sum of all delays.",
        fix: "Send requests side by side, from a few threads or with asyncio, and reuse one connection (a Session).",
        code: "with ThreadPoolExecutor(16) as pool: pages = list(pool.map(fetch, urls))  # not: one after the other",
    },
    WaitAdvice {
        what: "another process",
        kinds: &[WaitKind::Process, WaitKind::Child, WaitKind::Data],
        why: "The program is blocked until the other process responds or exits; what it does is not in this file.",
        fix: "Start the other process earlier and collect its result later, start several at once, and profile the other process.",
        code: "jobs = [subprocess.Popen(command) for command in commands]; [job.wait() for job in jobs]",
    },
    WaitAdvice {
        what: "a lock, a queue or another thread",
        kinds: &[WaitKind::Lock],
        why: "Another thread or process holds the lock, or has not put anything into the queue yet. If others do \
              the work, look at those.",
        fix: "See what the other side does while this one waits, hold locks as briefly as possible, and give the \
              waiting thread something to do.",
        code: "with lock: results.append(result)  # hold the lock only to store; compute before",
    },
    WaitAdvice {
        what: "time.sleep",
        kinds: &[WaitKind::Sleep],
        why: "The program sleeps for a fixed time, whether or not what it waits for is ready.",
        fix: "Wait for the event itself, with a timeout, instead of sleeping.",
        code: "ready.wait(timeout=1)  # a threading.Event; not: time.sleep(1) in a loop",
    },
];

/// What recordings call a wait in code that is not Python's.
const OTHER_WAIT: WaitAdvice = WaitAdvice {
    what: "something that is not Python's: sleep, files, or a library",
    kinds: &[],
    why: "The thread used less than a tenth of a processor: it sleeps, reads files, or waits in a library.",
    fix: "Wait for events instead of sleeping; read files ahead in a thread; ask for several things at once.",
    code: "with ThreadPoolExecutor(8) as pool: parts = list(pool.map(read, paths))  # not: one after the other",
};

impl WaitAdvice {
    fn is(&self, function: Function<'_>) -> bool {
        waits_inside(function).is_some_and(|kind| self.kinds.contains(&kind))
    }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(time) = context.python() else { return Vec::new() };
    let busy = time.busy.iter().copied().fold(0, i64::saturating_add) as f64 / time.whole as f64;
    if time.knows_waiting() && busy > context.threshold("waiting.max_busy") {
        return Vec::new();
    }
    let count = if time.knows_waiting() { SampleFilter::Waiting } else { SampleFilter::Main };
    let mut found = Vec::new();
    for (at, advice) in WAIT_ADVICE.iter().enumerate() {
        // Each stack counts for the first thing that it holds, and none in an event loop.
        let is_not =
            |f: Function<'_>| f.is_in("asyncio/") || WAIT_ADVICE[..at].iter().any(|earlier| earlier.is(f));
        found.extend(finding_for(context, time, count, advice, &|f| advice.is(f), &is_not));
    }
    if time.knows_waiting() {
        // Whoever waits for events is not slow, and what else is known has had its turn.
        let is_not = |f: Function<'_>| f.is_in("asyncio/") || waits_inside(f).is_some();
        found.extend(finding_for(context, time, count, &OTHER_WAIT, &|f| f.name == WAITING, &is_not));
    }
    found
}

fn finding_for(
    context: &Context<'_>,
    time: &PythonTime<'_>,
    count: SampleFilter,
    advice: &WaitAdvice,
    is: &dyn Fn(Function<'_>) -> bool,
    is_not: &dyn Fn(Function<'_>) -> bool,
) -> Option<Finding> {
    let spent = time.counted(count, is, is_not)?;
    if spent.share < context.threshold("waiting.min_share") {
        return None;
    }
    let mut finding = context.taking(RULE.name, spent.share)?;
    finding.confidence = if time.knows_waiting() { Confidence::High } else { Confidence::Medium };
    let by =
        spent.places.first().map(|place| format!(", most of it in {}", place.describe())).unwrap_or_default();
    finding.title = format!(
        "Waiting: for {} of the run the main thread waits for {}{by}",
        percent(spent.share),
        advice.what
    );
    finding.evidence = evidence(time, &spent, "waiting");
    if time.knows_waiting() {
        let busy = time.busy.iter().copied().fold(0, i64::saturating_add) as f64 / time.whole as f64;
        finding.evidence.push(Evidence::new(
            "busy threads, on average",
            Amount::Number(busy),
            "The time in which threads did not wait, summed over all of them and divided by the run.",
        ));
    }
    finding.why = advice.why.to_owned();
    finding.fix = advice.fix.to_owned();
    finding.code = Some(advice.code.to_owned());
    finding.source = spent.places.first().map(|place| place.frame());
    finding.verify = verify(context);
    Some(finding)
}

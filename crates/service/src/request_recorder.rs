//! Records the requests of a service: counted by the threads that answer them, and written once per second by a thread.
//!
//! Nothing here fails into the service. What is wrong becomes a warning that is given once.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stepscope_ground::lock;
use stepscope_ground::utc::now_ns;

use crate::exemplar::ExemplarLimits;
use crate::recorder::{Limits, Recorder, RouteId};
use crate::retention::Retention;
use crate::sla::Target;
use crate::stats::{RouteStats, TargetCount};
use crate::writer::{Now, Writer};

/// The window over which a share of requests is checked, to say that a target is missed now.
const WINDOW_SECONDS: u64 = 300;
/// Fewer requests than this say nothing about a share.
const MIN_REQUESTS: u64 = 20;
/// Things to say that wait to be asked for; more are dropped.
const MAX_NEWS: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// Where its minutes are kept.
    pub folder: PathBuf,
    /// Targets by route; those of `*` are for routes that have none.
    pub targets: HashMap<String, Vec<Target>>,
    /// Bounds on names and regions.
    pub limits: Limits,
    /// Examples per route and hour.
    pub keep: ExemplarLimits,
    pub retention: Retention,
}

/// Something that the service should hear.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceNotice {
    /// Something is wrong with the monitor itself.
    Warning(String),
    /// A share of requests missed a target, over the last minutes of this process.
    Missed {
        route: String,
        target: String,
        /// Requests of the window.
        requests: u64,
        missed: u64,
    },
}

#[derive(Debug)]
pub struct RequestRecorder {
    pub recorder: Recorder,
    options: RecorderOptions,
    state: Mutex<RecorderState>,
    news: Mutex<VecDeque<ServiceNotice>>,
    has_news: AtomicBool,
    started: AtomicBool,
    /// In a forked child the parent's counts and locks are not used.
    dead: AtomicBool,
    requests: AtomicU64,
}

#[derive(Debug)]
struct RecorderState {
    writer: Writer,
    begun: Instant,
    said: HashSet<String>,
    windows: BTreeMap<(String, String), Window>,
}

/// Counts of the last seconds.
#[derive(Debug, Default)]
struct Window {
    /// By second since the recorder was made.
    seconds: VecDeque<(u64, TargetCount)>,
    total: TargetCount,
    missing: bool,
}

impl RequestRecorder {
    /// Watches a service. Nothing is written, and no thread runs, before the first request.
    pub fn new(options: RecorderOptions) -> Arc<Self> {
        let recorder = Recorder::new(options.targets.clone(), options.limits, options.keep);
        // Numbers of processes are used again, and clocks are coarse: both together are not.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed) as u32;
        let token = (now_ns() as u64 >> 10) as u32 ^ made.wrapping_mul(0x9e37_79b9);
        let writer = Writer::new(options.folder.clone(), options.retention, token);
        let state =
            RecorderState { writer, begun: Instant::now(), said: HashSet::new(), windows: BTreeMap::new() };
        Arc::new(Self {
            recorder,
            options,
            state: Mutex::new(state),
            news: Mutex::default(),
            has_news: AtomicBool::new(false),
            started: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            requests: AtomicU64::new(0),
        })
    }

    /// The same service in a forked child, which counts from nothing. The parent's is left as it is, for good.
    pub fn after_fork(&self) -> Arc<Self> {
        self.dead.store(true, Ordering::Relaxed);
        Self::new(self.options.clone())
    }

    /// Whether it counts: not after a fork.
    pub fn is_alive(&self) -> bool {
        !self.dead.load(Ordering::Relaxed)
    }

    /// Where its minutes are kept.
    pub fn folder(&self) -> &std::path::Path {
        &self.options.folder
    }

    /// Starts the thread that writes, unless it runs. Counts the requests that begin: one in seventeen is measured more
    /// closely, and gets `true`.
    pub fn begin(self: &Arc<Self>) -> bool {
        if !self.started.swap(true, Ordering::Relaxed) && self.is_alive() {
            let weak = Arc::downgrade(self);
            let spawned = std::thread::Builder::new().name("stepscope".to_owned()).spawn(move || run(&weak));
            if spawned.is_err() {
                self.say(ServiceNotice::Warning(
                    "requests are counted but not kept: no thread could be started\nhint: raise the limit of threads (ulimit -u)"
                        .to_owned(),
                ));
            }
        }
        self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(17)
    }

    /// Writes all that was counted so far.
    pub fn flush(&self) {
        if !self.is_alive() {
            return;
        }
        let mut state = lock(&self.state);
        let now = Now {
            wall_ns: now_ns(),
            steady_ns: state.begun.elapsed().as_nanos() as u64,
            cpu_ns: process_cpu_ns(),
            rss_bytes: rss_bytes(),
        };
        let (counted, said) = state.writer.tick(&self.recorder, now);
        let mut news: Vec<ServiceNotice> = said
            .filter(|words| state.said.insert(words.clone()))
            .map(ServiceNotice::Warning)
            .into_iter()
            .collect();
        state.check_windows(now.steady_ns / 1_000_000_000, &self.recorder, &counted, &mut news);
        drop(state);
        news.into_iter().for_each(|news| self.say(news));
    }

    /// Whether there is anything to say; costs reading a flag.
    pub fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// What there is to say, once.
    pub fn take_notices(&self) -> Vec<ServiceNotice> {
        if !self.is_alive() {
            return Vec::new();
        }
        let mut news = lock(&self.news);
        self.has_news.store(false, Ordering::Relaxed);
        news.drain(..).collect()
    }

    fn say(&self, words: ServiceNotice) {
        let mut news = lock(&self.news);
        if news.len() < MAX_NEWS {
            news.push_back(words);
            self.has_news.store(true, Ordering::Relaxed);
        }
    }

    /// The targets of a route that each request is held against by itself, with their bits in [`crate::RequestOutcome`].
    pub fn per_request_targets(&self, route: RouteId) -> Vec<(u64, Target)> {
        let targets = self.recorder.targets(route).into_iter().enumerate();
        targets.map(|(at, target)| (1 << at, target)).filter(|(_, target)| target.is_per_request()).collect()
    }
}

impl Drop for RequestRecorder {
    fn drop(&mut self) {
        if self.started.load(Ordering::Relaxed) {
            self.flush();
        }
    }
}

impl RecorderState {
    /// Whether a share of requests misses a target now, that did not before.
    fn check_windows(
        &mut self,
        second: u64,
        recorder: &Recorder,
        counted: &BTreeMap<String, RouteStats>,
        news: &mut Vec<ServiceNotice>,
    ) {
        for (route, stats) in counted {
            for target in stats.targets.keys() {
                self.windows.entry((route.clone(), target.clone())).or_default();
            }
        }
        for ((route, name), window) in &mut self.windows {
            let now = counted.get(route).and_then(|stats| stats.targets.get(name)).copied().unwrap_or_default();
            window.push(second, now);
            let TargetCount { requests, missed } = window.total;
            let targets = recorder.targets(recorder.route(route));
            let Some(target) = targets.iter().find(|t| t.text == *name && !t.is_per_request()) else {
                continue;
            };
            let missing = requests >= MIN_REQUESTS && !target.is_kept(requests, missed);
            if missing && !window.missing {
                news.push(ServiceNotice::Missed {
                    route: route.clone(),
                    target: name.clone(),
                    requests,
                    missed,
                });
            }
            window.missing = missing;
        }
    }
}

impl Window {
    fn push(&mut self, second: u64, now: TargetCount) {
        match self.seconds.back_mut().filter(|(last, _)| *last == second) {
            // Flushing often does not make the window shorter.
            Some((_, count)) => count.merge(now),
            None => self.seconds.push_back((second, now)),
        }
        self.total.merge(now);
        while let Some((_, old)) = self.seconds.front().copied().filter(|(at, _)| at + WINDOW_SECONDS <= second)
        {
            self.seconds.pop_front();
            self.total.requests -= old.requests;
            self.total.missed -= old.missed;
        }
    }
}

/// Once per second, just after the clock's own second, so that a minute on disk is the minute of the clock.
fn run(weak: &Weak<RequestRecorder>) {
    loop {
        let into = now_ns().rem_euclid(1_000_000_000) as u64;
        std::thread::sleep(Duration::from_nanos(1_000_000_000 - into));
        let Some(monitor) = weak.upgrade() else { return };
        monitor.flush();
    }
}

/// Processor time that the process has used.
fn process_cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// Processor time that this thread has used.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Memory that the process holds; 0 where the system does not say.
pub fn rss_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests;

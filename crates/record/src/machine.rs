//! Samples the machine from a thread of its own. Made once, it looks for its sensors and lists those it lacks; started,
//! it takes a sample at once and then at its interval.

mod amd;
mod device_use;
mod host;
pub(crate) mod nvidia;
mod process;
mod process_use;
mod sensors;
mod series;
mod source;
mod stats;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock::now_ns;
pub use device_use::{DeviceUse, Devices};
pub use process_use::{ProcessUsage, ProcessUse};
use series::Series;
pub use series::{CounterInfo, Summary};
use source::Source;
pub use source::{MissingSensor, Roots};
pub use stats::{CounterStat, CounterStats};
use stepscope_ground::lock;

/// All that are there, for the end of the process.
static LIVE_SAMPLERS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Ends all sampling. Called before the process ends: a driver's library must not be asked while it is taken down.
pub fn end_all() {
    for shared in lock(&LIVE_SAMPLERS).iter().filter_map(Weak::upgrade) {
        shared.end();
        // Waits for a sample that is under way.
        drop(lock(&shared.sources));
    }
}

/// Shorter intervals would measure the sampler itself.
const MIN_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// From one sample to the next.
    pub interval: Duration,
    pub gpu: bool,
    pub network: bool,
    pub disk: bool,
    /// Temperatures and clocks of the processors.
    pub temperature: bool,
    /// Energy of the processors.
    pub power: bool,
    /// Each processor by itself.
    pub per_core: bool,
    /// Where the system's files are.
    pub roots: Roots,
}

impl Default for MachineOptions {
    fn default() -> MachineOptions {
        MachineOptions {
            interval: Duration::from_millis(100),
            gpu: true,
            network: true,
            disk: true,
            temperature: true,
            power: true,
            per_core: false,
            roots: Roots::default(),
        }
    }
}

/// The monitor. It ends its thread when it is dropped.
pub struct MachineSampler {
    shared: Arc<Shared>,
    missing: Vec<MissingSensor>,
    running: Mutex<Running>,
    interval: Duration,
    /// Whose threads and locks these are.
    process: u32,
}

#[derive(Default)]
struct Running {
    /// How often it was started and not yet stopped.
    starts: usize,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Each with the place of its first counter.
    sources: Mutex<Vec<(usize, Box<dyn Source>)>>,
    counters: Arc<[CounterInfo]>,
    series: Mutex<Vec<Series>>,
    stop: (Mutex<bool>, Condvar),
    cpu_ns: AtomicU64,
}

impl MachineSampler {
    /// Looks for sensors.
    pub fn new(options: &MachineOptions) -> MachineSampler {
        MachineSampler::with(options, true)
    }

    /// The same without counters of this process, for one that watches others for weeks: what a driver answers slowly is
    /// read more rarely still.
    pub fn of_machine(options: &MachineOptions) -> MachineSampler {
        MachineSampler::with(options, false)
    }

    fn with(options: &MachineOptions, own: bool) -> MachineSampler {
        let interval = options.interval.max(MIN_INTERVAL);
        let (sources, missing) = find_sources(options, 1.0 / interval.as_secs_f64(), own);
        let mut counters = Vec::new();
        let mut placed = Vec::new();
        for source in sources {
            placed.push((counters.len(), source));
            if let Some((_, source)) = placed.last() {
                counters.extend(source.counters());
            }
        }
        let shared = Shared {
            series: Mutex::new(vec![Series::default(); counters.len()]),
            sources: Mutex::new(placed),
            counters: counters.into(),
            stop: (Mutex::new(false), Condvar::new()),
            cpu_ns: AtomicU64::new(0),
        };
        let shared = Arc::new(shared);
        let mut alive = lock(&LIVE_SAMPLERS);
        alive.retain(|one| one.strong_count() > 0);
        alive.push(Arc::downgrade(&shared));
        drop(alive);
        MachineSampler { shared, missing, running: Mutex::default(), interval, process: std::process::id() }
    }

    /// Starts sampling; once more if it runs already. Each start needs a stop.
    pub fn start(&self) {
        let mut running = lock(&self.running);
        running.starts += 1;
        if running.thread.is_some() {
            return;
        }
        *lock(&self.shared.stop.0) = false;
        // The first value is there when start returns.
        self.shared.sample(true);
        let (shared, interval) = (self.shared.clone(), self.interval);
        let thread =
            std::thread::Builder::new().name("stepscope".to_owned()).spawn(move || shared.run(interval));
        running.thread = thread.ok();
    }

    /// Stops sampling, if this was the last start; a last sample is taken.
    pub fn stop(&self) {
        let mut running = lock(&self.running);
        running.starts = running.starts.saturating_sub(1);
        if running.starts > 0 {
            return;
        }
        if let Some(thread) = running.thread.take() {
            self.shared.end();
            let _ = thread.join();
            self.shared.sample(true);
        }
    }

    pub fn is_running(&self) -> bool {
        lock(&self.running).thread.is_some()
    }

    /// In a forked child there is no thread to wait for.
    pub fn forget_after_fork(&self) {
        if let Ok(mut running) = self.running.try_lock() {
            running.starts = 0;
            std::mem::forget(running.thread.take());
        }
    }

    /// From one sample to the next.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Takes a sample at once, of what is otherwise read seldom too.
    pub fn sample_now(&self) {
        self.shared.sample(true);
    }

    /// Takes a sample and hands its values out by their place in [`MachineSampler::counters`] instead of keeping them: for
    /// callers that keep sums only. `edge`: at the start and at the end, of what is otherwise read seldom too.
    pub fn sample_into(&self, edge: bool, out: &mut dyn FnMut(usize, f64)) {
        self.shared.values(edge, &mut |place, _, value| out(place, value));
    }

    pub fn counters(&self) -> &[CounterInfo] {
        &self.shared.counters
    }

    /// What is not, and why.
    pub fn missing(&self) -> &[MissingSensor] {
        &self.missing
    }

    /// The newest value of each counter that has one.
    pub fn latest(&self) -> Vec<(&str, f64)> {
        let series = lock(&self.shared.series);
        let pairs = self.shared.counters.iter().zip(series.iter());
        pairs.filter_map(|(info, series)| Some((info.name.as_str(), *series.values.last()?))).collect()
    }

    /// Each counter in a stretch of time, where something is known of it.
    pub fn window(&self, from_ns: i64, to_ns: i64) -> Vec<(&str, Summary)> {
        let series = lock(&self.shared.series);
        let pairs = self.shared.counters.iter().zip(series.iter());
        pairs.filter_map(|(info, series)| Some((info.name.as_str(), series.summary(from_ns, to_ns)?))).collect()
    }

    /// Adds a stretch of time to sums over several. Nothing in a forked child: a thread that is not there may hold the lock.
    pub fn add_window(&self, stats: &mut CounterStats, from_ns: i64, to_ns: i64) {
        if self.process == std::process::id() {
            stats.add(&self.shared.counters, &lock(&self.shared.series), from_ns, to_ns);
        }
    }

    /// All values of a counter in a stretch of time; nothing if there is no such counter.
    pub fn series(&self, name: &str, from_ns: i64, to_ns: i64) -> Option<(Vec<i64>, Vec<f64>)> {
        let place = self.shared.counters.iter().position(|info| info.name == name)?;
        let series = lock(&self.shared.series);
        let range = series[place].within(from_ns, to_ns);
        Some((series[place].at_ns[range.clone()].to_vec(), series[place].values[range].to_vec()))
    }

    /// What the sampling thread has used of a processor.
    pub fn cpu_time(&self) -> Duration {
        Duration::from_nanos(self.shared.cpu_ns.load(Ordering::Relaxed))
    }
}

impl Drop for MachineSampler {
    fn drop(&mut self) {
        let thread = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).thread.take();
        if self.process != std::process::id() {
            // A forked child: its parent's thread is not here, but may have held a lock that is never released.
            std::mem::forget(thread);
            return;
        }
        self.shared.end();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, interval: Duration) {
        let mut due = Instant::now() + interval;
        let (stop, woken) = &self.stop;
        loop {
            let mut ended = lock(stop);
            while !*ended {
                let left = due.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                ended = woken.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            if *ended {
                return;
            }
            drop(ended);
            self.sample(false);
            let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            self.cpu_ns.store(spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64, Ordering::Relaxed);
            // A machine that slept or was busy is not made up for.
            due = (due + interval).max(Instant::now());
        }
    }

    fn values(&self, edge: bool, out: &mut dyn FnMut(usize, i64, f64)) {
        for (first, source) in &mut *lock(&self.sources) {
            let now = now_ns();
            source.sample(now, edge, &mut |place, value| {
                if value.is_finite() {
                    out(*first + place, now, value);
                }
            });
        }
    }

    fn sample(&self, edge: bool) {
        let mut found: Vec<(usize, i64, f64)> = Vec::with_capacity(self.counters.len());
        self.values(edge, &mut |place, at, value| found.push((place, at, value)));
        let mut series = lock(&self.series);
        for (place, at, value) in found {
            series[place].push(at, value);
        }
    }

    fn end(&self) {
        *lock(&self.stop.0) = true;
        self.stop.1.notify_all();
    }
}

fn find_sources(
    options: &MachineOptions,
    per_second: f64,
    own: bool,
) -> (Vec<Box<dyn Source>>, Vec<MissingSensor>) {
    let roots = &options.roots;
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    let mut missing = Vec::new();
    let mut proc = |what: &str, source: std::io::Result<Box<dyn Source>>| match source {
        Ok(source) => sources.push(source),
        Err(error) => {
            let fix = "the monitor reads /proc, which only Linux has";
            missing.push(MissingSensor::new(what, error.to_string(), fix));
        }
    };
    if own {
        proc("process", process::Process::new(roots).map(|s| Box::new(s) as Box<dyn Source>));
    }
    proc("CPU", host::Processors::new(roots, options.per_core).map(|s| Box::new(s) as Box<dyn Source>));
    proc("memory", host::Memory::new(roots).map(|s| Box::new(s) as Box<dyn Source>));
    if options.network {
        proc("network", host::Network::new(roots).map(|s| Box::new(s) as Box<dyn Source>));
    }
    let mut maybe = |source: Result<Box<dyn Source>, MissingSensor>| match source {
        Ok(source) => sources.push(source),
        Err(why) => missing.push(why),
    };
    if options.disk {
        maybe(host::Disks::new(roots).map(|s| Box::new(s) as Box<dyn Source>));
    }
    if options.temperature {
        maybe(sensors::cpu_temperature(roots));
        maybe(sensors::cpu_clock(roots, per_second));
    }
    if options.power {
        let (energy, lacking) = sensors::cpu_energy(roots);
        sources.extend(energy);
        missing.extend(lacking);
    }
    if options.gpu {
        let mut nvidia_devices = 0;
        let mut no_nvidia = None;
        match nvidia::devices(roots, own, &mut missing) {
            Ok(devices) => {
                nvidia_devices = devices.len();
                sources.extend(devices);
            }
            Err(why) => no_nvidia = Some(why),
        }
        let amd = amd::devices(roots, nvidia_devices);
        if amd.is_empty() {
            missing.extend(no_nvidia);
        }
        sources.extend(amd);
    }
    (sources, missing)
}

//! Where requests are counted while a service runs: several tables, each behind a lock that its threads hardly ever share.
//!
//! What is kept does not depend on how many requests come: names beyond a bound count as one, and histograms have a
//! bounded number of buckets. [`Recorder::drain`] takes what was counted since the last time.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use stepscope_ground::lock;

use crate::exemplar::{Exemplar, ExemplarLimits, KeptSpan, MAX_ID, RouteExemplars};
use crate::sketch::Sketch;
use crate::sla::Target;
use crate::stats::{OTHER, RegionStats, RouteStats, TargetCount};

/// Tables that requests are counted in. More threads than this share one now and then.
const SHARD_COUNT: usize = 8;
/// The longest name of a route or region, in bytes.
pub const MAX_NAME: usize = 200;
/// As many times as long as the mean of the last second is unusual.
const UNUSUAL_RATIO: u64 = 3;
/// Fewer requests have no mean to speak of.
const MIN_USUAL_REQUESTS: u64 = 10;
/// Frames of a stack that are kept.
const MAX_FRAMES: usize = 64;
/// The longest frame, in bytes.
const MAX_FRAME: usize = 300;
/// A region that lies in none.
pub const NO_PARENT: u32 = u32::MAX;

/// Bounds on what is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Routes; requests of others count as "(other)".
    pub routes: usize,
    /// Names of regions; others count as "(other)".
    pub regions: usize,
    /// Regions of one request.
    pub spans: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { routes: 200, regions: 64, spans: 64 }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId(pub u32);

/// The number of a region's name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u32);

/// One region of a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub region: RegionId,
    /// The place of the region it lies in, which is before its own; or [`NO_PARENT`].
    pub parent: u32,
    /// When it was entered, counted from the request's start.
    pub start_ns: u64,
    /// How long it was open.
    pub duration_ns: u64,
}

/// A request that ended.
#[derive(Copy, Clone, Debug)]
pub struct Request<'a> {
    pub route: RouteId,
    pub latency_ns: u64,
    pub failed: bool,
    pub samples: u64,
    /// Tokens that it read or wrote.
    pub tokens: u64,
    /// Its processor time, if that was measured.
    pub cpu_ns: Option<u64>,
    pub spans: &'a [Span],
    /// Regions that were too many to keep.
    pub left_out: u64,
}

/// What counting a request comes to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestOutcome {
    /// Whether [`Recorder::keep`] would like to have it as an example.
    pub candidate: Option<ExemplarCandidate>,
    /// The targets it missed, a bit for each in the order of [`Recorder::targets`].
    pub missed: u64,
    /// Whether it missed a target of latency, or took much longer than others just did.
    pub unusual: bool,
}

/// Why a request would be an example.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ExemplarCandidate {
    /// It is among the slowest of its hour.
    pub slow: bool,
    key: u64,
}

impl ExemplarCandidate {
    /// A request that was looked into is wanted whatever else it is.
    pub fn looked_into(latency_ns: u64) -> Self {
        // Not one of the random ones: their keys are the least.
        Self { slow: false, key: u64::MAX - (latency_ns & 0xffff_ffff) }
    }
}

/// What is known about a request besides its times.
#[derive(Copy, Clone, Debug, Default)]
pub struct RequestDetails<'a> {
    /// What the service calls it.
    pub id: &'a str,
    /// Where it was most of the time, if it was looked into; the innermost frame last.
    pub stack: &'a [String],
    /// The file with its profile.
    pub profile: Option<&'a str>,
}

/// Counts requests.
#[derive(Debug)]
pub struct Recorder {
    limits: Limits,
    keep: ExemplarLimits,
    targets: HashMap<String, Vec<Target>>,
    routes: RwLock<Names<Arc<Route>>>,
    regions: RwLock<Names<Arc<str>>>,
    shards: [Mutex<Shard>; SHARD_COUNT],
    kept: Mutex<BTreeMap<RouteId, RouteExemplars>>,
    /// The number of the block that examples belong to now.
    block: AtomicU64,
    rss_bytes: AtomicU64,
}

#[derive(Debug)]
struct Names<T> {
    all: Vec<T>,
    numbers: HashMap<String, u32>,
}

#[derive(Debug)]
struct Route {
    name: String,
    targets: Vec<Target>,
    /// What a request must exceed to be among the slowest of the hour.
    floor_ns: AtomicU64,
    /// What a random key must stay below to be kept.
    ceiling: AtomicU64,
}

/// A table on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    slots: Vec<Option<Slot>>,
    random: u64,
}

#[derive(Debug)]
struct Slot {
    route: Arc<Route>,
    counted: Option<Box<Counters>>,
}

#[derive(Debug, Default)]
struct Counters {
    errors: u64,
    latency: Sketch,
    // A request has a handful of names: looking through them is faster than hashing.
    regions: Vec<(RegionId, RegionStats)>,
    missed: [u64; crate::sla::MAX_TARGETS],
    samples: u64,
    tokens: u64,
    cpu_ns: u64,
    cpu_requests: u64,
    gpu_ns: u64,
    gpu_requests: u64,
    left_out: u64,
}

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The table of this thread.
fn shard_here() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    SHARD.with(|shard| {
        if shard.get() == usize::MAX {
            shard.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARD_COUNT);
        }
        shard.get()
    })
}

/// A lock whose holder panicked holds counts all the same.
impl Recorder {
    /// Counts nothing yet. `targets` are by route; those of `*` are for all that have none.
    pub fn new(targets: HashMap<String, Vec<Target>>, limits: Limits, keep: ExemplarLimits) -> Self {
        let seed = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |since| since.as_nanos() as u64);
        let seed = seed ^ (u64::from(std::process::id()) << 32);
        let shards = std::array::from_fn(|at| {
            let random = mix(seed.wrapping_add(at as u64));
            Mutex::new(Shard { slots: Vec::new(), random })
        });
        let recorder = Self {
            limits,
            keep,
            targets,
            routes: RwLock::new(Names { all: Vec::new(), numbers: HashMap::new() }),
            regions: RwLock::new(Names { all: Vec::new(), numbers: HashMap::new() }),
            shards,
            kept: Mutex::default(),
            block: AtomicU64::new(0),
            rss_bytes: AtomicU64::new(0),
        };
        // The ones that take what is too many are there from the beginning, with number 0.
        let _ = recorder.route(OTHER);
        let _ = recorder.region(OTHER);
        recorder
    }

    pub fn route(&self, name: &str) -> RouteId {
        let name = cut(name, MAX_NAME);
        let make = || {
            Arc::new(Route {
                name: name.to_owned(),
                targets: self.targets.get(name).or_else(|| self.targets.get("*")).cloned().unwrap_or_default(),
                floor_ns: AtomicU64::new(if self.keep.slowest == 0 { u64::MAX } else { 0 }),
                ceiling: AtomicU64::new(if self.keep.random == 0 { 0 } else { u64::MAX }),
            })
        };
        RouteId(number(&self.routes, name, self.limits.routes, make))
    }

    /// The number of a region's name.
    pub fn region(&self, name: &str) -> RegionId {
        let name = cut(name, MAX_NAME);
        RegionId(number(&self.regions, name, self.limits.regions, || name.into()))
    }

    pub fn targets(&self, route: RouteId) -> Vec<Target> {
        self.route_of(route).map_or_else(Vec::new, |route| route.targets.clone())
    }

    pub fn route_name(&self, route: RouteId) -> String {
        self.route_of(route).map_or_else(|| OTHER.to_owned(), |route| route.name.clone())
    }

    /// Regions of one request that are kept.
    pub fn max_spans(&self) -> usize {
        self.limits.spans
    }

    /// Counts a request that ended.
    pub fn record(&self, request: &Request<'_>) -> RequestOutcome {
        let mut shard = lock(&self.shards[shard_here()]);
        let at = request.route.0 as usize;
        if shard.slots.get(at).is_none_or(Option::is_none) {
            let Some(route) = self.route_of(request.route) else { return RequestOutcome::default() };
            if shard.slots.len() <= at {
                shard.slots.resize_with(at + 1, || None);
            }
            shard.slots[at] = Some(Slot { route, counted: None });
        }
        let shard = &mut *shard;
        let Some(slot) = &mut shard.slots[at] else { return RequestOutcome::default() };
        let counters = slot.counted.get_or_insert_default();
        counters.latency.record(request.latency_ns);
        counters.errors += u64::from(request.failed);
        counters.samples = counters.samples.saturating_add(request.samples);
        counters.tokens = counters.tokens.saturating_add(request.tokens);
        counters.left_out += request.left_out;
        if let Some(cpu_ns) = request.cpu_ns {
            counters.cpu_ns += cpu_ns;
            counters.cpu_requests += 1;
        }
        for (at, span) in request.spans.iter().enumerate() {
            let inside = request.spans[at + 1..].iter().filter(|other| other.parent == at as u32);
            let inside: u64 = inside.map(|other| other.duration_ns).sum();
            counters.add(span, span.duration_ns.saturating_sub(inside));
        }
        let (mut missed, mut too_slow) = (0, false);
        for (at, target) in slot.route.targets.iter().enumerate() {
            if target.is_missed_by(request.latency_ns, request.failed) {
                missed |= 1 << at;
                too_slow |= target.is_about_latency();
                counters.missed[at] += 1;
            }
        }
        shard.random = shard.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let key = mix(shard.random);
        let slow = request.latency_ns > slot.route.floor_ns.load(Ordering::Relaxed);
        let candidate = slow || key < slot.route.ceiling.load(Ordering::Relaxed);
        let (count, sum) = (counters.latency.count(), counters.latency.sum());
        let unusual = too_slow
            || (count >= MIN_USUAL_REQUESTS && request.latency_ns.saturating_mul(count) / UNUSUAL_RATIO > sum);
        RequestOutcome { candidate: candidate.then_some(ExemplarCandidate { slow, key }), missed, unusual }
    }

    /// Adds the GPU's time of a request that was counted before: a GPU is done later than the one who asks it.
    pub fn add_gpu(&self, route: RouteId, gpu_ns: u64) {
        let mut shard = lock(&self.shards[shard_here()]);
        if let Some(Some(slot)) = shard.slots.get_mut(route.0 as usize) {
            let counters = slot.counted.get_or_insert_default();
            counters.gpu_ns += gpu_ns;
            counters.gpu_requests += 1;
        }
    }

    /// Keeps a request as an example, if it still is one.
    pub fn keep(
        &self,
        candidate: ExemplarCandidate,
        request: &Request<'_>,
        about: RequestDetails<'_>,
        ended_ns: i64,
    ) {
        let Some(route) = self.route_of(request.route) else { return };
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        let name = |id: RegionId| regions.all.get(id.0 as usize).map_or(OTHER, |name| name);
        let spans = request.spans.iter().map(|span| KeptSpan {
            name: name(span.region).to_owned(),
            parent: (span.parent != NO_PARENT).then_some(span.parent),
            start_ns: span.start_ns,
            duration_ns: span.duration_ns,
        });
        let exemplar = Exemplar {
            route: route.name.clone(),
            id: cut(about.id, MAX_ID).to_owned(),
            ended_ns,
            latency_ns: request.latency_ns,
            failed: request.failed,
            samples: request.samples,
            process: std::process::id(),
            spans: spans.collect(),
            stack: about.stack.iter().take(MAX_FRAMES).map(|frame| cut(frame, MAX_FRAME).to_owned()).collect(),
            profile: about.profile.map(|name| cut(name, MAX_FRAME).to_owned()),
            slow: candidate.slow,
            key: candidate.key,
            block: self.block.load(Ordering::Relaxed),
        };
        drop(regions);
        let mut kept = lock(&self.kept);
        let kept = kept.entry(request.route).or_default();
        if kept.offer(exemplar, self.keep) {
            route.floor_ns.store(kept.floor_ns(self.keep), Ordering::Relaxed);
            route.ceiling.store(kept.ceiling(self.keep), Ordering::Relaxed);
        }
    }

    /// What was counted since the last time.
    pub fn drain(&self) -> BTreeMap<String, RouteStats> {
        let mut drained: BTreeMap<String, RouteStats> = BTreeMap::new();
        let rss_bytes = self.rss_bytes.load(Ordering::Relaxed);
        for shard in &self.shards {
            let mut taken = Vec::new();
            for slot in lock(shard).slots.iter_mut().flatten() {
                if let Some(counted) = slot.counted.take() {
                    taken.push((slot.route.clone(), counted));
                }
            }
            // Names are made without the lock.
            let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
            for (route, counted) in taken {
                let stats = counted.stats(&route, &regions, rss_bytes);
                match drained.get_mut(&route.name) {
                    Some(known) => known.merge(&stats),
                    None => drop(drained.insert(route.name.clone(), stats)),
                }
            }
        }
        drained
    }

    /// The examples that belong to a block and are kept so far.
    pub fn exemplars(&self, block: u64) -> Vec<Exemplar> {
        let kept = lock(&self.kept);
        let each = kept.values().flat_map(RouteExemplars::all);
        let mut found: Vec<Exemplar> = each.filter(|e| e.block == block).cloned().collect();
        found.sort_by(|a, b| (&a.route, a.key).cmp(&(&b.route, b.key)));
        found
    }

    /// Examples belong to this block from now on.
    pub fn begin_block(&self, block: u64) {
        self.block.store(block, Ordering::Relaxed);
    }

    /// Examples are those of another hour from now on: all but those of the block that has begun are forgotten.
    pub fn begin_hour(&self) {
        let block = self.block.load(Ordering::Relaxed);
        let mut kept = lock(&self.kept);
        for (number, route) in self.routes.read().unwrap_or_else(PoisonError::into_inner).all.iter().enumerate()
        {
            let kept = kept.entry(RouteId(number as u32)).or_default();
            kept.keep_block(block);
            route.floor_ns.store(kept.floor_ns(self.keep), Ordering::Relaxed);
            route.ceiling.store(kept.ceiling(self.keep), Ordering::Relaxed);
        }
    }

    /// The memory that the process holds now.
    pub fn set_rss(&self, bytes: u64) {
        self.rss_bytes.store(bytes, Ordering::Relaxed);
    }

    fn route_of(&self, route: RouteId) -> Option<Arc<Route>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).all.get(route.0 as usize).cloned()
    }
}

impl Counters {
    fn add(&mut self, span: &Span, self_ns: u64) {
        let known = self.regions.iter().position(|(region, _)| *region == span.region);
        let at = known.unwrap_or_else(|| {
            self.regions.push((span.region, RegionStats::default()));
            self.regions.len() - 1
        });
        let stats = &mut self.regions[at].1;
        stats.duration.record(span.duration_ns);
        stats.self_ns += self_ns;
    }

    fn stats(self, route: &Route, regions: &Names<Arc<str>>, rss_bytes: u64) -> RouteStats {
        let requests = self.latency.count();
        let targets = route.targets.iter().zip(self.missed);
        let targets = targets.map(|(target, missed)| (target.text.clone(), TargetCount { requests, missed }));
        let mut by_name: BTreeMap<String, RegionStats> = BTreeMap::new();
        for (region, stats) in self.regions {
            let name = regions.all.get(region.0 as usize).map_or(OTHER, |name| name);
            by_name.insert(name.to_owned(), stats);
        }
        RouteStats {
            errors: self.errors,
            latency: self.latency,
            regions: by_name,
            targets: targets.collect(),
            samples: self.samples,
            tokens: self.tokens,
            cpu_ns: self.cpu_ns,
            cpu_requests: self.cpu_requests,
            gpu_ns: self.gpu_ns,
            gpu_requests: self.gpu_requests,
            max_rss_bytes: rss_bytes,
            regions_left_out: self.left_out,
        }
    }
}

/// The number of a name; 0, which takes what is too many, once there are so many others.
fn number<T>(names: &RwLock<Names<T>>, name: &str, most: usize, make: impl FnOnce() -> T) -> u32 {
    if let Some(number) = names.read().unwrap_or_else(PoisonError::into_inner).numbers.get(name) {
        return *number;
    }
    let mut names = names.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = names.numbers.get(name) {
        return *number;
    }
    let number = names.all.len();
    if number > most {
        return 0;
    }
    names.all.push(make());
    names.numbers.insert(name.to_owned(), number as u32);
    number as u32
}

/// The beginning of a text, in whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Spreads the bits of a counter over a number (the last step of SplitMix64).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests;

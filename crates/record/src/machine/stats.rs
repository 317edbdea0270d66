//! Counters of the machine over many stretches of time, such as all occurrences of a region: a few sums for each, whatever
//! the number of stretches.
//!
//! A rate or a share that was sampled at some moment is of the time *before* it, since the last sample. A level (memory,
//! temperature) holds from its sample on. Over a short stretch that makes a difference: the sample at its start says what
//! went on before it, and must not count for it.

use std::sync::Arc;

use super::series::{CounterInfo, Series};

/// One counter over one or several stretches of time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct CounterStat {
    /// Value times seconds.
    weighted: f64,
    /// The time for which its value is known.
    pub seconds: f64,
    pub low: f64,
    pub high: f64,
    pub last: f64,
    /// How many values were taken in these stretches.
    pub samples: usize,
}

impl CounterStat {
    /// The mean over time.
    pub fn mean(&self) -> f64 {
        if self.seconds <= 0.0 {
            return self.last;
        }
        // Sums are rounded: of equal values the mean would be off by the last digit.
        (self.weighted / self.seconds).clamp(self.low, self.high)
    }

    fn add(&mut self, later: &CounterStat) {
        self.weighted += later.weighted;
        self.seconds += later.seconds;
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
        self.last = later.last;
        self.samples += later.samples;
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// True from its sample on.
    Level,
    /// Of the time since the sample before.
    Rate,
    /// Rises for ever; what counts is by how much.
    Energy,
}

fn kind_of(name: &str) -> Kind {
    if name.ends_with("energy_j") {
        Kind::Energy
    } else if name.ends_with("_per_s") || (name.ends_with("_percent") && name != "host.memory_percent") {
        Kind::Rate
    } else {
        Kind::Level
    }
}

#[derive(Clone, Debug)]
struct Counter {
    name: String,
    kind: Kind,
    gpu: Option<u32>,
    is_own_gpu_memory: bool,
    stat: Option<CounterStat>,
    joules: Option<f64>,
}

impl Counter {
    fn new(name: &str) -> Counter {
        let gpu = name.strip_prefix("gpu.").and_then(|rest| rest.split('.').next()?.parse().ok());
        let is_own_gpu_memory = gpu.is_some() && name.ends_with(".process_memory_bytes");
        Counter { name: name.to_owned(), kind: kind_of(name), gpu, is_own_gpu_memory, stat: None, joules: None }
    }
}

/// Sums over stretches of time, for each counter.
#[derive(Clone, Debug, Default)]
pub struct CounterStats {
    counters: Vec<Counter>,
    /// The sampler's own list, if the counters are in its order.
    in_order_of: Option<Arc<[CounterInfo]>>,
}

impl CounterStats {
    /// Adds the stretch between two moments to each counter of a monitor.
    pub(super) fn add(&mut self, infos: &Arc<[CounterInfo]>, series: &[Series], from_ns: i64, to_ns: i64) {
        if !self.in_order_of.as_ref().is_some_and(|known| Arc::ptr_eq(known, infos)) {
            if !self.counters.is_empty() {
                // Another monitor than before, such as a forked child's: by name, and no longer in a known order.
                let pairs = infos.iter().map(|info| info.name.as_str()).zip(series);
                self.add_series(pairs, from_ns, to_ns);
                return;
            }
            self.counters = infos.iter().map(|info| Counter::new(&info.name)).collect();
            self.in_order_of = Some(infos.clone());
        }
        let stretch = Stretch::between(&self.counters, series, from_ns, to_ns);
        for (place, counter) in self.counters.iter_mut().enumerate() {
            stretch.give(place, counter);
        }
    }

    fn add_series<'a>(
        &mut self,
        series: impl Iterator<Item = (&'a str, &'a Series)>,
        from_ns: i64,
        to_ns: i64,
    ) {
        let (names, series): (Vec<&str>, Vec<&Series>) = series.unzip();
        let counters: Vec<Counter> = names.into_iter().map(Counter::new).collect();
        let stretch = Stretch::between(&counters, &series, from_ns, to_ns);
        self.in_order_of = None;
        for (place, counter) in counters.iter().enumerate() {
            stretch.give(place, self.named(&counter.name));
        }
    }

    /// Adds the stretch between two moments, of samples that are given by name.
    pub fn add_samples(&mut self, samples: Vec<(String, Vec<i64>, Vec<f64>)>, from_ns: i64, to_ns: i64) {
        let series: Vec<(String, Series)> =
            samples.into_iter().map(|(name, at_ns, values)| (name, Series { at_ns, values })).collect();
        self.add_series(series.iter().map(|(name, series)| (name.as_str(), series)), from_ns, to_ns);
    }

    /// Adds later stretches.
    pub fn merge(&mut self, later: &CounterStats) {
        if self.counters.is_empty() {
            *self = later.clone();
            return;
        }
        for other in &later.counters {
            let counter = self.named(&other.name);
            add_stat(&mut counter.stat, other.stat);
            add_joules(&mut counter.joules, other.joules);
        }
    }

    fn named(&mut self, name: &str) -> &mut Counter {
        let place = self.counters.iter().position(|counter| counter.name == name).unwrap_or_else(|| {
            self.counters.push(Counter::new(name));
            self.in_order_of = None;
            self.counters.len() - 1
        });
        &mut self.counters[place]
    }

    /// Each counter of which something is known.
    pub fn stats(&self) -> impl Iterator<Item = (&str, CounterStat)> {
        self.counters.iter().filter_map(|counter| Some((counter.name.as_str(), counter.stat?)))
    }

    /// By how much each energy counter rose, without GPUs that only others used.
    pub fn joules(&self) -> impl Iterator<Item = (&str, f64)> {
        self.counters.iter().filter_map(|counter| Some((counter.name.as_str(), counter.joules?)))
    }
}

struct Stretch {
    stats: Vec<Option<CounterStat>>,
    joules: Vec<Option<f64>>,
}

impl Stretch {
    fn between<S: std::borrow::Borrow<Series>>(
        counters: &[Counter],
        series: &[S],
        from_ns: i64,
        to_ns: i64,
    ) -> Stretch {
        let mut stats = vec![None; counters.len()];
        let mut joules = vec![None; counters.len()];
        for (place, (counter, series)) in counters.iter().zip(series).enumerate() {
            let series = series.borrow();
            match counter.kind {
                Kind::Rate => stats[place] = rate(series, from_ns, to_ns),
                Kind::Level => stats[place] = level(series, from_ns, to_ns),
                Kind::Energy => {
                    let seen = series.summary(from_ns, to_ns).filter(|seen| seen.samples > 0);
                    joules[place] = seen.map(|seen| seen.last - seen.first).filter(|rise| *rise >= 0.0);
                }
            }
        }
        // Where the driver does not say who uses a GPU, all count.
        let used: Vec<u32> = counters
            .iter()
            .zip(&stats)
            .filter(|(counter, stat)| counter.is_own_gpu_memory && stat.is_some_and(|stat| stat.high > 0.0))
            .filter_map(|(counter, _)| counter.gpu)
            .collect();
        if !used.is_empty() {
            for (counter, joules) in counters.iter().zip(&mut joules) {
                if counter.gpu.is_some_and(|gpu| !used.contains(&gpu)) {
                    *joules = None;
                }
            }
        }
        Stretch { stats, joules }
    }

    fn give(&self, place: usize, counter: &mut Counter) {
        add_stat(&mut counter.stat, self.stats[place]);
        add_joules(&mut counter.joules, self.joules[place]);
    }
}

fn add_stat(sum: &mut Option<CounterStat>, later: Option<CounterStat>) {
    match (sum.as_mut(), later) {
        (Some(sum), Some(later)) => sum.add(&later),
        (None, later) => *sum = later,
        (Some(_), None) => {}
    }
}

fn add_joules(sum: &mut Option<f64>, later: Option<f64>) {
    if let Some(later) = later {
        *sum = Some(sum.unwrap_or(0.0) + later);
    }
}

fn level(series: &Series, from_ns: i64, to_ns: i64) -> Option<CounterStat> {
    let seen = series.summary(from_ns, to_ns)?;
    let seconds = seconds(from_ns, to_ns);
    Some(CounterStat {
        weighted: seen.mean * seconds,
        seconds,
        low: seen.min,
        high: seen.max,
        last: seen.last,
        samples: seen.samples,
    })
}

/// Each value is of the time since the one before it, or since the start.
fn rate(series: &Series, from_ns: i64, to_ns: i64) -> Option<CounterStat> {
    let inside = series.within(from_ns, to_ns);
    let first = *series.values.get(inside.start).filter(|_| !inside.is_empty())?;
    let mut stat = CounterStat {
        weighted: 0.0,
        seconds: 0.0,
        low: first,
        high: first,
        last: first,
        samples: inside.len(),
    };
    let mut before = from_ns;
    for at in inside {
        let (moment, value) = (series.at_ns[at], series.values[at]);
        stat.weighted += value * seconds(before, moment);
        stat.low = stat.low.min(value);
        stat.high = stat.high.max(value);
        stat.last = value;
        before = moment;
    }
    stat.seconds = seconds(from_ns, before);
    Some(stat)
}

fn seconds(from_ns: i64, to_ns: i64) -> f64 {
    to_ns.saturating_sub(from_ns).max(0) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(name: &str, pairs: &[(i64, f64)]) -> (String, Vec<i64>, Vec<f64>) {
        let (at, values) = pairs.iter().copied().unzip();
        (name.to_owned(), at, values)
    }

    fn stat(stats: &CounterStats, name: &str) -> Option<CounterStat> {
        stats.stats().find(|(known, _)| *known == name).map(|(_, stat)| stat)
    }

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_share_is_of_the_time_before_and_a_level_of_the_time_after() {
        let given = vec![
            samples("host.cpu_percent", &[(S, 10.0), (4 * S, 50.0)]),
            samples("host.memory_percent", &[(S, 10.0), (4 * S, 50.0)]),
        ];
        let mut stats = CounterStats::default();
        stats.add_samples(given, 0, 5 * S);
        // 10 for the first second, then 50 for three.
        let cpu = stat(&stats, "host.cpu_percent").unwrap();
        assert_eq!((cpu.mean(), cpu.low, cpu.high, cpu.samples, cpu.seconds), (40.0, 10.0, 50.0, 2, 4.0));
        // 10 for four seconds (the first one too: nothing else is known), then 50 for one.
        assert_eq!(stat(&stats, "host.memory_percent").unwrap().mean(), 18.0);
    }

    #[test]
    fn between_two_samples_levels_are_known_and_shares_are_not() {
        let given = vec![samples("host.cpu_percent", &[(0, 10.0)]), samples("process.rss_bytes", &[(0, 7.0)])];
        let mut stats = CounterStats::default();
        stats.add_samples(given, S, 2 * S);
        assert_eq!(stat(&stats, "host.cpu_percent"), None);
        let rss = stat(&stats, "process.rss_bytes").unwrap();
        assert_eq!((rss.mean(), rss.samples, rss.seconds), (7.0, 0, 1.0));
    }

    #[test]
    fn stretches_add_up_by_name() {
        let mut first = CounterStats::default();
        first.add_samples(vec![samples("a_bytes", &[(0, 1.0)])], 0, S);
        let mut later = CounterStats::default();
        later.add_samples(vec![samples("b_bytes", &[(0, 5.0)]), samples("a_bytes", &[(0, 4.0)])], 0, 2 * S);
        first.merge(&later);
        assert_eq!(stat(&first, "a_bytes").unwrap().mean(), 3.0);
        assert_eq!(stat(&first, "b_bytes").unwrap().mean(), 5.0);
    }

    #[test]
    fn energy_of_a_gpu_that_only_others_use_does_not_count() {
        let given = |own: f64| {
            vec![
                samples("gpu.0.energy_j", &[(0, 100.0), (S, 130.0)]),
                samples("gpu.1.energy_j", &[(0, 100.0), (S, 120.0)]),
                samples("gpu.0.process_memory_bytes", &[(0, own)]),
                samples("gpu.1.process_memory_bytes", &[(0, 0.0)]),
                samples("cpu.energy_j", &[(0, 5.0), (S, 6.0)]),
            ]
        };
        let joules = |own| {
            let mut stats = CounterStats::default();
            stats.add_samples(given(own), 0, 2 * S);
            stats.joules().map(|(name, joules)| format!("{name} {joules}")).collect::<Vec<_>>()
        };
        assert_eq!(joules(9.0), ["gpu.0.energy_j 30", "cpu.energy_j 1"]);
        assert_eq!(joules(0.0), ["gpu.0.energy_j 30", "gpu.1.energy_j 20", "cpu.energy_j 1"]);
    }
}

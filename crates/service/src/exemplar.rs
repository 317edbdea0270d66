//! A few requests that are kept whole, with the tree of their regions: per route and hour the slowest, and some at random.
//!
//! Each request that is kept at random has a random key, and those with the least keys stay. So samples of several
//! processes merge into a sample of all of their requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// The longest id of a request that is kept, in bytes.
pub const MAX_ID: usize = 128;

/// One region of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptSpan {
    pub name: String,
    /// The place in the list of the region it lies in.
    pub parent: Option<u32>,
    /// When it was entered, counted from the request's start.
    pub start_ns: u64,
    /// How long it was open.
    pub duration_ns: u64,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exemplar {
    pub route: String,
    /// What the service calls it.
    pub id: String,
    /// When it ended, in nanoseconds since 1970.
    pub ended_ns: i64,
    pub latency_ns: u64,
    pub failed: bool,
    pub samples: u64,
    /// The process that answered it.
    pub process: u32,
    /// Its regions; each comes after the one it lies in.
    pub spans: Vec<KeptSpan>,
    /// Where it was most of the time, if someone looked: frames of Python, the innermost last.
    pub stack: Vec<String>,
    /// The file with its profile in the directory's `profiles`, if there is one.
    pub profile: Option<String>,
    /// Whether it was among the slowest of its hour.
    pub slow: bool,
    /// Its random key: the least are a sample of all requests.
    pub key: u64,
    /// The block of its process that it was kept in.
    #[serde(skip)]
    pub block: u64,
}

impl Exemplar {
    /// Whether there is more about it than its times.
    pub fn was_looked_into(&self) -> bool {
        !self.stack.is_empty() || self.profile.is_some()
    }
}

/// How many requests are kept per route and hour.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ExemplarLimits {
    pub slowest: usize,
    /// Others, at random.
    pub random: usize,
}

impl Default for ExemplarLimits {
    fn default() -> Self {
        Self { slowest: 5, random: 5 }
    }
}

/// The requests that are kept of one route and hour.
#[derive(Clone, Debug, Default)]
pub struct RouteExemplars {
    slow: Vec<Exemplar>,
    random: Vec<Exemplar>,
    /// Those that were looked into while they were slow.
    looked_into: Vec<Exemplar>,
}

/// Requests with a stack or a profile that are kept per route and hour.
const MAX_LOOKED_INTO: usize = 3;

impl RouteExemplars {
    /// Offers a request. Whether it stayed.
    pub fn offer(&mut self, exemplar: Exemplar, keep: ExemplarLimits) -> bool {
        let mut stayed = false;
        // Ties by key, so that the order of arrival does not matter.
        let by = |e: &Exemplar| (std::cmp::Reverse(e.latency_ns), e.key);
        if exemplar.was_looked_into() {
            stayed |= put(&mut self.looked_into, exemplar.clone(), MAX_LOOKED_INTO, by);
        }
        if exemplar.slow {
            stayed |= put(&mut self.slow, exemplar.clone(), keep.slowest, by);
        }
        stayed
            | put(&mut self.random, Exemplar { slow: false, ..exemplar }, keep.random, |e| {
                (std::cmp::Reverse(0), e.key)
            })
    }

    /// What a request must exceed to be among the slowest.
    pub fn floor_ns(&self, keep: ExemplarLimits) -> u64 {
        match self.slow.get(keep.slowest.wrapping_sub(1)) {
            Some(last) => last.latency_ns,
            None if keep.slowest == 0 => u64::MAX,
            None => 0,
        }
    }

    /// What a key must stay below to be kept.
    pub fn ceiling(&self, keep: ExemplarLimits) -> u64 {
        match self.random.get(keep.random.wrapping_sub(1)) {
            Some(last) => last.key,
            None if keep.random == 0 => 0,
            None => u64::MAX,
        }
    }

    /// Forgets all but those of one block.
    pub fn keep_block(&mut self, block: u64) {
        self.slow.retain(|exemplar| exemplar.block == block);
        self.random.retain(|exemplar| exemplar.block == block);
        self.looked_into.retain(|exemplar| exemplar.block == block);
    }

    /// The slowest, the slowest first.
    pub fn slowest(&self) -> &[Exemplar] {
        &self.slow
    }

    pub fn random(&self) -> &[Exemplar] {
        &self.random
    }

    /// All of them, each once: the slowest, those that were looked into, then the random ones.
    pub fn all(&self) -> Vec<&Exemplar> {
        let mut found: Vec<&Exemplar> = Vec::new();
        for exemplar in self.slow.iter().chain(&self.looked_into).chain(&self.random) {
            if !found.iter().any(|known| known.key == exemplar.key) {
                found.push(exemplar);
            }
        }
        found
    }
}

fn put<K: Ord>(list: &mut Vec<Exemplar>, new: Exemplar, most: usize, by: impl Fn(&Exemplar) -> K) -> bool {
    let at = list.partition_point(|known| by(known) < by(&new));
    if at >= most {
        return false;
    }
    list.insert(at, new);
    list.truncate(most);
    true
}

/// Exemplars of several processes, by route and hour.
#[derive(Clone, Debug, Default)]
pub struct ExemplarsByHour {
    kept: BTreeMap<(String, i64), RouteExemplars>,
}

impl ExemplarsByHour {
    /// Offers one.
    pub fn offer(&mut self, exemplar: Exemplar, keep: ExemplarLimits) {
        let key = (exemplar.route.clone(), exemplar.ended_ns.div_euclid(3_600_000_000_000));
        self.kept.entry(key).or_default().offer(exemplar, keep);
    }

    pub fn each(&self) -> impl Iterator<Item = (&str, &RouteExemplars)> {
        self.kept.iter().map(|((route, _), kept)| (route.as_str(), kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exemplar(latency_ns: u64, key: u64) -> Exemplar {
        Exemplar {
            route: "/predict".to_owned(),
            id: key.to_string(),
            ended_ns: 0,
            latency_ns,
            failed: false,
            samples: 0,
            process: 1,
            spans: Vec::new(),
            stack: Vec::new(),
            profile: None,
            slow: true,
            key,
            block: 0,
        }
    }

    #[test]
    fn the_slowest_and_a_sample_stay_in_any_order() {
        let keep = ExemplarLimits { slowest: 3, random: 2 };
        // 7 is prime to 50, so this visits every number once.
        let all: Vec<Exemplar> = (0..50).map(|n| exemplar(n * 7 % 50, n)).collect();
        let kept = |order: Vec<&Exemplar>| {
            let mut kept = RouteExemplars::default();
            for e in order {
                let _ = kept.offer(e.clone(), keep);
            }
            kept
        };
        for found in [kept(all.iter().collect()), kept(all.iter().rev().collect())] {
            let slow: Vec<u64> = found.slowest().iter().map(|e| e.latency_ns).collect();
            let random: Vec<u64> = found.random().iter().map(|e| e.key).collect();
            assert_eq!((slow, random), (vec![49, 48, 47], vec![0, 1]));
            assert_eq!((found.floor_ns(keep), found.ceiling(keep)), (47, 1));
        }
        let none = ExemplarLimits { slowest: 0, random: 0 };
        assert_eq!(
            (RouteExemplars::default().floor_ns(none), RouteExemplars::default().ceiling(none)),
            (u64::MAX, 0)
        );
        assert!(!RouteExemplars::default().offer(exemplar(1, 1), none));
    }
}

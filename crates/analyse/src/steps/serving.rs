//! Iterations of a serving engine: how long each takes, what it works on, and what lies between them.
//!
//! Engines say where an iteration begins and ends: by a range, or by the Python call around it. Devices run behind the
//! host, so an iteration lasts until the work it launched is done and the next one begins there, as a step does.

mod definitions;
mod guess;
pub(super) mod marked;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Domain, Ns, Trace};

use crate::names::serving::IterationKind;
use crate::scope::intervals::{Collector, Intervals};
use crate::scope::quantile::quantile;
use crate::scope::selection::Selection;
use crate::scope::share::share;
use marked::MarkedIteration;

pub use definitions::DEFINITIONS;

/// How the iterations were found.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// By ranges that the engine writes around each.
    Range,
    /// By the engine's Python calls.
    PythonCall,
    /// By the shadows of such ranges on a device.
    DeviceRange,
    /// By the ranges around forward passes: the rest of each iteration is unknown.
    ForwardPass,
    /// A heuristic: device work between small copies to the host, as of sampled tokens.
    CopiesToHost,
    /// A heuristic: each replay of a captured graph.
    GraphLaunch,
    #[default]
    Nothing,
}

impl FoundBy {
    /// Whether the engine did not say it.
    pub fn is_heuristic(self) -> bool {
        matches!(self, FoundBy::CopiesToHost | FoundBy::GraphLaunch)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Iteration {
    /// What represents it in the trace.
    pub name: String,
    pub kind: IterationKind,
    pub start_ns: i64,
    /// How long it takes, its device work included.
    pub wall_ns: i64,
    /// How long it takes on the host; none without a range there.
    pub host_ns: Option<i64>,
    /// How long a device is busy meanwhile.
    pub busy_ns: i64,
    /// Until the next begins; none for the last.
    pub gap_ns: Option<i64>,
    /// Requests in the batch.
    pub requests: Option<u64>,
    pub tokens: Option<u64>,
    /// Of those, tokens of prompts.
    pub context_tokens: Option<u64>,
    /// Of those, tokens of requests past their prompt.
    pub generation_tokens: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KindRow {
    pub kind: IterationKind,
    pub iterations: u64,
    pub total_ns: i64,
    /// Its share of the time from the first iteration to the last.
    pub share: f64,
    pub wall_p50_ns: i64,
    /// The 95th percentile.
    pub wall_p95_ns: i64,
    /// The 99th percentile.
    pub wall_p99_ns: i64,
    /// The share of their time in which a device is busy.
    pub busy_share: f64,
    /// Tokens of those whose name says so.
    pub tokens: Option<u64>,
    /// These tokens by the time of their iterations.
    pub tokens_per_second: Option<f64>,
}

/// The iterations of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Serving {
    pub found_by: FoundBy,
    /// The iterations, in order.
    pub iterations: Vec<Iteration>,
    pub kinds: Vec<KindRow>,
    /// From the start of the first to the end of the last.
    pub span_ns: i64,
    /// Of that, between iterations.
    pub between_ns: i64,
    /// Iterations on other threads than the one followed, which has most.
    pub on_other_threads: u64,
}

/// Finds the iterations of a trace that begin in a part of it.
pub fn serving(trace: &Trace, selection: &Selection) -> Serving {
    let (mut found_by, mut found, on_other_threads) = marked::iterations(trace);
    if found.is_empty() {
        (found_by, found) = guess::iterations(trace);
    }
    found.retain(|f| selection.contains_time(f.start));
    if found.is_empty() {
        return Serving::default();
    }
    if matches!(found_by, FoundBy::Range | FoundBy::PythonCall | FoundBy::ForwardPass) {
        extend_to_device(trace, &mut found);
    }
    let windows: Vec<(Ns, Ns)> = found.iter().map(|f| (f.start, f.end)).collect();
    let busy = busy(trace).lengths_in(&windows);
    let starts = windows.iter().skip(1).map(|w| Some(w.0)).chain([None]);
    let iterations: Vec<Iteration> = found
        .iter()
        .zip(busy)
        .zip(starts)
        .map(|((f, busy), next)| Iteration {
            name: trace.text(f.name).to_owned(),
            kind: f.said.kind,
            start_ns: f.start.0,
            wall_ns: (f.end - f.start).0,
            host_ns: f.host.map(|ns| ns.0),
            busy_ns: busy.0,
            gap_ns: next.map(|start| (start - f.end).0),
            requests: f.said.requests,
            tokens: f.said.tokens(),
            context_tokens: f.said.context_tokens,
            generation_tokens: f.said.generation_tokens,
        })
        .collect();
    let span = windows.first().zip(windows.last()).map_or(Ns::ZERO, |(first, last)| last.1 - first.0);
    let between: Ns = iterations.iter().filter_map(|i| i.gap_ns.map(Ns)).sum();
    let kinds = kinds(&iterations, span.0);
    Serving { found_by, iterations, kinds, span_ns: span.0, between_ns: between.0, on_other_threads }
}

/// Moves each end behind the device work launched from inside, and each start behind the iteration before.
fn extend_to_device(trace: &Trace, found: &mut [MarkedIteration]) {
    let slices = trace.slices();
    let hosts: Vec<(Ns, Ns)> = found.iter().map(|f| (f.start, f.end)).collect();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain != Domain::Device {
            continue;
        }
        for work in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
            let Some(call) = trace.links().launch(work) else { continue };
            let at = slices.start(call);
            let next = hosts.partition_point(|h| h.0 <= at);
            if next > 0 && at < hosts[next - 1].1 {
                found[next - 1].end = found[next - 1].end.max(slices.end(work));
            }
        }
    }
    let mut done = Ns::MIN;
    for iteration in found {
        iteration.start = iteration.start.max(done);
        iteration.end = iteration.end.max(iteration.start);
        done = iteration.end;
    }
}

/// When any device is busy.
fn busy(trace: &Trace) -> Intervals {
    let slices = trace.slices();
    let mut busy = Collector::default();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain == Domain::Device {
            for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
                busy.add(slices.start(id), slices.end(id));
            }
        }
    }
    busy.finish()
}

fn kinds(iterations: &[Iteration], span_ns: i64) -> Vec<KindRow> {
    use IterationKind::{Decode, Mixed, Prefill, Unknown};
    let of_kind = |kind: IterationKind| {
        let these: Vec<&Iteration> = iterations.iter().filter(|i| i.kind == kind).collect();
        let mut walls: Vec<i64> = these.iter().map(|i| i.wall_ns).collect();
        let total: Ns = walls.iter().map(|&ns| Ns(ns)).sum();
        let busy: Ns = these.iter().map(|i| Ns(i.busy_ns)).sum();
        let known = || these.iter().filter_map(|i| Some((i.tokens?, i.wall_ns)));
        let tokens = known().map(|k| k.0).reduce(u64::saturating_add);
        let known_ns: Ns = known().map(|k| Ns(k.1)).sum();
        KindRow {
            kind,
            iterations: these.len() as u64,
            total_ns: total.0,
            share: share(total.0, span_ns),
            wall_p50_ns: quantile(&mut walls, 0.5),
            wall_p95_ns: quantile(&mut walls, 0.95),
            wall_p99_ns: quantile(&mut walls, 0.99),
            busy_share: share(busy.0, total.0),
            tokens,
            tokens_per_second: tokens
                .filter(|_| known_ns > Ns::ZERO)
                .map(|t| t as f64 * 1e9 / known_ns.0 as f64),
        }
    };
    [Prefill, Decode, Mixed, Unknown].into_iter().map(of_kind).filter(|row| row.iterations > 0).collect()
}

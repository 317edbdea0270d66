//! The sums over what was found.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Domain, Kind, Ns, Order, SliceId, StrId, Trace};

use super::walk::Walk;
use super::{CompilePhase, Compiled, CompiledRegion, EagerRow, GeneratedRow, Health};
use crate::names::by_name::ByName;
use crate::names::compiling::{CompileId, phase};
use crate::scope::selection::Selection;
use crate::scope::share::{known_share, share};
use crate::steps::Steps;

type Map<K, V> = HashMap<K, V, RandomState>;

#[derive(Default)]
struct Region {
    function: Option<StrId>,
    calls: u64,
    breaks: u64,
    host: Ns,
    device: Ns,
    backward_host: Ns,
    backward_device: Ns,
    device_slices: u64,
    compile: Option<Ns>,
}

#[derive(Default)]
struct Eager {
    calls: u64,
    in_steps: u64,
    in_regions: u64,
    host: Ns,
    device: Ns,
}

/// A generated kernel: its name, its region and pass, its backend, sizes and file.
type GeneratedKey = (StrId, Option<(Option<CompileId>, bool)>, Option<StrId>, Option<StrId>, Option<StrId>);

struct CompiledTotals<'a> {
    trace: &'a Trace,
    walk: &'a Walk,
    regions: Map<Option<CompileId>, Region>,
    /// For each backward pass, the region whose it is.
    backward_of: Vec<Option<Option<CompileId>>>,
    eager: Map<StrId, Eager>,
    /// The eager operators, by slice.
    eager_slices: Vec<SliceId>,
    generated: Map<GeneratedKey, (u64, Ns)>,
    device: Ns,
    compiled_device: Ns,
}

pub(super) fn report(trace: &Trace, steps: &Steps, selection: &Selection, walk: &Walk) -> Compiled {
    let mut sums = CompiledTotals {
        trace,
        walk,
        regions: Map::default(),
        backward_of: Vec::new(),
        eager: Map::default(),
        eager_slices: Vec::new(),
        generated: Map::default(),
        device: Ns::ZERO,
        compiled_device: Ns::ZERO,
    };
    sums.add_regions();
    sums.add_eager(steps);
    sums.add_device(selection);
    let phases = phases(trace, selection);
    sums.finish(steps, phases)
}

/// The step in whose range on the host a moment lies; all of a trace without steps is one.
fn step_of(steps: &Steps, at: Ns) -> Option<usize> {
    if steps.synthetic {
        return Some(0);
    }
    let step = steps.steps.partition_point(|s| Ns(s.host_start_ns) <= at).checked_sub(1)?;
    (at < Ns(steps.steps[step].host_end_ns)).then_some(step)
}

impl CompiledTotals<'_> {
    fn add_regions(&mut self) {
        let slices = self.trace.slices();
        for call in &self.walk.calls {
            let region = self.regions.entry(call.id).or_default();
            region.calls += 1;
            region.breaks += u64::from(call.nested);
            region.host += (slices.dur(call.slice) - Ns(call.inside_ns)).max(Ns::ZERO);
            region.function = region.function.or(call.function);
        }
        for backward in &self.walk.backwards {
            let links = self.trace.links();
            let forward = links.forward_of(backward.slice).find_map(|forward| self.walk.region(forward));
            let id = forward.map(|call| self.walk.calls[call].id);
            self.backward_of.push(id);
            if let Some(id) = id {
                let host = (slices.dur(backward.slice) - Ns(backward.inside_ns)).max(Ns::ZERO);
                self.regions.entry(id).or_default().backward_host += host;
            }
        }
        for compilation in self.walk.compilations.iter().filter(|c| c.id.is_some()) {
            let compile = &mut self.regions.entry(compilation.id).or_default().compile;
            *compile = Some(compile.unwrap_or_default() + slices.dur(compilation.slice));
        }
    }

    /// Operators inside of regions, and those between two regions of a thread and step.
    fn add_eager(&mut self, steps: &Steps) {
        if !self.walk.has_code {
            return;
        }
        let slices = self.trace.slices();
        let outer: Vec<SliceId> = self.walk.calls.iter().filter(|c| !c.nested).map(|c| c.slice).collect();
        for &(id, in_region) in &self.walk.operators {
            let step = step_of(steps, slices.start(id));
            // Slices are in the order of their lanes and starts, and so are regions.
            let next = outer.partition_point(|&region| region < id);
            let beside = |region: Option<&SliceId>| {
                region.is_some_and(|&r| {
                    slices.lane(r) == slices.lane(id) && step_of(steps, slices.start(r)) == step
                })
            };
            let between =
                beside(next.checked_sub(1).and_then(|before| outer.get(before))) && beside(outer.get(next));
            if !in_region && !between {
                continue;
            }
            let eager = self.eager.entry(slices.name(id)).or_default();
            eager.calls += 1;
            eager.in_steps += u64::from(step.is_some());
            eager.in_regions += u64::from(in_region);
            eager.host += slices.dur(id);
            self.eager_slices.push(id);
        }
    }

    /// The eager operator that a call is in: by time, since operators of a lane do not overlap.
    fn eager_around(&self, call: SliceId) -> Option<SliceId> {
        let slices = self.trace.slices();
        let at = self.eager_slices.partition_point(|&op| op <= call).checked_sub(1)?;
        let op = self.eager_slices[at];
        (slices.lane(op) == slices.lane(call) && slices.start(call) < slices.end(op)).then_some(op)
    }

    fn add_device(&mut self, selection: &Selection) {
        let (trace, walk, slices) = (self.trace, self.walk, self.trace.slices());
        let mut is_triton = ByName::new(trace, |name| name.starts_with("triton_"));
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain != Domain::Device {
                continue;
            }
            for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
                if !selection.contains(trace, id) {
                    continue;
                }
                let dur = slices.dur(id);
                self.device += dur;
                let (launch, op) = (trace.links().launch(id), trace.links().op(id));
                let from = [launch, op].into_iter().flatten();
                let backward = from.clone().find_map(|host| walk.backward(host));
                let forward = from.clone().find_map(|host| walk.region(host));
                let of = match (backward, forward) {
                    (Some(backward), _) => Some((self.backward_of[backward], true)),
                    (None, Some(call)) => Some((Some(walk.calls[call].id), false)),
                    (None, None) => None,
                };
                if let Some(eager) = from.clone().find_map(|host| self.eager_around(host)) {
                    self.eager.entry(slices.name(eager)).or_default().device += dur;
                } else if of.is_some() {
                    self.compiled_device += dur;
                }
                if let Some((Some(region), in_backward)) = of {
                    let region = self.regions.entry(region).or_default();
                    region.device_slices += 1;
                    *(if in_backward { &mut region.backward_device } else { &mut region.device }) += dur;
                }
                if slices.kind(id) == Kind::Kernel {
                    let text = |attr| op.and_then(|op| trace.args(op).text_id(attr));
                    let (backend, file) = (text(Attr::KernelBackend), text(Attr::KernelFile));
                    if backend.or(file).is_some() || is_triton.get(slices.name(id)) {
                        let of = of.and_then(|(region, backward)| Some((region?, backward)));
                        let key = (slices.name(id), of, backend, text(Attr::KernelConfig), file);
                        let sum = self.generated.entry(key).or_default();
                        *sum = (sum.0 + 1, sum.1 + dur);
                    }
                }
            }
        }
    }

    fn finish(self, steps: &Steps, phases: Vec<CompilePhase>) -> Compiled {
        let (trace, walk, slices) = (self.trace, self.walk, self.trace.slices());
        let count = (steps.steps.len() as f64).max(1.0);
        let in_steps = |id: SliceId| step_of(steps, slices.start(id)).is_some();
        let entered = walk.calls.iter().filter(|c| in_steps(c.slice)).count();
        let broken = walk.calls.iter().filter(|c| c.nested && in_steps(c.slice)).count();
        let durs = |ids: &[SliceId]| ids.iter().map(|&id| slices.dur(id)).sum::<Ns>().0;
        let again = |id: Option<CompileId>| id.is_some_and(|id| id.version > 0);
        let backward_host: Ns =
            walk.backwards.iter().map(|b| (slices.dur(b.slice) - Ns(b.inside_ns)).max(Ns::ZERO)).sum();
        let compilations = || walk.compilations.iter();
        let health = Health {
            steps: steps.steps.len() as u64,
            regions: self.regions.values().filter(|r| r.calls > 0).count() as u64,
            calls_per_step: entered as f64 / count,
            breaks_per_step: broken as f64 / count,
            eager_per_step: self.eager.values().map(|e| e.in_steps).sum::<u64>() as f64 / count,
            host_ns: (self.regions.values().map(|r| r.host).sum::<Ns>() + backward_host).0,
            device_ns: self.compiled_device.0,
            device_share: known_share(self.compiled_device.0, self.device.0),
            lookups: walk.lookups.len() as u64,
            lookup_ns: durs(&walk.lookups),
            compiles: compilations().filter(|c| c.of_frame).count() as u64,
            recompiles: compilations().filter(|c| c.of_frame && again(c.id)).count() as u64,
            compile_ns: compilations().map(|c| slices.dur(c.slice)).sum::<Ns>().0,
        };
        let text = |id: StrId| trace.text(id).to_owned();
        let mut regions: Vec<(Option<CompileId>, CompiledRegion)> = self
            .regions
            .into_iter()
            .map(|(id, r)| {
                let row = CompiledRegion {
                    region: label(id),
                    function: r.function.map(text),
                    calls: r.calls,
                    breaks: r.breaks,
                    host_ns: r.host.0,
                    device_ns: r.device.0,
                    backward_host_ns: r.backward_host.0,
                    backward_device_ns: r.backward_device.0,
                    device_slices: r.device_slices,
                    compile_ns: r.compile.map(|ns| ns.0),
                };
                (id, row)
            })
            .collect();
        let weight =
            |r: &CompiledRegion| (Ns(r.device_ns) + Ns(r.backward_device_ns), Ns(r.host_ns), r.compile_ns);
        regions.order_by(|(a, x), (b, y)| weight(y).cmp(&weight(x)).then(a.cmp(b)));
        let mut eager: Vec<EagerRow> = self
            .eager
            .into_iter()
            .map(|(name, e)| EagerRow {
                name: text(name),
                calls: e.calls,
                calls_per_step: e.in_steps as f64 / count,
                in_regions: e.in_regions,
                host_ns: e.host.0,
                device_ns: e.device.0,
            })
            .collect();
        eager.order_by(|x, y| {
            (y.device_ns, y.host_ns).cmp(&(x.device_ns, x.host_ns)).then_with(|| x.name.cmp(&y.name))
        });
        let mut generated: Vec<(GeneratedKey, (u64, Ns))> = self.generated.into_iter().collect();
        generated.order_by(|(a, x), (b, y)| (y.1, y.0).cmp(&(x.1, x.0)).then(a.cmp(b)));
        let generated = generated.into_iter().map(|((kernel, of, backend, config, file), (calls, total))| {
            let region = of.map(|(id, backward)| match backward {
                true => format!("{} backward", label(id)),
                false => label(id),
            });
            GeneratedRow {
                kernel: text(kernel),
                region,
                backend: backend.map(text),
                config: config.map(text).filter(|config| !config.is_empty()),
                file: file.map(text),
                calls,
                total_ns: total.0,
                mean_ns: total.0 as f64 / calls as f64,
                share: share(total.0, self.device.0),
            }
        });
        Compiled {
            health: Some(health),
            regions: regions.into_iter().map(|(_, row)| row).collect(),
            eager,
            generated: generated.collect(),
            phases,
        }
    }
}

/// Phases by name; what a phase holds of others is not a time of its own.
fn phases(trace: &Trace, selection: &Selection) -> Vec<CompilePhase> {
    let slices = trace.slices();
    let mut is_phase = ByName::new(trace, |name| phase(name).is_some());
    let mut sums: Map<StrId, (u64, Ns, Ns)> = Map::default();
    let mut open: Vec<(Ns, StrId)> = Vec::new();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain == Domain::Device {
            continue;
        }
        open.clear();
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id) == Kind::HostOp) {
            let (name, dur) = (slices.name(id), slices.dur(id));
            if !is_phase.get(name) || !selection.contains(trace, id) {
                continue;
            }
            while open.last().is_some_and(|o| o.0 <= slices.start(id)) {
                open.pop();
            }
            if let Some((_, outer)) = open.last() {
                sums.entry(*outer).or_default().2 -= dur;
            }
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + dur, sum.2 + dur);
            open.push((slices.end(id), name));
        }
    }
    let mut rows: Vec<CompilePhase> = sums
        .into_iter()
        .map(|(name, (calls, total, own))| CompilePhase {
            phase: phase(trace.text(name)).unwrap_or_default().to_owned(),
            calls,
            total_ns: total.0,
            self_ns: own.0.max(0),
        })
        .collect();
    rows.order_by(|x, y| {
        (y.self_ns, y.total_ns).cmp(&(x.self_ns, x.total_ns)).then_with(|| x.phase.cmp(&y.phase))
    });
    rows
}

fn label(id: Option<CompileId>) -> String {
    id.map_or_else(|| "?".to_owned(), |id| format!("{}/{}", id.frame, id.version))
}

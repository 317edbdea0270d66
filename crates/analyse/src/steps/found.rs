//! Steps where none are marked: what the trace repeats.
//!
//! Heuristics, asked one after the other until one is sure. Each names something that a program does once in an iteration:
//! an optimizer steps, a batch is taken, a range, a module or a compiled program begins again, a graph is launched, a
//! kernel runs that no layer has. None of them guesses: layers repeat too, and steps that are none mislead more than one
//! step that is all of the trace.

mod compiled;
mod engine;
mod frame;
mod graphs;
mod kernels;
mod optimizer;
mod prefill;
mod sequence;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, Trace};

use super::Steps;
use super::ranges::new_step;
use super::step::Step;
use crate::scope::definition::Definition;
use crate::scope::extent::extent;

/// Fewer repeats are not a loop.
const MIN_REPEATS: usize = 3;
/// The share of the trace's work that the repeats have to hold.
const MIN_COVERED: f64 = 0.5;

/// Names are cut to so many characters.
const MAX_NAME_CHARS: usize = 60;

/// What represents a step where none are marked.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StepsFoundBy")]
pub enum FoundBy {
    /// From one step of the optimizer to the next.
    Optimizer,
    /// From one batch to the next.
    DataLoader,
    /// The ranges of a serving engine.
    Engine,
    /// A named range that repeats.
    Range,
    /// The outermost module that is called again and again.
    Module,
    /// A function of JAX or TensorFlow that was compiled.
    CompiledFunction,
    /// A compiled program, as its device runs it.
    DeviceProgram,
    /// Launches of a captured graph.
    Graph,
    /// A kernel that belongs to a model's beginning or end.
    Kernel,
}

/// Of [`FoundSteps::apart`].
pub const APART: Definition = Definition {
    field: "apart",
    label: "Of another kind",
    text: "Repeats that are not steps because they are of another kind, such as the prefills of a generation.",
};

/// How steps were found that are not marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundSteps {
    pub by: FoundBy,
    pub name: String,
    /// Repeats of another kind, as the prefill of a generation is: they are not steps.
    pub apart: u64,
    /// All of it: `12 iterations found by the repeating range decode_step`.
    pub sentence: String,
}

/// What repeats, and from where to where each repeat goes.
struct Repeats {
    by: FoundBy,
    name: String,
    windows: Vec<(Ns, Ns)>,
    on_device: bool,
    /// Repeats of another kind.
    apart: u64,
}

/// Steps of a trace without marks; none where no heuristic is sure.
pub(super) fn find(trace: &Trace) -> Option<Steps> {
    let finders: [fn(&Trace) -> Option<Repeats>; 9] = [
        optimizer::updates,
        optimizer::batches,
        compiled::functions,
        engine::iterations,
        frame::ranges,
        frame::modules,
        compiled::programs,
        graphs::launches,
        kernels::of_busiest_stream,
    ];
    let found = finders.iter().find_map(|find| find(trace))?;
    let name = match found.by {
        FoundBy::Optimizer | FoundBy::DataLoader | FoundBy::Engine | FoundBy::Graph | FoundBy::Kernel => {
            "iteration"
        }
        _ => found.name.as_str(),
    };
    let windows = found.windows.iter().enumerate();
    let steps: Vec<Step> =
        windows.map(|(number, &(start, end))| new_step(number as i64, name, start, end)).collect();
    let name = shortened(found.name);
    let label = FoundSteps { by: found.by, name, apart: found.apart, sentence: String::new() };
    Some(Steps { steps, on_device: found.on_device, found: Some(label), ..Steps::default() })
}

/// A name as a sentence has room for it.
fn shortened(name: String) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// Takes repeats of another kind out of the steps, which know their device work by now, and says what was found.
pub(super) fn settle(steps: &mut Steps, device_ns: &[Ns], trace: &Trace) {
    let Some(mut found) = steps.found.take() else { return };
    let may_generate = matches!(found.by, FoundBy::Range | FoundBy::Module | FoundBy::Graph | FoundBy::Kernel);
    if may_generate && !is_training(trace) {
        found.apart = found.apart.saturating_add(prefill::set_apart(steps, device_ns));
    }
    found.sentence = found.sentence(steps.steps.len());
    steps.found = Some(found);
}

fn is_training(trace: &Trace) -> bool {
    trace.strings().iter().any(|(_, text)| text.starts_with("autograd::engine::evaluate_function"))
}

impl FoundSteps {
    pub(crate) fn what(&self) -> String {
        let name = &self.name;
        match self.by {
            FoundBy::Optimizer => format!("the steps of the optimizer {name}"),
            FoundBy::DataLoader => "the batches of the data loader".to_owned(),
            FoundBy::Engine => "the ranges of the serving engine".to_owned(),
            FoundBy::Range => format!("the repeating range {name}"),
            FoundBy::Module => format!("the calls of the module {name}"),
            FoundBy::CompiledFunction => format!("the runs of the compiled function {name}"),
            FoundBy::DeviceProgram => format!("the runs of the program {name}"),
            FoundBy::Graph => "the launches of a captured graph".to_owned(),
            FoundBy::Kernel => format!("the repeating kernels from {name} on"),
        }
    }

    fn sentence(&self, count: usize) -> String {
        let by = self.what();
        let apart = match self.apart {
            0 => String::new(),
            1 => "; 1 of another kind, such as a prefill, does not count".to_owned(),
            n => format!("; {n} of another kind, such as prefills, do not count"),
        };
        format!("{count} iterations found by {by}{apart}")
    }
}

/// Whether most of what the trace shows is in the windows: of the devices' work, or of the host's time without any.
fn cover_most(trace: &Trace, windows: &[(Ns, Ns)]) -> bool {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return false };
    let slices = trace.slices();
    let (mut all, mut inside) = (Ns::ZERO, Ns::ZERO);
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        let at = slices.start(trace.links().launch(id).unwrap_or(id));
        all += slices.dur(id);
        if (first.0..last.1).contains(&at) {
            inside += slices.dur(id);
        }
    }
    if all == Ns::ZERO {
        all = extent(trace, |kind| kind.is_host() && kind != Kind::Overhead)
            .map_or(Ns::ZERO, |(from, to)| to - from);
        inside = last.1 - first.0;
    }
    all > Ns::ZERO && inside.0 as f64 >= MIN_COVERED * all.0 as f64
}

/// The median; 0 of nothing.
fn median(values: &[i64]) -> i64 {
    crate::scope::quantile::quantile(&mut values.to_vec(), 0.5)
}

/// Whether at least this share of the values is within this factor of their median.
fn alike(values: &[i64], factor: f64, share: f64) -> bool {
    let usual = median(values) as f64;
    let near = values.iter().filter(|&&value| {
        let value = value as f64;
        value <= usual * factor && value * factor >= usual
    });
    usual > 0.0 && near.count() as f64 >= share * values.len() as f64
}

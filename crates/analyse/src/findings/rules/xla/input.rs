//! A JAX or TensorFlow program that waits for its input: which stage of the pipeline is slow, and why.

use stepscope_model::{Attr, Kind, SliceId};

use super::{JAX_PREFETCH, TF_PIPELINE};
use crate::findings::{Amount, Confidence, Context, Estimate, Evidence, Finding};
use crate::names::framework::is_input_thread;

/// The stage of a tf.data pipeline that the program waits for, and what the profile says about it.
struct Stage {
    name: String,
    slices: Vec<SliceId>,
}

impl Stage {
    /// The innermost iterator in which the main thread waits longest.
    fn find(context: &Context<'_>) -> Option<Stage> {
        let name =
            context.loading().operators.iter().map(|o| &o.0).find(|name| name.starts_with("Iterator::"))?;
        let slices = context.trace().slices();
        let same = slices.ids().filter(|&id| context.trace().name(id) == name);
        Some(Stage { name: name.clone(), slices: same.collect() })
    }

    /// The smallest value of an attribute, over all times that the stage was asked.
    fn least(&self, context: &Context<'_>, attr: Attr) -> Option<i64> {
        self.slices.iter().filter_map(|&id| context.trace().args(id).int(attr)).min()
    }

    fn is_autotuned(&self, context: &Context<'_>) -> Option<bool> {
        let text = |&id: &SliceId| context.trace().args(id).value(Attr::Autotuned)?.as_text();
        self.slices.iter().find_map(text).map(|text| text == "true")
    }
}

/// The operator that takes most of the input threads' time, and that time in total.
fn busiest_input_operator(context: &Context<'_>) -> Option<(String, i64)> {
    let trace = context.trace();
    let slices = trace.slices();
    let mut sums = std::collections::BTreeMap::<&str, i64>::new();
    for (lane, _) in trace.lanes().iter().filter(|(_, lane)| is_input_thread(trace.text(lane.thread_name))) {
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id) == Kind::HostOp) {
            *sums.entry(trace.name(id)).or_default() += slices.dur(id).0;
        }
    }
    sums.into_iter()
        .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)))
        .map(|(name, ns)| (name.to_owned(), ns))
}

/// What to do where the next batch comes too late.
pub(in super::super) fn input(context: &Context<'_>, framework: &str, finding: &mut Finding) {
    let Some(stage) = Stage::find(context) else {
        finding.why = "The thread that runs the steps prepares each batch itself: meanwhile nothing else is handed to the device."
            .to_owned();
        finding.fix = "Prepare batches on another thread or in other processes, and put the next one on the device before the \
                       current step ends."
            .to_owned();
        finding.code = Some(match framework {
            "TensorFlow" => TF_PIPELINE.to_owned(),
            _ => JAX_PREFETCH.to_owned(),
        });
        return;
    };
    finding.confidence = Confidence::High;
    finding.evidence.push(Evidence::new(
        "stage waited for",
        Amount::Text(stage.name.clone()),
        "The innermost tf.data iterator in which the main thread spends most of its waiting.",
    ));
    let parallelism = stage.least(context, Attr::Parallelism);
    let numbers = [
        (
            "parallelism of the stage",
            parallelism,
            "How many elements the stage works on at a time, by tf.data itself.",
        ),
        (
            "elements ready",
            stage.least(context, Attr::BufferedElements),
            "The fewest finished elements in the stage's buffer when the next one was asked for.",
        ),
    ];
    for (label, number, definition) in numbers {
        if let Some(count) = number.and_then(|number| u64::try_from(number).ok()) {
            finding.evidence.push(Evidence::new(label, Amount::Count(count), definition));
        }
    }
    let autotuned = stage.is_autotuned(context);
    if let Some(autotuned) = autotuned {
        finding.evidence.push(Evidence::new(
            "autotuned",
            Amount::Text(if autotuned { "yes" } else { "no" }.to_owned()),
            "Whether tf.data chooses the stage's parallelism while it runs (tf.data.AUTOTUNE).",
        ));
    }
    let busiest = busiest_input_operator(context);
    let in_python = busiest.as_ref().is_some_and(|(operator, _)| operator.contains("PyFunc"));
    if let Some((operator, ns)) = busiest {
        finding.evidence.push(Evidence::new(
            format!("input threads in {operator}"),
            Amount::Ns(context.per_step(ns)),
            "Time per step of the operator that takes most of tf.data's own threads, summed over them.",
        ));
    }
    let serial = parallelism == Some(1) && autotuned != Some(true);
    finding.why = match serial {
        true => format!("{} works on one element at a time, and the step waits for it.", stage.name),
        false => format!("{} does not keep up with the steps: its buffer runs empty.", stage.name),
    };
    if in_python {
        // More of it at a time helps nothing: it holds Python's lock.
        finding.estimate = Estimate::UpperBound;
        finding.why.push_str(" Most of its time goes to a Python function, and those run one at a time whatever the parallelism.");
        finding.fix = "Write that function with TensorFlow operators, then let tf.data run it in parallel; or do the work ahead of \
                       time, and read its results."
            .to_owned();
        finding.code = Some(TF_WITHOUT_PYTHON.to_owned());
        return;
    }
    finding.fix = match serial {
        true => "Let tf.data run the map in parallel and choose how many at a time, and prefetch batches so that they are \
                 made while the step computes. Functions that call Python (tf.py_function) run one at a time whatever \
                 their parallelism: write them with TensorFlow's operators, or do that work ahead of time."
            .to_owned(),
        false => "Make each element cheaper (cache what does not change, vectorize the map over batches, move Python out of \
                  it), or give the pipeline more cores."
            .to_owned(),
    };
    finding.code = Some(TF_PIPELINE.to_owned());
}

const TF_WITHOUT_PYTHON: &str =
    "dataset = dataset.map(prepare_with_tf_operators, num_parallel_calls=tf.data.AUTOTUNE)  # no tf.py_function
dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)";

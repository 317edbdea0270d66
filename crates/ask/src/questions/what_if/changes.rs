//! Which changes are asked for, and which are tried where none is.

use std::collections::BTreeSet;

use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::replay::what_if::Change;
use stepscope_analyse::roofline::efficiency::{self, Efficiency};
use stepscope_ground::Problem;
use stepscope_model::{Kind, Order, Trace};

use crate::ask::{Ask, RunPart};
use crate::options::ChangeWord;

/// Operators tried at twice the speed.
const MAX_OPERATORS: usize = 8;
const PAIRS: &str = "as in --op aten::mm --speedup 2";

pub(super) fn asked(ask: &Ask) -> Result<Vec<Change>, Problem> {
    let mut changes = Vec::new();
    let mut words = ask.words.iter().peekable();
    while let Some(word) = words.next() {
        let (option, name) = match word {
            ChangeWord::Op(name) => ("--op", name),
            ChangeWord::Kernel(name) => ("--kernel", name),
            ChangeWord::Speedup(value) => {
                let what = format!("--speedup {value} follows neither --op nor --kernel");
                return Err(Problem::new(what, PAIRS));
            }
        };
        let Some(ChangeWord::Speedup(value)) = words.next_if(|word| matches!(word, ChangeWord::Speedup(_)))
        else {
            let what = format!("{option} {name} needs a --speedup right after it");
            return Err(Problem::new(what, PAIRS));
        };
        let (name, speedup) = (name.clone(), speedup(value)?);
        changes.push(match word {
            ChangeWord::Op(_) => Change::Operator { name, speedup },
            _ => Change::Kernel { name, speedup },
        });
    }
    for (given, change) in [
        (ask.no_data_loading, Change::NoDataLoading),
        (ask.no_sync, Change::NoSynchronization),
        (ask.overlap_transfers, Change::OverlapTransfers),
        (ask.free_launches, Change::FreeLaunches),
    ] {
        if given {
            changes.push(change);
        }
    }
    Ok(changes)
}

/// The change of `--tensor-cores`.
pub(super) fn on_tensor_cores(trace: &Trace) -> Result<Change, Problem> {
    efficiency::change(trace, Efficiency::default()).ok_or_else(|| {
        Problem::new(
            "no 32-bit matrix work with a known cost",
            "record with record_shapes=True; `stepscope roofline` shows what runs in which format and what is known",
        )
    })
}

fn speedup(text: &str) -> Result<f64, Problem> {
    // `2x` is how people write it.
    let number = text.trim().trim_end_matches(['x', 'X', '×']).parse::<f64>();
    match number {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(Problem::new(
            format!("'{text}' is not a speedup"),
            "give a number above 0: 2 is twice as fast, 0.5 half as fast",
        )),
    }
}

/// Whether an operator ran on threads that the replay does not tie to the steps: those of XLA and TensorFlow on a CPU. The
/// profile does not say which of them a step waited for.
pub(super) fn is_beside_steps(asked: &RunPart, name: &str) -> bool {
    let (trace, slices) = (asked.trace(), asked.trace().slices());
    if trace.meta().framework.is_none() || slices.ids().any(|id| slices.kind(id).is_device_work()) {
        return false;
    }
    let Some(wanted) = trace.strings().find(name) else { return false };
    let main = asked.run.host().main();
    let mut named =
        slices.ids().filter(|&id| slices.name(id) == wanted && slices.kind(id).is_host()).peekable();
    named.peek().is_some() && named.all(|id| Some(slices.lane(id)) != main)
}

/// What is tried where nothing is asked for: what a profile usually asks for, and the longest operators.
pub(super) fn standard(asked: &RunPart) -> Vec<Change> {
    let trace = asked.trace();
    let mut changes = Vec::new();
    let on_device = trace.slices().ids().any(|id| trace.slices().kind(id).is_device_work());
    changes.push(Change::NoDataLoading);
    if on_device {
        changes.extend([Change::NoSynchronization, Change::OverlapTransfers, Change::FreeLaunches]);
        changes.extend(efficiency::change(trace, Efficiency::default()));
    }
    let report = asked.run.ops();
    let time = |device: i64, host: i64| if on_device { device } else { host };
    let mut longest: Vec<(i64, String)> =
        report.ops.iter().map(|row| (time(row.device_self_ns, row.host_self_ns), row.name.clone())).collect();
    longest.order_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let longest = longest.into_iter().filter(|op| op.0 > 0).take(MAX_OPERATORS);
    changes.extend(longest.map(|(_, name)| Change::Operator { name, speedup: 2.0 }));
    changes
}

/// A change that touches nothing, with the names that were perhaps meant.
pub(super) fn unknown(trace: &Trace, what: String, changes: &[Change]) -> Problem {
    let slices = trace.slices();
    let named = |wanted: &dyn Fn(Kind) -> bool| -> BTreeSet<&str> {
        slices.ids().filter(|&id| wanted(slices.kind(id))).map(|id| trace.name(id)).collect()
    };
    let mut near = Vec::new();
    for change in changes {
        match change {
            Change::Operator { name, .. } if what.contains(name.as_str()) => {
                let known = named(&|kind| matches!(kind, Kind::HostOp | Kind::HostAnnotation));
                near = nearest(name, known, 4).into_iter().map(str::to_owned).collect();
            }
            Change::Kernel { name, .. } if what.contains(name.as_str()) => {
                let known = named(&|kind| kind == Kind::Kernel);
                let short: BTreeSet<String> =
                    known.into_iter().map(stepscope_analyse::names::kernel_name::short).collect();
                near =
                    nearest(name, short.iter().map(String::as_str), 4).into_iter().map(str::to_owned).collect();
            }
            _ => {}
        }
        if !near.is_empty() {
            break;
        }
    }
    let hint = match near.is_empty() {
        true => "`stepscope ops` and `stepscope kernels` list the names".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Problem::new(what, hint)
}

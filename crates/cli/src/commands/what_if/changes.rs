//! Which changes are asked for, and which are tried where none is.

use std::collections::BTreeSet;

use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::replay::what_if::Change;
use stepscope_analyse::roofline::efficiency::{self, Efficiency};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::ops::{OpsQuery, ops};
use stepscope_model::{Kind, Trace};

use crate::args::{WhatIf, Word};
use crate::failure::Failure;

/// Operators tried at twice the speed.
const OPERATORS: usize = 8;
const PAIRS: &str = "as in --op aten::mm --speedup 2";

/// The changes on the command line.
pub(super) fn asked(args: &WhatIf) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    let mut words = args.faster.words.iter().peekable();
    while let Some(word) = words.next() {
        let (option, name) = match word {
            Word::Op(name) => ("--op", name),
            Word::Kernel(name) => ("--kernel", name),
            Word::Speedup(value) => {
                let what = format!("--speedup {value} follows neither --op nor --kernel");
                return Err(Failure::wrong_use(what, PAIRS));
            }
        };
        let Some(Word::Speedup(value)) = words.next_if(|word| matches!(word, Word::Speedup(_))) else {
            let what = format!("{option} {name} needs a --speedup right after it");
            return Err(Failure::wrong_use(what, PAIRS));
        };
        let (name, speedup) = (name.clone(), speedup(value)?);
        changes.push(match word {
            Word::Op(_) => Change::Operator { name, speedup },
            _ => Change::Kernel { name, speedup },
        });
    }
    for (given, change) in [
        (args.no_data_loading, Change::NoDataLoading),
        (args.no_sync, Change::NoSynchronization),
        (args.overlap_transfers, Change::OverlapTransfers),
        (args.free_launches, Change::FreeLaunches),
    ] {
        if given {
            changes.push(change);
        }
    }
    Ok(changes)
}

/// The change of `--tensor-cores`.
pub(super) fn on_tensor_cores(trace: &Trace) -> Result<Change, Failure> {
    efficiency::change(trace, Efficiency::default()).ok_or_else(|| {
        Failure::wrong_use(
            "no matrix work in 32 bits whose cost is known",
            "record with record_shapes=True; `stepscope roofline` shows what runs in which format and what is known",
        )
    })
}

fn speedup(text: &str) -> Result<f64, Failure> {
    // `2x` is how people write it.
    let number = text.trim().trim_end_matches(['x', 'X', '×']).parse::<f64>();
    match number {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(Failure::wrong_use(
            format!("'{text}' is not a speedup"),
            "give a number above 0: 2 is twice as fast, 0.5 half as fast",
        )),
    }
}

/// What is tried where nothing is asked for: what a profile usually asks for, and the longest operators.
pub(super) fn standard(trace: &Trace, selection: &Selection) -> Vec<Change> {
    let mut changes = Vec::new();
    let on_device = trace.slices().ids().any(|id| trace.slices().kind(id).is_device_work());
    changes.push(Change::NoDataLoading);
    if on_device {
        changes.extend([Change::NoSynchronization, Change::OverlapTransfers, Change::FreeLaunches]);
        changes.extend(efficiency::change(trace, Efficiency::default()));
    }
    let report = ops(trace, &OpsQuery { selection: selection.clone(), ..OpsQuery::default() });
    let time = |device: i64, host: i64| if on_device { device } else { host };
    let mut longest: Vec<(i64, String)> =
        report.ops.into_iter().map(|row| (time(row.device_self_ns, row.host_self_ns), row.name)).collect();
    longest.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let longest = longest.into_iter().filter(|op| op.0 > 0).take(OPERATORS);
    changes.extend(longest.map(|(_, name)| Change::Operator { name, speedup: 2.0 }));
    changes
}

/// A change that touches nothing, with the names that were perhaps meant.
pub(super) fn unknown(trace: &Trace, what: String, changes: &[Change]) -> Failure {
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
    Failure::wrong_use(what, hint)
}

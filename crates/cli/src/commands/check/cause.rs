//! The cause of a failed check, where traces of both sides are at hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_model::DocumentKind;
use stepscope_regression::{Checked, How, Measurement, Outcome, explain};

use crate::args::Check;
use crate::config;
use crate::failure::Failure;
use crate::input::{all, remark};

/// More recordings of a side would only take longer to read.
const MAX_TRACES: usize = 10;

/// Fails before anything runs if a trace that is to explain the verdict is not there.
pub(super) fn precheck(args: &Check) -> Result<(), Failure> {
    match args.explain_with.iter().chain(&args.trace).find(|path| !path.exists()) {
        Some(path) => Err(Failure::wrong_use(
            format!("there is no file or folder at this path: {}", path.display()),
            "record both versions first, for example with stepscope.profile",
        )),
        None => Ok(()),
    }
}

/// Adds what traces say about a failure. What goes wrong with them is a remark: the verdict does not rest on them.
pub(super) fn add(args: &Check, baseline: Option<&Measurement>, current: &Measurement, checked: &mut Checked) {
    if checked.outcome() != Outcome::Fail {
        return;
    }
    let (before, after) = match &args.explain_with[..] {
        [before, after] => (vec![before.clone()], vec![after.clone()]),
        _ => {
            let kept = baseline.map(Measurement::explaining_traces).unwrap_or_default();
            let own = match (args.trace.is_empty(), current.how) {
                (false, _) => args.trace.clone(),
                (true, How::Traces) => args.runs.clone(),
                _ => return,
            };
            (kept.into_iter().map(PathBuf::from).collect(), own)
        }
    };
    if before.is_empty() {
        remark(
            "no cause is named: the baseline has no trace; give one of each side with --explain-with BASE_TRACE NEW_TRACE",
        );
        return;
    }
    let found =
        read(&before).and_then(|before| Ok((before, read(&after)?, config::configured_thresholds(None)?)));
    match found {
        Ok((before, after, thresholds)) => checked.explanation = Some(explain(&before, &after, &thresholds)),
        Err(why) => remark(&format!("no cause is named: {why}")),
    }
}

fn read(paths: &[PathBuf]) -> Result<Vec<Arc<Run>>, Failure> {
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for path in paths.iter().take(MAX_TRACES) {
        runs.extend(all(path, None, None)?);
    }
    match runs.iter().find(|run| run.kind() != DocumentKind::Trace) {
        Some(other) => Err(Failure::wrong_use(
            format!("this is not a trace: {}", Path::new(&other.trace().meta().source.path).display()),
            "give traces with a timeline",
        )),
        None => Ok(runs),
    }
}

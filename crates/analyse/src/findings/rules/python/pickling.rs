//! Objects that are pickled, most often to be sent to another process.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "pickling",
    about: "A plain Python program spends much of its time pickling objects, such as those it sends to other \
            processes.",
    thresholds: thresholds! {
        "pickling.min_share" = 0.1, "share of the run in pickling";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "pickling.min_share",
    what: "Pickling",
    doing: "pickling objects",
    why: "Whatever goes to another process or to a pickle file is taken apart object by object and put together again at the other \
          end.",
    fix: "Send less: an index or a path instead of the data, several items per message (chunksize=), or one NumPy array instead of \
          many objects. Large arrays can be shared with multiprocessing.shared_memory.",
};

fn is_pickling(function: Function<'_>) -> bool {
    let files =
        ["pickle.py", "multiprocessing/reduction.py", "cloudpickle/cloudpickle.py", "joblib/numpy_pickle.py"];
    files.iter().any(|file| function.is_in(file)) || function.is_native(&["_pickle."])
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_pickling));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        finding.code = Some(
            "results = pool.map(work, range(len(items)), chunksize=256)  # send numbers, not objects"
                .to_owned(),
        );
        Some(finding)
    });
    finding.into_iter().collect()
}

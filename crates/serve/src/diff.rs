//! Two runs compared, or more side by side, for the page.

use std::sync::Arc;

use serde_json::Value;
use stepscope_analyse::run::Run as Analysed;
use stepscope_ask::{Ask, DIFF, answer, write};
use stepscope_ground::Problem;

use crate::question::pairs;
use crate::reply::Reply;
use crate::run::Run;
use crate::runs::KEPT_RUNS;

/// Runs of all sides by number, and options of the question.
type Asked = (Vec<Vec<u32>>, Vec<(String, String)>);

/// What a query asks for: `a=0,2&b=1`, or `s=0&s=1&s=2` for more than two sides.
pub(crate) fn sides(query: &str) -> Result<Asked, Problem> {
    let mut sides: Vec<Vec<u32>> = Vec::new();
    let mut options = Vec::new();
    let mut given = pairs(query);
    // `b=1&a=0` means the same.
    given.sort_by_key(|(name, _)| name == "b");
    for (name, value) in given {
        if !matches!(name.as_str(), "a" | "b" | "s") {
            options.push((name, value));
            continue;
        }
        let mut side = Vec::new();
        for id in value.split(',') {
            let number =
                id.parse().map_err(|_| Problem::new(format!("no such run: {id}"), "choose one at the top"))?;
            side.push(number);
            // More would push each other out of memory, and never be there together.
            if sides.iter().map(Vec::len).sum::<usize>() + side.len() > KEPT_RUNS {
                return Err(Problem::new(
                    format!("the browser compares at most {KEPT_RUNS} recordings at once"),
                    "compare more in the terminal: stepscope diff A1 A2 … --after B1 B2 …",
                ));
            }
        }
        sides.push(side);
    }
    Ok((sides, options))
}

/// The answer about them.
pub(crate) fn reply(sides: &[Vec<Arc<Run>>], options: &[(String, String)]) -> Result<Reply, Problem> {
    let mut ask = Ask::about_all(&DIFF);
    for (name, value) in options {
        ask.set(name, value)?;
    }
    ask.sides = sides.iter().map(Vec::len).collect();
    if let Some(first) = sides.iter().flatten().next() {
        ask.thresholds = first.thresholds.clone();
    }
    let runs: Vec<_> = sides.iter().flatten().map(|run| run.run.clone()).collect();
    Reply::json(&object(&ask, &runs)?)
}

/// The whole answer, with its definitions.
pub(crate) fn object(ask: &Ask, runs: &[Arc<Analysed>]) -> Result<Value, Problem> {
    Ok(Value::Object(write::object(&answer(ask, runs)?, true)))
}

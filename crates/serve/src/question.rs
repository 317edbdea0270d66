//! From a request's query to a question.

use std::sync::Arc;

use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_ask::write::{self, Page};
use stepscope_ask::{Ask, answer};
use stepscope_ground::Problem;

use crate::runs::MAX_CACHED_RUNS;

pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

pub(crate) struct Query {
    pub(crate) ask: Ask,
    /// The rows of its answer that are wanted.
    pub(crate) page: Option<Page>,
    /// The runs of each side of a comparison, by number: `a=0,2&b=1`, or `s=0&s=1&s=2` for more than two sides.
    pub(crate) sides: Vec<Vec<u32>>,
}

pub(crate) fn parse(question: &str, query: &str) -> Result<Query, Problem> {
    let mut ask = Ask::new(question)?;
    let (mut part, mut offset, mut limit) = (None, 0, usize::MAX);
    let mut sides: Vec<Vec<u32>> = Vec::new();
    let mut given = pairs(query);
    // `b=1&a=0` means the same.
    given.sort_by_key(|(key, _)| key == "b");
    for (key, value) in given {
        match key.as_str() {
            "a" | "b" | "s" if ask.question().compares() => sides.push(side(&value, &sides)?),
            "part" => part = Some(value),
            "offset" => offset = number(&key, &value)?,
            "limit" => limit = number(&key, &value)?,
            // The page counts in floating numbers.
            "from" | "to" => ask.set(&key, value.split('.').next().unwrap_or_default())?,
            option => ask.set(option, &value)?,
        }
    }
    Ok(Query { ask, page: part.map(|part| Page { part, offset, limit }), sides })
}

/// The runs of one more side.
fn side(value: &str, sides: &[Vec<u32>]) -> Result<Vec<u32>, Problem> {
    let no_run = |id| Problem::new(format!("no such run: {id}"), "choose one at the top");
    let ids = value.split(',').map(|id| id.parse().map_err(|_| no_run(id))).collect::<Result<Vec<_>, _>>()?;
    // More would push each other out of memory, and never be there together.
    if sides.iter().map(Vec::len).sum::<usize>() + ids.len() > MAX_CACHED_RUNS {
        return Err(Problem::new(
            format!("the browser compares at most {MAX_CACHED_RUNS} recordings at once"),
            "compare more in the terminal: stepscope diff A1 A2 … --after B1 B2 …",
        ));
    }
    Ok(ids)
}

/// The whole answer, with its definitions.
pub(crate) fn object(ask: &Ask, runs: &[Arc<Run>]) -> Result<Value, Problem> {
    Ok(Value::Object(write::object(&answer(ask, runs)?, true)))
}

/// A number among the options.
pub(crate) fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, Problem> {
    value.parse().map_err(|_| Problem::new(format!("{key} is not a number: {value}"), "give a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_questions_are_asked() {
        assert!(parse("export", "").is_err());
        assert!(parse("ops", "output=/etc/passwd").is_err());
        assert!(parse("ops", "a=0&b=1").is_err());
        let query = parse("ops", "by=shape&part=ops&offset=5&limit=10&filter=%5Ea%26b").unwrap();
        assert_eq!(query.ask.question().name, "ops");
        assert_eq!(query.page, Some(Page { part: "ops".into(), offset: 5, limit: 10 }));
        assert_eq!(parse("diff", "b=1&a=0,2").unwrap().sides, [vec![0, 2], vec![1]]);
    }
}

//! The history of baselines, for the page. Whoever starts the server reads them.

use stepscope_ground::Problem;

use crate::backend::Histories;
use crate::question::pairs;
use crate::reply::Reply;

/// The list, or with `?baseline=main&metric=step_time` one history.
pub(crate) fn reply(histories: &dyn Histories, query: &str) -> Result<Reply, Problem> {
    let options = pairs(query);
    let given = |name: &str| options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (given("baseline"), given("metric")) {
        (Some(baseline), Some(metric)) => Reply::json(&histories.history(baseline, metric)?),
        _ => Reply::json(&histories.baselines()?),
    }
}

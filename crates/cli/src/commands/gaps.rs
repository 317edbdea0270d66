//! `stepscope gaps`: when devices were idle, why, and who is to blame.

mod tables;

use std::io::Write;

use serde_json::json;
use stepscope_analyse::causes::gaps::{self, gaps};

use super::{TOP, by, refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Format, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// Culprits and gaps shown beside each other unless `--top` says otherwise.
const FEW: usize = 10;
/// Gaps that are looked at one by one, beside as many as the file has slices.
const MOST_GAPS: usize = 100_000;
const NONE: &str = "no device work in this trace: record with ProfilerActivity.CUDA on a GPU";

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    let definitions = [gaps::DEFINITIONS, stepscope_analyse::causes::account::DEFINITIONS];
    if wants_only_definitions(common) {
        return only_definitions(out, common, &definitions);
    }
    let by = match &common.by {
        Some(_) => Some(by(common, &["kind", "culprit", "gap", "stream"])?),
        None => None,
    };
    if by.is_none() {
        refuse(common, &["--sort"], "four tables at once", "choose one with --by kind|culprit|gap|stream")?;
    }
    let input = Input::load(common)?;
    // The longest gaps are sorted and filtered here, so all of them are needed then. There is one for each step of each
    // device at least, which may be many times what the file holds.
    let some = common.sort.is_none() && common.filter.is_none();
    let most = input.trace.slices().len().saturating_add(MOST_GAPS);
    let top = match common.top.unwrap_or(TOP) {
        0 => most,
        top if some => top,
        top => top.max(most),
    };
    let report = gaps(&input.trace, &input.steps, common.device, top);
    let start = input.trace.extent().map_or(0, |(start, _)| start.0);
    let words = format!(
        "{} of {} idle ({}) in {} gaps",
        units::time(report.idle_ns),
        units::time(report.wall_ns),
        units::percent(super::ops::ratio(report.idle_ns, report.wall_ns)),
        units::count(report.count),
    );
    let extra =
        vec![("totals", json!({ "gaps": report.count, "idle_ns": report.idle_ns, "wall_ns": report.wall_ns }))];
    let about = |table: &str| match by {
        Some(by) if by == table => common.clone(),
        // Beside each other, only what has names can be filtered, and only what is long is cut.
        None if table == "culprit" || table == "gap" => common.clone(),
        _ => Common { sort: None, top: None, filter: None, ..common.clone() },
    };
    let few = if by.is_none() { FEW } else { TOP };
    let kinds = arrange(report.kinds, &about("kind"), None, 0, |r| tables::kind_label(r.kind))?;
    let culprits = arrange(report.culprits, &about("culprit"), None, few, |r| &r.culprit)?;
    let mut longest = arrange(report.gaps, &about("gap"), None, few, |r| r.culprit.as_deref().unwrap_or(""))?;
    if some || report.count as usize > most {
        longest.matched = report.count as usize;
        longest.all = longest.matched;
    }
    let streams = arrange(report.streams, &about("stream"), None, 0, |_| "")?;
    let mut parts = vec![
        Part::new("kinds", tables::kinds(&kinds, &words), json!(kinds.rows)),
        Part::new("culprits", tables::culprits(&culprits, common.full), json!(culprits.rows)),
        Part::new("gaps", tables::longest(&longest, start, common.full), json!(longest.rows)),
        Part::new("streams", tables::streams(&streams, common.step.is_some()), json!(streams.rows)),
    ];
    let wanted = match (common.format, by) {
        (Format::Json, _) => None,
        (Format::Csv, None) => Some("gaps"),
        (_, Some("kind")) => Some("kinds"),
        (_, Some("culprit")) => Some("culprits"),
        (_, Some("gap")) => Some("gaps"),
        (_, Some(_)) => Some("streams"),
        (_, None) if streams.all == 0 => Some("kinds"),
        (_, None) => None,
    };
    parts.retain(|part| wanted.is_none_or(|wanted| part.key == wanted));
    answer(out, common, parts, extra, &definitions)
}

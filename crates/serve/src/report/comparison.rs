//! Two sides compared, in one file: the comparison both ways round, and the first recording of each side in full.

use std::sync::Arc;

use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_ask::Ask;
use stepscope_ground::Problem;

use super::pack::{Section, pack};
use super::redact::redact;
use super::{REDACTED, Report, ReportOptions, finished, html, of_run, size};
use crate::question::object;

#[derive(Clone, Copy, Debug)]
pub struct ComparedSides<'a> {
    /// The comparison, of every row; [`Ask::sides`] says which of the runs are whose.
    pub ask: &'a Ask,
    /// The runs, the earlier side first.
    pub runs: &'a [Arc<Run>],
    /// What the two sides are called.
    pub labels: [&'a str; 2],
}

/// Writes a comparison of two sides as one file. The page opens with it; the other pages are about the first recording of either side.
pub fn comparison_report(of: &ComparedSides<'_>, options: &ReportOptions) -> Result<Report, Problem> {
    let page = html::bundle()?;
    let mut room = page.room(options.max_bytes);
    let (before, after) = of.runs.split_at(of.ask.sides.first().copied().unwrap_or(0).min(of.runs.len()));
    let (Some(first), Some(second)) = (before.first(), after.first()) else {
        return Err(Problem::new("a comparison needs two sides", "give a recording for each"));
    };
    let mut turned = of.ask.clone();
    let swapped = turned.take_sides(&[after.to_vec(), before.to_vec()]);
    let mut sections = vec![
        section("diff/0-1", object(of.ask, of.runs)?, options)?,
        section("diff/1-0", object(&turned, &swapped)?, options)?,
    ];
    room = room.saturating_sub(size(&sections));
    let mut left_out = Vec::new();
    if of.runs.len() > 2 {
        left_out.push(format!(
            "the timelines and stacks of all but the first recording of each side; the comparison is about all {}",
            of.runs.len()
        ));
    }
    for (number, (run, name)) in [(first, "A"), (second, "B")].into_iter().enumerate() {
        // What the first does not need is the second's.
        let (mut own, without) = of_run(run.clone(), options, room / (2 - number))?;
        room = room.saturating_sub(size(&own));
        if number > 0 {
            own.iter_mut().for_each(|section| section.name = format!("{number}/{}", section.name));
        }
        sections.extend(own);
        left_out.extend(without.into_iter().map(|what| format!("of {name}, {what}")));
    }
    if options.redact {
        left_out.push(REDACTED.to_owned());
    }
    finished(&page, sections, &of.labels, left_out, options)
}

fn section(name: &str, mut value: Value, options: &ReportOptions) -> Result<Section, Problem> {
    if options.redact {
        redact(&mut value);
    }
    pack(name, &value)
}

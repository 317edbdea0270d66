//! `stepscope findings`: what costs how much, why, and what to change.

pub(super) mod blocks;
mod list;
mod markdown;
mod sarif;
pub(super) mod words;

use std::io::Write;

use serde_json::json;
use stepscope_analyse::findings::{self, Context, Finding, Thresholds};

use super::{refuse, wants_only_definitions};
use crate::args::{self, Common};
use crate::config;
use crate::failure::{Failure, Outcome};
use crate::input::Input;
use crate::print::{self, Format, Table};
use crate::rows::{Arranged, arrange};
use crate::words::{Part, answer, explain, only_definitions, screen};

pub(super) fn run(args: &args::Findings, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    let common = &args.common;
    let thresholds = config::thresholds(args.config.as_deref())?;
    if args.list {
        return list::run(args, &thresholds, out);
    }
    if wants_only_definitions(common) && common.format != Format::Sarif {
        return only_definitions(out, common, &[findings::DEFINITIONS]);
    }
    refuse(common, &["--by"], "findings", "they are listed one by one")?;
    let hint = "they come by severity and saving; `--format csv` can be sorted by anything";
    refuse(common, &["--sort"], "findings", hint)?;
    refuse(common, &["--device"], "findings, which are about all devices", "leave it out")?;
    let input = Input::load(common)?;
    let found = Found::look(&input, &thresholds, common)?;
    if let Some(fail_on) = args.fail_on
        && found.worst.is_some_and(|worst| worst >= fail_on.severity())
    {
        *outcome = Outcome::No;
    }
    match common.format {
        Format::Table => {
            let screen = screen(common);
            blocks::write(out, &screen, &found, common)?;
            if common.explain {
                writeln!(out)?;
                explain(out, &screen, &[findings::DEFINITIONS])?;
            }
            Ok(())
        }
        Format::Md => {
            let mut text = markdown::document(&found);
            if common.explain {
                text.push('\n');
                text.push_str(&markdown::definitions(findings::DEFINITIONS));
            }
            Ok(out.write_all(screen(common).guard(&text).as_bytes())?)
        }
        Format::Sarif => {
            let text = print::json(&sarif::document(&found, &thresholds))?;
            Ok(out.write_all(screen(common).guard(&text).as_bytes())?)
        }
        Format::Json | Format::Csv => {
            let part = Part::new("findings", Table::default(), json!(found.shown.rows));
            let extra = vec![("step_ns", json!(found.step_ns)), ("steps", json!(found.steps))];
            answer(out, common, vec![part], extra, &[findings::DEFINITIONS])
        }
    }
}

/// The findings of a trace and what they are measured against.
struct Found {
    shown: Arranged<Finding>,
    /// The worst that matches the filter, shown or not.
    worst: Option<findings::Severity>,
    /// The mean step.
    step_ns: i64,
    /// How many steps that is the mean of.
    steps: usize,
    /// The trace.
    path: String,
    /// Where its time begins.
    start_ns: i64,
    /// Whether a device worked.
    on_device: bool,
}

impl Found {
    fn look(input: &Input, thresholds: &Thresholds, common: &Common) -> Result<Found, Failure> {
        let context = Context::new(&input.trace, &input.steps, thresholds);
        let all = findings::in_context(&context);
        let named: Vec<Named> = all.into_iter().map(Named::new).collect();
        let matching = arrange(named, &Common { top: Some(0), ..common.clone() }, None, 0, |f| &f.name)?;
        let worst = matching.rows.iter().map(|f| f.finding.severity).max();
        let mut rows: Vec<Finding> = matching.rows.into_iter().map(|f| f.finding).collect();
        if let Some(top) = common.top.filter(|top| *top > 0) {
            rows.truncate(top);
        }
        Ok(Found {
            shown: Arranged { rows, matched: matching.matched, all: matching.all },
            worst,
            step_ns: context.step_ns(),
            steps: context.counted_steps(),
            path: input.trace.meta().source.path.clone(),
            start_ns: input.trace.extent().map_or(0, |(start, _)| start.0),
            on_device: context.account().devices.iter().any(|row| row.device.is_some()),
        })
    }
}

/// A finding with what `--filter` looks at: its rule and its title.
#[derive(serde::Serialize)]
struct Named {
    name: String,
    #[serde(skip)]
    finding: Finding,
}

impl Named {
    fn new(finding: Finding) -> Named {
        Named { name: format!("{}: {}", finding.rule, finding.title), finding }
    }
}

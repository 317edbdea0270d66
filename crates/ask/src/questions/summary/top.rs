//! What takes most of the device's time: operators where the file knows them, kernels where it does not.

use std::io;
use stepscope_model::Order;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::roofline::{RooflineBy, RooflineQuery, RooflineRow, roofline};
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::ops::{self, OpsQuery};

use super::super::kernels::shorter;
use super::super::ops::ratio;
use super::{QUESTION, time};
use crate::print::{self, Cell, Column, Columns, Role, Screen, Table};

/// Rows on the first screen.
const MAX_SHOWN_ROWS: usize = 5;
/// Rows that programs get.
const MAX_ROWS: usize = 20;

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct TopRow {
    name: String,
    per_step_ns: i64,
    of_step: f64,
    kernels_per_step: Option<f64>,
    of_roofline: Option<f64>,
}

/// The largest, and how to call them.
#[derive(Clone)]
pub(super) struct Top {
    pub(super) rows: Vec<TopRow>,
    what: String,
    /// Whether no steps are marked.
    synthetic: bool,
}

/// A cache is about twice as fast as the memory behind it. Beyond that, an operator does not touch all that its shapes say:
/// the gradient of an embedding has rows for a few words only.
const MAX_OF_ROOFLINE: f64 = 2.0;

impl Top {
    pub(super) fn new(run: &Run, device: Option<i64>, devices: usize) -> Top {
        let synthetic = run.steps().synthetic;
        // Of several devices, the one whose time the bar above is: a mean over devices would be of none of them.
        let shown = device.or_else(|| time::row(run.account(), None)?.device).filter(|_| devices > 1);
        let (mut rows, what) = match (devices, shown) {
            (0, _) => on_host(run),
            (_, Some(shown)) => (on_devices(run, Some(shown), 1), format!("Device time, GPU {shown}")),
            (n, None) => (on_devices(run, device, n), "Device time".to_owned()),
        };
        rows.order_by(|a, b| b.per_step_ns.cmp(&a.per_step_ns).then_with(|| a.name.cmp(&b.name)));
        rows.retain(|row| row.per_step_ns > 0);
        rows.truncate(MAX_ROWS);
        Top { rows, what, synthetic }
    }

    pub(super) fn lines(&self, screen: &Screen) -> io::Result<Vec<String>> {
        if self.rows.is_empty() {
            return Ok(Vec::new());
        }
        let rows = &self.rows[..self.rows.len().min(MAX_SHOWN_ROWS)];
        print::lines_of(|out| self.table(rows).compact().write(out, screen))
    }

    pub(super) fn table(&self, rows: &[TopRow]) -> Table {
        let any = |has: fn(&TopRow) -> bool| rows.iter().any(has);
        let (kernels, known) = (any(|r| r.kernels_per_step.is_some()), any(|r| r.of_roofline.is_some()));
        let (time, share, work) = match self.synthetic {
            true => ("Time", "Of total", "Kernels"),
            false => ("Per step", "Of step", "Kernels per step"),
        };
        let role = if kernels { Role::Device } else { Role::Host };
        let graded = |share: f64| Cell::percent(share).role(if share < 0.4 { Role::Warn } else { Role::Good });
        Columns::of(rows)
            .defined_by(QUESTION.definitions)
            .add(Column::name(&self.what), |r| Cell::text(&r.name))
            .add(Column::number(time).keep(), |r| Cell::time(r.per_step_ns))
            .add(Column::number(share).keep(), |r| Cell::share(r.of_step).role(role))
            .add_if(kernels, Column::number(work).priority(90), |r| {
                Cell::maybe(r.kernels_per_step, |n| Cell::text(number(n)))
            })
            .metric_if(known, "of_roofline", 120, |r| Cell::maybe(r.of_roofline, graded))
            .table()
    }
}

/// Whole numbers without a point.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// All device work once: with operators whose cost is known, by operator; the rest by operator or kernel.
fn on_devices(run: &Run, device: Option<i64>, devices: usize) -> Vec<TopRow> {
    let report = match device {
        None => run.roofline(RooflineBy::Name),
        Some(_) => {
            let mut selection = run.selection().clone();
            selection.device = device;
            roofline(run.trace(), &RooflineQuery { selection, by: RooflineBy::Name })
        }
    };
    let devices = devices as i64;
    let steps = (run.steps().steps.len() as i64).max(1);
    let wall = run.steps().wall_ns().saturating_mul(devices);
    let row = |name: &str, ns: i64, kernels: u64, of_roofline: Option<f64>| TopRow {
        name: shorter(name),
        per_step_ns: ns / steps / devices,
        of_step: ratio(ns, wall),
        kernels_per_step: Some(kernels as f64 / (steps * devices) as f64),
        of_roofline,
    };
    let of_roofline = |r: &RooflineRow| r.of_roofline.filter(|&share| share <= MAX_OF_ROOFLINE);
    let known = report.rows.iter().map(|r| row(&r.name, r.device_ns, r.kernels, of_roofline(r)));
    known.chain(report.unmodeled.iter().map(|r| row(&r.name, r.device_ns, r.kernels, None))).collect()
}

/// Without a device: operators by the host's time, or the regions of a program without operators.
fn on_host(run: &Run) -> (Vec<TopRow>, String) {
    let report = match run.narrowed() == *run.selection() {
        true => run.ops().clone(),
        false => ops::ops(run.trace(), &OpsQuery { selection: run.selection().clone(), ..OpsQuery::default() }),
    };
    let steps = (run.steps().steps.len() as i64).max(1);
    let (rows, what) = match report.ops.is_empty() {
        false => (report.ops, "Host time"),
        true => (report.annotations, "Region"),
    };
    let row = |row: ops::OpRow| TopRow {
        per_step_ns: row.host_self_ns / steps,
        of_step: ratio(row.host_self_ns, run.steps().wall_ns()),
        name: row.name,
        kernels_per_step: None,
        of_roofline: None,
    };
    (rows.into_iter().map(row).collect(), what.to_owned())
}

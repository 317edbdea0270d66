//! The tables of the roofline.

use stepscope_analyse::roofline::{
    Bound, MeanUse, NoCost, PeaksBy, Roofline, RooflineRow, StepUse, UnmodeledRow,
};

use super::super::kernels::shorter;
use super::QUESTION;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};

fn bound_label(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
        Bound::HostBus => "host bus",
    }
}

fn bound_role(bound: Bound) -> Role {
    match bound {
        Bound::Compute => Role::Device,
        Bound::Memory => Role::Copy,
        Bound::HostBus => Role::Warn,
    }
}

fn reason_label(reason: NoCost) -> &'static str {
    match reason {
        NoCost::NoModel => "no model",
        NoCost::NotRecorded => "inputs unknown",
        NoCost::Communication => "communication",
        NoCost::NoOperator => "no operator",
    }
}

/// What the table is about, in a line.
pub(super) fn words(report: &Roofline) -> String {
    let mut words = Vec::new();
    for device in &report.devices {
        match (&device.hardware, &device.name) {
            (Some(hardware), _) if device.peaks_by == Some(PeaksBy::Capability) => {
                words.push(format!("peaks of {}, by compute capability and SMs", hardware.name));
            }
            (Some(hardware), _) => words.push(format!("peaks of {}", hardware.name)),
            (None, Some(name)) => words.push(format!("no peaks known for {name}")),
            (None, None) => words.push("the file does not name the device".to_owned()),
        }
    }
    words.dedup();
    if let Some(mfu) = report.mean.mfu {
        let covered = report.mean.coverage.filter(|_| report.mean.lower_bound);
        let covered = covered.map(|share| format!(" ({} of kernel time covered)", units::percent(share)));
        let shown = bounded(mfu, report.mean.lower_bound);
        words.push(format!("mean MFU {shown}{}", covered.unwrap_or_default()));
    }
    if let Some(share) = report.modeled_share {
        words.push(format!("{} of device time has a model", units::percent(share)));
    }
    if let Some(gbs) = report.modeled_gbs {
        words.push(format!("modeled memory traffic {}", units::rate_bytes(gbs * 1e9)));
    }
    words.join(", ")
}

fn bounded(share: f64, lower_bound: bool) -> String {
    if lower_bound { units::at_least(share) } else { units::percent(share) }
}

pub(super) fn rows(rows: &[RooflineRow], words: &str) -> Table {
    let shapes = rows.iter().any(|r| r.input_shapes.is_some());
    let number = |value: Option<f64>| Cell::maybe(value.filter(|v| *v > 0.0), |v| Cell::text(digits(v)));
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator").flexible(20, middle_ellipsis), |r| Cell::text(&r.name))
        .add_if(shapes, Column::text("Input shapes").flexible(16, end_ellipsis).priority(125), |r| {
            Cell::text(r.input_shapes.as_deref().map(compact).unwrap_or_default())
        })
        .add(Column::text("Dtype").priority(115), |r| Cell::maybe(r.dtype, |p| Cell::text(p.name())))
        .metric("calls", 80, |r| Cell::count(r.calls))
        .metric("device_ns", KEEP, |r| Cell::time(r.device_ns))
        .metric("share", 92, |r| Cell::maybe(r.share, Cell::percent))
        .metric("ideal_ns", 91, |r| Cell::maybe(r.ideal_ns, Cell::time))
        .metric("of_roofline", 150, |r| {
            Cell::maybe(r.of_roofline, |share| {
                Cell::share(share).role(if share < 0.4 { Role::Warn } else { Role::Good })
            })
        })
        .add(Column::text("Bound").priority(140), |r| {
            Cell::maybe(r.bound, |b| Cell::text(bound_label(b)).role(bound_role(b)))
        })
        .metric("tflops", 90, |r| number(r.tflops))
        .metric("gbs", 90, |r| number(r.gbs))
        .metric("intensity", 60, |r| number(r.intensity))
        .table()
        .title("Roofline", words);
    let mut over: Vec<&str> = rows.iter().filter_map(|r| r.note).map(|note| note.sentence()).collect();
    over.sort_unstable();
    over.dedup();
    for sentence in over {
        table.note(format!("over 100%: {sentence}"));
    }
    table
}

/// `[[64, 3], [], [3, 8]]` as `64x3, 3x8`: what has a shape, as people write it.
fn compact(shapes: &str) -> String {
    let innermost = shapes.split('[').filter_map(|part| part.split_once(']')).map(|(shape, _)| shape);
    let sized = innermost.filter(|shape| !shape.is_empty()).map(|shape| shape.replace(", ", "x"));
    sized.collect::<Vec<_>>().join(", ")
}

fn digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => units::count(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

pub(super) fn unmodeled(rows: &[UnmodeledRow], most: usize) -> Table {
    let share: f64 = rows.iter().filter_map(|r| r.share).sum();
    let ns: i64 = rows.iter().map(|r| r.device_ns).fold(0, i64::saturating_add);
    let words =
        format!("{}, {} of device time; not part of the roofline", units::time(ns), units::percent(share));
    let mut table = Columns::of(rows.iter().take(most))
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator or kernel"), |r| Cell::text(shorter(&r.name)))
        .add(Column::text("Why").priority(110), |r| Cell::text(reason_label(r.reason)).role(Role::Dim))
        .metric("kernels", 100, |r| Cell::count(r.kernels))
        .metric("device_ns", KEEP, |r| Cell::time(r.device_ns))
        .metric("share", 150, |r| Cell::maybe(r.share, |share| Cell::share(share).role(Role::Idle)))
        .table()
        .title("Without a model", words);
    let mut reasons: Vec<(&str, &str)> = rows
        .iter()
        .take(most)
        .filter(|r| r.reason != NoCost::NoModel)
        .map(|r| (reason_label(r.reason), r.reason.sentence()))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    for (label, sentence) in reasons {
        table.note(format!("{label}: {sentence}"));
    }
    if rows.len() > most {
        table.note(format!("{} more; --format json has all", rows.len() - most));
    }
    table
}

pub(super) fn steps(steps: &[StepUse], mean: &MeanUse) -> Table {
    let mut table = Columns::of(steps)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |s| {
            let name = if s.step >= 0 { s.step.to_string() } else { "all".to_owned() };
            let mark = if s.partial { " (left out)" } else { "" };
            Cell::text(format!("{name}{mark}"))
        })
        .metric("wall_ns", KEEP, |s| Cell::time(s.wall_ns))
        .metric("model_flops", 120, |s| Cell::flops(s.model_flops as f64))
        .add(Column::text("Dtype").priority(110), |s| Cell::maybe(s.precision, |p| Cell::text(p.name())))
        .metric("peak_tflops", 80, |s| {
            Cell::maybe(s.peak_tflops, |peak| Cell::text(units::rate_flops(peak * 1e12)))
        })
        .metric("mfu", KEEP, |s| {
            Cell::maybe(s.mfu, |share| match s.lower_bound {
                true => Cell::text(units::at_least(share)).role(Role::Device),
                false => Cell::share(share).role(Role::Device),
            })
        })
        .metric("hfu", 100, |s| Cell::maybe(s.hfu, |share| Cell::text(bounded(share, s.lower_bound))))
        .metric("coverage", 90, |s| Cell::maybe(s.coverage, Cell::percent))
        .table()
        .title("Model FLOPs utilization", "of what the devices could compute in the step's wall time");
    if steps.len() > 1
        && let Some(mfu) = mean.mfu
    {
        let mut cells = vec![Cell::default(); 8];
        cells[0] = Cell::text("mean");
        cells[5] = Cell::text(bounded(mfu, mean.lower_bound));
        cells[6] = Cell::maybe(mean.hfu, |hfu| Cell::text(bounded(hfu, mean.lower_bound)));
        cells[7] = Cell::maybe(mean.coverage, Cell::percent);
        table.total(cells);
    }
    if steps.iter().any(|s| s.mfu.is_some() && s.lower_bound) {
        table.note("under 80% of kernel time has known FLOPs, so MFU and HFU are at least this");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_short() {
        assert_eq!(compact("[[64, 3], [], [3, 8]]"), "64x3, 3x8");
        assert_eq!(compact("[[[8, 12], [8, 12]], []]"), "8x12, 8x12");
        assert_eq!(compact("[]"), "");
        assert_eq!(compact("64 by 3"), "");
    }
}

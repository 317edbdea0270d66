//! How XProf's rows look as tables.

use stepscope_analyse::peers::xprof::hlo::XprofHloRow;
use stepscope_analyse::peers::xprof::kernels::XprofKernelRow;
use stepscope_analyse::peers::xprof::memory::XprofMemoryRow;
use stepscope_analyse::peers::xprof::ops::{XprofOpRow, XprofSide};
use stepscope_analyse::peers::xprof::steps::{InputBound, XprofStepRow, XprofSummary};

use super::QUESTION;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};

pub(super) fn summary(of: &XprofSummary) -> Table {
    let mut table = Table::new(vec![Column::text("").keep(), Column::number("").keep()])
        .title("Step time", "as XProf's overview shows it");
    let input = units::percent(of.input_share);
    let words = match of.input_bound {
        InputBound::Highly => format!("HIGHLY input-bound: {input} of the step time is waiting for input"),
        InputBound::Moderately => {
            format!("MODERATELY input-bound: {input} of the step time is waiting for input")
        }
        InputBound::Potentially => {
            let other = units::percent(of.all_others_share);
            format!("POTENTIALLY input-bound: {other} of the step time is spent on 'All others'")
        }
        InputBound::Not => format!("NOT input-bound: only {input} of the step time is waiting for input"),
        InputBound::Unknown => "no step time measured".to_owned(),
    };
    let time = |ns: f64| Cell::time(ns.round() as i64);
    for (what, cell) in [
        ("steps", Cell::count(of.steps)),
        ("left out at both ends", Cell::count(of.left_out)),
        ("average", time(of.mean_ns)),
        ("standard deviation", time(of.sd_ns)),
        ("shortest", Cell::time(of.min_ns)),
        ("longest", Cell::time(of.max_ns)),
        ("16-bit compute", Cell::percent(of.compute_16_share)),
    ] {
        table.row(vec![Cell::text(what), cell]);
    }
    table.note(words);
    table
}

pub(super) fn steps(rows: &[XprofStepRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |r| Cell::text(&*r.step))
        .metric("time_ns", KEEP, |r| Cell::time(r.time_ns))
        .metric("all_others_ns", KEEP, |r| Cell::time(r.all_others_ns).role(Role::Idle))
        .metric("compilation_ns", 20, |r| Cell::time(r.compilation_ns))
        .metric("output_ns", 50, |r| Cell::time(r.output_ns))
        .metric("input_ns", KEEP, |r| Cell::time(r.input_ns))
        .metric("kernel_launch_ns", 30, |r| Cell::time(r.kernel_launch_ns))
        .metric("host_compute_ns", KEEP, |r| Cell::time(r.host_compute_ns))
        .metric("device_collectives_ns", 40, |r| Cell::time(r.device_collectives_ns))
        .metric("device_to_device_ns", 45, |r| Cell::time(r.device_to_device_ns))
        .metric("device_compute_32_ns", KEEP, |r| Cell::time(r.device_compute_32_ns).role(Role::Device))
        .metric("device_compute_16_ns", KEEP, |r| Cell::time(r.device_compute_16_ns).role(Role::Device))
        .table()
        .title("Step time breakdown", "each moment counts once, for the most important thing in it")
}

pub(super) fn ops(rows: &[XprofOpRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Side").keep(), |r| {
            let side = match r.side {
                XprofSide::Device => "device",
                XprofSide::Host => "host",
            };
            Cell::text(side)
        })
        .add(Column::text("Type").priority(60), |r| Cell::text(&*r.kind))
        .add(Column::name("Operation").keep(), |r| Cell::text(&*r.operation))
        .metric("occurrences", KEEP, |r| Cell::count(r.occurrences))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("mean_ns", 50, |r| Cell::time(r.mean_ns.round() as i64))
        .metric("self_ns", KEEP, |r| Cell::time(r.self_ns))
        .metric("share", KEEP, |r| Cell::share(r.share).role(Role::Accent))
        .metric("busy_share", 40, |r| Cell::maybe(r.busy_share, Cell::share))
        .table()
        .title("Framework operators", "as XProf counts them, with idle time")
}

pub(super) fn kernels(rows: &[XprofKernelRow]) -> Table {
    let yes = |is: bool| Cell::text(if is { "yes" } else { "no" });
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Kernel").keep(), |r| Cell::text(&*r.kernel))
        .metric("registers", 50, |r| Cell::maybe(r.registers, |n| Cell::count(n.max(0) as u64)))
        .metric("shared_bytes", 50, |r| Cell::maybe(r.shared_bytes, Cell::bytes))
        .add(Column::number("Block").priority(40), |r| Cell::text(&*r.block))
        .add(Column::number("Grid").priority(40), |r| Cell::text(&*r.grid))
        .metric("occupancy", 60, |r| Cell::maybe(r.occupancy, Cell::percent))
        .add(Column::text("Eligible").priority(30), |r| yes(r.tensor_core_eligible))
        .add(Column::text("Tensor core").priority(70), |r| yes(r.uses_tensor_cores))
        .add(Column::name("Op").priority(20), |r| Cell::text(&*r.op))
        .metric("occurrences", KEEP, |r| Cell::count(r.occurrences))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("mean_ns", KEEP, |r| Cell::time(r.mean_ns))
        .metric("min_ns", 35, |r| Cell::time(r.min_ns))
        .metric("max_ns", 35, |r| Cell::time(r.max_ns))
        .table()
        .title("Kernels", "as XProf counts them: one row for each way of launching")
}

pub(super) fn hlo(rows: &[XprofHloRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::number("Program").priority(60), |r| Cell::text(r.program.to_string()))
        .add(Column::text("Category").keep(), |r| Cell::text(&*r.category))
        .add(Column::name("HLO").keep(), |r| Cell::text(&*r.hlo))
        .add(Column::name("Framework op").priority(30), |r| Cell::text(&*r.framework_op))
        .metric("occurrences", KEEP, |r| Cell::count(r.occurrences))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("mean_ns", 50, |r| Cell::time(r.mean_ns.round() as i64))
        .metric("self_ns", KEEP, |r| Cell::time(r.self_ns))
        .metric("share", KEEP, |r| Cell::share(r.share).role(Role::Accent))
        .table()
        .title("HLO instructions", "as XProf counts them")
}

pub(super) fn memory(rows: &[XprofMemoryRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Allocator").keep(), |r| Cell::text(&*r.allocator))
        .metric("changes", 40, |r| Cell::count(r.changes))
        .metric("lifetime_peak_bytes", KEEP, |r| Cell::bytes(r.lifetime_peak_bytes))
        .metric("peak_bytes", KEEP, |r| Cell::bytes(r.peak_bytes))
        .metric("peak_at_ns", 50, |r| Cell::time(r.peak_at_ns))
        .metric("heap_bytes", KEEP, |r| Cell::bytes(r.heap_bytes))
        .metric("stack_bytes", 60, |r| Cell::bytes(r.stack_bytes))
        .metric("free_bytes", KEEP, |r| Cell::bytes(r.free_bytes))
        .metric("fragmentation", KEEP, |r| Cell::maybe(r.fragmentation, Cell::percent))
        .metric("capacity_bytes", 30, |r| Cell::bytes(r.capacity_bytes))
        .table()
        .title("Memory profile", "each allocator at its highest level, as XProf counts it")
}

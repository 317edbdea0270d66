//! How XProf's rows look as tables.

use stepscope_analyse::peers::xprof::hlo::XprofHloRow;
use stepscope_analyse::peers::xprof::kernels::XprofKernelRow;
use stepscope_analyse::peers::xprof::memory::XprofMemoryRow;
use stepscope_analyse::peers::xprof::ops::{XprofOpRow, XprofSide};
use stepscope_analyse::peers::xprof::steps::{InputBound, XprofStepRow, XprofSummary};

use crate::print::{Cell, Column, Role, Table, units};

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
    let mut table = Table::new(vec![
        Column::text("Step").keep(),
        Column::number("Time").keep(),
        Column::number("All others").keep(),
        Column::number("Compilation").priority(20),
        Column::number("Output").priority(50),
        Column::number("Input").keep(),
        Column::number("Kernel launch").priority(30),
        Column::number("Host compute").keep(),
        Column::number("Collectives").priority(40),
        Column::number("Device to device").priority(45),
        Column::number("Compute 32-bit").keep(),
        Column::number("Compute 16-bit").keep(),
    ])
    .title("Step time breakdown", "each moment counts once, for the most important thing in it");
    for r in rows {
        table.row(vec![
            Cell::text(&*r.step),
            Cell::time(r.time_ns),
            Cell::time(r.all_others_ns).role(Role::Idle),
            Cell::time(r.compilation_ns),
            Cell::time(r.output_ns),
            Cell::time(r.input_ns),
            Cell::time(r.kernel_launch_ns),
            Cell::time(r.host_compute_ns),
            Cell::time(r.device_collectives_ns),
            Cell::time(r.device_to_device_ns),
            Cell::time(r.device_compute_32_ns).role(Role::Device),
            Cell::time(r.device_compute_16_ns).role(Role::Device),
        ]);
    }
    table
}

pub(super) fn ops(rows: &[XprofOpRow]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Side").keep(),
        Column::text("Type").priority(60),
        Column::name("Operation").keep(),
        Column::number("Occurrences").keep(),
        Column::number("Total").keep(),
        Column::number("Average").priority(50),
        Column::number("Self").keep(),
        Column::number("Share").keep(),
        Column::number("Without idle").priority(40),
    ])
    .title("Framework operators", "as XProf counts them, with idle time");
    for r in rows {
        let side = match r.side {
            XprofSide::Device => "device",
            XprofSide::Host => "host",
        };
        table.row(vec![
            Cell::text(side),
            Cell::text(&*r.kind),
            Cell::text(&*r.operation),
            Cell::count(r.occurrences),
            Cell::time(r.total_ns),
            Cell::time(r.mean_ns.round() as i64),
            Cell::time(r.self_ns),
            Cell::share(r.share).role(Role::Accent),
            Cell::maybe(r.busy_share, Cell::share),
        ]);
    }
    table
}

pub(super) fn kernels(rows: &[XprofKernelRow]) -> Table {
    let yes = |is: bool| Cell::text(if is { "yes" } else { "no" });
    let mut table = Table::new(vec![
        Column::name("Kernel").keep(),
        Column::number("Registers").priority(50),
        Column::number("Shared").priority(50),
        Column::number("Block").priority(40),
        Column::number("Grid").priority(40),
        Column::number("Occupancy").priority(60),
        Column::text("Eligible").priority(30),
        Column::text("Tensor core").priority(70),
        Column::name("Op").priority(20),
        Column::number("Occurrences").keep(),
        Column::number("Total").keep(),
        Column::number("Average").keep(),
        Column::number("Min").priority(35),
        Column::number("Max").priority(35),
    ])
    .title("Kernels", "as XProf counts them: one row for each way of launching");
    for r in rows {
        table.row(vec![
            Cell::text(&*r.kernel),
            Cell::maybe(r.registers, |n| Cell::count(n.max(0) as u64)),
            Cell::maybe(r.shared_bytes, Cell::bytes),
            Cell::text(&*r.block),
            Cell::text(&*r.grid),
            Cell::maybe(r.occupancy, Cell::percent),
            yes(r.tensor_core_eligible),
            yes(r.uses_tensor_cores),
            Cell::text(&*r.op),
            Cell::count(r.occurrences),
            Cell::time(r.total_ns),
            Cell::time(r.mean_ns),
            Cell::time(r.min_ns),
            Cell::time(r.max_ns),
        ]);
    }
    table
}

pub(super) fn hlo(rows: &[XprofHloRow]) -> Table {
    let mut table = Table::new(vec![
        Column::number("Program").priority(60),
        Column::text("Category").keep(),
        Column::name("HLO").keep(),
        Column::name("Framework op").priority(30),
        Column::number("Occurrences").keep(),
        Column::number("Total").keep(),
        Column::number("Average").priority(50),
        Column::number("Self").keep(),
        Column::number("Share").keep(),
    ])
    .title("HLO instructions", "as XProf counts them");
    for r in rows {
        table.row(vec![
            Cell::text(r.program.to_string()),
            Cell::text(&*r.category),
            Cell::text(&*r.hlo),
            Cell::text(&*r.framework_op),
            Cell::count(r.occurrences),
            Cell::time(r.total_ns),
            Cell::time(r.mean_ns.round() as i64),
            Cell::time(r.self_ns),
            Cell::share(r.share).role(Role::Accent),
        ]);
    }
    table
}

pub(super) fn memory(rows: &[XprofMemoryRow]) -> Table {
    let mut table = Table::new(vec![
        Column::name("Allocator").keep(),
        Column::number("Changes").priority(40),
        Column::number("Peak ever").keep(),
        Column::number("Peak").keep(),
        Column::number("At").priority(50),
        Column::number("Heap").keep(),
        Column::number("Stack").priority(60),
        Column::number("Free").keep(),
        Column::number("Fragmentation").keep(),
        Column::number("Capacity").priority(30),
    ])
    .title("Memory profile", "each allocator at its highest level, as XProf counts it");
    for r in rows {
        table.row(vec![
            Cell::text(&*r.allocator),
            Cell::count(r.changes),
            Cell::bytes(r.lifetime_peak_bytes),
            Cell::bytes(r.peak_bytes),
            Cell::time(r.peak_at_ns),
            Cell::bytes(r.heap_bytes),
            Cell::bytes(r.stack_bytes),
            Cell::bytes(r.free_bytes),
            Cell::maybe(r.fragmentation, Cell::percent),
            Cell::bytes(r.capacity_bytes),
        ]);
    }
    table
}

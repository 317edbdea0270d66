//! Memory that the compiler planned: what each program was given, and what is live when it needs most.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::programs::program_memory;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;
use stepscope_model::{Attr, Order, Program, Trace};

use super::super::DEFAULT_TOP;
use super::super::hlo::program_of;
use super::QUESTION;
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const DEFINITIONS: &[Definition] = definitions! {
    "program_id", "Number" => "The number by which events name the program.";
    "argument_bytes", "Arguments" => "Memory that the compiler counts for the program's arguments.";
    "result_bytes", "Results" => "Memory for results that take over no argument's.";
    "aliased_bytes", "Donated" => "Of the arguments' memory, what results take over because the arguments were donated.";
    "constant_bytes", "Constants" => "Memory for the program's constants.";
    "temporary_bytes", "Temporaries" => "Memory for what lives only while the program runs, gaps between buffers included.";
    "planned_bytes", "Planned" =>
        "Arguments, results, constants and temporaries together. Generated code is not in the file.";
    "program_peak_bytes", "Peak" =>
        "The most bytes of buffers that are live at one time, by the order in which the compiler takes and gives back \
         memory. Unknown if the file does not have that order.";
    "live_buffers", "Live" => "How many buffers are live at the program's peak.";
    "buffer_bytes", "Size" => "The size of a buffer that is live at its program's peak.";
    "buffer_share", "% of peak" => "The size of the buffer / the program's peak.";
    "buffer_line", "Line" => "The line of source code of the instruction that fills it.";
};

/// Programs and buffers that a screen shows beside the memory of the run.
const MAX_SHOWN: usize = 5;
const FEW_BUFFERS: usize = 10;

/// What a program was given.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ProgramPlanRow {
    program: String,
    program_id: i64,
    /// Whether it ran while the profile was recorded.
    ran: bool,
    argument_bytes: u64,
    result_bytes: u64,
    aliased_bytes: u64,
    constant_bytes: u64,
    temporary_bytes: u64,
    planned_bytes: u64,
    program_peak_bytes: Option<u64>,
    /// The instruction at which that is.
    peak_at: Option<String>,
    live_buffers: u64,
}

/// A buffer that is live when its program needs most memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct LiveBufferRow {
    program: String,
    program_id: i64,
    /// The instruction that fills it.
    instruction: String,
    /// The compiler's word for that.
    opcode: String,
    shape: String,
    buffer_bytes: u64,
    buffer_share: Option<f64>,
    kind: &'static str,
    /// Where the framework says the instruction comes from.
    op_path: Option<String>,
    /// The file of its line.
    buffer_file: Option<String>,
    buffer_line: Option<u32>,
}

/// The plans beside the memory of the run; none if the file describes no program's.
pub(super) fn parts(trace: &Trace) -> Vec<Part> {
    let rows = plans(trace);
    let Some(first) = rows.first() else { return Vec::new() };
    let buffers: Vec<LiveBufferRow> = trace.programs().get(first.program_id).map_or(Vec::new(), buffers);
    let about = first.program.clone();
    let has_buffers = !buffers.is_empty();
    vec![
        Part::new("programs", rows, |rows| {
            let mut table = plans_table(&rows[..rows.len().min(MAX_SHOWN)]);
            if rows.len() > MAX_SHOWN {
                table.note(format!(
                    "{} more of {} programs; --by program shows all",
                    units::count((rows.len() - MAX_SHOWN) as u64),
                    units::count(rows.len() as u64)
                ));
            }
            table
        }),
        Part::new("buffers", buffers, move |rows| {
            let words = format!("{about}, by the instruction that fills them");
            let mut table = buffers_table(&rows[..rows.len().min(FEW_BUFFERS)], false).title(BUFFERS, words);
            if rows.len() > FEW_BUFFERS {
                table.note(format!(
                    "{} more of {} buffers; --by buffer shows all, of other programs too",
                    units::count((rows.len() - FEW_BUFFERS) as u64),
                    units::count(rows.len() as u64)
                ));
            }
            table
        })
        .shown(has_buffers),
    ]
}

const BUFFERS: &str = "Buffers at the program's peak";

pub(super) fn answer(ask: &Ask, trace: &Trace) -> Result<Answer, Problem> {
    const NO_PROGRAM: &str = "the file describes the memory of no compiled program";
    let asked = ask.program.as_deref().map(|name| program_of(trace, name)).transpose()?;
    let is_asked = |id: i64| asked.as_ref().is_none_or(|ids| ids.contains(&id));
    let mut plans = plans(trace);
    plans.retain(|row| is_asked(row.program_id));
    if ask.grouped() == "program" {
        let rows = arrange(plans, &ask.rows, None, DEFAULT_TOP, |row| &row.program)?;
        return Ok(Answer::new(vec![rows.into_part("programs", NO_PROGRAM, plans_table)]));
    }
    let all: Vec<LiveBufferRow> =
        plans.iter().filter_map(|row| trace.programs().get(row.program_id)).flat_map(buffers).collect();
    let several = plans.len() > 1;
    let rows = arrange(all, &ask.rows, Some("buffer_bytes"), DEFAULT_TOP, |row| &row.instruction)?;
    let words = match plans.as_slice() {
        [only] => format!("{}, by the instruction that fills them", only.program),
        all => format!("of {} programs, by the instruction that fills them", units::count(all.len() as u64)),
    };
    let part = rows.into_part("buffers", NO_PROGRAM, move |rows| {
        buffers_table(rows, several).title("Buffers at the peak of programs", &words)
    });
    Ok(Answer::new(vec![part]))
}

/// Those that ran first, the largest first.
fn plans(trace: &Trace) -> Vec<ProgramPlanRow> {
    if trace.programs().is_empty() {
        return Vec::new();
    }
    let slices = trace.slices();
    let ran: HashSet<i64> = slices.ids().filter_map(|id| trace.args(id).int(Attr::Program)).collect();
    let mut rows: Vec<ProgramPlanRow> =
        trace.programs().iter().filter_map(|program| plan(program, ran.contains(&program.id))).collect();
    rows.order_by(|a, b| {
        (b.ran, b.planned_bytes)
            .cmp(&(a.ran, a.planned_bytes))
            .then_with(|| (&a.program, a.program_id).cmp(&(&b.program, b.program_id)))
    });
    rows
}

fn plan(program: &Program, ran: bool) -> Option<ProgramPlanRow> {
    let memory = program_memory(program)?;
    let peak_at = memory.peak_node.and_then(|at| program.graph.node(at));
    Some(ProgramPlanRow {
        program: program.name.clone(),
        program_id: program.id,
        ran,
        argument_bytes: memory.arguments,
        result_bytes: memory.results,
        aliased_bytes: memory.aliased,
        constant_bytes: memory.constants,
        temporary_bytes: memory.temporary,
        planned_bytes: memory.total(),
        program_peak_bytes: memory.peak,
        peak_at: peak_at.map(|node| node.name.to_owned()),
        live_buffers: memory.live_count,
    })
}

fn buffers(program: &Program) -> Vec<LiveBufferRow> {
    let Some(memory) = program_memory(program) else { return Vec::new() };
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let rows = memory.live.iter().filter_map(|buffer| {
        let node = program.graph.node(buffer.node)?;
        Some(LiveBufferRow {
            program: program.name.clone(),
            program_id: program.id,
            instruction: node.name.to_owned(),
            opcode: node.opcode.to_owned(),
            shape: buffer.shape.clone(),
            buffer_bytes: buffer.bytes,
            buffer_share: memory.peak.filter(|&peak| peak > 0).map(|peak| buffer.bytes as f64 / peak as f64),
            kind: buffer.usage.label(),
            op_path: text(node.op_path()),
            buffer_file: node.source.map(|source| source.file.to_owned()),
            buffer_line: node.source.map(|source| source.line),
        })
    });
    rows.collect()
}

fn size(bytes: u64) -> Cell {
    Cell::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

fn plans_table(rows: &[ProgramPlanRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Program"), |r| Cell::text(format!("{} ({})", r.program, r.program_id)))
        .add(Column::text("Ran").priority(60), |r| {
            if r.ran { Cell::text("yes") } else { Cell::text("no").role(Role::Dim) }
        })
        .metric("planned_bytes", KEEP, |r| size(r.planned_bytes))
        .metric("program_peak_bytes", KEEP, |r| Cell::maybe(r.program_peak_bytes, size))
        .metric("argument_bytes", 150, |r| size(r.argument_bytes))
        .metric("result_bytes", 140, |r| size(r.result_bytes))
        .metric("aliased_bytes", 130, |r| size(r.aliased_bytes))
        .metric("temporary_bytes", 145, |r| size(r.temporary_bytes))
        .metric("constant_bytes", 70, |r| size(r.constant_bytes))
        .add(Column::text("Peak at").flexible(14, end_ellipsis).priority(80), |r| {
            Cell::maybe(r.peak_at.as_deref(), Cell::text)
        })
        .table()
        .title("Memory of compiled programs", "as the compiler planned it")
}

fn buffers_table(rows: &[LiveBufferRow], several: bool) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Instruction"), |r| Cell::text(&r.instruction))
        .add_if(several, Column::text("Program").flexible(12, end_ellipsis).priority(145), |r| {
            Cell::text(&r.program)
        })
        .add(Column::text("For").priority(140), |r| Cell::text(r.kind))
        .metric("buffer_bytes", KEEP, |r| size(r.buffer_bytes))
        .metric("buffer_share", 130, |r| {
            Cell::maybe(r.buffer_share, |share| Cell::share(share).role(Role::Device))
        })
        .add(Column::text("Shape").flexible(14, end_ellipsis).priority(135), |r| Cell::text(&r.shape))
        .add(Column::text("Line").priority(125), |r| {
            let place = r.buffer_file.as_deref().zip(r.buffer_line);
            Cell::maybe(place, |(file, line)| {
                Cell::text(format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
            })
        })
        .add(Column::text("Path").flexible(16, middle_ellipsis).priority(80), |r| {
            Cell::maybe(r.op_path.as_deref(), Cell::text)
        })
        .table()
}

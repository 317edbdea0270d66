//! An instruction in its program: what it takes, who takes its result, and what is fused into it.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::roofline::instructions::{InstructionRow, InstructionsQuery, fused_text, instructions};
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::scope::selection::Selection;
use stepscope_ground::Problem;
use stepscope_model::{Order, Program, ProgramGraph, Trace};

use super::QUESTION;
use crate::answer::{Answer, Part};
use crate::form::{Member, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, units};

/// Neighbors of the instruction itself on each side.
const MAX_NEIGHBORS: usize = 12;
/// Neighbors of all those together on each side.
const MAX_FAR_NEIGHBORS: usize = 16;
/// Fused instructions that are listed.
const MAX_FUSED: usize = 200;

pub(super) const DEFINITIONS: &[Definition] = definitions! {
    "hop", "Hop" =>
        "How far an instruction is from the one asked for: -1 is what it takes, 1 who takes its result, 0 itself.";
    "node", "Node" => "The number of an instruction in its program.";
    "from", "From" => "The node whose result is taken.";
    "to", "To" => "The node that takes it.";
    "more_operands", "More operands" => "Instructions whose results it takes that are not among these.";
    "more_users", "More users" => "Instructions that take its result that are not among these.";
    "inside", "Fused" => "How many instructions are fused into it.";
};

/// An instruction near the one asked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct NeighborRow {
    node: u32,
    name: String,
    /// The compiler's word for it.
    opcode: String,
    hop: i32,
    /// The shape of its result.
    shape: String,
    /// Where the framework says it comes from.
    op_path: Option<String>,
    /// The file of its line.
    file: Option<String>,
    line: Option<u32>,
    /// What it is for the most part, if it ran.
    category: Option<&'static str>,
    /// Its own time, if it ran.
    self_ns: Option<i64>,
    calls: Option<u64>,
    /// Of all time.
    share: Option<f64>,
    fused: Option<String>,
    inside: u64,
    /// What it takes that is not here.
    more_operands: u64,
    /// Who takes its result and is not here.
    more_users: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct NeighborEdge {
    /// The node whose result is taken.
    from: u32,
    /// The node that takes it.
    to: u32,
}

/// An instruction that is fused into the one asked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FusedRow {
    name: String,
    /// The compiler's word for it.
    opcode: String,
    /// The shape of its result.
    shape: String,
    operands: Vec<String>,
    /// Where the framework says it comes from.
    op_path: Option<String>,
    /// The file of its line.
    file: Option<String>,
    line: Option<u32>,
}

/// The program and computation that the instruction is in.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ProgramPlace {
    program: String,
    program_id: i64,
    computation: String,
    /// The instruction that holds or calls that computation.
    caller: Option<String>,
}

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[
    rows::<NeighborRow>("nodes"),
    rows::<FusedRow>("inside"),
    rows::<NeighborEdge>("edges"),
    fact::<ProgramPlace>("within"),
];

pub(super) fn answer(
    trace: &Trace,
    selection: &Selection,
    programs: Option<Vec<i64>>,
    name: &str,
) -> Result<Answer, Problem> {
    let query =
        InstructionsQuery { selection: selection.clone(), programs: programs.clone(), ..Default::default() };
    let report = instructions(trace, &query);
    let ran: HashMap<(i64, &str), &InstructionRow> =
        report.rows.iter().filter_map(|row| Some(((row.program_id?, row.name.as_str()), row))).collect();
    let asked = |program: &&Program| programs.as_ref().is_none_or(|ids| ids.contains(&program.id));
    let own_time = |program: &Program| ran.get(&(program.id, name)).map_or(-1, |row| row.self_ns);
    // Of several programs with such an instruction, the one where it took longest; then the first.
    let mut best: Option<(i64, &Program, u32)> = None;
    for program in trace.programs().iter().filter(asked) {
        let time = own_time(program);
        if best.is_none_or(|(most, ..)| time > most)
            && let Some(at) = program.graph.find(name)
        {
            best = Some((time, program, at));
        }
    }
    let Some((_, program, focus)) = best else { return Err(unknown(trace, name)) };
    let graph = &program.graph;
    let (places, edges) = neighborhood(graph, focus);
    let shown = |node: u32| places.iter().any(|&(at, _)| at == node);
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let nodes: Vec<NeighborRow> = places
        .iter()
        .filter_map(|&(at, hop)| {
            let node = graph.node(at)?;
            let row = ran.get(&(program.id, node.name)).filter(|_| !graph.is_fused(node.computation));
            let inside = graph.calls(at).iter().filter(|&&c| graph.is_fused(c));
            Some(NeighborRow {
                node: at,
                name: node.name.to_owned(),
                opcode: node.opcode.to_owned(),
                hop,
                shape: node.shape.text(),
                op_path: text(node.op_path()),
                file: node.source.map(|source| source.file.to_owned()),
                line: node.source.map(|source| source.line),
                category: row.and_then(|row| row.category),
                self_ns: row.map(|row| row.self_ns),
                calls: row.map(|row| row.calls),
                share: row.map(|row| row.share),
                fused: text(&fused_text(graph, at)),
                inside: inside.map(|&c| graph.nodes_of(c).len() as u64).sum(),
                more_operands: taken(graph, at).iter().filter(|&&at| !shown(at)).count() as u64,
                more_users: takers(graph, at).iter().filter(|&&at| !shown(at)).count() as u64,
            })
        })
        .collect();
    let inside = inside(graph, focus);
    let computation = graph.node(focus).map_or(0, |node| node.computation);
    let caller = graph.caller(computation).and_then(|at| graph.node(at));
    let within = ProgramPlace {
        program: program.name.clone(),
        program_id: program.id,
        computation: graph.computation_name(computation).to_owned(),
        caller: caller.map(|node| node.name.to_owned()),
    };
    let words = match &within.caller {
        Some(caller) => format!("in {} of {}, part of {caller}", within.computation, within.program),
        None => format!("in {} of {}", within.computation, within.program),
    };
    let title = format!("Around {name}");
    let has_inside = !inside.is_empty();
    let parts = vec![
        Part::new("nodes", nodes, move |rows| nodes_table(rows).title(&title, &words)),
        Part::new("inside", inside, inside_table).shown(has_inside),
        Part::new("edges", edges, edges_table).shown(false),
    ];
    Ok(Answer::new(parts).fact("within", &within))
}

fn unknown(trace: &Trace, name: &str) -> Problem {
    let names = trace.programs().iter().flat_map(Program::instructions).map(|i| i.name);
    let near = nearest(name, names.take(100_000), 3);
    let hint = match near.is_empty() {
        true => "`stepscope hlo` lists the instructions that ran".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Problem::new(format!("no compiled program here has an instruction called '{name}'"), hint)
}

/// What only passes a result on.
fn passes_on(graph: &ProgramGraph, at: u32) -> bool {
    graph.node(at).is_some_and(|node| matches!(node.opcode, "bitcast" | "get-tuple-element"))
        && graph.operands(at).len() == 1
}

/// Results that are passed on through more than this many instructions are not followed.
const MAX_PASSED: usize = 8;

/// Whose results an instruction takes, each once; what only passes a result on is looked through.
fn taken(graph: &ProgramGraph, at: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for &operand in graph.operands(at).iter().take(10 * MAX_NEIGHBORS) {
        let mut operand = operand;
        for _ in 0..MAX_PASSED {
            match (passes_on(graph, operand), graph.operands(operand)) {
                (true, &[through]) => operand = through,
                _ => break,
            }
        }
        if !found.contains(&operand) {
            found.push(operand);
        }
    }
    found
}

/// Who takes the result of an instruction, each once; what only passes it on is looked through.
fn takers(graph: &ProgramGraph, at: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut waiting: Vec<(u32, usize)> = vec![(at, 0)];
    while let Some((at, passed)) = waiting.pop() {
        for &user in graph.users(at).iter().take(10 * MAX_NEIGHBORS) {
            if passes_on(graph, user) && passed < MAX_PASSED && !graph.users(user).is_empty() {
                if waiting.len() < 10 * MAX_NEIGHBORS {
                    waiting.push((user, passed + 1));
                }
            } else if !found.contains(&user) && found.len() < 10 * MAX_NEIGHBORS {
                found.push(user);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The instructions near one, each with its distance, and who of them takes whose result.
fn neighborhood(graph: &ProgramGraph, focus: u32) -> (Vec<(u32, i32)>, Vec<NeighborEdge>) {
    type Next = fn(&ProgramGraph, u32) -> Vec<u32>;
    let mut places = vec![(focus, 0)];
    for (side, next) in [(-1, taken as Next), (1, takers as Next)] {
        let mut ring = vec![focus];
        for (hop, most) in [(1, MAX_NEIGHBORS), (2, MAX_FAR_NEIGHBORS)] {
            let mut found = Vec::new();
            for &at in &ring {
                for near in next(graph, at) {
                    if found.len() < most && places.iter().all(|&(known, _)| known != near) {
                        places.push((near, side * hop));
                        found.push(near);
                    }
                }
            }
            ring = found;
        }
    }
    places.order_by_key(|&(at, hop)| (hop, at));
    let mut edges = Vec::new();
    for &(to, _) in &places {
        for from in taken(graph, to) {
            if places.iter().any(|&(at, _)| at == from) {
                edges.push(NeighborEdge { from, to });
            }
        }
    }
    (places, edges)
}

fn inside(graph: &ProgramGraph, focus: u32) -> Vec<FusedRow> {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let fused = graph.calls(focus).iter().filter(|&&computation| graph.is_fused(computation));
    let nodes = fused.flat_map(|&computation| graph.nodes_of(computation)).take(MAX_FUSED);
    nodes
        .filter_map(|at| {
            let node = graph.node(at)?;
            let operands = graph.operands(at).iter().take(MAX_NEIGHBORS);
            Some(FusedRow {
                name: node.name.to_owned(),
                opcode: node.opcode.to_owned(),
                shape: node.shape.text(),
                operands: operands.filter_map(|&at| Some(graph.node(at)?.name.to_owned())).collect(),
                op_path: text(node.op_path()),
                file: node.source.map(|source| source.file.to_owned()),
                line: node.source.map(|source| source.line),
            })
        })
        .collect()
}

fn place(file: Option<&str>, line: Option<u32>) -> Cell {
    Cell::maybe(file.zip(line), |(file, line)| {
        Cell::text(format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
    })
}

fn nodes_table(rows: &[NeighborRow]) -> Table {
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Where").keep(), |r| {
            let place_words = match r.hop {
                -2 => "takes, 2 away",
                -1 => "takes",
                0 => "this",
                1 => "used by",
                _ => "used by, 2 away",
            };
            Cell::text(place_words).role(if r.hop == 0 { Role::Device } else { Role::Dim })
        })
        .add(Column::name("Instruction"), |r| Cell::text(&r.name))
        .add(Column::text("Op").priority(150), |r| Cell::text(&r.opcode))
        .add(Column::text("Shape").flexible(14, end_ellipsis).priority(130), |r| Cell::text(&r.shape))
        .metric("calls", 90, |r| Cell::maybe(r.calls, Cell::count))
        .metric("self_ns", KEEP, |r| Cell::maybe(r.self_ns, Cell::time))
        .metric("share", 120, |r| Cell::maybe(r.share, Cell::percent))
        .add(Column::text("Line").priority(110), |r| place(r.file.as_deref(), r.line))
        .add(Column::text("Fused").flexible(16, end_ellipsis).priority(80), |r| {
            Cell::maybe(r.fused.as_deref(), Cell::text)
        })
        .table();
    let hidden =
        |count: fn(&NeighborRow) -> u64| rows.iter().filter(|r| r.hop.abs() < 2).map(count).sum::<u64>();
    let (operands, users) = (hidden(|r| r.more_operands), hidden(|r| r.more_users));
    if operands + users > 0 {
        table.note(format!(
            "not shown: {} more operands, {} more users",
            units::count(operands),
            units::count(users)
        ));
    }
    table
}

fn inside_table(rows: &[FusedRow]) -> Table {
    let mut table = Columns::of(rows)
        .add(Column::name("Instruction"), |r| Cell::text(&r.name))
        .add(Column::text("Op").keep(), |r| Cell::text(&r.opcode))
        .add(Column::text("Shape").flexible(14, end_ellipsis).priority(130), |r| Cell::text(&r.shape))
        .add(Column::text("Takes").flexible(16, end_ellipsis).priority(120), |r| {
            Cell::text(r.operands.join(", "))
        })
        .add(Column::text("Line").priority(110), |r| place(r.file.as_deref(), r.line))
        .table()
        .title("Fused into it", "runs as one; none of these has a time of its own");
    if rows.len() == MAX_FUSED {
        table.note(format!("only the first {MAX_FUSED}"));
    }
    table
}

fn edges_table(rows: &[NeighborEdge]) -> Table {
    Columns::of(rows)
        .add(Column::number("From").keep(), |r| Cell::count(r.from.into()))
        .add(Column::number("To").keep(), |r| Cell::count(r.to.into()))
        .table()
}

//! Which instruction each piece of work of a captured graph runs, where only the order says so.
//!
//! XLA captures what follows each other in a program into graphs (command buffers). Their work names the graph, not its
//! instruction: a kernel that the compiler made has the instruction's name, or that of another instruction with the same
//! code, and a kernel of a library has neither. But a graph runs a stretch of the program's schedule in order. So kernels
//! with a name are held against the schedule, and what lies between two of them is what the schedule has there. Where that
//! does not come out even, or fits in two places, nothing is claimed.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use stepscope_model::{Attr, GraphNode, Kind, Program, SliceId, StrId, Tag, Trace, kernel_name};

use super::cost::is_control;

/// Pieces of work that are held against instructions, in total; a file that would need more keeps the rest unplaced.
const MAX_TRIES: usize = 50_000_000;

/// What a graph runs: names and kinds of its work, in order.
type Sequence = Vec<(StrId, Kind)>;

/// The instructions of a program that run by themselves, in order.
type Schedule<'p> = Vec<GraphNode<'p>>;

/// Where the work of a sequence is among its program's instructions.
type PlacedWork = Vec<Option<u32>>;

/// The instructions of the work of captured graphs.
pub(super) fn by_order(trace: &Trace) -> HashMap<SliceId, u32, RandomState> {
    let mut found = HashMap::default();
    if trace.programs().is_empty() {
        return found;
    }
    let slices = trace.slices();
    // By program, device and the call that launched it.
    let mut launches: HashMap<(i64, Tag, i64), Vec<SliceId>, RandomState> = HashMap::default();
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        let args = trace.args(id);
        let graph = args.int(Attr::GraphId).filter(|&graph| graph != 0);
        if let (Some(_), Some(program), Some(call)) =
            (graph, args.int(Attr::Program), args.int(Attr::Correlation))
        {
            let device = trace.lanes().get(slices.lane(id)).key.process;
            launches.entry((program, device, call)).or_default().push(id);
        }
    }
    // Names of kernels of each program, wherever they ran.
    let mut seen: HashMap<i64, HashSet<String, RandomState>, RandomState> = HashMap::default();
    for (&(program, ..), work) in &launches {
        let names = seen.entry(program).or_default();
        names.extend(work.iter().map(|&id| kernel_name(trace.name(id))));
    }
    let mut known: HashMap<(i64, Sequence), PlacedWork, RandomState> = HashMap::default();
    let mut tries = MAX_TRIES;
    let mut launches: Vec<_> = launches.into_iter().collect();
    launches.sort_unstable_by_key(|(_, work)| work.first().copied());
    for ((program, ..), mut work) in launches {
        let Some(described) = trace.programs().get(program) else { continue };
        work.sort_by_key(|&id| (slices.start(id), id));
        let sequence: Sequence = work.iter().map(|&id| (slices.name(id), slices.kind(id))).collect();
        let placed = known.entry((program, sequence)).or_insert_with_key(|(program, sequence)| {
            let names: Vec<(String, Kind)> =
                sequence.iter().map(|&(name, kind)| (kernel_name(trace.text(name)), kind)).collect();
            place(described, &names, &seen[program], &mut tries)
        });
        found.extend(work.iter().zip(&*placed).filter_map(|(&id, placed)| Some((id, (*placed)?))));
    }
    found
}

/// What kind of work an instruction becomes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum WorkKind {
    /// A kernel with a name from the program.
    OwnKernel,
    /// Kernels of a library.
    Library,
    /// A copy, or a kernel with a name from the program.
    Copy,
}

fn becomes(instruction: GraphNode<'_>) -> WorkKind {
    match instruction.opcode {
        "custom-call" => WorkKind::Library,
        "copy" | "copy-start" | "copy-done" => WorkKind::Copy,
        _ => WorkKind::OwnKernel,
    }
}

/// A name without the number at its end: instructions with the same code share the kernel of one of them.
fn stem(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// Where each piece of work is among the instructions of a program.
fn place(
    program: &Program,
    work: &[(String, Kind)],
    seen: &HashSet<String, RandomState>,
    tries: &mut usize,
) -> PlacedWork {
    let schedule: Schedule<'_> = program.instructions().collect();
    let names: Vec<String> = schedule.iter().map(|i| kernel_name(i.name)).collect();
    let mut by_stem: HashMap<&str, Vec<u32>, RandomState> = HashMap::default();
    for (at, name) in names.iter().enumerate() {
        if becomes(schedule[at]) != WorkKind::Library {
            by_stem.entry(stem(name)).or_default().push(at as u32);
        }
    }
    // Instructions that each piece of work may run, going by its name.
    let mut may_run: HashMap<&str, Vec<u32>, RandomState> = HashMap::default();
    for (name, _) in work.iter().filter(|(_, kind)| *kind == Kind::Kernel) {
        let own = program.position(name);
        // An instruction with a kernel of its own does not run that of another.
        let shares = |at: &&u32| Some(**at) == own || !seen.contains(&names[**at as usize]);
        may_run.entry(name).or_insert_with(|| {
            by_stem.get(stem(name)).map_or(&[][..], Vec::as_slice).iter().filter(shares).copied().collect()
        });
    }
    let candidates: Vec<&[u32]> = work
        .iter()
        .map(|(name, kind)| match kind {
            Kind::Kernel => may_run.get(name.as_str()).map_or(&[][..], Vec::as_slice),
            _ => &[],
        })
        .collect();
    let nothing = vec![None; work.len()];
    let Some(first) = candidates.iter().position(|c| !c.is_empty()) else { return nothing };
    let mut best: Option<(usize, PlacedWork)> = None;
    let mut ambiguous = false;
    for &start in candidates[first] {
        *tries = tries.saturating_sub(work.len() + schedule.len());
        if *tries == 0 {
            return nothing;
        }
        let Some(placed) = from(&schedule, work, &candidates, first, start) else { continue };
        let score = placed.iter().flatten().count();
        match &best {
            Some((most, _)) if *most > score => {}
            Some((most, _)) if *most == score => ambiguous = true,
            _ => (best, ambiguous) = (Some((score, placed)), false),
        }
    }
    match best {
        Some((_, placed)) if !ambiguous => placed,
        _ => nothing,
    }
}

/// Where everything is if the first kernel with a name runs instruction `start`; none if the order contradicts that.
fn from(
    schedule: &[GraphNode<'_>],
    work: &[(String, Kind)],
    candidates: &[&[u32]],
    first: usize,
    start: u32,
) -> Option<PlacedWork> {
    let computation = schedule[start as usize].computation;
    let is_inside = |node: &GraphNode<'_>| node.computation == computation;
    let low = schedule.iter().position(is_inside)? as u32;
    let high = schedule.iter().rposition(is_inside)? as u32;
    let mut placed = vec![None; work.len()];
    placed[first] = Some(start);
    let (mut before, mut at) = (first, start);
    for now in first + 1..work.len() {
        if candidates[now].is_empty() {
            continue;
        }
        let next = *candidates[now].get(candidates[now].partition_point(|&c| c <= at))?;
        if next > high {
            return None;
        }
        between(schedule, work, before + 1..now, at + 1..next, &mut placed)?;
        placed[now] = Some(next);
        (before, at) = (now, next);
    }
    // Before the first and after the last, as many of the schedule as there is work.
    let own = |at: &u32| becomes(schedule[*at as usize]) == WorkKind::OwnKernel;
    let libraries = |range: &[(String, Kind)]| range.iter().filter(|(_, kind)| *kind == Kind::Kernel).count();
    let (head, tail) = (libraries(&work[..first]), libraries(&work[before + 1..]));
    let is_library = |at: &u32| becomes(schedule[*at as usize]) == WorkKind::Library;
    let ahead: Vec<u32> = (low..start).rev().take_while(|at| !own(at)).filter(is_library).take(head).collect();
    let behind: Vec<u32> = (at + 1..=high).take_while(|at| !own(at)).filter(is_library).take(tail).collect();
    if head > 0 && ahead.len() == head {
        let from = *ahead.last()?;
        between(schedule, work, 0..first, from..start, &mut placed)?;
    }
    if tail > 0 && behind.len() == tail {
        let to = *behind.last()?;
        between(schedule, work, before + 1..work.len(), at + 1..to + 1, &mut placed)?;
    }
    Some(placed)
}

/// Places the work between two kernels with a name, given the instructions between theirs. None if an instruction there
/// should have a kernel of its own name, so that the two kernels are not where they were thought to be.
fn between(
    schedule: &[GraphNode<'_>],
    work: &[(String, Kind)],
    range: std::ops::Range<usize>,
    instructions: std::ops::Range<u32>,
    placed: &mut PlacedWork,
) -> Option<()> {
    let of = |wanted: WorkKind| -> Vec<u32> {
        instructions.clone().filter(|&at| becomes(schedule[at as usize]) == wanted).collect()
    };
    let quiet = |at: &&u32| {
        let instruction = schedule[**at as usize];
        // Loops and branches have no kernel of their own, and the end of what runs by itself has none either.
        is_control(instruction.opcode) || instruction.opcode.ends_with("-done")
    };
    let own = of(WorkKind::OwnKernel);
    if own.iter().any(|at| !quiet(&at)) {
        return None;
    }
    let (libraries, copies) = (of(WorkKind::Library), of(WorkKind::Copy));
    let kernels: Vec<usize> = range.clone().filter(|&at| work[at].1 == Kind::Kernel).collect();
    let copied: Vec<usize> = range.clone().filter(|&at| work[at].1 == Kind::Memcpy).collect();
    match libraries.as_slice() {
        // All kernels between are of the only library call there.
        &[only] => kernels.iter().for_each(|&at| placed[at] = Some(only)),
        several if several.len() == kernels.len() => {
            kernels.iter().zip(several).for_each(|(&at, &library)| placed[at] = Some(library));
        }
        _ => {}
    }
    if copies.len() == copied.len() {
        copied.iter().zip(copies).for_each(|(&at, copy)| placed[at] = Some(copy));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_model::{GraphBuilder, NewNode};

    fn program(list: &[(&str, &str)]) -> Program {
        let mut graph = GraphBuilder::default();
        graph.computation("main", false, None);
        for &(name, opcode) in list {
            graph.node(NewNode { name, opcode, ..NewNode::default() });
        }
        Program::new(1, "jit_f".to_owned(), graph.finish(), (0..list.len() as u32).collect(), None)
    }

    fn placed(program: &Program, work: &[&str]) -> Vec<Option<&'static str>> {
        let work: Vec<(String, Kind)> = work.iter().map(|name| (kernel_name(name), Kind::Kernel)).collect();
        let seen = work.iter().map(|(name, _)| name.clone()).collect();
        let placed = place(program, &work, &seen, &mut 1_000_000);
        let name = |at: u32| -> &'static str { program.instruction(at).unwrap().name.to_owned().leak() };
        placed.into_iter().map(|at| at.map(name)).collect()
    }

    const LAYERS: &[(&str, &str)] = &[
        ("custom-call.1", "custom-call"),
        ("mul", "fusion"),
        ("custom-call.2", "custom-call"),
        ("mul.1", "fusion"),
        ("custom-call.3", "custom-call"),
        ("custom-call.4", "custom-call"),
        ("tanh", "fusion"),
        ("custom-call.5", "custom-call"),
    ];

    #[test]
    fn kernels_of_libraries_are_what_the_schedule_has_there() {
        let program = program(LAYERS);
        // `mul` is one kernel for both instructions, and the call before `tanh` takes two kernels each.
        let work = ["gemm", "mul", "gemm", "splitk", "mul", "gemm", "gemm", "tanh", "gemm"];
        let wanted = [
            "custom-call.1",
            "mul",
            "custom-call.2",
            "custom-call.2",
            "mul.1",
            "custom-call.3",
            "custom-call.4",
            "tanh",
            "custom-call.5",
        ];
        assert_eq!(placed(&program, &work), wanted.map(Some));
    }

    #[test]
    fn what_does_not_come_out_even_is_left_open() {
        let program = program(LAYERS);
        // Three kernels for two calls: whose is the second?
        let work = ["mul", "gemm", "gemm", "gemm", "tanh"];
        assert_eq!(placed(&program, &work), [Some("mul.1"), None, None, None, Some("tanh")]);
    }

    #[test]
    fn an_instruction_with_its_own_kernel_runs_no_other() {
        let program = program(&[("mul.1", "fusion"), ("mul", "fusion"), ("mul.2", "fusion")]);
        assert_eq!(placed(&program, &["mul", "mul.2"]), [Some("mul"), Some("mul.2")]);
        assert_eq!(placed(&program, &["mul.1", "mul", "mul.2"]), [Some("mul.1"), Some("mul"), Some("mul.2")]);
    }

    #[test]
    fn two_places_that_fit_are_none() {
        let program = program(LAYERS);
        assert_eq!(placed(&program, &["gemm", "mul"]), [None, None]);
        assert_eq!(placed(&program, &["gemm", "gemm"]), [None, None]);
        assert_eq!(placed(&program, &[]), [None; 0]);
    }
}

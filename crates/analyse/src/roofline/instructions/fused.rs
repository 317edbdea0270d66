//! What is fused into an instruction, in words.

use stepscope_model::{Order, ProgramGraph};

/// As many different instructions are named.
const MAX_NAMED: usize = 8;
/// As many instructions are looked at; larger fusions end in an ellipsis.
const MAX_NODES: usize = 10_000;

/// What an instruction holds: `tanh, 3 multiply, add`, the most frequent first. Empty if nothing is fused into it.
pub fn fused_text(graph: &ProgramGraph, node: u32) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let fused = graph.calls(node).iter().filter(|&&computation| graph.is_fused(computation));
    let mut seen = 0;
    for inner in fused.flat_map(|&computation| graph.nodes_of(computation)) {
        let Some(inner) = graph.node(inner) else { continue };
        seen += 1;
        if seen > MAX_NODES {
            break;
        }
        if matches!(inner.opcode, "parameter" | "constant" | "tuple" | "get-tuple-element" | "bitcast") {
            continue;
        }
        match counts.iter_mut().find(|(opcode, _)| *opcode == inner.opcode) {
            Some((_, count)) => *count += 1,
            None => counts.push((inner.opcode, 1)),
        }
    }
    // The order of the file among those that are equally frequent.
    counts.order_by_key(|&(_, count)| std::cmp::Reverse(count));
    let more = counts.len() > MAX_NAMED || seen > MAX_NODES;
    let mut shown: Vec<String> = counts
        .iter()
        .take(MAX_NAMED)
        .map(|(opcode, count)| if *count > 1 { format!("{count} {opcode}") } else { (*opcode).to_owned() })
        .collect();
    if more {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

//! The sort of an instruction in XLA's own words, by which XProf's tables are grouped.

use stepscope_model::GraphNode;

use crate::programs::computes_each_element;

/// What XLA calls an instruction of this sort.
pub(super) fn category(instruction: GraphNode<'_>) -> String {
    let details = instruction.details;
    match instruction.opcode {
        "fusion" => match details.fusion_kind.strip_prefix('k') {
            Some(kind) => format!("{} fusion", kind.to_ascii_lowercase()),
            None => "fusion".to_owned(),
        },
        "convolution" => {
            let base = if details.is_base_dilated { " base-dilated" } else { "" };
            let window = if details.is_window_dilated { " window-dilated" } else { "" };
            format!("convolution{base}{window}")
        }
        "transpose" | "copy" | "reshape" | "dynamic-reshape" => "data formatting".to_owned(),
        opcode if is_elementwise(opcode) => "non-fusion elementwise".to_owned(),
        opcode => opcode.to_owned(),
    }
}

/// Whether XLA calls an instruction elementwise: more of them than our costs do.
fn is_elementwise(opcode: &str) -> bool {
    const OTHERS: [&str; 13] = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atanh",
        "bitcast-convert",
        "convert",
        "copy-done",
        "copy-start",
        "cosh",
        "optimization-barrier",
        "reduce-precision",
        "sinh",
    ];
    computes_each_element(opcode) || OTHERS.contains(&opcode)
}

#[cfg(test)]
mod tests {
    use stepscope_model::{GraphBuilder, InstructionDetails, NewNode};

    use super::*;

    #[test]
    fn instructions_are_sorted_in_the_words_of_xla() {
        let with = |opcode: &str, details: InstructionDetails| {
            let mut graph = GraphBuilder::default();
            graph.computation("main", false, None);
            graph.node(NewNode { opcode, details, ..NewNode::default() });
            category(graph.finish().node(0).unwrap())
        };
        let of = |opcode, fusion_kind: &str| {
            with(opcode, InstructionDetails { fusion_kind: fusion_kind.to_owned(), ..Default::default() })
        };
        assert_eq!(of("fusion", "kLoop"), "loop fusion");
        assert_eq!(of("fusion", "kCustom"), "custom fusion");
        assert_eq!(of("copy", ""), "data formatting");
        assert_eq!(of("add", ""), "non-fusion elementwise");
        assert_eq!(of("xor", ""), "non-fusion elementwise");
        assert_eq!(of("custom-call", ""), "custom-call");
        assert_eq!(of("all-reduce-start", ""), "all-reduce-start");
        assert_eq!(of("convolution", ""), "convolution");
        let dilated = InstructionDetails { is_base_dilated: true, ..Default::default() };
        assert_eq!(with("convolution", dilated), "convolution base-dilated");
    }

    #[test]
    fn every_elementwise_word_is_found() {
        for opcode in ["abs", "tanh", "map", "not", "or", "select", "convert", "atan2"] {
            assert!(is_elementwise(opcode), "{opcode}");
        }
        assert!(!is_elementwise("dot") && !is_elementwise("reduce") && !is_elementwise("all-reduce"));
    }
}

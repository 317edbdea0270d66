//! The sort of an instruction in XLA's own words, by which XProf's tables are grouped.

use super::module::Instruction;

/// What XLA calls an instruction of this sort.
pub(super) fn of(instruction: &Instruction<'_>) -> String {
    match instruction.opcode {
        "fusion" => match instruction.fusion_kind.strip_prefix('k') {
            Some(kind) => format!("{} fusion", kind.to_ascii_lowercase()),
            None => "fusion".to_owned(),
        },
        "convolution" => {
            let (base, window) = instruction.is_dilated;
            let [base, window] = [(base, " base-dilated"), (window, " window-dilated")]
                .map(|(is, word)| if is { word } else { "" });
            format!("convolution{base}{window}")
        }
        "transpose" | "copy" | "reshape" | "dynamic-reshape" => "data formatting".to_owned(),
        opcode if is_elementwise(opcode) => "non-fusion elementwise".to_owned(),
        opcode => opcode.to_owned(),
    }
}

/// Whether each element of the result is made of the elements at its place.
fn is_elementwise(opcode: &str) -> bool {
    const ELEMENTWISE: [&str; 60] = [
        "abs",
        "acos",
        "acosh",
        "add",
        "and",
        "asin",
        "asinh",
        "atan2",
        "atanh",
        "bitcast-convert",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "complex",
        "convert",
        "copy",
        "copy-done",
        "copy-start",
        "cosh",
        "cosine",
        "count-leading-zeros",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "floor",
        "imag",
        "is-finite",
        "log",
        "log-plus-one",
        "logistic",
        "map",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "optimization-barrier",
        "or",
        "popcnt",
        "power",
        "real",
        "reduce-precision",
        "remainder",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "select",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "sine",
        "sinh",
        "sqrt",
        "stochastic-convert",
        "subtract",
        "tan",
        "tanh",
    ];
    opcode == "xor" || ELEMENTWISE.binary_search(&opcode).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_sorted_in_the_words_of_xla() {
        let of = |opcode, fusion_kind| {
            let mut instruction = Instruction::default();
            (instruction.opcode, instruction.fusion_kind) = (opcode, fusion_kind);
            super::of(&instruction)
        };
        assert_eq!(of("fusion", "kLoop"), "loop fusion");
        assert_eq!(of("fusion", "kCustom"), "custom fusion");
        assert_eq!(of("copy", ""), "data formatting");
        assert_eq!(of("add", ""), "non-fusion elementwise");
        assert_eq!(of("xor", ""), "non-fusion elementwise");
        assert_eq!(of("custom-call", ""), "custom-call");
        assert_eq!(of("all-reduce-start", ""), "all-reduce-start");
        assert_eq!(of("convolution", ""), "convolution");
        let mut dilated = Instruction::default();
        (dilated.opcode, dilated.is_dilated) = ("convolution", (true, false));
        assert_eq!(super::of(&dilated), "convolution base-dilated");
    }

    #[test]
    fn every_elementwise_word_is_found() {
        for opcode in ["abs", "tanh", "map", "not", "or", "select", "convert", "atan2"] {
            assert!(is_elementwise(opcode), "{opcode}");
        }
        assert!(!is_elementwise("dot") && !is_elementwise("reduce") && !is_elementwise("all-reduce"));
    }
}

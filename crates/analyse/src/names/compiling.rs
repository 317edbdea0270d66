//! What the names that torch.compile leaves in a trace say: compiled regions, graphs, guards and the compiler itself.

/// Around every check for compiled code that fits the call: the guards.
pub const CACHE_LOOKUP: &str = "TorchDynamo Cache Lookup";

/// Which frame was compiled, and for which time: `3/1` is the second version of frame 3.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompileId {
    pub frame: u32,
    /// Its version, from 0.
    pub version: u32,
}

/// The id in `0/1`, `!2/0/1` (compiled autograd before it) or `0/1_2` (another attempt after it).
pub fn compile_id(text: &str) -> Option<CompileId> {
    let text = match text.strip_prefix('!') {
        Some(rest) => rest.split_once('/')?.1,
        None => text,
    };
    let (frame, version) = text.split_once('/')?;
    let version = version.split_once('_').map_or(version, |(version, _)| version);
    Some(CompileId { frame: number(frame)?, version: number(version)? })
}

/// The id in `Torch-Compiled Region: 0/1`; PyTorch before 2.4 writes none.
pub fn compiled_region(name: &str) -> Option<Option<CompileId>> {
    let rest = name.strip_prefix("Torch-Compiled Region")?;
    match rest.strip_prefix(": ") {
        Some(id) => compile_id(id).map(Some),
        None => rest.is_empty().then_some(None),
    }
}

/// The hash in `## Call CompiledFxGraph HASH ##`.
pub fn compiled_graph(name: &str) -> Option<&str> {
    name.strip_prefix("## Call CompiledFxGraph ")?.strip_suffix(" ##")
}

/// Whether everything inside of a range of this name runs compiled, whatever backend compiled it.
pub fn is_compiled_code(name: &str) -> bool {
    name == "CompiledFunction" || is_backward(name) || compiled_graph(name).is_some()
}

/// Whether it is the compiled backward pass.
pub fn is_backward(name: &str) -> bool {
    name == "CompiledFunctionBackward"
}

/// Whether the compiler works inside of a range of this name.
pub fn is_compiler(name: &str) -> bool {
    phase(name).is_some()
        || matches!(
            name,
            "dynamo" | "entire_frame_compile" | "entire_backward_compile" | "_compile.compile_inner"
        )
}

/// The phase in `GraphLowering.run (dynamo_timed)`.
pub fn phase(name: &str) -> Option<&str> {
    name.strip_suffix(" (dynamo_timed)")
}

/// The id in `entire_frame_compile_data: fn_name=…, compile_id=1/2`, which is inside what it is about.
pub fn compiled_for(name: &str) -> Option<CompileId> {
    let (what, words) = name.split_once("_data: ")?;
    if what.contains(' ') {
        return None;
    }
    words.split(", ").find_map(|word| compile_id(word.strip_prefix("compile_id=")?))
}

/// Whether a slice on the host is an operator of the program, not a mark of the compiler's or autograd's.
pub fn is_operator(name: &str) -> bool {
    name.contains("::") && !name.starts_with("autograd::")
}

fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_torch_compile() {
        let id = |frame, version| CompileId { frame, version };
        assert_eq!(compiled_region("Torch-Compiled Region: 3/1"), Some(Some(id(3, 1))));
        assert_eq!(compiled_region("Torch-Compiled Region: 3/1_2"), Some(Some(id(3, 1))));
        assert_eq!(compiled_region("Torch-Compiled Region: !0/3/1"), Some(Some(id(3, 1))));
        assert_eq!(compiled_region("Torch-Compiled Region"), Some(None));
        for none in
            ["Torch-Compiled Region: ", "Torch-Compiled Region: x", "Torch-Compiled Regions", "aten::mm"]
        {
            assert_eq!(compiled_region(none), None, "{none}");
        }
        assert_eq!(compiled_graph("## Call CompiledFxGraph fdti6q ##"), Some("fdti6q"));
        assert_eq!(phase("GraphLowering.run (dynamo_timed)"), Some("GraphLowering.run"));
        assert!(is_compiler("entire_frame_compile") && !is_compiler("compile_attempt_0"));
        let data = "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=1/2";
        assert_eq!(compiled_for(data), Some(id(1, 2)));
        assert_eq!(compiled_for("dynamo_data: compile_id=1/2"), Some(id(1, 2)));
        assert_eq!(compiled_for("my own_data: compile_id=1/2"), None);
        assert!(is_operator("aten::add") && !is_operator("Pregraph bytecode"));
        assert!(!is_operator("autograd::engine::evaluate_function: AddBackward0"));
    }
}

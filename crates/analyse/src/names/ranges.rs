//! What the name of a host range says: a step, the fetching of a batch, a module's call.

/// What comes before the class of a module in the name of its call.
pub(crate) const MODULE_CALL: &str = "nn.Module: ";

/// The number in `ProfilerStep#N`, or in `train (step N)`, as steps of JAX and TensorFlow are called here.
pub fn step_number(name: &str) -> Option<i64> {
    let digits = match name.strip_prefix("ProfilerStep#") {
        Some(digits) => digits,
        None => name.strip_suffix(')')?.rsplit_once(" (step ")?.1,
    };
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Whether an operator of this name is a node of the backward pass: recorders before 2021 do not name the engine.
pub fn is_backward_node(name: &str) -> bool {
    let node = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.starts_with("autograd::engine::evaluate_function")
        || name == "torch::autograd::AccumulateGrad"
        || (node.len() > "Backward".len() && node.ends_with("Backward") && !name.contains(' '))
}

/// The optimizer whose step a range of this name is: `AdamW` of `Optimizer.step#AdamW.step`.
pub fn optimizer_step(name: &str) -> Option<&str> {
    let optimizer = name.strip_prefix("Optimizer.step#")?;
    Some(optimizer.strip_suffix(".step").unwrap_or(optimizer))
}

/// Whether a range of this name is a part of a step, wherever it is: a layer, or what a framework does in one. A
/// heuristic over words people use.
pub fn is_part_of_step(range: &str) -> bool {
    const FRAMEWORKS: [&str; 6] =
        ["Optimizer.zero_grad#", "FSDP", "TorchDynamo", "Pregraph", "AOTDispatcher", "## Call CompiledFxGraph"];
    const WORDS: [&str; 8] = ["layer", "bloc", "attn", "attention", "mlp", "ffn", "expert", "microbatch"];
    let lower = range.to_ascii_lowercase().replace("micro_batch", "microbatch");
    FRAMEWORKS.iter().any(|word| range.starts_with(word)) || WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a range of this name holds steps where it holds anything that repeats. A heuristic over words people use.
pub fn is_around_steps(range: &str) -> bool {
    const WORDS: [&str; 7] = ["epoch", "generate", "request", "prompt", "loop", "benchmark", "main"];
    let lower = range.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a host range of this name is a framework's own fetch of the next batch.
pub fn is_data_loading(name: &str) -> bool {
    let loader = name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__");
    let lightning = name.starts_with("[pl]") && name.ends_with("_next");
    loader || lightning || name.starts_with("enumerate(DataPipe)#")
}

/// Whether a user's range looks like the fetching of a batch. A heuristic over words people use.
pub fn looks_like_data_loading(range: &str) -> bool {
    if range.starts_with("aten::") || range.len() > 80 {
        return false;
    }
    let plain: String = range
        .chars()
        .filter_map(|c| match c {
            'A'..='Z' => Some(c.to_ascii_lowercase()),
            'a'..='z' => Some(c),
            _ => None,
        })
        .collect();
    const WORDS: [&str; 12] = [
        "dataload",
        "loaddata",
        "nextbatch",
        "getbatch",
        "fetchbatch",
        "loadbatch",
        "batchfetch",
        "batchload",
        "datafetch",
        "fetchdata",
        "inputpipeline",
        "iteratorgetnext",
    ];
    is_data_loading(range) || WORDS.iter().any(|word| plain.contains(word))
}

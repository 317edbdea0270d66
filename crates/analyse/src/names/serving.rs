//! What the names of ranges and Python calls say about an iteration of a serving engine.
//!
//! vLLM writes `execute_context_1(888)_generation_2(2)`: requests and tokens in prefill and in decode (before that,
//! `execute_new_1_cached_2`). AMD's builds put more numbers behind the tokens: `(888_788544)`, `(sq888sk888…)`. SGLang
//! writes `step[EXTEND bs=2 toks=4096]`, `step[DECODE bs=32]` and, where asked, `c_sq=… g_sq=…`; ATOM `prefill[bs=2 tok=64]`.

use schemars::JsonSchema;
use serde::Serialize;

/// What an iteration works on.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IterationKind {
    Prefill,
    /// The next token of each request.
    Decode,
    Mixed,
    /// The trace does not say.
    #[default]
    Unknown,
}

impl IterationKind {
    /// What it is called in tables.
    pub fn label(self) -> &'static str {
        match self {
            IterationKind::Prefill => "prefill",
            IterationKind::Decode => "decode",
            IterationKind::Mixed => "mixed",
            IterationKind::Unknown => "unknown",
        }
    }
}

/// What a name says about its iteration.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct IterationInfo {
    pub kind: IterationKind,
    /// Requests in the batch.
    pub requests: Option<u64>,
    pub context_tokens: Option<u64>,
    /// Tokens of requests that are past their prompt.
    pub generation_tokens: Option<u64>,
}

impl IterationInfo {
    /// Takes from another name of the same iteration what this one does not say.
    pub(crate) fn fill(&mut self, other: IterationInfo) {
        if self.kind == IterationKind::Unknown {
            self.kind = other.kind;
        }
        self.requests = self.requests.or(other.requests);
        if self.context_tokens.or(self.generation_tokens).is_none() {
            (self.context_tokens, self.generation_tokens) = (other.context_tokens, other.generation_tokens);
        }
    }

    /// Tokens of both kinds; none if neither is known.
    pub fn tokens(&self) -> Option<u64> {
        match (self.context_tokens, self.generation_tokens) {
            (None, None) => None,
            (context, generation) => Some(context.unwrap_or(0).saturating_add(generation.unwrap_or(0))),
        }
    }
}

/// What the name of a range says, if an engine names its iterations so.
pub fn iteration(range: &str) -> Option<IterationInfo> {
    if let Some(rest) = range.strip_prefix("execute_") {
        return execute(rest);
    }
    let (head, rest) = range.split_once('[')?;
    let words = rest.strip_suffix(']')?;
    match head {
        "step" => {
            let (mode, words) = words.split_once(' ').unwrap_or((words, ""));
            bracket(mode, words)
        }
        "prefill" => bracket("EXTEND", words),
        "decode" => bracket("DECODE", words),
        _ => None,
    }
}

/// What follows `execute_`.
fn execute(rest: &str) -> Option<IterationInfo> {
    if let Some(rest) = rest.strip_prefix("new_") {
        let (new, cached) = rest.split_once("_cached_")?;
        let (new, cached) = (number(new)?, number(cached)?);
        return Some(IterationInfo {
            kind: kind_of(new, cached),
            requests: Some(new.saturating_add(cached)),
            ..IterationInfo::default()
        });
    }
    // Some builds put the size of the batch first.
    let counted = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = counted.strip_prefix('_').unwrap_or(rest).strip_prefix("context_")?;
    let (context, generation) = rest.split_once(")_generation_")?;
    let (context_requests, context_tokens) = part(context)?;
    let (requests, generation_tokens) = part(generation.strip_suffix(')')?)?;
    Some(IterationInfo {
        kind: kind_of(context_requests, requests),
        requests: Some(context_requests.saturating_add(requests)),
        context_tokens: Some(context_tokens),
        generation_tokens: Some(generation_tokens),
    })
}

/// Requests and tokens of `1(888`, `1(888_788544` or `1(sq888sk888`.
fn part(text: &str) -> Option<(u64, u64)> {
    let (requests, tokens) = text.split_once('(')?;
    let tokens = tokens.strip_prefix("sq").unwrap_or(tokens);
    let digits = tokens.find(|c: char| !c.is_ascii_digit()).unwrap_or(tokens.len());
    Some((number(requests)?, number(&tokens[..digits])?))
}

fn kind_of(context: u64, generation: u64) -> IterationKind {
    match (context, generation) {
        (0, 0) => IterationKind::Unknown,
        (_, 0) => IterationKind::Prefill,
        (0, _) => IterationKind::Decode,
        _ => IterationKind::Mixed,
    }
}

/// `bs=2 toks=4096` of a forward mode.
fn bracket(mode: &str, words: &str) -> Option<IterationInfo> {
    let value = |wanted: &str| {
        words.split(' ').filter_map(|word| word.split_once('=')).find(|(key, _)| *key == wanted)?.1.parse().ok()
    };
    let requests: Option<u64> = value("bs");
    let tokens: Option<u64> = value("toks").or_else(|| value("tok"));
    let known = |kind, context_tokens, generation_tokens| {
        Some(IterationInfo { kind, requests, context_tokens, generation_tokens })
    };
    match mode {
        "EXTEND" | "SPLIT_PREFILL" | "DLLM_EXTEND" => known(IterationKind::Prefill, tokens, None),
        // Without speculation, each request gets one token.
        "DECODE" => known(IterationKind::Decode, None, tokens.or(requests)),
        "VERIFY" | "TARGET_VERIFY" => known(IterationKind::Decode, None, tokens),
        "MIXED" => known(IterationKind::Mixed, value("c_sq").or(tokens), value("g_sq")),
        _ if mode.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') && !mode.is_empty() => {
            known(IterationKind::Unknown, tokens, None)
        }
        _ => None,
    }
}

fn number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// What a Python call of an engine is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EngineCall {
    /// All of an iteration, or the larger part of it.
    Iteration,
    /// A function that only iterations of this kind call.
    Says(IterationKind),
}

/// What a Python frame like `vllm/v1/worker/gpu_worker.py(530): execute_model` is, if it is an engine's.
pub fn engine_call(frame: &str) -> Option<EngineCall> {
    let (place, function) = frame.rsplit_once("): ")?;
    let path = place.rsplit_once('(')?.0;
    if path.contains("vllm/") {
        return (function == "execute_model").then_some(EngineCall::Iteration);
    }
    if !path.contains("sglang/srt/") {
        return None;
    }
    let runner = path.contains("model_executor/");
    match function {
        "run_batch" | "_run_batch_inner" | "forward_batch_generation" => Some(EngineCall::Iteration),
        "forward_extend" if runner => Some(EngineCall::Says(IterationKind::Prefill)),
        "forward_decode" if runner => Some(EngineCall::Says(IterationKind::Decode)),
        "replay" if path.ends_with("/cuda_graph_runner.py") => Some(EngineCall::Says(IterationKind::Decode)),
        _ => None,
    }
}

/// The range vLLM puts around the model's forward pass, for traces that have nothing around all of an iteration.
pub fn is_forward_pass(range: &str) -> bool {
    range == "gpu_model_runner: forward"
}

/// Whether only serving engines have an operator, kernel or Python call of this name: the cache of keys and values in
/// pages, and their own libraries.
pub fn is_engines(name: &str) -> bool {
    const STARTS: [&str; 5] = ["vllm::", "_C_cache_ops::", "_vllm_", "sgl_kernel::", "sglang::"];
    const WORDS: [&str; 9] = [
        "vllm::",
        "sgl_hip",
        "sgl_kernel",
        "reshape_and_cache",
        "paged_attention",
        "PagedKVCache",
        "store_kvcache",
        "vllm/v1/",
        "sglang/srt/",
    ];
    STARTS.iter().any(|start| name.starts_with(start)) || WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::IterationKind::{Decode, Mixed, Prefill, Unknown};
    use super::*;

    #[test]
    fn ranges_that_engines_write() {
        type Row = (&'static str, IterationKind, Option<u64>, Option<u64>, Option<u64>);
        let rows: [Row; 16] = [
            ("execute_context_1(888)_generation_0(0)", Prefill, Some(1), Some(888), Some(0)),
            ("execute_context_1(888_788544)_generation_0(0)", Prefill, Some(1), Some(888), Some(0)),
            ("execute_context_0(0)_generation_31(62)", Decode, Some(31), Some(0), Some(62)),
            ("execute_context_2(900)_generation_5(5)", Mixed, Some(7), Some(900), Some(5)),
            ("execute_context_0(0)_generation_0(0)", Unknown, Some(0), Some(0), Some(0)),
            (
                "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)",
                Decode,
                Some(32),
                Some(0),
                Some(32),
            ),
            ("execute_new_3_cached_0", Prefill, Some(3), None, None),
            ("execute_new_0_cached_8", Decode, Some(8), None, None),
            ("execute_new_1_cached_8", Mixed, Some(9), None, None),
            ("step[EXTEND bs=2 toks=4096]", Prefill, Some(2), Some(4096), None),
            ("step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]", Prefill, Some(2), Some(12), None),
            ("step[DECODE bs=32]", Decode, Some(32), None, Some(32)),
            ("step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 g_sq=1 g_sk=12]", Mixed, Some(2), Some(5), Some(1)),
            ("step[TARGET_VERIFY bs=4]", Decode, Some(4), None, None),
            ("step[IDLE bs=0]", Unknown, Some(0), None, None),
            ("prefill[bs=2 tok=16384]", Prefill, Some(2), Some(16384), None),
        ];
        for (name, kind, requests, context_tokens, generation_tokens) in rows {
            let want = IterationInfo { kind, requests, context_tokens, generation_tokens };
            assert_eq!(iteration(name), Some(want), "{name}");
        }
    }

    #[test]
    fn other_ranges_are_none() {
        for name in [
            "",
            "execute_",
            "execute_context_1(888)",
            "execute_context_x(1)_generation_0(0)",
            "execute_context_1()_generation_0(0)",
            "execute_context_99999999999999999999(1)_generation_0(0)",
            "step[",
            "step[]",
            "step[warm up]",
            "ProfilerStep#3",
            "decode",
            "list[0]",
        ] {
            assert_eq!(iteration(name), None, "{name}");
        }
    }

    #[test]
    fn python_calls_of_engines() {
        let says = |kind| Some(EngineCall::Says(kind));
        for (frame, want) in [
            ("vllm/v1/worker/gpu_model_runner.py(2907): execute_model", Some(EngineCall::Iteration)),
            ("/x/sglang/srt/managers/scheduler.py(2919): _run_batch_inner", Some(EngineCall::Iteration)),
            ("/x/sglang/srt/model_executor/model_runner.py(7): forward_extend", says(Prefill)),
            ("/x/sglang/srt/model_executor/cuda_graph_runner.py(7): replay", says(Decode)),
            ("/x/sglang/srt/layers/attention/base.py(7): forward_extend", None),
            ("torch/cuda/graphs.py(3): replay", None),
            ("vllm", None),
        ] {
            assert_eq!(engine_call(frame), want, "{frame}");
        }
    }
}

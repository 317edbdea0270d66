//! What the numbers of iterations mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers of iterations mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "kind", "Kind" =>
        "prefill, decode or mixed, as the range's name says (requests with context tokens, with generation tokens, or \
         both; SGLang's EXTEND, DECODE and MIXED), else as the Python call forward_extend or forward_decode inside says; \
         unknown otherwise. In execute_new_A_cached_B, requests scheduled before count as decode though they may still be \
         in chunked prefill.";
    "start_ns", "Start" =>
        "When the iteration begins, counted from the trace's first event: where its range begins, or where the iteration \
         before it ended if that is later.";
    "wall_ns", "Wall" =>
        "End minus start. An iteration ends with its range or with the last kernel, copy or memset launched from inside it \
         (the launching call starts in it), whichever is later. For an engine that runs ahead of its device, that is the \
         time from one iteration's result to the next.";
    "host_ns", "Host" =>
        "How long the iteration's range takes on its host thread; none where the trace has only device work.";
    "busy_ns", "Busy" => "Time within the iteration in which at least one kernel, copy or memset ran on any device.";
    "gap_ns", "Gap" => "From the end of this iteration to the start of the next; none for the last.";
    "requests", "Batch" =>
        "Requests in the iteration's batch, as the range's name says: context requests plus generation requests, or bs.";
    "tokens", "Tokens" =>
        "Tokens the iteration worked on, prompts included: context tokens plus generation tokens. In a sum, of the \
         iterations whose name says it.";
    "context_tokens", "Context tokens" =>
        "Tokens of prompts, as the range's name says: the number after the context requests, toks, or c_sq.";
    "generation_tokens", "Generation tokens" =>
        "Tokens of requests that are past their prompt, as the range's name says: the number after the generation \
         requests, or g_sq. For DECODE without a number of tokens it is the number of requests.";
    "iterations", "Iterations" => "How many iterations of this kind begin in the selected part of the trace.";
    "total_ns", "Total" => "Summed wall time of the iterations of this kind.";
    "share", "% of time" =>
        "Total / the time from the start of the first iteration to the end of the last, as a fraction. What is left lies \
         between iterations.";
    "wall_p50_ns", "p50" => "Median wall time of the iterations of this kind.";
    "wall_p95_ns", "p95" =>
        "The 95th percentile of the wall times of this kind: the value at 0.95 of the sorted list, rounded to the nearest.";
    "wall_p99_ns", "p99" =>
        "The 99th percentile of the wall times of this kind: the value at 0.99 of the sorted list, rounded to the nearest.";
    "busy_share", "GPU busy" => "Summed busy time / total, as a fraction.";
    "tokens_per_second", "Tokens/s" => "Tokens / the summed wall time of the iterations whose name says how many.";
    "span_ns", "Span" => "From the start of the first selected iteration to the end of the last.";
    "between_ns", "Between" =>
        "Summed gaps between iterations: scheduling, sampling on the host, and waiting for requests.";
    "on_other_threads", "On other threads" =>
        "Iterations on other threads than the one followed, which is the one that has most.";
};

//! What the numbers of iterations mean.

use crate::scope::definition::Definition;

/// What the numbers of iterations mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "kind",
        label: "Kind",
        text: "prefill, decode or mixed, as the range's name says (requests with context tokens, with generation tokens, or \
               both; SGLang's EXTEND, DECODE and MIXED), else as the Python call forward_extend or forward_decode inside \
               says; unknown otherwise. In execute_new_A_cached_B, requests scheduled before count as decode though \
               they may still be in chunked prefill.",
    },
    Definition {
        field: "start_ns",
        label: "Start",
        text: "When the iteration begins, counted from the trace's first event: where its range begins, or where the iteration \
               before it ended if that is later.",
    },
    Definition {
        field: "wall_ns",
        label: "Wall",
        text: "End minus start. An iteration ends with its range or with the last kernel, copy or memset launched from \
               inside it (the launching call starts in it), whichever is later. For an engine that runs ahead of its \
               device, that is the time from one iteration's result to the next.",
    },
    Definition {
        field: "host_ns",
        label: "Host",
        text: "How long the iteration's range takes on its host thread; none where the trace has only device work.",
    },
    Definition {
        field: "busy_ns",
        label: "Busy",
        text: "Time within the iteration in which at least one kernel, copy or memset ran on any device.",
    },
    Definition {
        field: "gap_ns",
        label: "Gap",
        text: "From the end of this iteration to the start of the next; none for the last.",
    },
    Definition {
        field: "requests",
        label: "Batch",
        text: "Requests in the iteration's batch, as the range's name says: context requests plus generation requests, or bs.",
    },
    Definition {
        field: "tokens",
        label: "Tokens",
        text: "Tokens the iteration worked on, prompts included: context tokens plus generation tokens. In a sum, of the \
               iterations whose name says it.",
    },
    Definition {
        field: "context_tokens",
        label: "Context tokens",
        text: "Tokens of prompts, as the range's name says: the number after the context requests, toks, or c_sq.",
    },
    Definition {
        field: "generation_tokens",
        label: "Generation tokens",
        text: "Tokens of requests that are past their prompt, as the range's name says: the number after the generation \
               requests, or g_sq. For DECODE without a number of tokens it is the number of requests.",
    },
    Definition {
        field: "iterations",
        label: "Iterations",
        text: "How many iterations of this kind begin in the selected part of the trace.",
    },
    Definition { field: "total_ns", label: "Total", text: "Summed wall time of the iterations of this kind." },
    Definition {
        field: "share",
        label: "% of time",
        text: "Total / the time from the start of the first iteration to the end of the last, as a fraction. What is left \
               lies between iterations.",
    },
    Definition { field: "wall_p50_ns", label: "p50", text: "Median wall time of the iterations of this kind." },
    Definition {
        field: "wall_p95_ns",
        label: "p95",
        text: "The 95th percentile of the wall times of this kind: the value at 0.95 of the sorted list, rounded to the \
               nearest.",
    },
    Definition {
        field: "wall_p99_ns",
        label: "p99",
        text: "The 99th percentile of the wall times of this kind: the value at 0.99 of the sorted list, rounded to the \
               nearest.",
    },
    Definition { field: "busy_share", label: "GPU busy", text: "Summed busy time / total, as a fraction." },
    Definition {
        field: "tokens_per_second",
        label: "Tokens/s",
        text: "Tokens / the summed wall time of the iterations whose name says how many.",
    },
    Definition {
        field: "span_ns",
        label: "Span",
        text: "From the start of the first selected iteration to the end of the last.",
    },
    Definition {
        field: "between_ns",
        label: "Between",
        text: "Summed gaps between iterations: scheduling, sampling on the host, and waiting for requests.",
    },
    Definition {
        field: "on_other_threads",
        label: "On other threads",
        text: "Iterations on other threads than the one followed, which is the one that has most.",
    },
];

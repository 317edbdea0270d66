//! What the numbers of a report mean.

use stepscope_analyse::scope::definition::{Definition, definitions};

/// One entry per number.
pub const DEFINITIONS: &[Definition] = definitions! {
    "verdict", "Verdict" =>
        "The worst of these: nothing was written for 3 minutes; a target is missed, or its budget burns too fast; a level \
         of p95 or p50 rose (slow from 25% on, over once it is within 10% of where it was); far more requests failed than \
         usual (1% or more of a point, and 4 times the usual share).";
    "requests", "Requests" =>
        "Requests that ended in the period, in all processes. A request belongs to the minute it ended in.";
    "per_second", "Per second" =>
        "Requests divided by the time that was counted: the period, including minutes without requests, but not what is \
         before the first count or after now. The report and `top` say how long that is.";
    "error_rate", "Errors" =>
        "Share of requests that failed: an exception left the request, its status was 500 or above, or the service said \
         so.";
    "p95_ns", "p50, p90, p95, p99, p99.9" =>
        "The latency that this share of requests did not exceed, from a base-2 exponential histogram: off by 1.09% at \
         most, unless latencies span more than 32 doublings. Mean and maximum are exact.";
    "missed", "Missed" =>
        "Requests that count against a target: slower than its time, or failed. Counted exactly when each request ends.";
    "budget_left", "Budget left" =>
        "1 minus the share of requests that missed the target by the share that may. 5% may miss a p95: 2% use 40% of the \
         budget and leave 60%.";
    "rate", "Burn rate" =>
        "The share of requests that missed the target by the share that may, over the last minutes of the period. 1 uses \
         the budget up exactly, 2 in half the time. An alert is fast above 14.4 over 5 minutes and an hour, slow above 6 \
         over 30 minutes and 6 hours.";
    "self_ns", "Time per request" =>
        "Time in regions of this name without regions inside them, by all requests of the route, those without the region \
         included. Time outside regions is the rest of the latency.";
    "cpu_ns", "CPU per request" =>
        "Processor time of the thread that answered, mean over one request in seventeen. Unknown for asynchronous code, \
         where a thread answers several at once.";
    "gpu_ns", "GPU per request" =>
        "Time on the GPU's clock from where the stream reached the request to where it was done with it, between two CUDA \
         events of PyTorch; mean over one request in seventeen. Gaps in between count, and so does work that others put \
         into the same stream. Unknown for asynchronous code.";
    "gpu_energy_j", "GPU energy" =>
        "What the GPUs' own counters of energy rose by while `stepscope monitor` recorded them; per request, by all \
         requests of the period. Idle time and other programs on the GPU count too.";
    "p", "p" =>
        "How often shuffled points have a cut as good as this one. Levels of points with 20 requests or more are compared; \
         changes below 5% are not shown.";
};

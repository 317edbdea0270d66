//! What the numbers of functions mean.

use crate::scope::definition::{Definition, definitions};

/// Every number of the table of functions.
pub const DEFINITIONS: &[Definition] = definitions! {
    CALLS;
    PRIMITIVE_CALLS;
    "line", "Line" => "The line at which the function starts; unknown where the profile only has the line it was at.";
    SELF_NS;
    SELF_SAMPLES;
    SELF_BYTES;
    "self_share", "Self %" =>
        "The function's own amount divided by the sum of all own amounts; time in which threads waited is in neither.";
    "self_per_call_ns", "Self per call" => "Own time divided by calls, as the first `percall` of pstats.";
    TOTAL_NS;
    TOTAL_SAMPLES;
    TOTAL_BYTES;
    "total_share", "Total %" =>
        "The function's total divided by the sum of all own amounts. Rows overlap: a caller's total holds those of what it \
         calls.";
    "total_per_call_ns", "Total per call" => "Total time divided by primitive calls, as the second `percall` of pstats.";
    "waiting_ns", "Waiting" =>
        "Sampled time in which the thread used less than a tenth of a processor while this function was innermost: it \
         slept, waited for a lock, for I/O or for its turn in the interpreter. It is in no other number. Unknown where the \
         profile does not say.";
    "total", "Sum" => "The sum of all own amounts, in the profile's unit; of a line profile, the sum over its lines.";
    "samples", "Samples" => "How many weighted stacks the profile holds. Files may have summed up equal ones.";
};

/// Every number of the table of callers and callees.
pub const EDGE_DEFINITIONS: &[Definition] =
    &[CALLS, PRIMITIVE_CALLS, SELF_NS, SELF_SAMPLES, SELF_BYTES, TOTAL_NS, TOTAL_SAMPLES, TOTAL_BYTES];

const CALLS: Definition = Definition {
    field: "calls",
    label: "Calls",
    text: "How often it was called; of a caller's row, how often by that caller. `8361/1` says that 8361 calls, 1 of them \
           not by recursion, were counted. Unknown where stacks were sampled.",
};
const PRIMITIVE_CALLS: Definition = Definition {
    field: "primitive_calls",
    label: "Primitive calls",
    text: "Calls that began while no other call of the same function was open.",
};
const SELF_NS: Definition = Definition {
    field: "self_ns",
    label: "Self",
    text: "Time in the function itself, without what it called: `tottime` of pstats. Of stacks, the time of those that it \
           ends.",
};
const SELF_SAMPLES: Definition = Definition {
    field: "self_samples",
    label: "Self",
    text: "The weight of the stacks that the function ends, where the file has counts and no times.",
};
const SELF_BYTES: Definition = Definition {
    field: "self_bytes",
    label: "Self",
    text: "The memory of the stacks that the function ends, where the profile is one of memory.",
};
const TOTAL_NS: Definition = Definition {
    field: "total_ns",
    label: "Total",
    text: "Time in the function and in all that it called, recursion counted once: `cumtime` of pstats. Of stacks, the time \
           of those it is in; of lines, the sum of the function's lines.",
};
const TOTAL_SAMPLES: Definition = Definition {
    field: "total_samples",
    label: "Total",
    text: "The weight of the stacks that the function is in, where the file has counts and no times.",
};
const TOTAL_BYTES: Definition = Definition {
    field: "total_bytes",
    label: "Total",
    text: "The memory of the stacks that the function is in, where the profile is one of memory.",
};

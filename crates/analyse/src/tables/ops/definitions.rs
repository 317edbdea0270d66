//! What the numbers of the operator table mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers of a row mean; FLOPs are defined in [`crate::tables::flops`].
pub const DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" =>
        "How often it ran, on any thread. A call that is its caller's only one and has its name is folded into the caller, \
         as in PyTorch's tables.";
    "host_total_ns", "Host total" =>
        "Wall time on the host thread from start to end, summed over the calls. Calls nested in calls of the same row \
         count in both.";
    "host_self_ns", "Host self" =>
        "Host total less the host total of everything called directly: operators, ranges, runtime and driver calls, and \
         pauses of the profiler itself. Python functions are not subtracted.";
    "device_total_ns", "Device total" =>
        "Device self of the calls and of everything they called, at any depth. Work that overlaps on several streams \
         counts each time.";
    "device_self_ns", "Device self" =>
        "Summed duration of the kernels, copies and memsets that carry the call's own External id. The shadow that a named \
         range casts on the device is not device time.";
    "host_mean_ns", "Host mean" => "Host total divided by the calls: PyTorch's \"CPU time avg\".";
    "device_mean_ns", "Device mean" => "Device total divided by the calls: PyTorch's \"CUDA time avg\".";
    "host_p50_ns", "Host p50" =>
        "The median host time of a call from start to end, by nearest rank: the shortest that at least half of the calls \
         do not exceed.";
    "host_p95_ns", "Host p95" =>
        "The shortest host time of a call that at least 95% of the calls do not exceed; with fewer than 20 calls, the \
         longest.";
    "host_p99_ns", "Host p99" =>
        "The shortest host time of a call that at least 99% of the calls do not exceed; with fewer than 100 calls, the \
         longest.";
    "host_max_ns", "Host max" => "Host time of the longest call.";
    "host_cv", "Host variation" =>
        "Coefficient of variation of the calls' host times: standard deviation (over all of them, not a sample) / mean.";
    "host_memory_bytes", "Host mem" =>
        "Host bytes allocated less those freed between the calls' starts and ends, by any thread.";
    "host_self_memory_bytes", "Host mem self" => "Host memory less the host memory of everything called directly.";
    "device_memory_bytes", "Device mem" =>
        "Device bytes allocated less those freed between the calls' starts and ends, by any thread; of one device, if one \
         was asked for.";
    "device_self_memory_bytes", "Device mem self" => "Device memory less the device memory of everything called directly.";
    "tc_eligible", "TC eligible" =>
        "Whether the operator can use tensor cores given suitable types and sizes, or did, or called one that can.";
    "tc_self_share", "TC self" =>
        "The share of device self spent in kernels whose names say that they use tensor cores; kernels whose names do not \
         say are not counted.";
    "tc_total_share", "TC total" =>
        "The share of device total spent in kernels whose names say that they use tensor cores; kernels whose names do not \
         say are not counted.";
};

/// What the sums over all rows mean.
pub const TOTALS: &[Definition] = definitions! {
    "total_host_self_ns", "Host self, all rows" =>
        "Host self of operators, ranges, runtime and driver calls and profiler pauses together: the time host threads \
         spent inside recorded ranges.";
    "total_device_self_ns", "Device time" =>
        "Summed duration of all selected kernels, copies and memsets, each once. Device time in operators, in annotations, \
         without operator and elsewhere add up to it.";
    "device_time_in_ops_ns", "Device time in operators" => "Device self of all operators together.";
    "device_time_in_annotations_ns", "Device time in annotations" =>
        "Device self of all named ranges together: work launched directly inside a range and no operator.";
    "device_time_elsewhere_ns", "Device time elsewhere" =>
        "Device time of operators that have no row because they began outside of the selection.";
    "device_time_unlinked_ns", "Device time without operator" =>
        "Kernels, copies and memsets that name no recorded operator: launched before recording began, outside of any \
         operator, or replayed by a CUDA graph.";
    "device_time_by_launch_ns", "Device time known by its launch only" =>
        "Device time that names no operator, but whose launching call ran inside one. With attribution by launch it counts \
         there, otherwise as device time without operator.";
    "device_time_overlap_ns", "Device time overlapped" =>
        "Device time less the time during which at least one kernel, copy or memset ran on the device.";
};

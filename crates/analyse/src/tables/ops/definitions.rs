//! What the numbers of the operator table mean.

use crate::scope::definition::Definition;

/// What the numbers of a row mean; FLOPs are defined in [`crate::tables::flops`].
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "calls",
        label: "Calls",
        text: "How often it ran, on any thread. A call that is its caller's only one and has its name is \
               folded into the caller, as in PyTorch's tables.",
    },
    Definition {
        field: "host_total_ns",
        label: "Host total",
        text: "Wall time on the host thread from start to end, summed over the calls. Calls nested in calls of \
               the same row count in both.",
    },
    Definition {
        field: "host_self_ns",
        label: "Host self",
        text: "Host total less the host total of everything called directly: operators, ranges, runtime and \
               driver calls, and pauses of the profiler itself. Python functions are not subtracted.",
    },
    Definition {
        field: "device_total_ns",
        label: "Device total",
        text: "Device self of the calls and of everything they called, at any depth. Work that overlaps on \
               several streams counts each time.",
    },
    Definition {
        field: "device_self_ns",
        label: "Device self",
        text: "Summed duration of the kernels, copies and memsets that carry the call's own External id. The \
               shadow that a named range casts on the device is not device time.",
    },
    Definition {
        field: "host_mean_ns",
        label: "Host mean",
        text: "Host total divided by the calls: PyTorch's \"CPU time avg\".",
    },
    Definition {
        field: "device_mean_ns",
        label: "Device mean",
        text: "Device total divided by the calls: PyTorch's \"CUDA time avg\".",
    },
    Definition {
        field: "host_p50_ns",
        label: "Host p50",
        text: "The median host time of a call from start to end, by nearest rank: the shortest that at least half of \
               the calls do not exceed.",
    },
    Definition {
        field: "host_p95_ns",
        label: "Host p95",
        text: "The shortest host time of a call that at least 95% of the calls do not exceed; with fewer than 20 calls, \
               the longest.",
    },
    Definition {
        field: "host_p99_ns",
        label: "Host p99",
        text: "The shortest host time of a call that at least 99% of the calls do not exceed; with fewer than 100 \
               calls, the longest.",
    },
    Definition { field: "host_max_ns", label: "Host max", text: "Host time of the longest call." },
    Definition {
        field: "host_cv",
        label: "Host variation",
        text: "Coefficient of variation of the calls' host times: standard deviation (over all of them, not a sample) \
               / mean.",
    },
    Definition {
        field: "host_memory_bytes",
        label: "Host mem",
        text: "Host bytes allocated less those freed between the calls' starts and ends, by any thread.",
    },
    Definition {
        field: "host_self_memory_bytes",
        label: "Host mem self",
        text: "Host memory less the host memory of everything called directly.",
    },
    Definition {
        field: "device_memory_bytes",
        label: "Device mem",
        text: "Device bytes allocated less those freed between the calls' starts and ends, by any thread; of \
               one device, if one was asked for.",
    },
    Definition {
        field: "device_self_memory_bytes",
        label: "Device mem self",
        text: "Device memory less the device memory of everything called directly.",
    },
    Definition {
        field: "tc_eligible",
        label: "TC eligible",
        text: "Whether the operator can use tensor cores given suitable types and sizes, or did, or called one \
               that can.",
    },
    Definition {
        field: "tc_self_share",
        label: "TC self",
        text: "The share of device self spent in kernels whose names say that they use tensor cores; kernels \
               whose names do not say are not counted.",
    },
    Definition {
        field: "tc_total_share",
        label: "TC total",
        text: "The share of device total spent in kernels whose names say that they use tensor cores; kernels \
               whose names do not say are not counted.",
    },
];

/// What the sums over all rows mean.
pub const TOTALS: &[Definition] = &[
    Definition {
        field: "total_host_self_ns",
        label: "Host self, all rows",
        text: "Host self of operators, ranges, runtime and driver calls and profiler pauses together: the time \
               host threads spent inside recorded ranges.",
    },
    Definition {
        field: "total_device_self_ns",
        label: "Device time",
        text: "Summed duration of all selected kernels, copies and memsets, each once. Device time in \
               operators, in annotations, without operator and elsewhere add up to it.",
    },
    Definition {
        field: "device_time_in_ops_ns",
        label: "Device time in operators",
        text: "Device self of all operators together.",
    },
    Definition {
        field: "device_time_in_annotations_ns",
        label: "Device time in annotations",
        text: "Device self of all named ranges together: work launched directly inside a range and no \
               operator.",
    },
    Definition {
        field: "device_time_elsewhere_ns",
        label: "Device time elsewhere",
        text: "Device time of operators that have no row because they began outside of the selection.",
    },
    Definition {
        field: "device_time_unlinked_ns",
        label: "Device time without operator",
        text: "Kernels, copies and memsets that name no recorded operator: launched before recording began, \
               outside of any operator, or replayed by a CUDA graph.",
    },
    Definition {
        field: "device_time_by_launch_ns",
        label: "Device time known by its launch only",
        text: "Device time that names no operator, but whose launching call ran inside one. With attribution \
               by launch it counts there, otherwise as device time without operator.",
    },
    Definition {
        field: "device_time_overlap_ns",
        label: "Device time overlapped",
        text: "Device time less the time during which at least one kernel, copy or memset ran on the device.",
    },
];

//! What the numbers of a comparison mean.

use crate::scope::definition::Definition;

pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "mean_ns",
        label: "Mean step",
        text: "The summed wall time of the steps that are not partial, in all recordings of the side / how many they are.",
    },
    Definition {
        field: "p50_ns",
        label: "p50",
        text: "The shortest step that at least half of the side's steps do not exceed.",
    },
    Definition {
        field: "p95_ns",
        label: "p95",
        text: "The shortest step that at least 95% of the side's steps do not exceed.",
    },
    Definition { field: "recordings", label: "Recordings", text: "How many traces the side has." },
    Definition {
        field: "steps",
        label: "Steps",
        text: "How many steps of the side count: those that are not partial, or all if all are.",
    },
    Definition {
        field: "before_ns",
        label: "Before",
        text: "Time per step on the compared device in the earlier recordings: of a cause as in `stepscope account`, of a row the \
               part of it spent there. While several kernels run at once, a moment counts for the one that began first. Rounded \
               so that the rows add up to the mean step.",
    },
    Definition { field: "after_ns", label: "After", text: "The same in the later recordings." },
    Definition {
        field: "delta_ns",
        label: "Change",
        text: "After less before, per step. Over all rows, and over all causes, it adds up to the change of the mean step.",
    },
    Definition {
        field: "noise_ns",
        label: "Noise",
        text: "Welch's 99.9% interval of the change: a smaller change may be noise. It is that wide because there are hundreds of rows. It \
               rests on the recordings where a side has several, else on the steps of its one recording, taken as independent of \
               each other.",
    },
    Definition {
        field: "before_count",
        label: "Count before",
        text: "Kernels and copies that begin in a step, or stretches of idle time, per step.",
    },
    Definition { field: "after_count", label: "Count after", text: "The same in the later recordings." },
    Definition {
        field: "before",
        label: "Before",
        text: "The value in the earlier recordings; their mean where there are several.",
    },
    Definition { field: "after", label: "After", text: "The same in the later recordings." },
    Definition { field: "delta", label: "Change", text: "The later value less the earlier one." },
    Definition {
        field: "before_saves_ns",
        label: "Worth before",
        text: "What a fix of the finding would have saved per step in the first of the earlier recordings.",
    },
    Definition {
        field: "after_saves_ns",
        label: "Worth after",
        text: "The same in the first of the later recordings.",
    },
    Definition {
        field: "ratio",
        label: "Ratio",
        text: "The mean step after / the mean step before; with several recordings per side, the median over their pairs.",
    },
    Definition {
        field: "gpu_utilization",
        label: "GPU busy",
        text: "The share of the steps in which a kernel, copy or memset ran on the device; the mean over devices and recordings.",
    },
    Definition {
        field: "mfu",
        label: "MFU",
        text: "As in `stepscope roofline`: the arithmetic that the steps need per second / the most that the device can do; the \
               mean over recordings. Unknown where shapes or the device are.",
    },
    Definition {
        field: "peak_allocated_bytes",
        label: "Peak memory",
        text: "The most that PyTorch's allocator had handed out at once on the device that held most (on the host where there is \
               none); the mean over recordings. Unknown unless memory was recorded.",
    },
    Definition {
        field: "peak_reserved_bytes",
        label: "Reserved",
        text: "The same of what the allocator had reserved.",
    },
    Definition {
        field: "low",
        label: "Low",
        text: "The lowest ratio that 95% confidence allows. `method` says what the interval rests on.",
    },
    Definition { field: "high", label: "High", text: "The highest ratio that 95% confidence allows." },
];

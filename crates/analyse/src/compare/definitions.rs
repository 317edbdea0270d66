//! What the numbers of a comparison mean.

use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "mean_ns", "Mean step" =>
        "The summed wall time of the steps that are not partial, in all recordings of the side / how many they are.";
    "p50_ns", "p50" => "The shortest step that at least half of the side's steps do not exceed.";
    "p95_ns", "p95" => "The shortest step that at least 95% of the side's steps do not exceed.";
    "recordings", "Recordings" => "How many traces the side has.";
    "steps", "Steps" => "How many steps of the side count: those that are not partial, or all if all are.";
    "before_ns", "Before" =>
        "Time per step on the compared device in the earlier recordings: of a cause as in `stepscope account`, of a row \
         the part of it spent there. While several kernels run at once, a moment counts for the one that began first. \
         Rounded so that the rows add up to the mean step.";
    "after_ns", "After" => "The same in the later recordings.";
    "delta_ns", "Change" =>
        "After less before, per step. Over all rows, and over all causes, it adds up to the change of the mean step.";
    "noise_ns", "Noise" =>
        "Welch's 99.9% interval of the change: a smaller change may be noise. It is that wide because there are hundreds \
         of rows. It rests on the recordings where a side has several, else on the steps of its one recording, taken as \
         independent of each other.";
    "before_count", "Count before" => "Kernels and copies that begin in a step, or stretches of idle time, per step.";
    "after_count", "Count after" => "The same in the later recordings.";
    "before", "Before" => "The value in the earlier recordings; their mean where there are several.";
    "after", "After" => "The same in the later recordings.";
    "delta", "Change" => "The later value less the earlier one.";
    "before_saves_ns", "Worth before" =>
        "What a fix of the finding would have saved per step in the first of the earlier recordings.";
    "after_saves_ns", "Worth after" => "The same in the first of the later recordings.";
    "ratio", "Ratio" =>
        "The mean step after / the mean step before; with several recordings per side, the median over their pairs.";
    "gpu_utilization", "GPU busy" =>
        "The share of the steps in which a kernel, copy or memset ran on the device; the mean over devices and recordings.";
    "mfu", "MFU" =>
        "As in `stepscope roofline`: the arithmetic that the steps need per second / the most that the device can do; the \
         mean over recordings. Unknown where shapes or the device are.";
    "peak_allocated_bytes", "Peak memory" =>
        "The most that PyTorch's allocator had handed out at once on the device that held most (on the host where there is \
         none); the mean over recordings. Unknown unless memory was recorded.";
    "peak_reserved_bytes", "Reserved" => "The same of what the allocator had reserved.";
    "low", "Low" => "The lowest ratio that 95% confidence allows. `method` says what the interval rests on.";
    "high", "High" => "The highest ratio that 95% confidence allows.";
};

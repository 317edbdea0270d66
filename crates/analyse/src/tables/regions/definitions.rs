//! What the numbers of named ranges mean.

use crate::scope::definition::{Definition, definitions};

/// Every number of the answer.
pub const DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" =>
        "Ranges of this name that began in the selection, on any thread. A range that a checkpointed forward pass runs \
         again during the backward pass counts again.";
    "host_ns", "Host" => "Summed duration of the ranges on the host. A range inside one of its own name counts once.";
    "host_step_ns", "Host per step" => "Host time of the ranges that began in a step / number of steps.";
    "device_ns", "Device" =>
        "Summed duration of the kernels, copies and memsets that the range owns, ranges inside it included: those whose \
         launching call (or, without one, whose operator) lies inside it on its thread, and those that a thread of the \
         backward pass launched while the main thread waited in it, outside of every operator and runtime call. A range on \
         a thread of the backward pass belongs to the range in which the main thread waited then. Work that overlaps on \
         the device counts in full. Ranges that do not hold each other never add up to more than all device time.";
    "device_self_ns", "Device self" =>
        "Device time of the range less that of the ranges inside it. Over all rows it adds up to the device time in \
         regions.";
    "device_step_ns", "Device per step" => "Device time of the range that the steps launched / number of steps.";
    "pytorch_device_ns", "PyTorch's device" =>
        "Device time by PyTorch's rule, as in key_averages(): only work that carries the id of the range or of an operator \
         called from it on the same thread. It lacks what the backward pass launched from its own threads, so a range \
         around backward() shows next to nothing.";
    "backward_device_ns", "Backward device" =>
        "Device time launched by the backward operators that forward-to-backward links join to the operators inside the \
         range, wherever they ran, with what they recompute. Part of the device time of the range around backward(), so it \
         is not added to this one's.";
    "share", "% device" => "Device time of the range / all device time of the selection, as a fraction.";
    "total_device_ns", "Device time" =>
        "Summed duration of all kernels, copies and memsets: in regions, outside and unlinked add up to it.";
    "in_regions_ns", "In regions" => "Device time that a range owns.";
    "handed_over_ns", "Handed over" =>
        "Of the device time in regions, what threads of the backward pass launched for a range of the main thread.";
    "outside_ns", "Outside" => "Device time launched outside of every range.";
    "unlinked_ns", "Unlinked" => "Device time whose launching call and operator are not in the file.";
};

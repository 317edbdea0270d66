//! What the numbers of named ranges mean.

use crate::scope::definition::Definition;

/// Every number of the answer.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "calls",
        label: "Calls",
        text: "Ranges of this name that began in the selection, on any thread. A range that a checkpointed forward \
               pass runs again during the backward pass counts again.",
    },
    Definition {
        field: "host_ns",
        label: "Host",
        text: "Summed duration of the ranges on the host. A range inside one of its own name counts once.",
    },
    Definition {
        field: "host_step_ns",
        label: "Host per step",
        text: "Host time of the ranges that began in a step / number of steps.",
    },
    Definition {
        field: "device_ns",
        label: "Device",
        text: "Summed duration of the kernels, copies and memsets that the range owns, ranges inside it included: \
               those whose launching call (or, without one, whose operator) lies inside it on its thread, and those \
               that a thread of the backward pass launched while the main thread waited in it, outside of every \
               operator and runtime call. A range on a thread of the backward pass belongs to the range in which \
               the main thread waited then. Work that overlaps on the device counts in full. Ranges that do not hold \
               each other never add up to more than all device time.",
    },
    Definition {
        field: "device_self_ns",
        label: "Device self",
        text: "Device time of the range less that of the ranges inside it. Over all rows it adds up to the device \
               time in regions.",
    },
    Definition {
        field: "device_step_ns",
        label: "Device per step",
        text: "Device time of the range that the steps launched / number of steps.",
    },
    Definition {
        field: "pytorch_device_ns",
        label: "PyTorch's device",
        text: "Device time by PyTorch's rule, as in key_averages(): only work that carries the id of the range or of \
               an operator called from it on the same thread. It lacks what the backward pass launched from its own \
               threads, so a range around backward() shows next to nothing.",
    },
    Definition {
        field: "backward_device_ns",
        label: "Backward device",
        text: "Device time launched by the backward operators that forward-to-backward links join to the operators \
               inside the range, wherever they ran, with what they recompute. Part of the device time of the range \
               around backward(), so it is not added to this one's.",
    },
    Definition {
        field: "share",
        label: "% device",
        text: "Device time of the range / all device time of the selection, as a fraction.",
    },
    Definition {
        field: "total_device_ns",
        label: "Device time",
        text: "Summed duration of all kernels, copies and memsets: in regions, outside and unlinked add up to it.",
    },
    Definition { field: "in_regions_ns", label: "In regions", text: "Device time that a range owns." },
    Definition {
        field: "handed_over_ns",
        label: "Handed over",
        text: "Of the device time in regions, what threads of the backward pass launched for a range of the main \
               thread.",
    },
    Definition { field: "outside_ns", label: "Outside", text: "Device time launched outside of every range." },
    Definition {
        field: "unlinked_ns",
        label: "Unlinked",
        text: "Device time whose launching call and operator are not in the file.",
    },
];

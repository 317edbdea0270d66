//! What the figures of a finding mean; each figure of its evidence carries a definition of its own.

use crate::scope::definition::Definition;

/// What the figures of a finding mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "severity",
        label: "Severity",
        text: "high, medium or low: how large a part of a mean step a fix would save (20 %, 5 % and 1 % unless \
               configured otherwise); info: no known cost. Costs below low are not reported.",
    },
    Definition {
        field: "saves_ns",
        label: "Saves",
        text: "What a fix would save of the mean wall time of the steps that are not partial. Savings of several \
               findings do not add up: they may shorten the same time.",
    },
    Definition {
        field: "estimate",
        label: "Estimate",
        text: "Where the saving comes from. replay: the run was replayed with the change; model: replayed with lengths \
               from a model of the hardware; upper_bound: the time spent on it, which no fix can exceed; none: \
               nothing is known.",
    },
    Definition {
        field: "confidence",
        label: "Confidence",
        text: "high: the trace shows it; medium: likely; low: a guess worth a look.",
    },
    Definition {
        field: "source",
        label: "Source",
        text: "The innermost Python frame that is neither the framework's nor the standard library's; needs \
               with_stack=True.",
    },
    Definition {
        field: "slice",
        label: "Slice",
        text: "The number of a slice that shows it: its place among all slices of this file. It means nothing for \
               another file.",
    },
];

//! What the numbers of a finding mean; each figure of its evidence carries a definition of its own.

use crate::scope::definition::Definition;

/// Every number of a finding.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "severity",
        label: "Severity",
        text: "high, medium or low: how large a share of a mean step a fix would save (20%, 5% and 1% unless \
               configured otherwise); info: no known cost. Costs below low are not reported.",
    },
    Definition {
        field: "saves_ns",
        label: "Saves",
        text: "What a fix would save of the mean wall time of the steps that are not partial. Savings of \
               several findings do not add up: they may shorten the same time.",
    },
    Definition {
        field: "saves_share",
        label: "Of the step",
        text: "What a fix would save / the mean wall time of the steps that are not partial, as a fraction.",
    },
    Definition {
        field: "saves_unprofiled_ns",
        label: "Saves, unprofiled",
        text: "The same for the run without the profiler: the cost of recording each event is estimated from the \
               trace and taken out of the host's time before the replay. A heuristic.",
    },
    Definition {
        field: "saves_unprofiled_share",
        label: "Of the unprofiled step",
        text: "What a fix would save of the run without the profiler / its mean step, as a fraction. Severities follow it.",
    },
    Definition {
        field: "estimate",
        label: "Estimate",
        text: "Where the saving comes from. replay: the run was replayed with the change; model: replayed with \
               lengths from a model of the hardware; upper_bound: the time spent on it, which no fix can \
               exceed; none: nothing is known.",
    },
    Definition {
        field: "confidence",
        label: "Confidence",
        text: "high: the trace shows it; medium: likely; low: a guess worth checking.",
    },
    Definition {
        field: "value",
        label: "Evidence",
        text: "A number that supports the finding, in the unit given beside it. Each has a definition of its \
               own.",
    },
    Definition {
        field: "source",
        label: "Source",
        text: "The innermost Python frame that belongs neither to the framework nor to the standard library; \
               needs with_stack=True.",
    },
    Definition {
        field: "start_ns",
        label: "Start",
        text: "When a slice that shows it starts, counted from the trace's first event.",
    },
    Definition {
        field: "dur_ns",
        label: "Duration",
        text: "How long a slice that shows it lasts, from start to end.",
    },
    Definition {
        field: "range_ns",
        label: "Range",
        text: "Where in the trace it happens: start and end, counted from the trace's first event.",
    },
    Definition {
        field: "slice",
        label: "Slice",
        text: "The number of a slice that shows it: its position among all slices of this file. It means \
               nothing for another file.",
    },
];

//! What the numbers of graphs mean.

use crate::scope::definition::Definition;

/// What the numbers of graphs and nodes mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "graph",
        label: "Graph",
        text: "The id the trace records for the graph. Where it records none, a letter: replays whose kernels, copies and \
               memsets have the same names, each as often, count as one graph.",
    },
    Definition {
        field: "replays",
        label: "Replays",
        text: "Graph-launching calls (cudaGraphLaunch, hipGraphLaunch) with recorded device work. Of a node, the replays it \
               ran in.",
    },
    Definition {
        field: "nodes",
        label: "Nodes",
        text: "Kernels, copies and memsets of a replay, on average. Nodes that leave no work on a device (host functions, \
               events, empty nodes) are not recorded.",
    },
    Definition {
        field: "device_p50_ns",
        label: "Device p50",
        text: "Median over replays of the time from the first node's start to the last node's end.",
    },
    Definition {
        field: "device_p95_ns",
        label: "Device p95",
        text: "The 95th percentile over replays of the time from the first node's start to the last node's end: the value at \
               0.95 of the sorted list, rounded to the nearest.",
    },
    Definition {
        field: "busy_ns",
        label: "Busy",
        text: "Time within replays in which at least one of the replay's own nodes ran, summed over replays.",
    },
    Definition {
        field: "share",
        label: "Share",
        text: "Of a graph: busy / the wall time of the selected steps. Of a node: its total / the total of all nodes of its \
               graph. As a fraction.",
    },
    Definition {
        field: "gap_ns",
        label: "Gaps",
        text: "Time within replays in which none of the replay's own nodes ran, summed over replays.",
    },
    Definition { field: "gap_share", label: "% gaps", text: "Gaps / (gaps + busy), as a fraction." },
    Definition {
        field: "call_p50_ns",
        label: "Call p50",
        text: "Median duration of the graph-launching calls on the host, each counted once however many nodes it launches.",
    },
    Definition {
        field: "call_ns",
        label: "Calls",
        text: "Summed duration of the graph-launching calls on the host, each counted once however many nodes it launches.",
    },
    Definition {
        field: "node",
        label: "Node",
        text: "The node's place by start in the first replay that has it, from 1. Across replays it is followed by the id \
               the trace records; without one, by its name and how many nodes of that name started before it.",
    },
    Definition { field: "total_ns", label: "Total", text: "Summed duration of the node over all replays." },
    Definition { field: "mean_ns", label: "Mean", text: "Total / the replays the node ran in." },
    Definition { field: "p50_ns", label: "p50", text: "Median duration of the node over replays." },
    Definition {
        field: "p95_ns",
        label: "p95",
        text: "The 95th percentile of the node's duration over replays: the value at 0.95 of the sorted list, rounded to \
               the nearest.",
    },
    Definition { field: "max_ns", label: "Max", text: "The node's longest duration." },
    Definition {
        field: "before_ns",
        label: "Gap before",
        text: "How long before the node's start no earlier node of its replay was running, on average over replays.",
    },
    Definition {
        field: "calls_without_work",
        label: "Calls without work",
        text: "Graph-launching calls that no recorded device work names: the recording ended before the work ran, or it \
               was not recorded.",
    },
];

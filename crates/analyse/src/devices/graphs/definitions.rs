//! What the numbers of graphs mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers of graphs and nodes mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "graph", "Graph" =>
        "The id the trace records for the graph. Where it records none, a letter: replays whose kernels, copies and \
         memsets have the same names, each as often, count as one graph.";
    "replays", "Replays" =>
        "Graph-launching calls (cudaGraphLaunch, hipGraphLaunch) with recorded device work. Of a node, the replays it ran \
         in.";
    "nodes", "Nodes" =>
        "Kernels, copies and memsets of a replay, on average. Nodes that leave no work on a device (host functions, \
         events, empty nodes) are not recorded.";
    "device_p50_ns", "Device p50" => "Median over replays of the time from the first node's start to the last node's end.";
    "device_p95_ns", "Device p95" =>
        "The 95th percentile over replays of the time from the first node's start to the last node's end: the value at \
         0.95 of the sorted list, rounded to the nearest.";
    "busy_ns", "Busy" => "Time within replays in which at least one of the replay's own nodes ran, summed over replays.";
    "share", "Share" =>
        "Of a graph: busy / the wall time of the selected steps. Of a node: its total / the total of all nodes of its \
         graph. As a fraction.";
    "gap_ns", "Gaps" => "Time within replays in which none of the replay's own nodes ran, summed over replays.";
    "gap_share", "% gaps" => "Gaps / (gaps + busy), as a fraction.";
    "call_p50_ns", "Call p50" =>
        "Median duration of the graph-launching calls on the host, each counted once however many nodes it launches.";
    "call_ns", "Calls" =>
        "Summed duration of the graph-launching calls on the host, each counted once however many nodes it launches.";
    "node", "Node" =>
        "The node's place by start in the first replay that has it, from 1. Across replays it is followed by the id the \
         trace records; without one, by its name and how many nodes of that name started before it.";
    "total_ns", "Total" => "Summed duration of the node over all replays.";
    "mean_ns", "Mean" => "Total / the replays the node ran in.";
    "p50_ns", "p50" => "Median duration of the node over replays.";
    "p95_ns", "p95" =>
        "The 95th percentile of the node's duration over replays: the value at 0.95 of the sorted list, rounded to the \
         nearest.";
    "max_ns", "Max" => "The node's longest duration.";
    "before_ns", "Gap before" =>
        "How long before the node's start no earlier node of its replay was running, on average over replays.";
    "calls_without_work", "Calls without work" =>
        "Graph-launching calls that no recorded device work names: the recording ended before the work ran, or it was not \
         recorded.";
};

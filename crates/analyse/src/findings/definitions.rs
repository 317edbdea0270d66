//! What the numbers of a finding mean; each number of its evidence carries a definition of its own.

use crate::scope::definition::{Definition, definitions};

/// Every number of a finding.
pub const DEFINITIONS: &[Definition] = definitions! {
    "severity", "Severity" =>
        "high, medium or low: the share of a mean step without the profiler that a fix would save (at least 20%, 5% and 1% \
         by default); info: no known cost. Smaller costs are not reported.";
    "saves_ns", "Saves" =>
        "What a fix would save per step: of the mean wall time of the steps that are not partial; of a profile, which has \
         no steps, of its longest thread. Savings of several findings do not add up: they may shorten the same time.";
    "saves_share", "Of the step" =>
        "What a fix would save, divided by the mean wall time of the steps that are not partial, or by the longest thread \
         of a program without steps.";
    "saves_unprofiled_ns", "Saves, unprofiled" =>
        "What a fix would save per step of the run without the profiler: the cost of recording each event is estimated \
         from the trace and taken out of the host's time before the replay. A heuristic.";
    "saves_unprofiled_share", "Of the unprofiled step" =>
        "What a fix would save of the run without the profiler, divided by its mean step. The severity follows from it.";
    "estimate", "Estimate" =>
        "Where the saving comes from. replay: the run was replayed with the change; model: replayed with kernel times from \
         a model of the hardware; upper_bound: the time spent on it, which no fix can exceed; none: no saving is known.";
    "measured", "Measured" =>
        "What `stepscope try` measured on this program: a change of this finding was put in, and its iterations were timed \
         without a profiler, in turns with runs without the change.";
    "without_ns", "Without it" => "The mean iteration of the runs without the change.";
    "with_ns", "With it" => "The median over the runs with the change of their mean iteration.";
    "saves_interval", "Interval" =>
        "From where to where the measured saving may lie, as a share of an iteration, with 95% confidence.";
    "confidence", "Confidence" => "high: the trace shows it; medium: it is likely; low: a guess worth checking.";
    "value", "Evidence" => "A number that supports the finding, in the unit beside it. Each has a definition of its own.";
    "source", "Source" =>
        "The innermost Python frame of your program, outside the framework and the standard library; a trace of PyTorch \
         needs with_stack=True for it.";
    "start_ns", "Start" => "When a slice that shows the finding starts, counted from the trace's first event.";
    "dur_ns", "Duration" => "How long a slice that shows the finding lasts, from start to end.";
    "range_ns", "Range" => "Where in the trace the finding is: start and end, counted from the trace's first event.";
    "slice", "Slice" =>
        "The number of a slice that shows the finding: its position among all slices of this file. It has no meaning in \
         another file.";
};

//! What the recorded program went through, by its recorder's clock.

use stepscope_model::ProgramPhases;

use super::Run;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "start_up_ns", "Start-up" =>
        "From the program's first line to the end of its first iteration, without the time of the recorder itself.";
    "imports_ns", "Imports" =>
        "Start-up that the main thread spent importing modules, by samples of its stack. A heuristic: of a sampled stack, \
         the innermost function that is known decides.";
    "import_ns", "Import" =>
        "Import time of one package that the program imports itself, with all that it imports in turn. A heuristic, as the \
         sum is.";
    "weights_ns", "Weights" =>
        "Start-up that the main thread spent in constructors of modules, in initializing, loading or moving weights, by \
         samples of its stack. A heuristic.";
    "device_start_ns", "Device" =>
        "Start-up that the main thread spent in the framework's first call of a device, by samples of its stack. A \
         heuristic.";
    "compilation_ns", "Compilation" =>
        "Start-up that the main thread spent in a compiler (torch.compile, XLA, Triton), by samples of its stack. A \
         heuristic.";
    "warm_up_iterations", "Warm-up" =>
        "Iterations after the first that count as warm-up: those recorded as the beginning of the program, and the first \
         third of those timed before the recording.";
    "warm_up_ns", "Warm-up" => "The wall time of the warm-up iterations.";
    "iterations", "Iterations" =>
        "Iterations after the warm-up until this was written, recorded ones included, without pauses.";
    "iteration_ns", "Iteration" => "The mean wall time of those that ran without a profiler.";
    "pauses", "Pauses" =>
        "Iterations that took more than three times the median of those around them, if at most a tenth of them did.";
    "pauses_ns", "Pauses" => "The wall time of the pauses.";
    "after_last_ns", "After the last" =>
        "From the end of the last iteration to the program's end; unknown if the program went on after this was written.";
};

impl Run {
    /// What its program went through, if its recorder has seen that.
    pub fn program_phases(&self) -> Option<&ProgramPhases> {
        self.trace().meta().phases.as_ref()
    }
}

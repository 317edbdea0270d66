//! What the recorded program went through, by its recorder's clock.

use stepscope_model::ProgramPhases;

use super::Run;
use crate::scope::definition::Definition;

/// What its numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "start_up_ns",
        label: "Start-up",
        text: "From the program's first line to the end of its first iteration, without the time of the recorder itself.",
    },
    Definition {
        field: "imports_ns",
        label: "Imports",
        text: "Start-up that the main thread spent importing modules, by samples of its stack. A heuristic: of a sampled stack, \
               the innermost function that is known decides.",
    },
    Definition {
        field: "import_ns",
        label: "Import",
        text: "Import time of one package that the program imports itself, with all that it imports in turn. A heuristic, as the \
               sum is.",
    },
    Definition {
        field: "weights_ns",
        label: "Weights",
        text: "Start-up that the main thread spent in constructors of modules, in initializing, loading or moving weights, by \
               samples of its stack. A heuristic.",
    },
    Definition {
        field: "device_start_ns",
        label: "Device",
        text: "Start-up that the main thread spent in the framework's first call of a device, by samples of its stack. A \
               heuristic.",
    },
    Definition {
        field: "compilation_ns",
        label: "Compilation",
        text: "Start-up that the main thread spent in a compiler (torch.compile, XLA, Triton), by samples of its stack. A \
               heuristic.",
    },
    Definition {
        field: "warm_up_iterations",
        label: "Warm-up",
        text: "Iterations after the first that count as warm-up: those recorded as the beginning of the program, and the first \
               third of those timed before the recording.",
    },
    Definition { field: "warm_up_ns", label: "Warm-up", text: "The wall time of the warm-up iterations." },
    Definition {
        field: "iterations",
        label: "Iterations",
        text: "Iterations after the warm-up until this was written, recorded ones included, without pauses.",
    },
    Definition {
        field: "iteration_ns",
        label: "Iteration",
        text: "The mean wall time of those that ran without a profiler.",
    },
    Definition {
        field: "pauses",
        label: "Pauses",
        text: "Iterations that took more than three times the median of those around them, if at most a tenth of them did.",
    },
    Definition { field: "pauses_ns", label: "Pauses", text: "The wall time of the pauses." },
    Definition {
        field: "after_last_ns",
        label: "After the last",
        text: "From the end of the last iteration to the program's end; unknown if the program went on after this was written.",
    },
];

impl Run {
    /// What its program went through, if its recorder has seen that.
    pub fn program_phases(&self) -> Option<&ProgramPhases> {
        self.trace().meta().phases.as_ref()
    }
}

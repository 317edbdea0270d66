//! What a recorded program went through, before and around what was recorded.

/// By the clock of the program's host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ProgramPhases {
    /// From its first line to the end of its first iteration, without the recorder's own time.
    pub start_up_ns: i64,
    /// What it did meanwhile; `None` if its stacks were not sampled.
    pub start_up: Option<StartUpParts>,
    /// Iterations after the first that were not steady yet, or were recorded as the beginning of the program.
    pub warm_up_iterations: u64,
    pub warm_up_ns: i64,
    /// Iterations after that; more than one entry where they changed for long.
    pub steady: Vec<SteadyIterations>,
    /// Iterations that took several times as long as their neighbors: a validation, a checkpoint.
    pub pauses: u64,
    pub pauses_ns: i64,
    /// From the last iteration to the program's end; `None` if it had not ended when this was written.
    pub after_last_ns: Option<i64>,
    /// Whether the program ended in the middle of the last recorded step.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub last_step_is_cut: bool,
}

/// What a program did before its first iteration ended: what of this its main thread was in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct StartUpParts {
    pub imports_ns: i64,
    /// The packages that the program imports itself and that take longest, each with all that it imports in turn.
    pub longest_imports: Vec<PackageImport>,
    /// Making a model and loading its weights.
    pub weights_ns: i64,
    /// Getting a device ready.
    pub device_start_ns: i64,
    pub compilation_ns: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct PackageImport {
    pub package: String,
    pub import_ns: i64,
}

/// Iterations that took about the same time.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct SteadyIterations {
    pub iterations: u64,
    /// What one took on average without a profiler; `None` if all of them were recorded.
    pub iteration_ns: Option<i64>,
}

impl ProgramPhases {
    /// What of the start-up is none of its known parts.
    pub fn other_ns(&self) -> i64 {
        let known = self.start_up.as_ref().map_or(0, |parts| {
            let StartUpParts { imports_ns, weights_ns, device_start_ns, compilation_ns, .. } = *parts;
            imports_ns.saturating_add(weights_ns).saturating_add(device_start_ns).saturating_add(compilation_ns)
        });
        self.start_up_ns.saturating_sub(known).max(0)
    }
}

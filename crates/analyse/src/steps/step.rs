//! One step, and the rules by which steps are found.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Ns;

/// Which steps are kept and how they are bounded.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepRule {
    /// Every step; those that look cut are flagged.
    #[default]
    All,
    /// As the TensorBoard plugin 0.4.3: cut steps at the end are dropped, a launching call must lie wholly
    /// in the step, and a trace without steps is one from the first to the last operator.
    TensorBoard,
}

/// Why a step is flagged as partial.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Partial {
    /// Neither it nor a later step launched any device work, but an earlier one did.
    NoDeviceWork,
    /// It launched under 80% as many device slices as the step before.
    LittleDeviceWork,
    /// Its host range goes on after the recording had ended, and the step is cut there; or the program ended in it.
    Cut,
    /// Among iterations that `stepscope run` chose, it takes more than three times as long as the usual one, as few do: a
    /// validation or a checkpoint, not a step.
    Pause,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// The N of `ProfilerStep#N`; -1 for a whole trace.
    pub step: i64,
    /// The range's name, or what replaces it.
    pub name: String,
    pub start_ns: i64,
    /// Where it ends, with its device work.
    pub end_ns: i64,
    /// Where its host range begins.
    pub host_start_ns: i64,
    /// Where its host range ends.
    pub host_end_ns: i64,
    /// Kernels, copies and memsets launched from inside it.
    pub device_slices: u64,
    /// Whether it is left out of averages: the recording probably lacks work of it, or it is a pause.
    pub partial: bool,
    pub partial_reason: Option<Partial>,
}

impl Step {
    /// Its start and end as a window.
    pub fn window(&self) -> (Ns, Ns) {
        (Ns(self.start_ns), Ns(self.end_ns))
    }
}

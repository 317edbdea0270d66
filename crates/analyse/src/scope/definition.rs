//! Definitions of metrics, kept beside the code that computes them and shown wherever the metrics are.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Definition {
    /// The metric's field name, as in machine output (`host_self_ns`).
    pub field: &'static str,
    /// What it is called in tables (`Host self`).
    pub label: &'static str,
    /// One or two sentences that let a reader recompute it.
    pub text: &'static str,
}

/// A list of definitions: `"field", "Label" => "What it means.";`, and between them those that have a name.
#[macro_export]
macro_rules! definitions {
    (@one $named:expr) => { $named };
    (@one $field:expr, $label:literal => $text:literal) => {
        $crate::scope::definition::Definition { field: $field, label: $label, text: $text }
    };
    ($($first:expr $(, $label:literal => $text:literal)?;)*) => {
        &[$($crate::scope::definition::definitions!(@one $first $(, $label => $text)?)),*]
    };
}

pub use definitions;

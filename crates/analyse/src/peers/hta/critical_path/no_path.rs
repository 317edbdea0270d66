//! Why there is no critical path.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Why there is no path.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoPath {
    /// No slice has the annotation in its name.
    NoAnnotation,
    /// Fewer slices than the instance asked for have it.
    NoInstance { instances: u64 },
    /// Nothing in the window has an edge.
    NothingInWindow,
    /// A recorded event synchronizes a stream with itself, which HTA refuses.
    SyncOnOneStream,
    /// The dependencies run in a circle: times of the file contradict each other.
    Circle,
}

impl fmt::Display for NoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPath::NoAnnotation => f.write_str("no slice has this annotation in its name"),
            NoPath::NoInstance { instances } => {
                write!(f, "the annotation has {instances} instances, numbered from 0; ask for one of them")
            }
            NoPath::NothingInWindow => f.write_str("no operators, calls or kernels start in the window"),
            NoPath::SyncOnOneStream => f.write_str("a recorded event synchronizes a stream with itself"),
            NoPath::Circle => f.write_str("the dependencies of the window run in a circle"),
        }
    }
}

impl std::error::Error for NoPath {}

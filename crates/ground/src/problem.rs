//! What went wrong, and what to do next.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// An error for people: a sentence on what is wrong, and one on what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// What is wrong, without a period.
    #[serde(rename = "message")]
    pub what: String,
    /// What to do; empty if nothing can be done.
    pub hint: String,
}

impl Problem {
    /// What is wrong, and what to do.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}

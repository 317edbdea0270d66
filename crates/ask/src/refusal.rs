//! Why a question cannot be answered, and what to do about it.

use std::fmt;

/// A sentence on what is wrong, and one on what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Refusal {
    /// What is wrong, and what to do.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

//! What goes wrong, in one sentence, and what to do about it.

use std::fmt;

/// An error with a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductionError {
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl ProductionError {
    /// A sentence and a hint.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for ProductionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.message, self.hint)
    }
}

impl std::error::Error for ProductionError {}

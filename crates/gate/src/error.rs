//! What went wrong, and what to do next.

/// A sentence and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateError {
    /// What is wrong, without a period.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl GateError {
    /// An error with its hint.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl std::fmt::Display for GateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for GateError {}

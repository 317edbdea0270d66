//! Why nothing could be captured, and what to do next.

use std::fmt::Display;

/// A failure in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureError {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl CaptureError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> CaptureError {
        CaptureError { what: what.into(), hint: hint.into() }
    }

    /// Nobody answers at this port.
    pub(crate) fn closed(target: &impl Display) -> CaptureError {
        CaptureError::new(
            format!("nothing listens at {target}"),
            "start a profiler server in the program: jax.profiler.start_server(9999) or \
             tf.profiler.experimental.server.start(6009); then capture that port",
        )
    }

    /// Somebody else answers.
    pub(crate) fn not_a_profiler(target: &impl Display, why: &str) -> CaptureError {
        CaptureError::new(
            format!("there is no profiler server at {target}: {why}"),
            "give the port that was passed to jax.profiler.start_server() or tf.profiler.experimental.server.start(); \
             a dashboard such as TensorBoard listens on another one",
        )
    }

    /// The connection broke.
    pub(crate) fn lost(target: &impl Display, why: &str) -> CaptureError {
        CaptureError::new(
            format!("the connection to {target} was lost before the profile had arrived: {why}"),
            "check that the program still runs, and capture again",
        )
    }
}

impl Display for CaptureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for CaptureError {}

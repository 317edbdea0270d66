//! Why nothing could be captured, and what to do next.

use std::fmt::Display;

use stepscope_ground::Problem;

/// Nothing answers at this port.
pub(crate) fn closed(target: &impl Display) -> Problem {
    Problem::new(
        format!("nothing listens at {target}"),
        "start a profiler server in the program: jax.profiler.start_server(9999) or \
         tf.profiler.experimental.server.start(6009); then capture that port",
    )
}

/// Another kind of server answers.
pub(crate) fn not_a_profiler(target: &impl Display, why: &str) -> Problem {
    Problem::new(
        format!("there is no profiler server at {target}: {why}"),
        "give the port that was passed to jax.profiler.start_server() or tf.profiler.experimental.server.start(); \
         a dashboard such as TensorBoard listens on another one",
    )
}

/// The connection broke.
pub(crate) fn lost(target: &impl Display, why: &str) -> Problem {
    Problem::new(
        format!("the connection to {target} was lost before the profile had arrived: {why}"),
        "check that the program still runs, and capture again",
    )
}

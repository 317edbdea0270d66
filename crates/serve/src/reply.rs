//! What a question of the page gets.

use serde::Serialize;
use stepscope_ground::Problem;

/// An answer, and whether it stays true as long as the server runs.
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    pub(crate) kind: &'static str,
}

impl Reply {
    pub(crate) fn json(value: &impl Serialize) -> Result<Reply, Problem> {
        let text = serde_json::to_vec(value);
        let body = text.map_err(|e| Problem::new(format!("cannot be written as JSON: {e}"), ""))?;
        Ok(Reply { body, kind: "application/json" })
    }
}

//! Which functions are recorded, by name: `train_step`, `Model.*`, `loader.py:read`, `list.append`.

use pyo3::prelude::*;

use stepscope_record::calls::{FunctionId, Pattern, plain_name};

use super::functions::Functions;

#[derive(Default)]
pub(super) struct Choice {
    pub(super) include: Vec<Pattern>,
    pub(super) exclude: Vec<Pattern>,
    /// Functions of files whose names begin so are none of the program's.
    pub(super) hidden: Vec<String>,
}

impl Choice {
    /// Whether calls of this function are recorded.
    pub(super) fn takes(&self, functions: &Functions, number: u32) -> bool {
        // SAFETY: only holders of the interpreter come here.
        let py = unsafe { Python::assume_attached() };
        if functions.is_ours(py, FunctionId(number)) {
            return false;
        }
        let (file, _, name) = functions.describe_plainly(py, number);
        if self.hidden.iter().any(|start| file.starts_with(start)) {
            return false;
        }
        let name = if file == "~" { plain_name(&name) } else { name };
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.fits(&file, &name));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

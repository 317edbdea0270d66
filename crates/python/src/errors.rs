//! Failures as Python's exceptions.

use std::io;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError};
use pyo3::prelude::*;
use stepscope_formats::ReadError;
use stepscope_ground::Problem;

/// `stepscope.StepscopeError` with a sentence and a hint.
pub(crate) fn stepscope(message: String, hint: Option<String>) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("stepscope.errors")
            .and_then(|module| module.getattr("StepscopeError"))
            .and_then(|class| class.call1((message.as_str(), hint)));
        match made {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyRuntimeError::new_err(message),
        }
    })
}

pub(crate) fn problem(problem: Problem) -> PyErr {
    stepscope(problem.what, Some(problem.hint).filter(|hint| !hint.is_empty()))
}

/// A file that cannot be read.
pub(crate) fn reading(error: &ReadError) -> PyErr {
    let words = format!("{error}\nhint: {}", error.hint());
    match error {
        ReadError::NotFound { .. } => PyFileNotFoundError::new_err(words),
        ReadError::Denied { .. } => PyPermissionError::new_err(words),
        _ => stepscope(error.to_string(), Some(error.hint())),
    }
}

/// A file that cannot be written: Python's own exception for what the system has against it, with its number.
pub(crate) fn writing(error: &io::Error, path: &str) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default();
            PyOSError::new_err((number, words.to_owned(), path.to_owned()))
        }
        None => stepscope(format!("cannot write {path}: {error}"), None),
    }
}

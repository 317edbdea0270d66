//! Failures as Python's exceptions.

use std::io;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError};
use pyo3::prelude::*;
use stepscope_formats::ReadError;

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

/// A file that cannot be read.
pub(crate) fn reading(error: &ReadError) -> PyErr {
    let words = format!("{error}\nhint: {}", error.hint());
    match error {
        ReadError::NotFound { .. } => PyFileNotFoundError::new_err(words),
        ReadError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            PyPermissionError::new_err(words)
        }
        _ => stepscope(error.to_string(), Some(error.hint().to_owned())),
    }
}

/// A file that cannot be written.
pub(crate) fn writing(error: &io::Error, path: &str) -> PyErr {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space, or write elsewhere",
        io::ErrorKind::FileTooLarge => "raise the limit on the size of files (ulimit -f), or write less",
        io::ErrorKind::PermissionDenied => "write to a folder of your own",
        io::ErrorKind::NotFound => "make the folder first",
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => "give the name of a file",
        io::ErrorKind::InvalidData => return stepscope(format!("{error}: {path}"), None),
        _ => return PyOSError::new_err(format!("cannot write {path}: {error}")),
    };
    stepscope(format!("cannot write {path}: {error}"), Some(hint.to_owned()))
}

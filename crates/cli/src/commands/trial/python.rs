//! The interpreter that the Python package runs in.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use stepscope_regression::trial::Fix;

use crate::args::Try;
use crate::commands::program;
use crate::failure::Failure;

/// The variable in which the Python package names its interpreter.
const INTERPRETER: &str = "STEPSCOPE_PYTHON";

/// The interpreter that runs the program.
pub(super) struct Python {
    pub(super) path: OsString,
    show: bool,
}

impl Python {
    pub(super) fn find(args: &Try) -> Result<Python, Failure> {
        let path = std::env::var_os(INTERPRETER).ok_or_else(|| {
            Failure::wrong_use(
                "`stepscope try` needs the Python package",
                "install it with `pip install .` in a clone of stepscope",
            )
        })?;
        Ok(Python { path, show: args.show_output })
    }

    /// All fixes that can be put in.
    pub(super) fn fixes(&self, own: &[PathBuf]) -> Result<Vec<Fix>, Failure> {
        let mut command = Command::new(&self.path);
        let told = command.args(["-m", "stepscope._trial", "--list"]).args(own).stdin(Stdio::null()).output();
        let text = told.map_err(|error| self.cannot_start(&error))?;
        serde_json::from_slice(&text.stdout).map_err(|_| {
            let what = String::from_utf8_lossy(&text.stderr).lines().last().unwrap_or_default().to_owned();
            Failure::wrong_use(format!("the fixes cannot be listed: {what}"), "reinstall the Python package")
        })
    }

    fn cannot_start(&self, error: &std::io::Error) -> Failure {
        Failure::wrong_use(
            format!("cannot start {} ({error})", self.path.display()),
            "reinstall the Python package",
        )
    }

    /// `stepscope run`, for as long as it takes to record something.
    pub(super) fn record(&self, args: &Try, program: &[String]) -> Result<(), Failure> {
        let mut command = Command::new(&self.path);
        command
            .args(["-m", "stepscope", "run", "--quiet", "--stop", "--output"])
            .arg(&args.output)
            .args(program);
        command.stdin(Stdio::null());
        if !self.show {
            command.stdout(Stdio::null());
        }
        let status = command.status().map_err(|error| self.cannot_start(&error))?;
        if !status.success() {
            let how = program::exit_text(status);
            return Err(Failure::wrong_use(format!("the program ended with {how}"), "run it by hand first"));
        }
        Ok(())
    }
}

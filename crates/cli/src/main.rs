//! The `stepscope` program; everything it does is in the library, so that Python can run the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(stepscope_cli::run(std::env::args_os()))
}

//! The commands about processes that run.

use clap::Args;

use crate::failure::Failure;
use crate::terminal::ColorWhen;

/// Which processes to look at, and what to say about them.
#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The number of a Python process.
    #[arg(value_name = "PID", required_unless_present_any = ["pid_option", "all"], conflicts_with = "all")]
    pid: Option<u32>,

    /// The same as an option.
    #[arg(long = "pid", short, value_name = "PID", id = "pid_option", conflicts_with_all = ["pid", "all"], hide_short_help = true)]
    pid_option: Option<u32>,

    /// Every Python process of this machine that may be read, and where the ranks of a job stand.
    #[arg(long, short)]
    pub(crate) all: bool,

    /// Show local variables; nothing of the program is called for that.
    #[arg(long, short)]
    pub(crate) locals: bool,

    /// Print JSON: all data, with full paths.
    #[arg(long, short)]
    pub(crate) json: bool,

    /// When to use colors.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorWhen,
}

impl Dump {
    /// The process asked about.
    pub(crate) fn pid(&self) -> Result<u32, Failure> {
        let given = self.pid.or(self.pid_option);
        given.ok_or_else(|| Failure::wrong_use("no process given", "use: stepscope dump PID"))
    }
}

//! What can be typed on the command line: the questions of the registry, and the commands that are not questions.

mod attach;
mod capture;
mod commands;
mod flame;
mod help;
mod monitor;
mod page;
mod production;
mod questions;
mod regression;
mod service_export;
mod trial;
mod values;

use std::path::PathBuf;

use clap::Args;

pub(crate) use attach::{Dump, Record, RecordFormat, Top};
pub(crate) use capture::Capture;
pub(crate) use commands::{Command, EVENTS, Export, FailOn, Repro, Target, View};
pub(crate) use flame::Flame;
pub(crate) use help::command;
pub(crate) use monitor::Monitor;
pub(crate) use page::Page;
pub(crate) use production::{Against, Production, Report, ReportFormat, ServiceTop};
pub(crate) use questions::{Html, QuestionArgs};
pub(crate) use regression::{Baseline, Bisect, Check, History, Save, Store, Sweep, Timing};
pub(crate) use service_export::{Receiver, ServiceExport};
pub(crate) use trial::Try;

use crate::format::Format;
use crate::terminal::ColorWhen;

/// Which trace, and how to print what is known about it: the same for every question.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Common {
    /// A trace file (JSON, gzip or zstd), a folder of them, or `-` for standard input.
    #[arg(required_unless_present = "explain")]
    pub(crate) path: Option<PathBuf>,

    /// Only this rank, in a folder with several.
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<i64>,

    /// Output format: a table to read, the others to process.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Explain how each number is defined (needs no trace).
    #[arg(long)]
    pub(crate) explain: bool,

    /// Show all columns, however wide the table gets.
    #[arg(long)]
    pub(crate) wide: bool,

    /// When to use colors.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorWhen,

    /// Stop reading after this much text and show what came before.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_text_bytes: Option<u64>,

    /// Whether the answer goes to stderr.
    #[arg(skip)]
    pub(crate) on_stderr: bool,
}

impl Common {
    /// Whether only definitions are wanted.
    pub(crate) fn wants_only_definitions(&self) -> bool {
        self.explain && self.path.is_none()
    }
}

//! The browser: a server for one user on this machine, and a report in one file.
//!
//! Questions are those of `ask`, with the same answers as in the terminal; this crate adds what only a screen needs:
//! tiles of the timeline, and the UI itself. It refuses to know a file format: whoever starts the server (the
//! [`Backend`]) finds traces and reads them.

mod api;
mod assets;
mod backend;
mod cached_run;
mod connections;
mod guard;
mod history;
mod http;
mod memory;
mod messages;
mod pages;
mod path;
mod question;
mod reply;
mod report;
mod runs;
mod service;
mod source;
mod source_files;
#[cfg(test)]
mod wire;

pub use assets::has_ui;
pub use backend::{
    Backend, BaselineListed, Histories, HistoryChange, HistoryPoint, MetricHistory, PendingRun, RunFile,
};
pub use http::{Address, Server, ServerOptions};
pub use report::{ComparedSides, Report, ReportOptions, comparison_report, report, service_report};
pub use source_files::{SourceFiles, SourceText};

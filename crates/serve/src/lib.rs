//! The browser: a server for one user on this machine, and a report in one file.
//!
//! Questions are answered by whoever starts the server (the [`Backend`]), with the same words and figures as in the
//! terminal; this crate adds what only a screen needs: tiles of the timeline, and the UI itself. It refuses to know a
//! file format.

mod api;
mod assets;
mod backend;
mod connections;
mod guard;
mod http;
mod path;
mod question;
mod report;
mod run;
mod runs;

pub use assets::has_ui;
pub use backend::{Backend, Found, Loading, Problem, Question};
pub use http::{Address, Server, ServerOptions};
pub use report::{Report, ReportOptions, report};

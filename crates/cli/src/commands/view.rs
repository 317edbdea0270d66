//! `stepscope view`: everything in the browser.

mod backend;
mod browser;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use stepscope_ask::print::Role;
use stepscope_serve::{Backend, Server, ServerOptions, has_ui};

use crate::args::{Page, View};
use crate::failure::Failure;
use crate::input::remark;
use crate::terminal;

use backend::Files;

pub(super) fn run(args: &View, out: &mut dyn Write) -> Result<(), Failure> {
    let files = Files::new(&args.paths, args.max_text_bytes)?;
    let watch = !args.no_watch && files.has_folder();
    let words = if watch {
        "new traces show up as they are written; press Ctrl-C to stop"
    } else {
        "press Ctrl-C to stop"
    };
    begin(&args.page, Arc::new(files), watch, words, out)?.run().map_err(Failure::Output)
}

/// The same for one folder, by someone who does something else meanwhile.
pub(super) fn begin_folder(
    page: &Page,
    folder: &Path,
    words: &str,
    out: &mut dyn Write,
) -> Result<Server, Failure> {
    begin(page, Arc::new(Files::new(&[folder.to_owned()], None)?), true, words, out)
}

/// A server that listens, its address said and opened. `words`: what else to know.
pub(super) fn begin(
    page: &Page,
    backend: Arc<dyn Backend>,
    watch: bool,
    words: &str,
    out: &mut dyn Write,
) -> Result<Server, Failure> {
    begin_at("", page, backend, watch, words, out)
}

/// The same at a place of the page, such as `#/history`.
pub(super) fn begin_at(
    place: &str,
    page: &Page,
    backend: Arc<dyn Backend>,
    watch: bool,
    words: &str,
    out: &mut dyn Write,
) -> Result<Server, Failure> {
    let options = ServerOptions {
        host: page.host,
        port: page.port,
        ui: page.ui_dir.clone(),
        watch,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let server = Server::bind(options, backend).map_err(|error| cannot_listen(&error, page))?;
    if page.ui_dir.is_none() && !has_ui() {
        remark("this build has no browser UI: run `make ui`, then build again");
    }
    if !page.host.is_loopback() {
        remark("listening on the network, unencrypted: anyone with the URL below can read the traces");
    }
    let url = format!("{}{place}", server.address().url);
    announce(&server, &url, words, out)?;
    if !page.no_open && !browser::open(&url) {
        remark("no browser found; open the URL yourself");
    }
    Ok(server)
}

/// Says where, and how to come from another machine.
fn announce(server: &Server, url: &str, words: &str, out: &mut dyn Write) -> io::Result<()> {
    let screen = terminal::detect(&io::stdout());
    let address = server.address();
    let port = address.socket.port();
    writeln!(out, "{}", screen.paint(Role::Accent, url))?;
    let ssh = format!("ssh -L {port}:127.0.0.1:{port} {}", browser::host_name());
    writeln!(out, "{} {ssh}", screen.paint(Role::Dim, "from another machine:"))?;
    writeln!(out, "{}", screen.paint(Role::Dim, words))?;
    out.flush()
}

fn cannot_listen(error: &io::Error, args: &Page) -> Failure {
    let place = match args.port {
        Some(port) => format!("{}:{port}", args.host),
        None => args.host.to_string(),
    };
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => "leave --port out to get a free one",
        io::ErrorKind::PermissionDenied => "ports below 1024 need root; choose a higher one",
        io::ErrorKind::AddrNotAvailable => "--host takes an address of this machine; 127.0.0.1 always works",
        _ => "leave --host and --port out",
    };
    Failure::wrong_use(format!("cannot listen on {place}: {error}"), hint)
}

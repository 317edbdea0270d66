//! `stepscope view`: everything in the browser.

mod backend;
mod browser;

use std::io::{self, Write};
use std::sync::Arc;

use stepscope_ask::print::Role;
use stepscope_serve::{Server, ServerOptions, has_ui};

use crate::args::View;
use crate::failure::Failure;
use crate::input::remark;
use crate::terminal;

use backend::Files;

pub(super) fn run(args: &View, out: &mut dyn Write) -> Result<(), Failure> {
    let files = Files::new(&args.paths, args.max_text_bytes)?;
    let watch = !args.no_watch && files.has_folder();
    let options = ServerOptions {
        host: args.host,
        port: args.port,
        ui: args.ui_dir.clone(),
        watch,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let server = Server::bind(options, Arc::new(files)).map_err(|error| cannot_listen(&error, args))?;
    if args.ui_dir.is_none() && !has_ui() {
        remark("this build has no browser UI: run `make ui`, then build again");
    }
    if !args.host.is_loopback() {
        remark("listening on the network, unencrypted: anyone with the URL below can read the traces");
    }
    announce(&server, watch, out)?;
    if !args.no_open && !browser::open(&server.address().url) {
        remark("no browser found; open the URL yourself");
    }
    server.run().map_err(Failure::Output)
}

/// Says where, and how to come from another machine.
fn announce(server: &Server, watch: bool, out: &mut dyn Write) -> io::Result<()> {
    let screen = terminal::detect(&io::stdout());
    let address = server.address();
    let port = address.socket.port();
    writeln!(out, "{}", screen.paint(Role::Accent, &address.url))?;
    let ssh = format!("ssh -L {port}:127.0.0.1:{port} {}", browser::host_name());
    writeln!(out, "{} {ssh}", screen.paint(Role::Dim, "from another machine:"))?;
    let words = if watch {
        "new traces show up as they are written; press Ctrl-C to stop"
    } else {
        "press Ctrl-C to stop"
    };
    writeln!(out, "{}", screen.paint(Role::Dim, words))?;
    out.flush()
}

fn cannot_listen(error: &io::Error, args: &View) -> Failure {
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

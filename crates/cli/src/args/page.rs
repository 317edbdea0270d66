//! The page in the browser, for every command that can show one.

use std::path::PathBuf;

use clap::Args;

/// Where the browser's page is served.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// Print the URL without opening a browser.
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Port to listen on (default: the first free one from 7007).
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,

    /// Address to listen on. Anything but localhost lets others on the network in if they know the token.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,

    /// Serve the page from this folder instead of the one inside the program.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) ui_dir: Option<PathBuf>,
}

//! The bundle: embedded, or from a folder while it is being worked on.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Shown where there is no bundle.
const NO_UI: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Stepscope</title>\
<p>This build has no browser UI.</p><p>Run <code>make ui</code>, then build \
Stepscope again. The commands and the API still work.</p></html>";

/// Whether this build carries the browser UI.
pub fn has_ui() -> bool {
    !FILES.is_empty()
}

/// A file of the bundle, gzipped where it is embedded.
pub(crate) struct Asset {
    pub(crate) body: Vec<u8>,
    pub(crate) gzipped: bool,
    pub(crate) kind: &'static str,
}

/// The file of that name; `None` if there is none.
pub(crate) fn asset(name: &str, folder: Option<&Path>) -> Option<Asset> {
    let name = if name.is_empty() { "index.html" } else { name };
    let kind = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    // No path leads out of the folder: names are of one part.
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return None;
    }
    if let Some(folder) = folder {
        return Some(Asset { body: std::fs::read(folder.join(name)).ok()?, gzipped: false, kind });
    }
    if let Some((_, packed)) = FILES.iter().find(|file| file.0 == name) {
        return Some(Asset { body: packed.to_vec(), gzipped: true, kind });
    }
    (name == "index.html").then(|| Asset { body: NO_UI.into(), gzipped: false, kind })
}

pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    // What was packed at build time unpacks.
    let _ = GzDecoder::new(packed).read_to_end(&mut plain);
    plain
}

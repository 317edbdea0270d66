//! Sections of a report: gzip in base64, safe inside any page.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use stepscope_ground::Problem;

/// A part of a report, compressed.
pub(super) struct Section {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Packs a value as JSON.
pub(super) fn pack(name: &str, value: &impl Serialize) -> Result<Section, Problem> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|e| Problem::new(format!("{name} cannot be written: {e}"), ""))?;
    pack_bytes(name, &text)
}
pub(super) fn pack_bytes(name: &str, bytes: &[u8]) -> Result<Section, Problem> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::new(6));
    let bytes = gz.write_all(bytes).and_then(|()| gz.finish());
    let bytes = bytes.map_err(|e| Problem::new(format!("{name} cannot be packed: {e}"), ""))?;
    Ok(Section { name: name.to_owned(), bytes })
}

//! A file that is there as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use stepscope_ground::WholeFile;

use crate::failure::Failure;

/// Has a file written. An interruption leaves no half of it under its name; links, pipes and devices stay what they are.
pub(super) fn write_whole(path: &Path, write: impl FnOnce(File) -> Result<(), Failure>) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::Output(io::Error::new(error.kind(), format!("{error}: {}", path.display())))
    };
    if let Some(info) = fs::symlink_metadata(path).ok().filter(|info| !info.is_file()) {
        // A link may lead to a file that is yet to be made.
        let mut options = OpenOptions::new();
        options.write(true).truncate(true).create(info.is_symlink());
        return write(options.open(path).map_err(failed)?);
    }
    let mut whole = WholeFile::new(path);
    write(whole.file().map_err(failed)?)?;
    whole.keep().map(drop).map_err(failed)
}

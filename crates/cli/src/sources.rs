//! Source code that profiles are about, where it is on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_ask::Sources;

/// Longer files are not source code that somebody wrote.
const MAX_BYTES: u64 = 4 << 20;
/// A profile may name any file; only these are shown.
const ENDINGS: [&str; 3] = ["py", "pyx", "pyi"];

/// Reads source files as profiles name them: as they are, then beside the profile.
pub(crate) fn sources() -> Sources {
    Sources::new(|profile, file| {
        let beside = Path::new(profile).parent().map(|folder| folder.join(file));
        let name =
            Path::new(profile).parent().and_then(|folder| Some(folder.join(Path::new(file).file_name()?)));
        [Some(PathBuf::from(file)), beside, name].into_iter().flatten().find_map(|path| read(&path))
    })
}

fn read(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let info = fs::metadata(path).ok()?;
    if !ENDINGS.contains(&ending) || !info.is_file() || info.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(path).ok()
}

//! Source code that profiles are about, where it is on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use stepscope_ask::Sources;
use stepscope_serve::{SourceFiles, SourceText};

/// Longer files are not source code that someone wrote.
const MAX_BYTES: u64 = 4 << 20;
/// A profile may name any file; only these are shown.
const ENDINGS: [&str; 3] = ["py", "pyx", "pyi"];

/// Reads source files as profiles name them: as they are, then beside the profile.
pub(crate) fn sources() -> Sources {
    Sources::new(|profile, file| find(profile, file).map(|(text, _)| text))
}

/// The same for the browser and for reports, which say whether a file was written after the profile.
pub(crate) fn source_files() -> SourceFiles {
    SourceFiles::new(|profile, file| {
        let (text, written) = find(profile, file)?;
        let recorded = fs::metadata(profile).and_then(|info| info.modified()).ok();
        let changed = recorded.zip(written).is_some_and(|(recorded, written)| written > recorded);
        Some(SourceText { text, changed })
    })
}

fn find(profile: &str, file: &str) -> Option<(String, Option<SystemTime>)> {
    let beside = Path::new(profile).parent().map(|folder| folder.join(file));
    let name = Path::new(profile).parent().and_then(|folder| Some(folder.join(Path::new(file).file_name()?)));
    [Some(PathBuf::from(file)), beside, name].into_iter().flatten().find_map(|path| read(&path))
}

/// The text of a file and when it was written. A link counts as what it leads to, so that none leads out of the endings.
fn read(path: &Path) -> Option<(String, Option<SystemTime>)> {
    let path = fs::canonicalize(path).ok()?;
    let ending = path.extension()?.to_str()?;
    let info = fs::metadata(&path).ok()?;
    if !ENDINGS.contains(&ending) || !info.is_file() || info.len() > MAX_BYTES {
        return None;
    }
    Some((fs::read_to_string(&path).ok()?, info.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_source_code_is_read_and_later_changes_are_noticed() {
        let folder = std::env::temp_dir().join(format!("stepscope-sources-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let profile = folder.join("a.pstats");
        fs::write(folder.join("old.py"), "x = 1\n").unwrap();
        fs::write(folder.join("secret.txt"), "secret").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("secret.txt", folder.join("link.py")).unwrap();
        let long_ago = SystemTime::now() - std::time::Duration::from_secs(3600);
        let set = |name: &str| {
            fs::File::options().append(true).open(folder.join(name)).unwrap().set_modified(long_ago)
        };
        set("old.py").unwrap();
        fs::write(&profile, "").unwrap();
        fs::File::options().append(true).open(&profile).unwrap().set_modified(long_ago).unwrap();
        fs::write(folder.join("new.py"), "y = 2\n").unwrap();
        let files = source_files();
        let name = profile.to_str().unwrap();
        let read = |file: &str| find(name, file).map(|(text, _)| text);
        assert_eq!(read("old.py").as_deref(), Some("x = 1\n"));
        // As recordings on another machine name it.
        assert_eq!(read("/elsewhere/new.py").as_deref(), Some("y = 2\n"));
        for file in ["secret.txt", "link.py", "../../etc/passwd", "/etc/passwd", "", "/"] {
            assert_eq!(read(file), None, "{file}");
        }
        drop(files);
        fs::remove_dir_all(&folder).unwrap();
    }
}

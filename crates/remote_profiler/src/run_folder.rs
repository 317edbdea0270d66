//! Where captured profiles go: the folders that TensorBoard, XProf and this program look for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use stepscope_ground::{Problem, utc};

/// Below the folder that the user names.
const RUNS_PATH: [&str; 2] = ["plugins", "profile"];
/// Captures that may begin in one second and go to one folder.
const MAX_PER_SECOND: u32 = 1000;

/// The folder of one capture; removed again if nothing came into it.
#[derive(Debug)]
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    /// Its own name, which is also the name of the session.
    pub(crate) session: String,
    /// How many folders are ours, this one and those above it.
    levels: usize,
}

impl RunFolder {
    /// Makes `<folder>/plugins/profile/<now>`, under a name of its own.
    pub(crate) fn make(folder: &Path, now: SystemTime) -> Result<RunFolder, Problem> {
        let runs = RUNS_PATH.iter().fold(folder.to_owned(), |path, part| path.join(part));
        let levels = 1 + RUNS_PATH.len() + usize::from(!folder.exists());
        fs::create_dir_all(&runs).map_err(|error| cannot_write(&runs, &error))?;
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let time = utc::folder_name(seconds as i64);
        for number in 1..=MAX_PER_SECOND {
            let session = if number == 1 { time.clone() } else { format!("{time}_{number}") };
            let path = runs.join(&session);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(RunFolder { path, session, levels }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot_write(&path, &error)),
            }
        }
        Err(Problem::new(format!("too many captures in one second: {}", runs.display()), "wait a second"))
    }

    /// The file of one host.
    pub(crate) fn file(&self, stem: &str) -> PathBuf {
        self.path.join(format!("{stem}.xplane.pb"))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // This only removes what is empty; a folder that was there before stays.
        let mut path = self.path.as_path();
        for _ in 0..self.levels {
            if fs::remove_dir(path).is_err() {
                return;
            }
            match path.parent() {
                Some(parent) => path = parent,
                None => return,
            }
        }
    }
}

/// The error for a folder or a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => "free up some space, or write elsewhere with -o",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "give a folder with -o, not a file",
        _ => "write to a folder you own with -o",
    };
    Problem::new(format!("the profile cannot be written ({error}): {}", path.display()), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temp_folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("stepscope-place-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_run_has_a_folder_of_its_own_and_leaves_no_empty_one() {
        let root = temp_folder("runs");
        let now = SystemTime::UNIX_EPOCH;
        let first = RunFolder::make(&root, now).unwrap();
        let second = RunFolder::make(&root, now).unwrap();
        assert_eq!(first.path, root.join("plugins/profile/1970_01_01_00_00_00"));
        assert_eq!(second.session, "1970_01_01_00_00_00_2");
        fs::write(second.file("a_1"), b"x").unwrap();
        drop((first, second));
        assert!(!root.join("plugins/profile/1970_01_01_00_00_00").exists());
        assert_eq!(fs::read(root.join("plugins/profile/1970_01_01_00_00_00_2/a_1.xplane.pb")).unwrap(), b"x");
        fs::remove_dir_all(&root).unwrap();
        fs::create_dir_all(&root).unwrap();
        drop(RunFolder::make(&root, now).unwrap());
        drop(RunFolder::make(&root.join("new"), now).unwrap());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_file_in_the_way_is_told() {
        let root = temp_folder("way");
        fs::write(root.join("plugins"), "").unwrap();
        let error = RunFolder::make(&root, SystemTime::UNIX_EPOCH).unwrap_err();
        assert!(error.what.contains("cannot be written") && error.hint.contains("-o"), "{error:?}");
        fs::remove_dir_all(&root).unwrap();
    }
}

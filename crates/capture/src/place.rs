//! Where captured profiles go: the folders that TensorBoard, XProf and this program look for, and files that are whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::CaptureError;

/// Below the folder that the user names.
const RUNS: [&str; 2] = ["plugins", "profile"];
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
    /// Makes `<folder>/plugins/profile/<now>`, under a name that nobody else has.
    pub(crate) fn make(folder: &Path, now: SystemTime) -> Result<RunFolder, CaptureError> {
        let runs = RUNS.iter().fold(folder.to_owned(), |path, part| path.join(part));
        let levels = 1 + RUNS.len() + usize::from(!folder.exists());
        fs::create_dir_all(&runs).map_err(|error| cannot_write(&runs, &error))?;
        let time = time_name(now);
        for number in 1..=MAX_PER_SECOND {
            let session = if number == 1 { time.clone() } else { format!("{time}_{number}") };
            let path = runs.join(&session);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(RunFolder { path, session, levels }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot_write(&path, &error)),
            }
        }
        Err(CaptureError::new(format!("too many captures in one second: {}", runs.display()), "wait a second"))
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

/// A file that gets its name once it is whole, and is gone otherwise. It is made when the first byte comes.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    part: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Part {
    pub(crate) fn new(path: &Path) -> Part {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Part { path: path.to_owned(), part: path.with_file_name(format!(".{name}.part")), file: None }
    }

    /// All of it has come: it gets its name. False if nothing came.
    pub(crate) fn keep(mut self) -> Result<bool, CaptureError> {
        let Some(mut file) = self.file.take() else { return Ok(false) };
        let kept = file.flush().and_then(|()| fs::rename(&self.part, &self.path));
        if let Err(error) = kept {
            let _ = fs::remove_file(&self.part);
            return Err(cannot_write(&self.path, &error));
        }
        Ok(true)
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::with_capacity(1 << 18, File::create(&self.part)?)),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is still in memory need not be written.
            let _ = file.into_parts();
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// The error for a folder or a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> CaptureError {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => "free up some space, or write elsewhere with -o",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "give a folder with -o, not a file",
        _ => "write to a folder you own with -o",
    };
    CaptureError::new(format!("the profile cannot be written ({error}): {}", path.display()), hint)
}

/// `2026_11_16_21_36_00`, in UTC.
fn time_name(now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}_{month:02}_{:02}_{hour:02}_{minute:02}_{second:02}", days + 1)
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
    fn times_are_named_as_date_prints_them() {
        // `date -u -d @SECONDS +%Y_%m_%d_%H_%M_%S`
        for (seconds, name) in [
            (0, "1970_01_01_00_00_00"),
            (951_782_399, "2000_02_28_23_59_59"),
            (951_868_799, "2000_02_29_23_59_59"),
            (951_868_800, "2000_03_01_00_00_00"),
            (1_798_761_599, "2026_12_31_23_59_59"),
            (4_107_542_400, "2100_03_01_00_00_00"),
        ] {
            assert_eq!(time_name(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), name);
        }
    }

    #[test]
    fn a_run_has_a_folder_of_its_own_and_leaves_no_empty_one() {
        let root = temp_folder("runs");
        let now = SystemTime::UNIX_EPOCH;
        let first = RunFolder::make(&root, now).unwrap();
        let second = RunFolder::make(&root, now).unwrap();
        assert_eq!(first.path, root.join("plugins/profile/1970_01_01_00_00_00"));
        assert_eq!(second.session, "1970_01_01_00_00_00_2");
        let mut part = Part::new(&second.file("a_1"));
        part.write_all(b"x").unwrap();
        assert!(part.keep().unwrap());
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
    fn a_file_that_is_not_whole_leaves_nothing() {
        let root = temp_folder("parts");
        let path = root.join("a.xplane.pb");
        let mut part = Part::new(&path);
        part.write_all(b"half").unwrap();
        assert!(root.join(".a.xplane.pb.part").exists() && !path.exists());
        drop(part);
        assert!(!Part::new(&path).keep().unwrap());
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

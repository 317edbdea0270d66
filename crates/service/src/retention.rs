//! How long a store keeps what it has: by age and by size, the oldest hours first.

use std::path::Path;
use std::{fs, io};

use crate::segment;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Hours that are older go.
    pub max_age_hours: i64,
    /// The oldest hours go until the rest is no larger.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { max_age_hours: 30 * 24, max_bytes: 2 << 30 }
    }
}

/// Removes what is too old or too much; the last two hours stay, because they may still be written. Returns how many
/// files went.
pub(crate) fn apply(folder: &Path, rule: Retention, this_hour: i64) -> io::Result<usize> {
    let files = segment::list_all(folder)?;
    let mut size: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
    let mut removed = 0;
    for (hour, path, bytes) in files {
        if hour > this_hour - 2 {
            continue;
        }
        if hour <= this_hour - rule.max_age_hours || size > rule.max_bytes {
            match fs::remove_file(&path) {
                Ok(()) => removed += 1,
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            size = size.saturating_sub(bytes);
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Name, Process, list};

    #[test]
    fn the_oldest_go_and_the_present_stays() {
        let folder = std::env::temp_dir().join(format!("stepscope-retention-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let process = Process { host: "h".to_owned(), id: 1, token: 1 };
        let name = |hour| Name { hour, process: process.clone(), open: false }.text();
        (100..110).for_each(|hour| fs::write(folder.join(name(hour)), [0; 100]).unwrap());
        fs::write(folder.join("notes.txt"), "not ours").unwrap();
        let hours = || list(&folder).unwrap().iter().map(|(name, _, _)| name.hour).collect::<Vec<_>>();

        apply(&folder, Retention { max_age_hours: 6, max_bytes: u64::MAX }, 109).unwrap();
        assert_eq!(hours(), [104, 105, 106, 107, 108, 109]);
        apply(&folder, Retention { max_age_hours: 6, max_bytes: 400 }, 109).unwrap();
        assert_eq!(hours(), [106, 107, 108, 109]);
        apply(&folder, Retention { max_age_hours: 1, max_bytes: 0 }, 109).unwrap();
        assert_eq!(hours(), [108, 109]);
        assert!(folder.join("notes.txt").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}

//! Where baselines are kept: a folder, or a branch of the git repository.
//!
//! Each measurement is a file of its own with a name of its own, below the name of its baseline. So two writers never touch
//! the same file, nothing is ever rewritten, and the history of a baseline is its files in order.

mod branch;
mod folder;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use stepscope_ground::Problem;
use stepscope_ground::utc::second_text;

use crate::git::Repository;
use crate::measurement::Measurement;

const DEFAULT_FOLDER: &str = ".stepscope/baselines";
/// The longest name of a baseline.
const MAX_NAME: usize = 100;
/// A file of ten thousand steps in a hundred repeats has 20 MB; more is none of ours.
const MAX_FILE: u64 = 256 << 20;

/// A place for baselines.
#[derive(Clone, Debug)]
pub enum Baselines {
    /// A folder. An object store that is mounted is one.
    Folder(PathBuf),
    /// A branch that holds nothing else; the working tree is never touched.
    Branch { repository: Repository, branch: String },
}

/// A measurement that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where: a path, or a path in a branch.
    pub place: String,
    pub measurement: Measurement,
}

impl Baselines {
    /// The store of a text: a folder, or `git:BRANCH`. Without one, `.stepscope/baselines` in the current folder.
    pub fn open(text: Option<&str>, current: &Path) -> Result<Baselines, Problem> {
        match text {
            None => Ok(Baselines::Folder(current.join(DEFAULT_FOLDER))),
            Some(text) => match text.strip_prefix("git:") {
                Some("") => {
                    Err(Problem::new("git: needs the name of a branch", "write git:stepscope-baselines"))
                }
                Some(branch) => {
                    let repository = Repository::around(current)?;
                    let wanted = format!("refs/heads/{branch}");
                    repository.line(["check-ref-format", &wanted]).map_err(|_| {
                        Problem::new(
                            format!("git allows no branch of this name: {branch}"),
                            "use letters and dashes",
                        )
                    })?;
                    Ok(Baselines::Branch { repository, branch: branch.to_owned() })
                }
                None if text.contains("://") => Err(Problem::new(
                    format!("baselines are kept in a folder or a git branch, not at a URL: {text}"),
                    "mount the object store and give its path, or write git:BRANCH",
                )),
                None => Ok(Baselines::Folder(current.join(text))),
            },
        }
    }

    pub fn place(&self) -> String {
        match self {
            Baselines::Folder(path) => path.display().to_string(),
            Baselines::Branch { branch, .. } => format!("git:{branch}"),
        }
    }

    /// The names of all baselines, in order.
    pub fn names(&self) -> Result<Vec<String>, Problem> {
        let mut names = match self {
            Baselines::Folder(path) => folder::names(path)?,
            Baselines::Branch { repository, branch } => branch::names(repository, branch)?,
        };
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// All measurements of a baseline, oldest first.
    pub fn history(&self, name: &str) -> Result<Vec<Record>, Problem> {
        check_name(name)?;
        let mut files = match self {
            Baselines::Folder(path) => folder::files(path, name)?,
            Baselines::Branch { repository, branch } => branch::files(repository, branch, name)?,
        };
        // Names begin with the moment, so their order is that of time.
        files.sort();
        if files.is_empty() {
            return Err(self.unknown(name));
        }
        let read = |(place, bytes): (String, Vec<u8>)| {
            Measurement::from_json(&bytes, &place).map(|measurement| Record { place, measurement })
        };
        files.into_iter().map(read).collect()
    }

    /// The newest measurement of a baseline.
    pub fn newest(&self, name: &str) -> Result<Record, Problem> {
        self.history(name)?.pop().ok_or_else(|| self.unknown(name))
    }

    pub fn has(&self, name: &str) -> Result<bool, Problem> {
        check_name(name)?;
        Ok(self.names()?.iter().any(|known| known == name))
    }

    /// Keeps a measurement; returns where. What is there already stays.
    pub fn add(&self, name: &str, measurement: &Measurement) -> Result<String, Problem> {
        check_name(name)?;
        let file = file_name();
        let text = measurement.to_json();
        match self {
            Baselines::Folder(path) => folder::add(path, name, &file, text.as_bytes()),
            Baselines::Branch { repository, branch } => {
                branch::add(repository, branch, name, &file, text.as_bytes())
            }
        }
    }

    fn unknown(&self, name: &str) -> Problem {
        let known = self.names().unwrap_or_default();
        let hint = if known.is_empty() {
            format!(
                "there are none in {}; make one: stepscope baseline save {name} -- python train.py",
                self.place()
            )
        } else {
            format!("in {} there are: {}", self.place(), known.join(", "))
        };
        Problem::new(format!("there is no baseline with this name: {name}"), hint)
    }
}

/// A name that is a folder's name everywhere.
fn check_name(name: &str) -> Result<(), Problem> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > MAX_NAME || name.starts_with(['.', '-']) || !name.chars().all(fine) {
        return Err(Problem::new(
            format!("this is not a valid baseline name: {name}"),
            "use letters, digits, dashes, dots and underscores, such as main or h200-bf16",
        ));
    }
    Ok(())
}

/// A unique file name: the moment at which it is saved, the process and a number. Names sort by time.
fn file_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let moment = second_text(since.as_secs() as i64).replace(':', "");
    // Two machines can share a folder: the clock's last digits tell their processes apart.
    format!("{moment}-{:09}-{:x}-{number}.json", since.subsec_nanos(), std::process::id())
}

#[cfg(test)]
mod tests;

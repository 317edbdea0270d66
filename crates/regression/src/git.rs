//! What git knows about the working directory, by its command line.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use stepscope_ground::Problem;

/// A commit, as a measurement remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The branch that was checked out, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether tracked files differed from it.
    #[serde(default)]
    pub changed: bool,
}

impl Commit {
    /// The first ten digits of its id.
    pub fn short(&self) -> &str {
        self.id.get(..10).unwrap_or(&self.id)
    }
}

/// A git repository.
#[derive(Clone, Debug)]
pub struct Repository {
    folder: PathBuf,
}

impl Repository {
    pub fn around(folder: &Path) -> Result<Repository, Problem> {
        let repository = Repository { folder: folder.to_owned() };
        match repository.line(["rev-parse", "--show-toplevel"]) {
            Ok(top) => Ok(Repository { folder: PathBuf::from(top) }),
            Err(error) if error.hint.contains("install git") => Err(error),
            Err(_) => Err(Problem::new(
                format!("this folder is in no git repository: {}", folder.display()),
                "run it inside a clone",
            )),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Option<Commit> {
        self.commit("HEAD").map(|commit| Commit {
            branch: self.line(["symbolic-ref", "--quiet", "--short", "HEAD"]).ok(),
            changed: self.line(["status", "--porcelain", "--untracked-files=no"]).is_ok_and(|t| !t.is_empty()),
            ..commit
        })
    }

    pub fn commit(&self, revision: &str) -> Option<Commit> {
        let revision = format!("{revision}^{{commit}}");
        let text = self.line(["log", "-1", "--format=%H%x00%s", "--end-of-options", &revision]).ok()?;
        let (id, subject) = text.split_once('\0')?;
        Some(Commit { id: id.to_owned(), subject: subject.to_owned(), branch: None, changed: false })
    }

    /// A folder that is known to be in a repository.
    pub fn at(folder: &Path) -> Repository {
        Repository { folder: folder.to_owned() }
    }

    /// The commits after `first` up to and with `last`, along first parents, oldest first.
    pub fn between(&self, first: &Commit, last: &Commit) -> Result<Vec<Commit>, Problem> {
        if self.line(["merge-base", "--is-ancestor", &first.id, &last.id]).is_err() {
            return Ok(Vec::new());
        }
        let range = format!("{}..{}", first.id, last.id);
        let text = self.line(["log", "--first-parent", "--reverse", "--format=%H%x00%s", &range])?;
        let commit = |line: &str| {
            let (id, subject) = line.split_once('\0')?;
            Some(Commit { id: id.to_owned(), subject: subject.to_owned(), branch: None, changed: false })
        };
        Ok(text.lines().filter_map(commit).collect())
    }

    /// Makes a worktree without a branch.
    pub fn add_worktree(&self, folder: &Path) -> Result<(), Problem> {
        let words = ["worktree", "add", "--quiet", "--detach", "--force"].map(OsStr::new);
        self.run(words.into_iter().chain([folder.as_os_str()]), None, None).map(drop)
    }

    pub fn remove_worktree(&self, folder: &Path) {
        let words = ["worktree", "remove", "--force"].map(OsStr::new);
        // If git does not want to, the folder goes all the same and git forgets it.
        if self.run(words.into_iter().chain([folder.as_os_str()]), None, None).is_err() {
            let _ = std::fs::remove_dir_all(folder);
            let _ = self.run(["worktree", "prune"], None, None);
        }
    }

    /// Makes a worktree hold a commit, and nothing else but what git ignores.
    pub fn check_out(&self, commit: &Commit) -> Result<(), Problem> {
        self.run(["checkout", "--quiet", "--force", "--detach", &commit.id], None, None).map(drop)
    }

    /// What git prints, without the last line end.
    pub(crate) fn line<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, Problem> {
        let bytes = self.run(arguments, None, None)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    /// Runs git with something to read and an index of its own.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: Option<&[u8]>,
        index: Option<&Path>,
    ) -> Result<Vec<u8>, Problem> {
        let arguments: Vec<S> = arguments.into_iter().collect();
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(&arguments);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        let words = || {
            let words = arguments.iter().map(|a| a.as_ref().to_string_lossy().into_owned());
            words.take(2).collect::<Vec<_>>().join(" ")
        };
        let failed =
            |why: &str| Problem::new(format!("`git {}` failed: {why}", words()), "run it by hand to see why");
        let mut child = command.spawn().map_err(|error| {
            Problem::new(
                format!("git cannot be started: {error}"),
                "install git, or keep baselines in a folder",
            )
        })?;
        if let (Some(bytes), Some(mut stdin)) = (input, child.stdin.take()) {
            stdin.write_all(bytes).map_err(|error| failed(&error.to_string()))?;
        }
        let output = child.wait_with_output().map_err(|error| failed(&error.to_string()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(failed(text.lines().next().unwrap_or("no message").trim()));
        }
        Ok(output.stdout)
    }
}

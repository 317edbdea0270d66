//! Baselines in a branch of their own: commits are made from objects, so neither the index nor the working tree is touched.

use stepscope_ground::Problem;

use super::MAX_FILE;
use crate::git::Repository;

/// How often a commit is tried when others commit to the branch at the same time.
const MAX_TRIES: usize = 50;

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// The commit at the tip of the branch, or of its counterpart at `origin` where only that exists (a fresh clone).
fn tip(repository: &Repository, branch: &str) -> Option<String> {
    [reference(branch), format!("refs/remotes/origin/{branch}")]
        .iter()
        .find_map(|name| repository.line(["rev-parse", "--verify", "--quiet", name]).ok())
}

/// Paths below a folder of the branch, with their objects and sizes.
fn paths(repository: &Repository, branch: &str, below: &str) -> Result<Vec<(String, String, u64)>, Problem> {
    let Some(tip) = tip(repository, branch) else { return Ok(Vec::new()) };
    let bytes = repository.run(["ls-tree", "-r", "-l", "-z", "--full-tree", &tip, below], None, None)?;
    let entry = |line: &str| {
        // "100644 blob ID    SIZE\tPATH"
        let (info, path) = line.split_once('\t')?;
        let mut words = info.split_whitespace().skip(2);
        Some((path.to_owned(), words.next()?.to_owned(), words.next()?.parse().ok()?))
    };
    Ok(String::from_utf8_lossy(&bytes).split('\0').filter_map(entry).collect())
}

pub(super) fn names(repository: &Repository, branch: &str) -> Result<Vec<String>, Problem> {
    let paths = paths(repository, branch, "baselines/")?;
    Ok(paths.iter().filter_map(|(path, ..)| path.split('/').nth(1).map(str::to_owned)).collect())
}

pub(super) fn files(
    repository: &Repository,
    branch: &str,
    name: &str,
) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let found = paths(repository, branch, &format!("baselines/{name}/"))?;
    let ours = found.into_iter().filter(|(path, _, size)| path.ends_with(".json") && *size <= MAX_FILE);
    let read = |(path, id, _): (String, String, u64)| {
        let bytes = repository.run(["cat-file", "blob", &id], None, None)?;
        Ok((format!("{branch}:{path}"), bytes))
    };
    ours.map(read).collect()
}

pub(super) fn add(
    repository: &Repository,
    branch: &str,
    name: &str,
    file: &str,
    bytes: &[u8],
) -> Result<String, Problem> {
    let path = format!("baselines/{name}/{file}");
    let blob = repository.run(["hash-object", "-w", "--stdin"], Some(bytes), None)?;
    let blob = String::from_utf8_lossy(&blob).trim().to_owned();
    let index = std::env::temp_dir().join(format!("stepscope-index-{}-{file}", std::process::id()));
    let mut last = None;
    for attempt in 0..MAX_TRIES {
        let made = commit(repository, branch, &path, &blob, &index);
        let _ = std::fs::remove_file(&index);
        match made {
            Ok(()) => return Ok(format!("{branch}:{path}")),
            // Another process was faster; its commit is the parent of the next try.
            Err(error) => last = Some(error),
        }
        std::thread::sleep(std::time::Duration::from_millis(5 + 7 * (attempt as u64 % 5)));
    }
    Err(last.unwrap_or_else(|| Problem::new(format!("cannot commit to {branch}"), "try again")))
}

fn commit(
    repository: &Repository,
    branch: &str,
    path: &str,
    blob: &str,
    index: &std::path::Path,
) -> Result<(), Problem> {
    let git = |words: &[&str]| {
        let bytes = repository.run(words, None, Some(index))?;
        Ok::<String, Problem>(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    let name = reference(branch);
    let local = repository.line(["rev-parse", "--verify", "--quiet", &name]).ok();
    let parent = local.clone().or_else(|| tip(repository, branch));
    match &parent {
        Some(parent) => git(&["read-tree", parent])?,
        None => git(&["read-tree", "--empty"])?,
    };
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")])?;
    let tree = git(&["write-tree"])?;
    let message = format!("stepscope: {path}");
    // A runner of CI has no name; the commit needs one.
    let mut words = vec!["-c", "user.useConfigOnly=false", "-c", "user.name=stepscope"];
    words.extend(["-c", "user.email=stepscope@localhost", "commit-tree", &tree, "-m", &message]);
    if let Some(parent) = &parent {
        words.extend(["-p", parent]);
    }
    let made = git(&words)?;
    // Fails if the branch is no longer where it was when the tree was read, or is there by now.
    let before = local.unwrap_or_else(|| "0".repeat(made.len()));
    git(&["update-ref", &name, &made, &before]).map(drop)
}

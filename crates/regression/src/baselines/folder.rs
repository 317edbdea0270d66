//! Baselines in a folder: `NAME/MOMENT-….json`.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use stepscope_ground::{Problem, WholeFile};

use super::MAX_FILE;

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Problem {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => "choose a folder you may write to with --store",
        ErrorKind::StorageFull => "free up some space",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file is in the way; choose another folder with --store"
        }
        _ => "check the path and try again; nothing was changed",
    };
    Problem::new(format!("cannot {what} ({error}): {}", path.display()), hint)
}

pub(super) fn names(store: &Path) -> Result<Vec<String>, Problem> {
    let entries = match fs::read_dir(store) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read the baselines", store, &error)),
    };
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    Ok(folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|n| !n.starts_with('.'))
        .collect())
}

pub(super) fn files(store: &Path, name: &str) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let folder = store.join(name);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read the baseline", &folder, &error)),
    };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        // What is being written has another ending until it is whole.
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let info = fs::metadata(&path).map_err(|error| failed("read the baseline", &path, &error))?;
        if !info.is_file() || info.len() > MAX_FILE {
            return Err(Problem::new(
                format!("this is not a baseline file: {}", path.display()),
                "move it elsewhere; baselines are written by `stepscope baseline save`",
            ));
        }
        let bytes = fs::read(&path).map_err(|error| failed("read the baseline", &path, &error))?;
        files.push((path.display().to_string(), bytes));
    }
    Ok(files)
}

pub(super) fn add(store: &Path, name: &str, file: &str, bytes: &[u8]) -> Result<String, Problem> {
    let folder = store.join(name);
    fs::create_dir_all(&folder).map_err(|error| failed("make the folder", &folder, &error))?;
    let path = folder.join(file);
    let write = || {
        let mut file = WholeFile::new(&path);
        file.write_all(bytes)?;
        file.file()?.sync_all()?;
        file.keep()
    };
    write().map_err(|error| failed("save the baseline", &path, &error))?;
    Ok(path.display().to_string())
}

//! Where JAX and TensorFlow put their profiles: `<logdir>/plugins/profile/<run>/<host>.xplane.pb`, a file per host.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use stepscope_model::{Distributed, Document};

use crate::trace_file::TraceFile;

/// How the names of profiles end, before they are compressed.
pub(crate) const FILE_ENDING: &str = ".xplane.pb";

/// The host in a profile's name; none if it is not named like one.
fn host(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    name.trim_end_matches(".gz").trim_end_matches(".zst").strip_suffix(FILE_ENDING)
}

/// Leaves out what lies beside profiles and is made of them: the same events as JSON, and XProf's caches.
pub(crate) fn without_copies(files: &mut Vec<TraceFile>) {
    let profiles: Vec<PathBuf> =
        files.iter().map(|file| file.path.clone()).filter(|p| host(p).is_some()).collect();
    if profiles.is_empty() {
        return;
    }
    files.retain(|file| {
        let path = &file.path;
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let mut beside = profiles.iter().filter(|profile| profile.parent() == path.parent());
        let is_copy = |profile: &PathBuf| {
            let json = host(profile).is_some_and(|host| name == format!("{host}.trace.json.gz"));
            json || name == "perfetto_trace.json.gz" || name.ends_with(".pb")
        };
        host(path).is_some() || !beside.any(is_copy)
    });
}

/// The folder of the run that a file is in: `…/profile/<run>`.
fn run_of(path: &Path) -> Option<&Path> {
    let run = path.parent()?;
    (run.parent()?.file_name()? == "profile").then_some(run)
}

/// Keeps the newest run of each logdir, and returns the others. Runs are named by the time at which they began.
pub(crate) fn newest(files: &mut Vec<TraceFile>) -> Vec<PathBuf> {
    let run = |file: &TraceFile| run_of(&file.path).filter(|_| host(&file.path).is_some()).map(Path::to_owned);
    let mut runs: Vec<PathBuf> = files.iter().filter_map(run).collect();
    runs.sort();
    runs.dedup();
    let is_last = |at: usize| runs.get(at + 1).is_none_or(|next| next.parent() != runs[at].parent());
    let older: Vec<PathBuf> = (0..runs.len()).filter(|&at| !is_last(at)).map(|at| runs[at].clone()).collect();
    files.retain(|file| run(file).is_none_or(|run| !older.contains(&run)));
    older
}

/// Says which of its run's hosts a profile is of, where there are several: by their names, counted from 0.
pub(crate) fn number_hosts(path: &Path, document: &mut Document) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Document::Trace(trace), Some(own), Some(folder)) = (document, host(path), run_of(&absolute)) else {
        return;
    };
    if trace.meta().distributed.is_some() {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    let names = entries.flatten().filter_map(|entry| host(&entry.path()).map(str::to_owned));
    let mut hosts: Vec<String> = names.take(MAX_HOSTS).collect();
    hosts.sort();
    hosts.dedup();
    let rank = hosts.binary_search_by(|host| host.as_str().cmp(own)).ok();
    if let Some(rank) = rank.filter(|_| hosts.len() > 1) {
        trace.set_distributed(Distributed {
            rank: Some(rank as i64),
            world_size: Some(hosts.len() as i64),
            ..Distributed::default()
        });
    }
}

/// More files than that are not hosts of one run.
const MAX_HOSTS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<TraceFile> {
        paths.iter().map(|path| TraceFile { path: path.into(), bytes: 1 }).collect()
    }

    fn paths(files: &[TraceFile]) -> Vec<&str> {
        files.iter().filter_map(|file| file.path.to_str()).collect()
    }

    #[test]
    fn copies_and_caches_are_left_out_and_other_traces_stay() {
        let mut found = files(&[
            "r/vm.xplane.pb",
            "r/vm.trace.json.gz",
            "r/perfetto_trace.json.gz",
            "r/ALL_HOSTS.op_stats_v2.pb",
            "r/other.trace.json.gz",
            "elsewhere/vm.trace.json.gz",
            "elsewhere/cpu.pb",
        ]);
        without_copies(&mut found);
        assert_eq!(
            paths(&found),
            ["r/vm.xplane.pb", "r/other.trace.json.gz", "elsewhere/vm.trace.json.gz", "elsewhere/cpu.pb"]
        );
    }

    #[test]
    fn the_newest_run_of_each_logdir_is_kept() {
        let mut found = files(&[
            "train/plugins/profile/2026_01_02_00_00_00/a.xplane.pb",
            "train/plugins/profile/2026_01_02_00_00_00/b.xplane.pb",
            "train/plugins/profile/2026_01_01_00_00_00/a.xplane.pb",
            "test/plugins/profile/2025_01_01_00_00_00/a.xplane.pb.gz",
            "loose/2024/a.xplane.pb",
            "loose/2025/a.xplane.pb",
        ]);
        let older = newest(&mut found);
        assert_eq!(older, [PathBuf::from("train/plugins/profile/2026_01_01_00_00_00")]);
        assert_eq!(found.len(), 5);
        assert!(!paths(&found).iter().any(|path| path.contains("2026_01_01")));
    }
}

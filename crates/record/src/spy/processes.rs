//! Which processes there are: children of one, and all that have a Python in them.

use std::fs;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::command_line::command;
use super::find;
use super::tasks::{self, Stat, stat};

/// Processes that are sampled.
const MAX_PROCESSES: usize = 65_536;

/// What is known about a process from the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// When it was started, in the system's own count: with its number it is unique.
    pub started: u64,
    pub command: String,
    /// Its number in a job of several processes, where its environment says.
    pub rank: Option<u32>,
    /// The same among the processes of this machine.
    pub local_rank: Option<u32>,
}

impl Process {
    /// What is known about this one; none if it is gone.
    pub fn with_pid(pid: u32) -> Option<Process> {
        let Stat { parent, started, .. } = stat(pid)?;
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let number = |names: &[&str]| {
            names.iter().find_map(|name| {
                let line = environment
                    .split(|byte| *byte == 0)
                    .find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
                std::str::from_utf8(line).ok()?.parse().ok()
            })
        };
        Some(Process {
            pid,
            parent,
            started,
            command: command(pid),
            rank: number(&["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"]),
            local_rank: number(&[
                "LOCAL_RANK",
                "OMPI_COMM_WORLD_LOCAL_RANK",
                "MPI_LOCALRANKID",
                "SLURM_LOCALID",
            ]),
        })
    }

    /// One of which nothing is known.
    pub fn unknown(pid: u32) -> Process {
        Process { pid, parent: 0, started: 0, command: String::new(), rank: None, local_rank: None }
    }

    /// A short name: its rank, what `multiprocessing` made it for, or its script.
    pub fn name(&self) -> String {
        if let Some(rank) = self.rank {
            return format!("rank {rank}");
        }
        let words: Vec<&str> = self.command.split(' ').collect();
        if self.command.contains("multiprocessing.resource_tracker") {
            return "multiprocessing's resource tracker".to_owned();
        }
        if self.command.contains("multiprocessing.spawn") || self.command.contains("multiprocessing.forkserver")
        {
            return "multiprocessing worker".to_owned();
        }
        let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let program = words.first().copied().unwrap_or_default();
        match words.iter().skip(1).find(|word| !word.starts_with('-') || **word == "-c") {
            Some(&"-c") => format!("{} -c", last(program)),
            Some(script) => last(script),
            None => last(program),
        }
    }
}

pub(super) fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.parent)
}

fn all() -> Vec<u32> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = numbers.take(MAX_PROCESSES).collect();
    found.sort_unstable();
    found
}

/// Children of a process, and theirs, in the order of their numbers.
pub fn children(pid: u32) -> Vec<u32> {
    let mut found = match fs::exists("/proc/thread-self/children") {
        Ok(true) => listed(pid),
        // A kernel that keeps no lists of children: all processes of the machine are asked for their parents.
        _ => searched(pid),
    };
    found.sort_unstable();
    found.dedup();
    found
}

/// The system lists the children of each thread. That costs some microseconds per thread, however many processes there are.
fn listed(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut known: HashSet<u32, RandomState> = HashSet::from_iter([pid]);
    let mut at = 0;
    while let Some(&one) = found.get(at)
        && found.len() < MAX_PROCESSES
    {
        for thread in tasks::threads(one) {
            let text = fs::read_to_string(format!("/proc/{one}/task/{thread}/children")).unwrap_or_default();
            let children = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
            found.extend(children.filter(|child| known.insert(*child)));
        }
        at += 1;
    }
    found.split_off(1)
}

fn searched(pid: u32) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = all().into_iter().filter_map(|one| Some((one, parent(one)?))).collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&one) = found.get(at) {
        found.extend(pairs.iter().filter(|(_, parent)| *parent == one).map(|(child, _)| *child));
        at += 1;
        if at > MAX_PROCESSES {
            break;
        }
    }
    found.split_off(1)
}

/// Every process that has a Python in it and may be read, but for this one.
pub fn python_processes() -> Vec<Process> {
    let own = std::process::id();
    let found = all().into_iter().filter(|pid| *pid != own && find::may_be_python(*pid));
    found.filter_map(Process::with_pid).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_this_process_is_found_with_its_rank() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .env("RANK", "3")
            .env("LOCAL_RANK", "1")
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let found = children(std::process::id());
        let process = Process::with_pid(child.id());
        assert!(searched(std::process::id()).contains(&child.id()));
        let _ = child.kill();
        // No one has taken note of its end yet.
        while !tasks::is_ending(child.id()) {
            std::thread::yield_now();
        }
        let _ = child.wait();
        assert!(tasks::is_ending(child.id()) && !tasks::is_ending(std::process::id()));
        assert!(found.contains(&child.id()));
        let process = process.unwrap();
        assert_eq!((process.rank, process.local_rank), (Some(3), Some(1)));
        assert_eq!(process.parent, std::process::id());
        assert_eq!(process.command, "sleep 30");
        assert_eq!(Process::with_pid(child.id()), None);
    }

    #[test]
    fn names_say_what_a_process_is_for() {
        let named = |command: &str, rank| {
            Process { pid: 1, parent: 0, started: 0, command: command.to_owned(), rank, local_rank: None }
                .name()
        };
        assert_eq!(named("python -u /src/train.py --lr 1", None), "train.py");
        assert_eq!(named("python train.py", Some(2)), "rank 2");
        assert_eq!(
            named("python -c from multiprocessing.spawn import spawn_main", None),
            "multiprocessing worker"
        );
        assert_eq!(named("/usr/bin/python3", None), "python3");
        assert_eq!(named("/usr/bin/python3 -u -c import time; time.sleep(1)", None), "python3 -c");
        assert_eq!(named("python -m package.train -c 4", None), "package.train");
    }
}

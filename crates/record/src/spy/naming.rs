//! What sampled processes are for: as `multiprocessing` or a data loader calls them, else by what they run.

use super::sampled::Function;
use super::sampling::Sampling;

/// Functions that tell what a process is for, where nothing better is known.
const ROLES: [(&str, &str, &str); 4] = [
    ("_worker_loop", "torch/utils/data/_utils/worker.py", "DataLoader worker"),
    ("worker", "multiprocessing/pool.py", "Pool worker"),
    ("_process_worker", "concurrent/futures/process.py", "ProcessPoolExecutor worker"),
    ("_bootstrap", "multiprocessing/process.py", "multiprocessing worker"),
];

impl Sampling {
    /// What a process is for: what it says itself, else its command line and the functions it was seen in.
    pub fn process_name(&self, process: usize) -> String {
        let Some(known) = self.processes.get(process) else { return String::new() };
        let first = &self.processes[0];
        if process > 0 && known.rank.is_none_or(|rank| first.rank == Some(rank)) {
            if let Some(given) = self.given_name(process) {
                return format!("{given} (pid {})", known.pid);
            }
            if let Some(role) = self.role(process) {
                return format!("{role} (pid {})", known.pid);
            }
            if known.command == first.command {
                return format!("forked process (pid {})", known.pid);
            }
        }
        format!("{} (pid {})", known.name(), known.pid)
    }

    /// The names of all processes but the first that the program's functions were seen in.
    pub fn child_names(&self) -> Vec<String> {
        let mut seen: Vec<usize> = self.threads.iter().map(|thread| thread.process).collect();
        seen.sort_unstable();
        seen.dedup();
        let shown = seen.into_iter().filter(|&process| process > 0 && !self.is_helper(process));
        shown.map(|process| self.process_name(process)).collect()
    }

    fn role(&self, process: usize) -> Option<&'static str> {
        let mut seen: Vec<u32> = self
            .runs
            .iter()
            .filter(|run| self.threads[run.thread as usize].process == process)
            .map(|run| run.stack)
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let functions: Vec<&Function> = seen
            .iter()
            .flat_map(|stack| self.places(*stack))
            .filter_map(|place| self.functions.get(place.function as usize))
            .collect();
        let is = |function: &Function, name: &str, file: &str| {
            function.name.rsplit('.').next() == Some(name) && function.file.ends_with(file)
        };
        let (_, _, role) =
            ROLES.iter().find(|(name, file, _)| functions.iter().any(|function| is(function, name, file)))?;
        Some(role)
    }
}

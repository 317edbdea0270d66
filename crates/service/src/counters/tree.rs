//! A process and its children, from the system's files. Which children there are is said from outside, now and then;
//! a sample reads one file per process, which stays open.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Processes that are read; more are not counted, and that is said.
const MAX_PROCESSES: usize = 512;
/// No line of the file is longer: a name of 16 bytes and 51 numbers.
const MAX_STAT_BYTES: usize = 1_200;
/// Over less time than this the system's hundredths of a second say nothing.
const SHORTEST_NS: u64 = 40_000_000;

/// A process and its children.
#[derive(Debug)]
pub struct Tree {
    proc: PathBuf,
    root: u32,
    members: BTreeMap<u32, Member>,
    ticks_per_second: f64,
    page: f64,
    /// Processes that were left out of the last sample.
    left_out: usize,
    last_ns: Option<u64>,
}

#[derive(Debug)]
struct Member {
    file: File,
    /// When it was started, in the system's count: with its number it is unique.
    started: u64,
    /// Ticks that it has used when it was last asked.
    ticks: Option<u64>,
}

/// What a tree of processes uses.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct TreeUse {
    /// Processor time since the sample before; 100 is one core. Unknown at the first.
    pub cpu_percent: Option<f64>,
    /// Memory that they hold (RSS), each by itself: what they share counts for each.
    pub rss_bytes: f64,
    pub processes: u64,
    pub threads: u64,
}

/// What the system says about a process.
struct Stat {
    state: u8,
    ticks: u64,
    threads: u64,
    started: u64,
    pages: u64,
}

impl Tree {
    /// A process by its number; none if there is none.
    pub fn new(pid: u32) -> Option<Self> {
        Self::at(Path::new("/proc"), pid)
    }

    fn at(proc: &Path, pid: u32) -> Option<Self> {
        let mut tree = Self {
            proc: proc.to_owned(),
            root: pid,
            members: BTreeMap::new(),
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
            page: rustix::param::page_size() as f64,
            left_out: 0,
            last_ns: None,
        };
        tree.open(pid).then_some(tree)
    }

    fn open(&mut self, pid: u32) -> bool {
        let Ok(file) = File::open(self.proc.join(format!("{pid}/stat"))) else { return false };
        let Some(stat) = stat(&file).filter(Stat::runs) else { return false };
        self.members.insert(pid, Member { file, started: stat.started, ticks: None });
        true
    }

    /// The process that all of it begins with.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The processes of it that were there in the last sample.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.members.keys().copied()
    }

    /// Processes that are too many, and not counted.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Says which children there are now.
    pub fn set_children(&mut self, children: &[u32]) {
        let root = self.root;
        self.members.retain(|pid, _| *pid == root || children.contains(pid));
        self.left_out = 0;
        for pid in children.iter().copied().filter(|pid| *pid != root) {
            if self.members.contains_key(&pid) {
                continue;
            }
            if self.members.len() >= MAX_PROCESSES {
                self.left_out += 1;
                continue;
            }
            self.open(pid);
        }
    }

    /// What all of it uses; none once the first process has ended. `now_ns` is on a monotonic clock.
    pub fn sample(&mut self, now_ns: u64) -> Option<TreeUse> {
        let passed = self.last_ns.map(|last| now_ns.saturating_sub(last));
        let counts = passed.is_none_or(|passed| passed >= SHORTEST_NS);
        let mut used = TreeUse::default();
        let (mut ticks, mut gone) = (0, Vec::new());
        for (pid, member) in &mut self.members {
            let found = stat(&member.file).filter(|stat| stat.runs() && stat.started == member.started);
            let Some(stat) = found else {
                gone.push(*pid);
                continue;
            };
            used.processes += 1;
            used.threads += stat.threads;
            used.rss_bytes += stat.pages as f64 * self.page;
            if counts {
                // One that is new is counted from now on.
                ticks += member.ticks.replace(stat.ticks).map_or(0, |last| stat.ticks.saturating_sub(last));
            }
        }
        for pid in gone {
            self.members.remove(&pid);
        }
        if !self.members.contains_key(&self.root) {
            return None;
        }
        if counts {
            self.last_ns = Some(now_ns);
            let seconds = passed.map(|passed| passed as f64 / 1e9);
            used.cpu_percent = seconds.map(|seconds| 100.0 * ticks as f64 / self.ticks_per_second / seconds);
        }
        Some(used)
    }
}

impl Stat {
    /// Whether it has not ended; a zombie has.
    fn runs(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

fn stat(file: &File) -> Option<Stat> {
    let mut line = [0; MAX_STAT_BYTES];
    let length = file.read_at(&mut line, 0).ok()?;
    // The name in brackets may hold anything, spaces and brackets too.
    let end = line[..length].iter().rposition(|byte| *byte == b')')?;
    let mut words = std::str::from_utf8(line.get(end + 2..length)?).ok()?.split_ascii_whitespace();
    let state = *words.next()?.as_bytes().first()?;
    let number = |word: Option<&str>| word?.parse::<u64>().ok();
    // Behind the state come 10 fields, user and system time, 4 more, threads, 1 more, the start, 1 more, and pages.
    let (user, system) = (number(words.nth(10))?, number(words.next())?);
    let threads = number(words.nth(4))?;
    let started = number(words.nth(1))?;
    let pages = number(words.nth(1))?;
    Some(Stat { state, ticks: user.saturating_add(system), threads, started, pages })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn line(pid: u32, state: char, user: u64, threads: u64, pages: u64) -> String {
        // The fields of proc(5): 14 and 15 are the times, 20 the threads, 22 the start, 24 the pages.
        format!(
            "{pid} (a ) R (b) {state} 1 1 1 0 -1 4194304 0 0 0 0 {user} 5 0 0 20 0 {threads} 0 777 9999 {pages} 18446744073709551615"
        )
    }

    #[test]
    fn a_tree_adds_up_and_ends_with_its_root() {
        let proc = std::env::temp_dir().join(format!("stepscope-tree-{}", std::process::id()));
        let put = |pid: u32, text: String| {
            fs::create_dir_all(proc.join(pid.to_string())).unwrap();
            // The same file, as the system's is.
            fs::write(proc.join(format!("{pid}/stat")), text).unwrap();
        };
        put(10, line(10, 'S', 100, 3, 50));
        put(11, line(11, 'R', 0, 1, 25));
        assert!(Tree::at(&proc, 12).is_none());
        let mut tree = Tree::at(&proc, 10).unwrap();
        tree.set_children(&[11, 12]);
        let page = rustix::param::page_size() as f64;
        let first = tree.sample(0).unwrap();
        assert_eq!(first, TreeUse { cpu_percent: None, rss_bytes: 75.0 * page, processes: 2, threads: 4 });
        // Half a core of one and all of another for two seconds; the system counts hundredths.
        put(10, line(10, 'S', 200, 3, 50));
        put(11, line(11, 'R', 200, 1, 25));
        assert_eq!(tree.sample(2_000_000_000).unwrap().cpu_percent, Some(150.0));
        // Too soon to say.
        assert_eq!(tree.sample(2_001_000_000).unwrap().cpu_percent, None);
        // A zombie has ended.
        put(11, line(11, 'Z', 200, 1, 0));
        assert_eq!(tree.sample(3_000_000_000).unwrap().processes, 1);
        put(10, line(10, 'Z', 200, 1, 0));
        assert_eq!(tree.sample(4_000_000_000), None);
        fs::remove_dir_all(proc).unwrap();
    }

    #[test]
    fn this_process_is_found_by_its_number() {
        let mut tree = Tree::new(std::process::id()).unwrap();
        let used = tree.sample(0).unwrap();
        assert!(used.rss_bytes > 100_000.0 && used.processes == 1 && used.threads >= 1, "{used:?}");
        // What another reader of the same file says.
        let other = crate::rss_bytes() as f64;
        assert!((used.rss_bytes - other).abs() < 0.5 * other, "{} and {other}", used.rss_bytes);
    }
}

//! Reading what services left in a folder, an hour at a time: by minute and route, all processes together.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use stepscope_ground::Problem;
use stepscope_ground::utc::MINUTE_NS;

use crate::block::{Block, Gauges};
use crate::exemplar::Exemplar;
use crate::segment::{self, Process};
use crate::stats::RouteStats;

/// Files that grow under the same name.
const GROWING_ENDINGS: [&str; 2] = ["samples", "jsonl"];

/// The directory that services write to.
#[derive(Clone, Debug)]
pub struct ServiceDir {
    folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HourFile {
    pub name: segment::Name,
    pub path: PathBuf,
    pub bytes: u64,
}

/// One minute of all processes.
#[derive(Clone, Debug, Default)]
pub struct Minute {
    pub routes: BTreeMap<String, RouteStats>,
    /// Each process that answered any.
    pub processes: BTreeMap<Process, Gauges>,
}

/// One hour of all processes.
#[derive(Clone, Debug, Default)]
pub struct Hour {
    /// Minutes since 1970, with what happened in each.
    pub minutes: BTreeMap<i64, Minute>,
    /// When the first of the processes began to count in it, in nanoseconds since 1970.
    pub began_ns: Option<i64>,
    /// Examples of all processes.
    pub exemplars: Vec<Exemplar>,
    /// What could not be read.
    pub notes: Vec<String>,
}

impl ServiceDir {
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Problem> {
        let folder = folder.as_ref().to_owned();
        if !folder.is_dir() {
            return Err(Problem::new(
                format!("there is no directory of a service at this path: {}", folder.display()),
                "give the directory that stepscope.ServiceMonitor or `stepscope monitor` writes to",
            ));
        }
        match segment::check_mark(&folder, false) {
            Ok(Ok(())) => Ok(Self { folder }),
            Ok(Err(schema)) => Err(Problem::new(
                format!(
                    "this directory was written by a newer version (schema {schema}, known up to {}): {}",
                    segment::SCHEMA,
                    folder.display()
                ),
                "update stepscope",
            )),
            Err(error) => Err(unreadable(&folder, &error)),
        }
    }

    /// The hours that it has, in hours since 1970.
    pub fn hours(&self) -> Result<Vec<i64>, Problem> {
        Ok(self.listing()?.into_keys().collect())
    }

    pub(crate) fn listing(&self) -> Result<BTreeMap<i64, Vec<HourFile>>, Problem> {
        let mut hours: BTreeMap<i64, Vec<HourFile>> = BTreeMap::new();
        for (name, path, bytes) in
            segment::list(&self.folder).map_err(|error| unreadable(&self.folder, &error))?
        {
            hours.entry(name.hour).or_default().push(HourFile { name, path, bytes });
        }
        Ok(hours)
    }

    pub fn hour(&self, hour: i64) -> Result<Hour, Problem> {
        let mut files = self.listing()?.remove(&hour).unwrap_or_default();
        let mut found = Hour::default();
        let open = found.add_open(&files);
        // Again, for a process that wrote its first minute of the hour meanwhile.
        files = self.listing()?.remove(&hour).unwrap_or_default();
        found.add_closed(&files, open);
        Ok(found)
    }

    /// What its directory is called.
    pub fn name(&self) -> String {
        let folder = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether a directory is one that a service writes to.
    pub fn is_one(folder: &Path) -> bool {
        folder.join(segment::MARK_FILE).is_file()
    }

    /// When something in it was last written, in nanoseconds since 1970. The minute that is open is replaced each second,
    /// which changes the directory itself; samples and alerts are added to files.
    pub fn changed_ns(&self) -> Option<i64> {
        let grows = |path: &PathBuf| {
            path.extension()
                .and_then(|ending| ending.to_str())
                .is_some_and(|ending| GROWING_ENDINGS.contains(&ending))
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let grown = entries.filter(grows).filter_map(|path| modified_ns(&path)).max();
        modified_ns(&self.folder).max(grown)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Hour {
    /// An hour that is no longer written to, from its files.
    pub(crate) fn read(files: &[HourFile]) -> Self {
        let mut found = Self::default();
        let open = found.add_open(files);
        found.add_closed(files, open);
        found
    }

    /// Reads open minutes. They come first: one that closes meanwhile is then found in both places, and its number says
    /// so. The other way round it could be in neither.
    fn add_open(&mut self, files: &[HourFile]) -> HashMap<Process, (Block, i64)> {
        let mut open = HashMap::new();
        for HourFile { name, path, .. } in files.iter().filter(|file| file.name.open) {
            let Some(contents) = segment::read(path) else { continue };
            self.note(path, contents.trouble);
            if let Some(block) = contents.blocks.into_iter().next() {
                // A minute is written when something was asked. A process that ended in it, or is idle, was watched up to
                // its last write, not up to now.
                let written_ns = modified_ns(path).unwrap_or(i64::MAX);
                open.insert(name.process.clone(), (block, written_ns));
            }
        }
        open
    }

    fn add_closed(&mut self, files: &[HourFile], mut open: HashMap<Process, (Block, i64)>) {
        for HourFile { name, path, .. } in files.iter().filter(|file| !file.name.open) {
            let Some(contents) = segment::read(path) else { continue };
            self.note(path, contents.trouble);
            for block in contents.blocks {
                if open.get(&name.process).is_some_and(|(open, _)| open.sequence <= block.sequence) {
                    open.remove(&name.process);
                }
                self.add(&name.process, block, i64::MAX);
            }
        }
        for (process, (block, written_ns)) in open {
            self.add(&process, block, written_ns);
        }
    }

    fn note(&mut self, path: &Path, trouble: Option<String>) {
        if let Some(trouble) = trouble {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.notes.push(format!("{name} {trouble}"));
        }
    }

    /// Adds a minute that was watched up to a moment, or up to its end.
    fn add(&mut self, process: &Process, block: Block, watched_until_ns: i64) {
        let starts_ns = block.minute.saturating_mul(MINUTE_NS);
        let ends_ns = starts_ns.saturating_add(MINUTE_NS).min(watched_until_ns);
        let watched_ns = i64::try_from(block.gauges.watched_ns).unwrap_or(MINUTE_NS);
        let began_ns = ends_ns.saturating_sub(watched_ns).max(starts_ns);
        self.began_ns = Some(self.began_ns.map_or(began_ns, |known| known.min(began_ns)));
        let minute = self.minutes.entry(block.minute).or_default();
        minute.processes.entry(process.clone()).or_default().merge(&block.gauges);
        for (route, stats) in block.routes {
            match minute.routes.get_mut(&route) {
                Some(known) => known.merge(&stats),
                None => drop(minute.routes.insert(route, stats)),
            }
        }
        self.exemplars.extend(block.exemplars);
    }
}

fn modified_ns(path: &Path) -> Option<i64> {
    let modified = fs::metadata(path).and_then(|about| about.modified()).ok()?;
    modified.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_nanos()).ok())
}

fn unreadable(folder: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        format!("cannot read the directory {}: {error}", folder.display()),
        "check that you may read it",
    )
}

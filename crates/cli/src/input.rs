//! From a path to one trace: folders, ranks, the progress bar, and the part of the trace asked about.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stepscope_analyse::run::Run;
use stepscope_ask::print::Role;
use stepscope_formats::{Look, OpenOptions, Progress, ReadError, TraceFile, discover, open, rank_of};
use stepscope_model::{Document, Severity, Trace};

use crate::args::Common;
use crate::failure::Failure;
use crate::terminal;

/// A bar for a load that is over before it can be read only flickers.
const BAR_AFTER: Duration = Duration::from_millis(700);

pub(crate) struct Place<'a> {
    pub(crate) path: Option<&'a Path>,
    pub(crate) rank: Option<i64>,
    pub(crate) max_text_bytes: Option<u64>,
}

impl Common {
    pub(crate) fn place(&self) -> Place<'_> {
        Place { path: self.path.as_deref(), rank: self.rank, max_text_bytes: self.max_text_bytes }
    }
}

/// Warns when a file is damaged; `info` and `summary` say so in full instead.
pub(crate) fn warn(trace: &Trace) {
    let count =
        |severity| trace.notes().iter().filter(|n| n.kind.severity() == severity).map(|n| n.count).sum::<u64>();
    let (lost, repaired) = (count(Severity::Lost), count(Severity::Repaired));
    let part = |n: u64, what: &str| (n > 0).then(|| format!("{n} {what}"));
    let events = if lost == 1 { "event lost" } else { "events lost" };
    let parts: Vec<String> = [part(lost, events), part(repaired, "repaired")].into_iter().flatten().collect();
    if !parts.is_empty() {
        remark(&format!("damaged file: {}; run `stepscope info` for details", parts.join(", ")));
    }
}

/// The path, which only `--explain` can do without.
fn path_of<'a>(place: &Place<'a>) -> Result<&'a Path, Failure> {
    place.path.ok_or_else(|| {
        Failure::wrong_use("no trace given", "give a trace file, a folder or - for standard input")
    })
}

/// What is done with every trace of a folder.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&Run);

/// The trace a command is about, by the one rule of [`formats::choose`].
///
/// Files that cannot be read are skipped with a remark as long as another can. `each` is shown every trace here;
/// without it the search ends as soon as the choice is clear.
///
/// [`formats::choose`]: stepscope_formats::choose
pub(crate) fn choose(place: &Place<'_>, mut each: Option<Each<'_>>) -> Result<Arc<Run>, Failure> {
    let look = if each.is_some() { Look::AtAll } else { Look::UntilClear };
    let mut unreadable = Vec::new();
    let chosen = stepscope_formats::choose(path_of(place)?, place.rank, look, &mut |file| {
        let document =
            load_file(file, place.max_text_bytes).inspect_err(|error| unreadable.push(error.to_string()))?;
        match (document, &mut each) {
            (Document::Trace(trace), Some(each)) => {
                let run = Run::new(trace);
                each(&run);
                Ok(Document::Trace(run.into_trace()))
            }
            (document, _) => Ok(document),
        }
    });
    // Where nothing could be read the first failure is the answer, not a remark.
    let is_answer = chosen.as_ref().is_err_and(|error| !matches!(error, ReadError::NoSuchRank { .. }));
    for error in unreadable.iter().skip(usize::from(is_answer)) {
        remark(&format!("skipped: {error}"));
    }
    let chosen = chosen?;
    if let [.., _] = chosen.older_runs[..] {
        let run = chosen.file.path.parent().and_then(Path::file_name).unwrap_or_default();
        remark(&format!(
            "showing the newest of {} profiled runs, {}; give the folder of another to see it",
            chosen.older_runs.len() + 1,
            run.display()
        ));
    }
    if chosen.found > 1 && place.rank.is_none() {
        remark(&format!(
            "showing {} (1 of {} traces here; pick another with --rank N or its path)",
            chosen.document.source().path,
            chosen.found
        ));
    }
    Ok(Arc::new(Run::from_document(chosen.document)))
}

/// Every trace at a path: recordings of one program, one after the other. Of a job with several ranks, those of one rank: its first,
/// or the one that is named.
pub(crate) fn all(
    path: &Path,
    rank: Option<i64>,
    max_text_bytes: Option<u64>,
) -> Result<Vec<Arc<Run>>, Failure> {
    if !path.is_dir() {
        return Ok(vec![choose(&Place { path: Some(path), rank, max_text_bytes }, None)?]);
    }
    let mut runs = Vec::new();
    let mut failed = None;
    for file in discover(path)? {
        match load_file(&file, max_text_bytes) {
            Ok(document) => runs.push((rank_of(&document), Arc::new(Run::from_document(document)))),
            Err(error) => {
                remark(&format!("skipped: {error}"));
                failed = Some(error);
            }
        }
    }
    let wanted = rank.or_else(|| runs.iter().filter_map(|(rank, _)| *rank).min());
    let found = runs.len();
    runs.retain(|(rank, _)| rank.is_none() || *rank == wanted);
    if let (true, Some(error)) = (runs.is_empty(), failed) {
        return Err(error.into());
    }
    if runs.is_empty() {
        return Err(Failure::wrong_use(
            format!("no trace of rank {} in {}", wanted.unwrap_or(0), path.display()),
            "leave --rank out to compare the first rank",
        ));
    }
    if let Some(rank) = wanted.filter(|_| runs.len() < found) {
        remark(&format!("{}: {} of {found} traces are of rank {rank}", path.display(), runs.len()));
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// Loads one file, with a bar if that takes a while and someone watches.
fn load_file(file: &TraceFile, max_text_bytes: Option<u64>) -> Result<Document, ReadError> {
    let progress = Arc::new(Progress::default());
    let mut options = OpenOptions { progress: Some(progress.clone()), ..OpenOptions::default() };
    if let Some(limit) = max_text_bytes {
        options.max_text_bytes = limit;
    }
    if !std::io::stderr().is_terminal() {
        return open(&file.path, &options);
    }
    std::thread::scope(|scope| {
        let (done, wait) = channel::<()>();
        scope.spawn(move || draw_progress(&progress, &wait));
        let result = open(&file.path, &options);
        drop(done);
        result
    })
}

fn draw_progress(progress: &Progress, wait: &std::sync::mpsc::Receiver<()>) {
    if wait.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let total = progress.total.load(Ordering::Relaxed);
    let bar = ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::stderr());
    let template = if total > 0 {
        "reading {bar:30} {bytes} of {total_bytes}, {eta} left"
    } else {
        "reading {spinner} {bytes}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    while wait.recv_timeout(Duration::from_millis(80)) == Err(RecvTimeoutError::Timeout) {
        bar.set_position(progress.read.load(Ordering::Relaxed));
    }
    bar.finish_and_clear();
}

/// A word on the side: to stderr, where it cannot get into the data.
pub(crate) fn remark(text: &str) {
    let screen = terminal::detect(&std::io::stderr());
    let line = format!("{} {}\n", screen.paint(Role::Accent, "note:"), screen.text(text));
    // A closed stderr only means that no one wants to know.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

//! From a path to one trace: folders, ranks, the progress bar, and the part of the trace asked about.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stepscope_analyse::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_formats::{OpenOptions, Progress, TraceFile, discover, open};
use stepscope_model::Trace;

use crate::args::Common;
use crate::failure::Failure;
use crate::rows::parse_steps;

/// A bar for a load that is over before it can be read only flickers.
const BAR_AFTER: Duration = Duration::from_millis(700);

/// The trace a command is about, and how it was found.
pub(crate) struct Input {
    /// The trace.
    pub(crate) trace: Trace,
    /// The steps.
    pub(crate) steps: Steps,
    /// The part asked about.
    pub(crate) selection: Selection,
}

impl Input {
    /// The trace at the path; of several, the asked or lowest rank.
    pub(crate) fn load(common: &Common) -> Result<Input, Failure> {
        let path = path_of(common)?;
        let files = discover(path)?;
        let trace = match common.rank {
            None => load_file(&files[0], common)?,
            Some(rank) => load_rank(&files, rank, common)?,
        };
        if files.len() > 1 && common.rank.is_none() {
            remark(&format!(
                "showing {} (1 of {} traces here; --rank N or a file's path chooses another)",
                trace.meta().source.path,
                files.len()
            ));
        }
        Input::of(trace, common)
    }

    /// A trace already loaded.
    pub(crate) fn of(trace: Trace, common: &Common) -> Result<Input, Failure> {
        let steps = Steps::find(&trace);
        let mut selection = match &common.step {
            None => Selection::all(),
            Some(text) => {
                let numbers = parse_steps(text)?;
                if let Some(unknown) = steps.unknown(&numbers).first() {
                    return Err(no_such_step(*unknown, &steps));
                }
                steps.selection(&numbers)
            }
        };
        selection.device = common.device;
        Ok(Input { trace, steps, selection })
    }

    /// Whether the whole trace is meant.
    pub(crate) fn is_whole(&self) -> bool {
        self.selection == Selection::all()
    }
}

fn no_such_step(step: i64, steps: &Steps) -> Failure {
    let hint = if steps.synthetic {
        "this trace has no ProfilerStep marks: call prof.step() after each iteration to get them".to_owned()
    } else {
        let numbers: Vec<i64> = steps.steps.iter().map(|s| s.step).collect();
        match (numbers.first(), numbers.last()) {
            (Some(first), Some(last)) => format!("the trace has steps {first} to {last}"),
            _ => "the trace has no steps".to_owned(),
        }
    };
    Failure::wrong_use(format!("there is no step {step}"), hint)
}

/// The path, which only `--explain` can do without.
pub(crate) fn path_of(common: &Common) -> Result<&Path, Failure> {
    common.path.as_deref().ok_or_else(|| {
        Failure::wrong_use("no trace given", "give a trace file, a folder or - for standard input")
    })
}

fn load_rank(files: &[TraceFile], rank: i64, common: &Common) -> Result<Trace, Failure> {
    let mut seen = Vec::new();
    for file in files {
        let trace = load_file(file, common)?;
        let found = rank_of(&trace);
        if found == Some(rank) {
            return Ok(trace);
        }
        seen.extend(found);
    }
    seen.sort_unstable();
    seen.dedup();
    let ranks: Vec<String> = seen.iter().map(i64::to_string).collect();
    let hint = if ranks.is_empty() {
        "the traces here do not say which rank they are; give the file's path instead".to_owned()
    } else {
        format!("ranks here: {}", ranks.join(", "))
    };
    Err(Failure::wrong_use(format!("there is no trace of rank {rank}"), hint))
}

/// The rank a trace says it is.
pub(crate) fn rank_of(trace: &Trace) -> Option<i64> {
    trace.meta().distributed.as_ref().and_then(|d| d.rank)
}

/// Loads one file, with a bar if that takes a while and somebody watches.
pub(crate) fn load_file(file: &TraceFile, common: &Common) -> Result<Trace, Failure> {
    let progress = Arc::new(Progress::default());
    let mut options = OpenOptions { progress: Some(progress.clone()), ..OpenOptions::default() };
    if let Some(limit) = common.max_text_bytes {
        options.max_text_bytes = limit;
    }
    if !std::io::stderr().is_terminal() {
        return Ok(open(&file.path, &options)?);
    }
    std::thread::scope(|scope| {
        let (done, wait) = channel::<()>();
        scope.spawn(move || draw_progress(&progress, &wait));
        let result = open(&file.path, &options);
        drop(done);
        Ok(result?)
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
    let screen = crate::print::Screen::detect(&std::io::stderr());
    let line = format!("{} {}\n", screen.paint(crate::print::Role::Accent, "note:"), screen.text(text));
    // A closed stderr only means that nobody wants to know.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

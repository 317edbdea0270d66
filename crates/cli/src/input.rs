//! From a path to one trace: folders, ranks, the progress bar, and the part of the trace asked about.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_formats::{Look, OpenOptions, Progress, ReadError, TraceFile, open_trace};
use stepscope_model::{Domain, Severity, Trace};

use crate::args::Common;
use crate::failure::Failure;
use crate::rows::parse_steps;

/// A bar for a load that is over before it can be read only flickers.
const BAR_AFTER: Duration = Duration::from_millis(700);

/// The trace a command is about, and how it was found.
pub(crate) struct Input {
    /// The trace.
    pub(crate) trace: Arc<Trace>,
    /// The steps asked about.
    pub(crate) steps: Steps,
    /// The part asked about.
    pub(crate) selection: Selection,
}

impl Input {
    /// The trace at the path; of several, the asked or lowest rank.
    pub(crate) fn load(common: &Common) -> Result<Input, Failure> {
        let trace = choose(common, None)?;
        // The browser shows it on its own page.
        if common.loaded.is_none() {
            warn(&trace);
        }
        Input::of(trace, common)
    }

    /// A trace already loaded.
    pub(crate) fn of(trace: Arc<Trace>, common: &Common) -> Result<Input, Failure> {
        let mut steps = Steps::find(&trace);
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
        keep_asked(&mut steps, common)?;
        if let Some(device) = common.device {
            known_device(&trace, device)?;
        }
        selection.device = common.device;
        Ok(Input { trace, steps, selection })
    }

    /// Whether the whole trace is meant.
    pub(crate) fn is_whole(&self) -> bool {
        self.selection == Selection::all()
    }
}

/// Keeps only the steps that `--step` asks for.
pub(crate) fn keep_asked(steps: &mut Steps, common: &Common) -> Result<(), Failure> {
    if let Some(text) = &common.step {
        let numbers = parse_steps(text)?;
        steps.steps.retain(|s| numbers.contains(&s.step));
    }
    Ok(())
}

/// Fails for a device on which nothing ran.
fn known_device(trace: &Trace, device: i64) -> Result<(), Failure> {
    let on_devices = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let mut devices: Vec<i64> = on_devices.filter_map(|(_, lane)| lane.key.process.as_int()).collect();
    devices.sort_unstable();
    devices.dedup();
    if devices.contains(&device) {
        return Ok(());
    }
    let names: Vec<String> = devices.iter().map(i64::to_string).collect();
    let hint = match names.is_empty() {
        true => "nothing ran on a device in this trace".to_owned(),
        false => format!("devices here: {}", names.join(", ")),
    };
    Err(Failure::wrong_use(format!("there is no device {device}"), hint))
}

/// Says on the side what the figures lack or rest on; `info` and `summary` say it in full instead.
pub(crate) fn warn(trace: &Trace) {
    let count =
        |severity| trace.notes().iter().filter(|n| n.kind.severity() == severity).map(|n| n.count).sum::<u64>();
    let (lost, repaired) = (count(Severity::Lost), count(Severity::Repaired));
    let part = |n: u64, what: &str| (n > 0).then(|| format!("{n} {what}"));
    let parts: Vec<String> =
        [part(lost, "things lost"), part(repaired, "repaired")].into_iter().flatten().collect();
    if !parts.is_empty() {
        remark(&format!("the file is damaged: {}; `stepscope info` says what and where", parts.join(", ")));
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
fn path_of(common: &Common) -> Result<&Path, Failure> {
    common.path.as_deref().ok_or_else(|| {
        Failure::wrong_use("no trace given", "give a trace file, a folder or - for standard input")
    })
}

/// What is done with every trace of a folder.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&Trace) -> Result<(), Failure>;

/// The trace a command is about, by the one rule of [`formats::choose`].
///
/// Files that cannot be read are skipped with a remark as long as another can. `each` is shown every trace here;
/// without it the search ends as soon as the choice is clear.
///
/// [`formats::choose`]: stepscope_formats::choose
pub(crate) fn choose(common: &Common, mut each: Option<Each<'_>>) -> Result<Arc<Trace>, Failure> {
    if let Some(trace) = &common.loaded {
        return Ok(trace.clone());
    }
    let look = if each.is_some() { Look::AtAll } else { Look::UntilClear };
    let mut failed = None;
    let mut unreadable = Vec::new();
    let chosen = stepscope_formats::choose(path_of(common)?, common.rank, look, &mut |file| {
        let trace = load_file(file, common).inspect_err(|error| unreadable.push(error.to_string()))?;
        if let (Some(each), None) = (&mut each, &failed) {
            failed = each(&trace).err();
        }
        Ok(trace)
    });
    if let Some(failure) = failed {
        return Err(failure);
    }
    // Where nothing could be read the first failure is the answer, not a remark.
    let is_answer = chosen.as_ref().is_err_and(|error| !matches!(error, ReadError::NoSuchRank { .. }));
    for error in unreadable.iter().skip(usize::from(is_answer)) {
        remark(&format!("skipped: {error}"));
    }
    let chosen = chosen?;
    if chosen.found > 1 && common.rank.is_none() {
        remark(&format!(
            "showing {} (1 of {} traces here; --rank N or a file's path chooses another)",
            chosen.trace.meta().source.path,
            chosen.found
        ));
    }
    Ok(Arc::new(chosen.trace))
}

/// Loads one file, with a bar if that takes a while and somebody watches.
fn load_file(file: &TraceFile, common: &Common) -> Result<Trace, ReadError> {
    let progress = Arc::new(Progress::default());
    let mut options = OpenOptions { progress: Some(progress.clone()), ..OpenOptions::default() };
    if let Some(limit) = common.max_text_bytes {
        options.max_text_bytes = limit;
    }
    if !std::io::stderr().is_terminal() {
        return open_trace(&file.path, &options);
    }
    std::thread::scope(|scope| {
        let (done, wait) = channel::<()>();
        scope.spawn(move || draw_progress(&progress, &wait));
        let result = open_trace(&file.path, &options);
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
    let screen = crate::print::Screen::detect(&std::io::stderr());
    let line = format!("{} {}\n", screen.paint(crate::print::Role::Accent, "note:"), screen.text(text));
    // A closed stderr only means that nobody wants to know.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

//! `stepscope record`: samples a Python process from outside, for some time or until it ends.

mod live;
mod output;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stepscope_ask::QUESTIONS;
use stepscope_ask::print::units;
use stepscope_record::clock::now_ns;
use stepscope_record::spy::{
    Sampling, Spy, SpyError, children, has_ended, ignore_stops, interrupted, notice_interrupts, requested_end,
    resume_stragglers,
};

use super::program::{self, exit_code, exit_text};
use super::question::question;
use crate::args::{Common, QuestionArgs, Record};
use crate::failure::{Failure, Outcome};
use crate::input::remark;
use live::{Live, LiveBackend};
use output::Kind;

/// How long a program that was just started may take to get to its Python.
const MAX_START: Duration = Duration::from_secs(30);
const START_RETRY_PERIOD: Duration = Duration::from_millis(2);
/// Between two samples lies at least one part in so many of their period.
const MIN_PAUSE_FRACTION: u32 = 10;
/// How often a program that has no Python any more is asked whether it has ended.
const END_POLL_PERIOD: Duration = Duration::from_millis(10);
/// How often a long recording says that it still goes on.
const PROGRESS_PERIOD: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Record, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    let kind = Kind::choose(args.format, args.output.as_deref())?;
    let path = args.output.clone().unwrap_or_else(|| kind.default_path(args.pid));
    output::check(&path)?;
    notice_interrupts();
    let (mut spy, mut child) = match (&args.pid, args.command.split_first()) {
        (Some(pid), None) => (Spy::attach(*pid)?, None),
        (None, Some((program, rest))) => {
            ignore_stops();
            let (spy, child) = start(program, rest, args.subprocesses)?;
            (spy, Some(child))
        }
        _ => {
            return Err(Failure::wrong_use(
                "no process given",
                "use: stepscope record --pid PID, or stepscope record -- python script.py",
            ));
        }
    };
    spy.set_mode(args.stops.mode());
    // What may not be stopped is said before anything is recorded; a program that ends is none of that.
    if let Err(error) = spy.sample()
        && !error.gone
        && child.is_none()
    {
        return Err(error.into());
    }
    let page = if args.view { Some(Page::open(&path, args, out)?) } else { None };
    let sampling = sample(spy, args, &mut child, page.as_ref());
    output::write(&sampling, args, kind, &path)?;
    report(&sampling, args, &path, child.as_mut());
    if let Some(page) = page {
        page.stay(&sampling, args);
    }
    if let Some(code) = child.as_mut().and_then(ended).and_then(exit_code) {
        *outcome = Outcome::Program(code);
    }
    if kind == Kind::Trace && !args.quiet && !args.view && io::stdout().is_terminal() {
        let common = Common { path: Some(path), ..Common::default() };
        // The exit code is that of the program.
        question(&QuestionArgs::about(QUESTIONS[0], common), out, &mut Outcome::Fine)?;
    }
    Ok(())
}

/// The browser's page of a recording, served by a thread of its own until Ctrl-C.
struct Page {
    live: Arc<Live>,
    server: JoinHandle<io::Result<()>>,
}

impl Page {
    fn open(path: &Path, args: &Record, out: &mut dyn Write) -> Result<Page, Failure> {
        let live = Arc::new(Live::new(path));
        let words = "the page grows with the recording; press Ctrl-C to end and save it";
        let server = super::view::begin(&args.page, Arc::new(LiveBackend(live.clone())), false, words, out)?;
        Ok(Page { live, server: std::thread::spawn(move || server.run()) })
    }

    /// Shows what was recorded until Ctrl-C.
    fn stay(self, sampling: &Sampling, args: &Record) {
        self.live.end();
        if !interrupted() && !args.quiet {
            remark("the page stays until you press Ctrl-C");
        }
        while !interrupted() && !self.server.is_finished() {
            self.live.answer(|| sampling.trace(args.rate));
            std::thread::sleep(END_POLL_PERIOD);
        }
    }
}

/// Starts a program and waits for the Python in it; with `subprocesses`, also in what it starts.
fn start(program: &OsString, rest: &[OsString], subprocesses: bool) -> Result<(Spy, Child), Failure> {
    let mut child = program::start(program, rest)?;
    let began = Instant::now();
    // A Python that is there and cannot be read will not become another one.
    let mut unreadable: Option<SpyError> = None;
    loop {
        let mut tried = Spy::attach(child.id());
        if subprocesses && tried.is_err() {
            tried = children(child.id()).into_iter().map(Spy::attach).find(Result::is_ok).unwrap_or(tried);
        }
        let ended = child.try_wait().ok().flatten();
        match tried {
            Ok(spy) => return Ok((spy, child)),
            Err(error) => {
                if error.unknown_version {
                    unreadable = Some(error.clone());
                }
                if let Some(status) = ended {
                    if let Some(error) = unreadable {
                        return Err(error.into());
                    }
                    return Err(Failure::wrong_use(
                        format!("the program exited ({}) before Python started in it", exit_text(status)),
                        "give the program as you would type it: stepscope record -- python script.py; if it starts Python itself, \
                         add --subprocesses",
                    ));
                }
                let in_vain = began.elapsed() > MAX_START && !subprocesses;
                if in_vain || unreadable.is_some() || interrupted() {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(error.into());
                }
            }
        }
        std::thread::sleep(if began.elapsed() > MAX_START { END_POLL_PERIOD } else { START_RETRY_PERIOD });
    }
}

/// Takes samples until the time is over, the program has ended, or someone presses Ctrl-C.
fn sample(spy: Spy, args: &Record, child: &mut Option<Child>, page: Option<&Page>) -> Sampling {
    let period = Duration::from_secs_f64(1.0 / args.rate);
    let began = Instant::now();
    let mut sampling = match child.as_ref().filter(|child| child.id() != spy.pid()) {
        Some(program) => Sampling::of_program(program.id(), spy, now_ns()),
        None => Sampling::new(spy, args.subprocesses, now_ns()),
    };
    let mut due = began + period;
    let mut said = began;
    let watched = io::stderr().is_terminal() && !args.quiet && child.is_none();
    loop {
        // On a busy machine a sample may take longer than a period: even then the program gets its turn.
        std::thread::sleep(due.saturating_duration_since(Instant::now()).max(period / MIN_PAUSE_FRACTION));
        // Missed samples are not made up for.
        while due <= Instant::now() {
            due += period;
        }
        if args.duration.is_some_and(|limit| began.elapsed() >= limit) || (interrupted() && child.is_none()) {
            break;
        }
        pass_on(child.as_ref());
        if !sampling.sample(now_ns(), period) {
            // Its Python is gone; the program may have something left to do, as after any other command, or start another.
            if args.subprocesses && child.as_mut().is_some_and(|child| ended(child).is_none()) {
                continue;
            }
            while child.as_mut().is_some_and(|child| ended(child).is_none()) {
                pass_on(child.as_ref());
                resume_stragglers();
                if let Some(page) = page {
                    page.live.answer(|| sampling.trace(args.rate));
                }
                std::thread::sleep(END_POLL_PERIOD);
            }
            break;
        }
        if child.as_mut().is_some_and(|child| ended(child).is_some()) {
            break;
        }
        if let Some(page) = page {
            page.live.answer(|| sampling.trace(args.rate));
        }
        if watched && said.elapsed() >= PROGRESS_PERIOD {
            said = Instant::now();
            let seconds = began.elapsed().as_secs();
            let _ = write!(io::stderr(), "\rsampling for {seconds} s; Ctrl-C ends and saves ");
        }
    }
    if watched {
        let _ = write!(io::stderr(), "\r\u{1b}[K");
    }
    sampling
}

/// Whoever asks this process alone to end, as a supervisor does, means the program.
fn pass_on(child: Option<&Child>) {
    if let Some(child) = child
        && let Some(signal) = requested_end().and_then(Signal::from_named_raw)
    {
        program::pass_on(child.id(), signal);
    }
}

fn report(sampling: &Sampling, args: &Record, path: &Path, child: Option<&mut Child>) {
    for what in &sampling.left_out {
        remark(&format!("left out: {what}"));
    }
    if sampling.dropped > 0 {
        remark(&format!(
            "{} stacks came after there was no more room for them",
            units::count(sampling.dropped)
        ));
    }
    let stats = sampling.stats();
    if stats.torn > 0 {
        let share = stats.torn as f64 / stats.stacks.max(1) as f64;
        remark(&format!(
            "{} of {} stacks ({}) changed while they were read and are left out",
            units::count(stats.torn),
            units::count(stats.stacks),
            units::percent(share)
        ));
    }
    if stats.stopped_ns > 0 && !args.quiet {
        let share = stats.stopped_ns as f64 / (sampling.ended_ns - sampling.began_ns).max(1) as f64;
        remark(&format!(
            "its Python threads were stopped for {} of the time ({} per sample)",
            units::percent(share.min(1.0)),
            units::time((stats.stopped_ns / stats.stops.max(1)) as i64)
        ));
    }
    let length = sampling.ended_ns - sampling.began_ns;
    if sampling.unseen_ns > length / 50 {
        remark(&format!(
            "the sampler was suspended for {} of {}; that time is excluded",
            units::time(sampling.unseen_ns),
            units::time(length)
        ));
    } else if sampling.late * 20 > stats.samples {
        remark("the sampler came late often: the machine is busy, or --rate is too high for it");
    }
    if let Some(child) = child {
        match ended(child) {
            Some(status) if !status.success() => remark(&format!("the program ended ({})", exit_text(status))),
            None => remark("the program still runs"),
            _ => {}
        }
    } else if sampling.running().next().is_none() {
        remark("the process ended; what was seen until then is saved");
    }
    if !args.quiet {
        let seconds = (sampling.ended_ns - sampling.began_ns) as f64 / 1e9;
        let threads = sampling.threads.len();
        let processes = match sampling.processes.len() {
            1 => String::new(),
            many => format!(" of {many} processes"),
        };
        let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        remark(&format!(
            "{}: {} samples of {threads}{processes} in {seconds:.1} s",
            path.display(),
            units::count(stats.samples),
        ));
    }
}

/// How a program ended, if it has. Waiting for it as usual would take a stop for its end.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    if has_ended(child.id()) { child.try_wait().ok().flatten() } else { None }
}

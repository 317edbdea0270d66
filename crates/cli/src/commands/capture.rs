//! `stepscope capture`: records running TensorFlow and JAX programs through their profiler servers.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stepscope_ask::print::{Role, units};
use stepscope_record::spy::{interrupted, notice_interrupts};
use stepscope_remote_profiler::{
    CaptureMode, CaptureResult, Limits, Plan, Stage, Target, Tracers, Watch, capture, start_continuous,
    stop_continuous, targets,
};

use crate::args::Capture;
use crate::failure::{Failure, Outcome};
use crate::input::remark;
use crate::next::{program, quoted};
use crate::terminal;

/// Time for requests to reach every host before any begins.
const START_DELAY: Duration = Duration::from_secs(2);

pub(super) fn run(args: &Capture, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    let targets = targets(args.targets.iter().chain(&args.hosts).map(String::as_str))?;
    let tracers = Tracers { host: args.host_tracer, device: args.device_tracer, python: args.python_tracer };
    let limits = Limits { silence: args.timeout, max_bytes: args.max_size as u64, ..Limits::default() };
    let say = |text: &str| {
        if !args.quiet {
            remark(text)
        }
    };
    if args.continuous {
        start_continuous(&targets, tracers, &limits)?;
        say(&format!("recording goes on at {}; get it: {}", listed(&targets), again(&targets, "--snapshot")));
        return Ok(());
    }
    if args.stop {
        stop_continuous(&targets, &limits)?;
        say(&format!("recording has ended at {}", listed(&targets)));
        return Ok(());
    }
    let want = match args.snapshot {
        true => CaptureMode::Snapshot,
        false => CaptureMode::Record {
            duration: args.duration,
            delay: args.delay.unwrap_or(if targets.len() > 1 { START_DELAY } else { Duration::ZERO }),
        },
    };
    let plan = Plan {
        targets,
        folder: args.output.clone(),
        remote_folder: args.remote_folder.clone(),
        want,
        tracers,
        limits,
    };
    notice_interrupts();
    let mut bar = Bar::new(args.duration, args.quiet);
    let captured = capture(&plan, &mut bar);
    bar.end();
    let captured = captured?;
    for file in captured.files.iter().filter(|file| file.bytes.is_some()) {
        writeln!(out, "{}", file.path.display())?;
    }
    out.flush()?;
    report(&captured, args);
    if !captured.failures.is_empty() {
        *outcome = Outcome::Program(2);
    }
    Ok(())
}

/// What the user has to know: what is missing, what there is, and what to type next.
fn report(captured: &CaptureResult, args: &Capture) {
    let screen = terminal::detect(&io::stderr());
    for failure in &captured.failures {
        let error = format!("{} {}\n", screen.paint(Role::Bad, "error:"), screen.text(&failure.what));
        let hint = format!("{} {}\n", screen.paint(Role::Accent, "hint:"), screen.text(&failure.hint));
        let _ = io::stderr().lock().write_all((error + &hint).as_bytes());
    }
    for file in captured.files.iter().filter(|file| file.bytes.is_none()) {
        remark(&format!(
            "the server at {} is too old to send a profile; it wrote it on its own machine: {}",
            file.target,
            file.path.display()
        ));
    }
    let here: Vec<_> = captured.files.iter().filter_map(|file| Some((file, file.bytes?))).collect();
    let (Some((first, _)), false) = (here.first(), args.quiet) else { return };
    if captured.stopped_early {
        remark("recording was ended early; this is what there was until then");
    }
    let bytes = here.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let size = units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let (what, path): (String, &Path) = match here.len() {
        1 => (format!("{size} from {}", first.target), &first.path),
        many => (format!("{size} from {many} hosts"), &captured.folder),
    };
    remark(&format!("{what}; open it: {} view {}", program(), quoted(path)));
}

fn listed(targets: &[Target]) -> String {
    targets.iter().map(Target::to_string).collect::<Vec<_>>().join(", ")
}

fn again(targets: &[Target], option: &str) -> String {
    let targets = targets.iter().map(Target::to_string).collect::<Vec<_>>().join(" ");
    format!("{} capture {targets} {option}", program())
}

/// A bar on the terminal: the time of the recording, then the bytes that arrive.
struct Bar {
    bar: Option<ProgressBar>,
    duration: Duration,
    receiving: bool,
}

impl Bar {
    fn new(duration: Duration, quiet: bool) -> Bar {
        let shown = io::stderr().is_terminal() && !quiet;
        let bar = shown.then(|| {
            let length = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            style(&bar, "recording {bar:30} {msg}; Ctrl-C ends it and keeps what there is");
            bar
        });
        Bar { bar, duration, receiving: false }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
}

impl Watch for Bar {
    fn stage(&mut self, stage: Stage) {
        let Some(bar) = &self.bar else { return };
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        match stage {
            Stage::Waiting(left) => bar.set_message(format!("begins in {}", seconds(left))),
            Stage::Recording(recorded) => {
                bar.set_position(u64::try_from(recorded.as_millis()).unwrap_or(u64::MAX));
                bar.set_message(format!("{} of {}", seconds(recorded), seconds(self.duration)));
            }
            Stage::Collecting => {
                style(bar, "{spinner} waiting for the profile");
                bar.tick();
            }
            Stage::Receiving(bytes, of) => {
                if !self.receiving {
                    self.receiving = true;
                    style(bar, "receiving {bar:30} {bytes} of {total_bytes}");
                }
                bar.set_length(of);
                bar.set_position(bytes);
            }
        }
    }

    fn wants_to_stop(&mut self) -> bool {
        interrupted()
    }
}

//! `stepscope top`: what a Python process spends its time on, while it runs.
//!
//! The screen is drawn with a few escape sequences and the terminal's mode is set by `stty`: a library for terminals would bring a
//! hundred crates for one table and nine keys.

mod counts;
pub(super) mod keys;
pub(super) mod screen;

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use stepscope_ask::print::{Cell, Column, Columns, middle_ellipsis};
use stepscope_record::Roots;
use stepscope_record::clock::now_ns;
use stepscope_record::machine::{Devices, ProcessUsage};
use stepscope_record::spy::{Sampling, Spy, interrupted, notice_interrupts};

use super::source_paths::Shortener;
use crate::args::Top;
use crate::failure::Failure;
use crate::format::emit;
use crate::terminal;
use counts::{Counts, Row, SortBy};
use keys::{Key, Keys};
use screen::TopView;

/// How often the screen is drawn and what is recent begins anew.
const REDRAW_PERIOD: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Top, out: &mut dyn Write) -> Result<(), Failure> {
    let pid = args.pid()?;
    let mut spy = Spy::attach(pid)?;
    spy.set_mode(args.stops.mode());
    spy.sample()?;
    let version = spy.version().to_owned();
    notice_interrupts();
    let sampling = Sampling::new(spy, args.subprocesses, now_ns());
    let mut top = TopSession {
        pid,
        version,
        paths: Shortener::new(pid),
        period: Duration::from_secs_f64(1.0 / args.rate),
        sampling,
        counts: Counts::default(),
        usage: ProcessUsage::new(pid),
        devices: Devices::open(&Roots::default()),
        gil_only: args.gil,
        idle: args.idle,
    };
    let live = !args.once && io::stdout().is_terminal() && io::stdin().is_terminal();
    match live {
        true => top.live(out),
        false => top.once(args, out),
    }
}

/// What is shown, and where it comes from.
struct TopSession {
    pid: u32,
    version: String,
    paths: Shortener,
    period: Duration,
    sampling: Sampling,
    counts: Counts,
    usage: ProcessUsage,
    /// None where there is no GPU.
    devices: Option<Devices>,
    gil_only: bool,
    idle: bool,
}

impl TopSession {
    /// Looks for some time; false when the process has ended.
    fn sample_for(&mut self, time: Duration, stop: &mut dyn FnMut() -> bool) -> bool {
        let began = Instant::now();
        let mut due = began;
        let mut runs = true;
        while runs && began.elapsed() < time && !interrupted() && !stop() {
            due += self.period;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            runs = self.sampling.sample(now_ns(), self.period);
        }
        self.counts.add(&mut self.sampling, self.gil_only, self.idle);
        runs
    }

    fn rows(&self, sort: SortBy, filter: &str) -> Vec<Row> {
        self.counts.rows(&self.sampling, &self.paths, sort, filter)
    }

    /// What is counted is another thing now, so counting begins anew.
    fn count_others(&mut self, change: impl FnOnce(&mut TopSession)) {
        change(self);
        self.counts = self.counts.anew();
    }

    /// One table for a script.
    fn once(&mut self, args: &Top, out: &mut dyn Write) -> Result<(), Failure> {
        let runs = self.sample_for(args.duration.unwrap_or(REDRAW_PERIOD), &mut || false);
        if !runs && self.counts.samples() == 0 {
            return Err(Failure::wrong_use(
                format!("process {} ended before it was seen", self.pid),
                "`stepscope record -- python script.py` samples a program from its start",
            ));
        }
        let rows = self.rows(SortBy::Own, "");
        let table = Columns::of(rows.iter().take(if args.top == 0 { usize::MAX } else { args.top }))
            .add(Column::number("Own"), |r| Cell::share(r.own))
            .add(Column::number("Total"), |r| Cell::share(r.total))
            .add(Column::number("Own time"), |r| Cell::time(r.own_ns))
            .add(Column::number("Total time"), |r| Cell::time(r.total_ns))
            .add(Column::name("Function").flexible(20, middle_ellipsis), |r| Cell::text(&r.function))
            .add(Column::text("Place").flexible(12, middle_ellipsis), |r| Cell::text(&r.place))
            .table()
            .title(format!("Process {}", self.pid), [self.headline(), self.gpus()].concat().join(" · "))
            .when_empty("no thread ran Python code");
        Ok(emit(out, &terminal::detect(&io::stdout()), args.format, &table, &rows)?)
    }

    /// What is true of the whole process, in pieces.
    fn headline(&mut self) -> Vec<String> {
        let usage = self.usage.since_last();
        self.counts.headline(&self.version, &usage)
    }

    /// What it uses of each GPU, a line for each.
    fn gpus(&self) -> Vec<String> {
        let pids: Vec<u32> = self.sampling.running().collect();
        let used = self.devices.as_ref().map(|devices| devices.used_by(&pids)).unwrap_or_default();
        used.iter().map(counts::gpu_line).collect()
    }

    /// The screen, until someone quits or the process ends.
    fn live(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let keys = Keys::listen()?;
        screen::begin(out)?;
        let ended = self.loop_live(&keys, out);
        screen::end(out)?;
        drop(keys);
        if ended? {
            crate::input::remark(&format!("process {} has ended", self.pid));
        }
        Ok(())
    }

    fn loop_live(&mut self, keys: &Keys, out: &mut dyn Write) -> Result<bool, Failure> {
        let mut shown = TopView { command: self.sampling.processes[0].command.clone(), ..TopView::default() };
        let mut first = true;
        loop {
            let mut pressed = Vec::new();
            let time = if first { REDRAW_PERIOD / 4 } else { REDRAW_PERIOD };
            first = false;
            let mut stop = || loop {
                match keys.pressed.try_recv() {
                    Ok(key) => pressed.push(key),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => return !pressed.is_empty(),
                }
            };
            let runs = self.sample_for(time, &mut stop);
            let acted = !pressed.is_empty();
            for key in pressed {
                if shown.filtering {
                    shown.type_filter(key);
                    continue;
                }
                match key {
                    Key::Char('q') | Key::End => return Ok(false),
                    Key::Char('p' | ' ') => shown.paused = !shown.paused,
                    Key::Char('s') => shown.sort = shown.sort.next(),
                    Key::Char('/') => shown.filtering = true,
                    Key::Char('r') => self.counts = self.counts.anew(),
                    Key::Char('i') => self.count_others(|top| top.idle = !top.idle),
                    Key::Char('g') => self.count_others(|top| top.gil_only = !top.gil_only),
                    Key::Escape => shown.filter.clear(),
                    _ => {}
                }
            }
            if interrupted() {
                return Ok(false);
            }
            (shown.idle, shown.gil_only) = (self.idle, self.gil_only);
            if !shown.paused {
                if !acted {
                    shown.headline = self.headline();
                    shown.gpus = self.gpus();
                }
                shown.rows = self.rows(shown.sort, &shown.filter);
                if !acted {
                    self.counts.next_window();
                }
            }
            screen::draw(&shown, out)?;
            if !runs {
                return Ok(true);
            }
        }
    }
}

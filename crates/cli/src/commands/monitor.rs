//! `stepscope monitor`: counters of the machine, its GPUs and a program, kept minute by minute; alerts; stacks by the hour.

mod alerts;
mod machine;
mod python;
mod summary;
mod target;
mod watch;

use std::io::{self, Write};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stepscope_ground::Problem;
use stepscope_ground::utc::now_ns;
use stepscope_record::spy::{interrupted, notice_interrupts};
use stepscope_service::{
    AlertMoment, AlertRule, CounterWriter, MachineRules, Retention, ServiceDir, ServiceRules,
};

use crate::args::{Monitor, Page};
use crate::failure::{Failure, Outcome};
use crate::input::remark;

use alerts::Alerts;
use machine::Machine;
use python::PythonStacks;
use summary::StatusLine;
use target::{EndReason, Target};

pub(super) fn run(args: &Monitor, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    let rules: Vec<AlertRule> =
        args.alert.iter().map(|text| AlertRule::parse(text)).collect::<Result<_, _>>()?;
    if let Some(folder) = &args.watch {
        return watch::run(args, folder, rules, out);
    }
    let Some(folder) = &args.output else {
        return Err(Failure::wrong_use("no directory given", "use: stepscope monitor -o DIR"));
    };
    // All that can go wrong does so before a program is started.
    let has_target = args.pid.is_some() || !args.command.is_empty();
    let mut machine = Machine::new(args.every, has_target);
    let (of_service, of_machine) = rules.into_iter().partition(AlertRule::is_about_service);
    let machine_rules = MachineRules::new(of_machine, machine.columns())?;
    let running = args.pid.map(Target::watch).transpose()?;
    let retention = Retention::default();
    let mut writer = CounterWriter::open(folder, machine.columns().to_vec(), args.pid, retention, now_ns())?;
    let service_rules = ServiceRules::new(ServiceDir::open(folder)?, of_service, now_ns())?;
    let alerts = Alerts::new(folder, args.on_alert.as_deref())?;
    notice_interrupts();
    let page = args.view.then(|| View::open(&args.page, folder, out)).transpose()?;
    let mut target = match running {
        Some(running) => running,
        None => Target::start(&args.command)?,
    };
    if let Some(pid) = target.pid() {
        writer.watch(pid);
    }
    let stacks = args.sample.map(|hz| PythonStacks::open(folder, hz, &target)).transpose()?;
    machine.refresh_children(&mut target);
    let mut session = Session {
        every: args.every,
        duration: args.duration,
        machine,
        target,
        writer,
        machine_rules,
        service_rules,
        alerts,
        stacks,
        line: StatusLine::new(!args.quiet && args.command.is_empty()),
        begun: Instant::now(),
        last_ns: 0,
        said_service: false,
    };
    let ended = session.watch();
    session.finish(args, folder, ended, out, outcome)?;
    if let Some(page) = page {
        page.end();
    }
    Ok(())
}

/// The directory in the browser, until the monitor ends.
struct View {
    server: JoinHandle<io::Result<()>>,
}

impl View {
    fn open(page: &Page, folder: &Path, out: &mut dyn Write) -> Result<View, Failure> {
        let words = "the page shows what is kept; press Ctrl-C to end";
        let server = super::view::begin_folder(page, folder, words, out)?;
        Ok(View { server: std::thread::spawn(move || server.run()) })
    }

    /// Shows what was kept until Ctrl-C.
    fn end(self) {
        if !interrupted() && !self.server.is_finished() {
            remark("the page stays until you press Ctrl-C");
        }
        while !interrupted() && !self.server.is_finished() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// All that a monitor holds while it runs.
struct Session {
    every: Duration,
    duration: Option<Duration>,
    machine: Machine,
    target: Target,
    writer: CounterWriter,
    machine_rules: MachineRules,
    service_rules: ServiceRules,
    alerts: Alerts,
    stacks: Option<PythonStacks>,
    line: StatusLine,
    begun: Instant,
    /// When the last sample was taken, since the start.
    last_ns: u64,
    said_service: bool,
}

impl Session {
    /// Samples until the program has ended, the time is over, or someone presses Ctrl-C.
    fn watch(&mut self) -> EndReason {
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if now >= due {
                if let Some(ended) = self.tick(false) {
                    let _ = self.tick(true);
                    return ended;
                }
                // A machine that slept or was busy is not made up for.
                due = (due + self.every).max(Instant::now());
            }
            let look = self.stacks.as_mut().map(PythonStacks::look_if_due);
            let until = look.map_or(due, |look| look.min(due));
            let until = self.duration.map_or(until, |limit| until.min(self.begun + limit));
            if let Some(ended) = self.target.wait_until(until) {
                // What it did last is worth a check too.
                let _ = self.tick(true);
                return ended;
            }
            if self.duration.is_some_and(|limit| self.begun.elapsed() >= limit) {
                let _ = self.tick(true);
                return EndReason::TimeIsOver;
            }
        }
    }

    /// Takes a sample, perhaps the last one; how it ended where the process is gone.
    fn tick(&mut self, is_last: bool) -> Option<EndReason> {
        let steady_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let wall_ns = now_ns();
        if self.machine.is_time_for_children() {
            self.machine.refresh_children(&mut self.target);
            if let (Some(stacks), Some(tree)) = (&mut self.stacks, self.target.tree()) {
                stacks.find(tree);
            }
        }
        let used = self.target.sample(steady_ns);
        let values = self.machine.sample(used, is_last);
        if let Some(words) = self.writer.add(wall_ns, steady_ns, values) {
            self.line.clear();
            remark(&words);
        }
        let every_ns = u64::try_from(self.every.as_nanos()).unwrap_or(u64::MAX);
        let covers_ns = steady_ns.saturating_sub(self.last_ns).min(every_ns.saturating_mul(2));
        self.last_ns = steady_ns;
        let mut events = self.machine_rules.observe(AlertMoment { wall_ns, steady_ns, covers_ns }, values);
        match self.service_rules.poll(wall_ns) {
            Ok(more) => {
                events.extend(more);
                self.said_service = false;
            }
            Err(error) => self.say_once(&error),
        }
        if !events.is_empty() || self.alerts.has_troubles() {
            self.line.clear();
        }
        self.alerts.handle(events);
        if let Some(words) = self.stacks.as_mut().and_then(PythonStacks::take_words) {
            self.line.clear();
            remark(&words);
        }
        let firing = self.machine_rules.firing() + self.service_rules.firing();
        self.line.draw(self.writer.columns(), self.machine.last(), self.begun.elapsed(), firing);
        self.target.has_ended(used)
    }

    fn say_once(&mut self, error: &Problem) {
        if !self.said_service {
            self.line.clear();
            remark(&format!("rules about the service are not checked: {}", error.what));
        }
        self.said_service = true;
    }

    /// Writes what is left, says what was seen, and passes the exit code on.
    fn finish(
        mut self,
        args: &Monitor,
        folder: &Path,
        ended: EndReason,
        out: &mut dyn Write,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        self.line.clear();
        if let Some(code) = ended.exit_code() {
            *outcome = Outcome::Program(code);
        }
        for words in self.writer.finish().into_iter().chain(self.stacks.as_mut().and_then(PythonStacks::finish))
        {
            remark(&words);
        }
        if self.writer.lost_minutes() > 0 {
            remark(&format!("{} minutes could not be written", self.writer.lost_minutes()));
        }
        if let Some(words) = ended.words(&self.target) {
            remark(&words);
        }
        let mut last = self.machine_rules.end(now_ns());
        last.extend(self.service_rules.end(now_ns()));
        self.alerts.handle(last);
        let fired = self.alerts.finish();
        if args.quiet {
            return Ok(());
        }
        let seen = summary::MonitorTotals {
            columns: self.writer.columns(),
            totals: self.writer.totals(),
            elapsed: self.begun.elapsed(),
            left_out: self.target.tree().map_or(0, |tree| tree.left_out()),
            fired: &fired,
            folder,
        };
        // What a program prints is its own.
        match args.command.is_empty() {
            true => summary::write(&seen, &io::stdout(), out),
            false => summary::write(&seen, &io::stderr(), &mut io::stderr().lock()),
        }
    }
}

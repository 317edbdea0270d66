//! `stepscope monitor --watch`: rules against the directory of a service, and nothing else.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use stepscope_ground::utc::now_ns;
use stepscope_record::spy::{interrupted, notice_interrupts};
use stepscope_service::{AlertRule, ServiceDir, ServiceRules};

use super::alerts::Alerts;
use super::summary::{self, StatusLine};
use super::{EndReason, View};
use crate::args::Monitor;
use crate::failure::Failure;
use crate::input::remark;

/// How long at most until Ctrl-C is noticed.
const POLL_PERIOD: Duration = Duration::from_millis(200);

pub(super) fn run(
    args: &Monitor,
    folder: &Path,
    rules: Vec<AlertRule>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let store = ServiceDir::open(folder)?;
    let mut rules = ServiceRules::new(store, rules, now_ns())?;
    let mut alerts = Alerts::new(folder, args.on_alert.as_deref())?;
    notice_interrupts();
    let page = args.view.then(|| View::open(&args.page, folder, out)).transpose()?;
    let mut line = StatusLine::new(!args.quiet);
    let begun = Instant::now();
    let mut trouble = None;
    let mut due = begun;
    let ended = loop {
        let is_over = args.duration.is_some_and(|limit| begun.elapsed() >= limit);
        if Instant::now() >= due {
            due = Instant::now() + args.every;
            let events = match rules.poll(now_ns()) {
                Ok(events) => {
                    trouble = None;
                    events
                }
                Err(error) => {
                    if trouble.replace(error.what.clone()).as_ref() != Some(&error.what) {
                        line.clear();
                        remark(&error.what);
                    }
                    Vec::new()
                }
            };
            if !events.is_empty() || alerts.has_troubles() {
                line.clear();
            }
            alerts.handle(events);
            line.draw(&[], &[], begun.elapsed(), rules.firing());
        }
        if interrupted() {
            break EndReason::Interrupted;
        }
        if is_over {
            break EndReason::TimeIsOver;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()).min(POLL_PERIOD));
    };
    line.clear();
    alerts.handle(rules.end(now_ns()));
    let fired = alerts.finish();
    if !args.quiet {
        summary::alerts(&fired, &io::stdout(), out)?;
    }
    if let Some(page) = page.filter(|_| matches!(ended, EndReason::TimeIsOver)) {
        page.end();
    }
    Ok(())
}
